"""A playground page with its console output and the actions of a user."""

import re
from pathlib import Path
from typing import Any

from playwright.sync_api import Browser, ConsoleMessage, Page, expect

#: Timeout in milliseconds for computations, generous because the machine may be busy.
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
    """A page with its console output."""

    def __init__(self, browser: Browser, pictures: Path, **how: Any) -> None:
        self.context = browser.new_context(accept_downloads=True, **{"viewport": DESK, **how})
        self.context.set_default_timeout(LONG)
        self.page: Page = self.context.new_page()
        self.said: list[str] = []
        self.pictures = pictures
        self.page.on("console", self.note)
        self.page.on("pageerror", lambda error: self.said.append(f"error: {error}"))

    def note(self, message: ConsoleMessage) -> None:
        """Records a message of the console."""
        self.said.append(f"{message.type}: {message.text}")

    def picture(self, name: str, whole: bool = True) -> None:
        """Saves a screenshot."""
        self.page.screenshot(path=self.pictures / f"{name}.png", full_page=whole)

    def done(self) -> None:
        """Waits for the last run."""
        expect(self.page.locator("body")).to_have_attribute("data-state", "done", timeout=LONG)

    def answer(self) -> str:
        """Returns the answer at the top of the page."""
        return self.page.locator("#answer").inner_text()

    def paste(self, text: str) -> None:
        """Enters a scenario into the editor."""
        self.page.locator("#text-card").evaluate("card => card.open = true")
        self.page.locator("#text").fill(text)

    def slide(self, control: str, keys: int) -> str:
        """Presses an arrow key on a slider: right, or left if `keys` is negative. Returns the new value."""
        slider = self.page.locator(f"#control-{control}")
        slider.focus()
        for _ in range(abs(keys)):
            self.page.keyboard.press("ArrowRight" if keys > 0 else "ArrowLeft")
        return slider.get_attribute("aria-valuetext") or ""


def small(view: Opened) -> None:
    """Runs a scenario that takes little time."""
    expect(view.page.locator("body")).not_to_have_attribute("data-state", "loading", timeout=LONG)
    view.paste(SMALL)
    expect(view.page.locator("#progress-text")).to_contain_text("4 of 4 runs", timeout=LONG)
    view.done()


def story(view: Opened, name: str, panel: str | None, scheme: str) -> str:
    """Opens a story and returns its summary sentence."""
    if view.page.locator("#story").is_hidden():
        view.page.get_by_role("tab", name="Packet by packet").click()
    view.page.locator("#story-id").select_option(name)
    if panel is not None:
        view.page.locator("#story-panel").select_option(panel)
    view.page.locator("#story-scheme").select_option(scheme)
    label = view.page.locator(f"#story-scheme option[value='{scheme}']").inner_text()
    expect(view.page.locator("#story-answer")).to_contain_text(f"Under {label} ", timeout=LONG)
    expect(view.page.locator("#player")).to_have_attribute("aria-busy", "false", timeout=LONG)
    return view.page.locator("#story-answer").inner_text()


def to(view: Opened, per_mille: int) -> None:
    """Moves the time slider."""
    view.page.locator("#time").evaluate(
        "(slider, value) => { slider.value = value; slider.dispatchEvent(new Event('input')); }", per_mille
    )


def progress(view: Opened) -> list[int]:
    """Returns the delivered share of each flow in per cent."""
    bars = view.page.locator("#flows [role=progressbar]")
    return [int(bar.get_attribute("aria-valuenow") or -1) for bar in bars.all()]
