"""A page of the playground with what its console said, and how a person uses it."""

import re
from pathlib import Path
from typing import Any

from playwright.sync_api import Browser, ConsoleMessage, Page, expect

#: Milliseconds for what a page computes: a machine may be busy.
LONG = 240_000
DESK = {"width": 1280, "height": 900}
PHONE = {"width": 390, "height": 844}

SMALL = """name = "small"
transport = ["cubic", "d3"]
seeds = 2
duration = "20 ms"
[topology]
kind = "star"
hosts = 12
link = { rate = "1 Gbps", latency = "5 us" }
[switch]
buffer = "60 packets"
[[workload]]
kind = "oldi"
fan_in = 8   # shards
trees = 1
response = "20 KB"
deadline = "3 ms"
objective = { within = "3 ms", share = "99 %" }
rate = "300 /s"
"""


class Opened:
    """A page with what its console said."""

    def __init__(self, browser: Browser, pictures: Path, **how: Any) -> None:
        self.context = browser.new_context(accept_downloads=True, **{"viewport": DESK, **how})
        self.context.set_default_timeout(LONG)
        self.page: Page = self.context.new_page()
        self.said: list[str] = []
        self.pictures = pictures
        self.page.on("console", self.note)
        self.page.on("pageerror", lambda error: self.said.append(f"error: {error}"))

    def note(self, message: ConsoleMessage) -> None:
        """Keeps whatever the console shows."""
        self.said.append(f"{message.type}: {message.text}")

    def picture(self, name: str, whole: bool = True) -> None:
        """Keeps a screenshot."""
        self.page.screenshot(path=self.pictures / f"{name}.png", full_page=whole)

    def done(self) -> None:
        """Waits for the last run."""
        expect(self.page.locator("body")).to_have_attribute("data-state", "done", timeout=LONG)

    def answer(self) -> str:
        """The first thing on the page."""
        return self.page.locator("#answer").inner_text()

    def paste(self, text: str) -> None:
        """Puts a scenario into the editor."""
        self.page.locator("#text-card").evaluate("card => card.open = true")
        self.page.locator("#text").fill(text)

    def slide(self, control: str, keys: int) -> str:
        """Turns a slider by keys to the right, or to the left if negative; returns its new value."""
        slider = self.page.locator(f"#control-{control}")
        slider.focus()
        for _ in range(abs(keys)):
            self.page.keyboard.press("ArrowRight" if keys > 0 else "ArrowLeft")
        return slider.get_attribute("aria-valuetext") or ""


def small(of: Opened) -> None:
    """A scenario that takes no time."""
    expect(of.page.locator("body")).not_to_have_attribute("data-state", "loading", timeout=LONG)
    of.paste(SMALL)
    expect(of.page.locator("#progress-text")).to_contain_text("4 of 4 runs", timeout=LONG)
    of.done()


def story(of: Opened, name: str, panel: str | None, scheme: str) -> str:
    """Opens a story and returns its sentence."""
    if of.page.locator("#story").is_hidden():
        of.page.get_by_role("tab", name="Packet by packet").click()
    of.page.locator("#story-id").select_option(name)
    if panel is not None:
        of.page.locator("#story-panel").select_option(panel)
    of.page.locator("#story-scheme").select_option(scheme)
    label = of.page.locator(f"#story-scheme option[value='{scheme}']").inner_text()
    expect(of.page.locator("#story-answer")).to_contain_text(f"Under {label} ", timeout=LONG)
    expect(of.page.locator("#player")).to_have_attribute("aria-busy", "false", timeout=LONG)
    return of.page.locator("#story-answer").inner_text()


def to(of: Opened, per_mille: int) -> None:
    """Moves the time."""
    of.page.locator("#time").evaluate(
        "(of, value) => { of.value = value; of.dispatchEvent(new Event('input')); }", per_mille
    )


def progress(of: Opened) -> list[int]:
    """What each flow has delivered, in per cent."""
    bars = of.page.locator("#flows [role=progressbar]")
    return [int(bar.get_attribute("aria-valuenow") or -1) for bar in bars.all()]
