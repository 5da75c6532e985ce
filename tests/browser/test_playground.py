"""The playground in a headless browser, used as a person would: sliders, stories, errors, links, keyboard, phone."""

import json
import re
import subprocess
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, ConsoleMessage, Page, expect, sync_playwright

QUIET = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--no-first-run",
]
#: Milliseconds for what a page computes: a machine may be busy.
LONG = 240_000
DESK = {"width": 1280, "height": 900}
PHONE = {"width": 390, "height": 844}

SMALL = """name = "small"
transport = ["tcp", "d3"]
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


@pytest.fixture(scope="session")
def duetime(request: pytest.FixtureRequest) -> str:
    """The command."""
    return str(request.config.getoption("--duetime"))


@pytest.fixture(scope="session")
def url(duetime: str) -> Iterator[str]:
    """Address of the page, served by the command; it must end within a second of Ctrl-C, without an error."""
    with subprocess.Popen([duetime, "play", "--port", "0"], stdout=subprocess.PIPE, text=True) as server:
        assert server.stdout is not None
        line = server.stdout.readline()
        found = re.search(r"http://127\.0\.0\.1:\d+/", line)
        assert found, line
        yield found[0]
        server.send_signal(2)
        assert server.wait(10) == 0


@pytest.fixture(scope="session")
def browser(request: pytest.FixtureRequest) -> Iterator[Browser]:
    """The browser, for all tests."""
    with sync_playwright() as driver:
        path = request.config.getoption("--browser")
        started = driver.chromium.launch(executable_path=path, headless=True, args=QUIET)
        yield started
        started.close()


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


@pytest.fixture
def pictures(request: pytest.FixtureRequest) -> Path:
    """Folder of the screenshots."""
    return Path(str(request.config.getoption("--pictures")))


@pytest.fixture
def opened(browser: Browser, pictures: Path, url: str) -> Iterator[Opened]:
    """The page on a desk, whose console must have stayed silent."""
    of = Opened(browser, pictures)
    of.page.goto(url)
    yield of
    assert of.said == []
    of.context.close()


def small(of: Opened) -> None:
    """A scenario that takes no time."""
    expect(of.page.locator("body")).not_to_have_attribute("data-state", "loading", timeout=LONG)
    of.paste(SMALL)
    expect(of.page.locator("#progress-text")).to_contain_text("4 of 4 runs", timeout=LONG)
    of.done()


def test_the_first_scenario_answers_and_a_slider_changes_the_answer(opened: Opened) -> None:
    page = opened.page
    expect(page.locator("#answer")).to_contain_text("% of queries in time under", timeout=LONG)
    # While it runs there are results already.
    assert page.locator("body").get_attribute("data-state") == "running"
    assert page.locator("#rows tr").count() >= 1
    opened.slide("seeds", -8)
    opened.done()
    assert re.search(r"% of queries in time under .*; the best possible is [\d.]+ %", opened.answer())
    assert page.locator("#rows tr").count() == 5
    assert page.locator("#figure svg path").count() >= 5
    opened.picture("service")
    before = page.locator("#rows").inner_text()
    value = opened.slide("budget", -4)
    expect(page.locator("body")).to_have_attribute("data-state", "running")
    opened.done()
    after = page.locator("#rows").inner_text()
    assert before != after
    text = page.locator("#text").input_value()
    assert f'deadline = "{value}"' in text and f'within = "{value}"' in text
    assert "# shallow: each port its own" in text, "comments stay"


def test_transports_are_chosen_and_a_run_can_be_stopped(opened: Opened) -> None:
    page = opened.page
    expect(page.locator("#rows tr").first).to_be_visible(timeout=LONG)
    page.locator("#stop").click()
    expect(page.locator("body")).to_have_attribute("data-state", "stopped")
    small(opened)
    page.get_by_role("checkbox", name="tcp", exact=True).uncheck()
    expect(page.locator("#progress-text")).to_contain_text("2 of 2 runs", timeout=LONG)
    opened.done()
    assert page.locator("#rows tr").count() == 1
    assert "under d3" in opened.answer()
    page.get_by_role("checkbox", name="d3", exact=True).uncheck()
    expect(page.locator("#answer")).to_have_text("Choose a transport.")


@pytest.mark.parametrize(
    ("line", "broken", "said"),
    [
        (13, SMALL.replace("fan_in = 8 ", "fan_in = 80"), "1..=11"),
        (15, SMALL.replace("20 KB", "20 KX"), "Allowed"),
        (11, SMALL.replace("[[workload]]", "[[workload]"), ""),
        (14, SMALL.replace("trees = 1", "tress = 1"), "trees"),
    ],
)
def test_an_error_points_at_its_line(opened: Opened, line: int, broken: str, said: str) -> None:
    small(opened)
    opened.paste(broken)
    error = opened.page.locator("#error")
    expect(error).to_contain_text(f"Line {line}:")
    expect(error).to_contain_text(said)
    assert opened.page.locator("#lines .wrong").inner_text() == str(line)
    assert opened.page.locator("#text").get_attribute("aria-invalid") == "true"
    opened.page.get_by_role("button", name=f"Go to line {line}").click()
    chosen = opened.page.evaluate("() => getSelection().toString()")
    assert chosen == broken.split("\n")[line - 1]
    opened.picture("error")
    # And it goes away.
    opened.paste(SMALL)
    expect(error).to_be_hidden()
    opened.done()


def test_what_is_too_large_is_refused_with_its_limit(opened: Opened) -> None:
    small(opened)
    opened.paste(SMALL.replace("300 /s", "10000000 /s"))
    expect(opened.page.locator("#error")).to_contain_text("too large for a page")
    expect(opened.page.locator("#error")).to_contain_text("at most 200000 flows")


def test_a_link_brings_the_scenario_back(opened: Opened, browser: Browser, url: str, pictures: Path) -> None:
    small(opened)
    opened.page.get_by_role("checkbox", name="tcp", exact=True).uncheck()
    expect(opened.page.locator("#progress-text")).to_contain_text("2 of 2 runs", timeout=LONG)
    opened.page.get_by_role("button", name="Copy a link").first.click()
    expect(opened.page.locator("#shared")).to_contain_text("link")
    link = opened.page.url
    assert "#scenario=z" in link and len(link) < 600
    opened.done()
    answer = opened.answer()
    other = Opened(browser, pictures)
    other.page.goto(link)
    other.done()
    assert other.page.locator("#text").input_value() == SMALL
    assert other.answer() == answer
    assert not other.page.get_by_role("checkbox", name="tcp", exact=True).is_checked()
    # A link that lost its end is told, and the page works all the same.
    other.page.goto("about:blank")
    other.page.goto(link[:-40])
    expect(other.page.locator("#fault")).to_contain_text("damaged")
    expect(other.page.locator("#rows tr").first).to_be_visible(timeout=LONG)
    assert other.said == []
    other.context.close()


def test_a_download_is_a_scenario(opened: Opened, duetime: str, tmp_path: Path) -> None:
    small(opened)
    opened.slide("fan_in", 1)
    expect(opened.page.locator("#text")).to_have_value(re.compile("fan_in = 10 "))
    with opened.page.expect_download() as waiting:
        opened.page.get_by_role("button", name="Download TOML").click()
    file = tmp_path / waiting.value.suggested_filename
    waiting.value.save_as(file)
    assert file.name == "small.toml"
    checked = subprocess.run([duetime, "check", file], capture_output=True, text=True)
    assert checked.returncode == 0, checked.stderr
    assert "fan_in = 10   # shards" in file.read_text()


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


def test_figure_1_of_d3_plays(opened: Opened) -> None:
    small(opened)
    page = opened.page
    assert "2 of 2 flows are in time: f1 at 11.8 ms" in story(opened, "d3-fig01", "slack", "d3")
    # In the middle the flow that is due first is ahead.
    to(opened, 250)
    expect(page.locator("#port-text")).to_contain_text("packets")
    near, far = progress(opened)
    assert near > far + 15, (near, far)
    expect(page.locator("#shares")).to_contain_text("granted")
    opened.picture("d3-figure-1")
    to(opened, 1000)
    expect(page.locator("#flows li").first).to_contain_text("in time, at 11.8 ms of 12.0 ms")
    # Shared evenly, neither is ahead, and the first is late.
    assert re.search(r"1 of 2 flows are in time: f1 at 1[78]\.\d ms, late by", story(opened, "d3-fig01", "slack", "rcpdc"))
    to(opened, 250)
    near, far = progress(opened)
    assert abs(near - far) <= 8, (near, far)


def test_figure_2_of_d3_plays(opened: Opened) -> None:
    small(opened)
    assert "Under RCPdc 0 of 6 flows are in time" in story(opened, "d3-fig02", None, "rcpdc")
    to(opened, 500)
    assert len(progress(opened)) == 6
    opened.picture("d3-figure-2")
    assert "gives up" in story(opened, "d3-fig02", None, "d3-quench")


def test_figure_6_of_d2tcp_plays(opened: Opened) -> None:
    small(opened)
    ends: dict[str, list[float]] = {}
    for scheme in ["dctcp", "d2tcp"]:
        said = story(opened, "d2tcp-fig06", "4-gbps", scheme)
        ends[scheme] = [float(of) for of in re.findall(r"flow \d at ([\d.]+) s", said)]
        assert "2 of 4 flows are in time" in said
        to(opened, 250)
        expect(opened.page.locator("#port-text")).to_contain_text("In the queue: ")
        opened.picture(f"d2tcp-figure-6-{scheme}")
    # D2TCP §4.1.2: the near flows end sooner than under DCTCP.
    assert ends["d2tcp"][0] < ends["dctcp"][0] and ends["d2tcp"][1] < ends["dctcp"][1], ends


def test_a_story_plays_pauses_and_steps(opened: Opened) -> None:
    small(opened)
    page = opened.page
    story(opened, "d3-fig01", "slack", "d3")
    clock = page.locator("#clock")
    page.locator("#speed").select_option("1000000")
    page.locator("#play").click()
    expect(clock).not_to_have_text("0.000 ms")
    page.locator("#play").click()
    expect(page.locator("#play")).to_have_text("Play")
    stopped = clock.inner_text()
    page.wait_for_timeout(300)
    assert clock.inner_text() == stopped
    page.locator("#next").click()
    expect(clock).not_to_have_text(stopped)
    page.locator("#back").click()
    # At the fastest it comes to its end, and stays there.
    page.locator("#speed").select_option("whole")
    to(opened, 950)
    page.locator("#play").click()
    expect(page.locator("#flows li").last).to_contain_text("in time")
    page.get_by_role("button", name="Copy a link").click()
    expect(page.locator("#story-shared")).to_contain_text("link")
    assert "#story=d3-fig01&panel=slack&scheme=d3" in page.url


def test_the_keyboard_is_enough(opened: Opened) -> None:
    small(opened)
    page = opened.page
    page.locator(".skip").focus()
    page.keyboard.press("Tab")
    reached: list[str] = []
    for _ in range(60):
        found = page.evaluate(
            "() => { const of = document.activeElement; return [of.id || of.value || of.tagName, of.matches(':focus-visible')]; }"
        )
        if found[0] in reached or found[0] == "BODY":
            break
        assert found[1], f"{found[0]} does not show its focus"
        reached.append(found[0])
        page.keyboard.press("Tab")
    order = ["tab-service", "run", "preset", "control-fan_in", "tcp", "share", "download", "text"]
    places = [reached.index(of) for of in order]
    assert places == sorted(places), reached
    # From the tab to the stories, to the play button and to the time, without a pointer.
    page.locator("#tab-service").focus()
    page.keyboard.press("ArrowRight")
    expect(page.locator("#story")).to_be_visible()
    expect(page.locator("#player")).to_have_attribute("aria-busy", "false", timeout=LONG)
    page.locator("#play").focus()
    page.keyboard.press("Space")
    expect(page.locator("#play")).to_have_text("Pause")
    page.keyboard.press("Space")
    expect(page.locator("#play")).to_have_text("Play")
    page.locator("#time").focus()
    page.keyboard.press("End")
    expect(page.locator("#flows li").first).to_contain_text("in time")


def test_everything_that_is_operated_has_a_name(opened: Opened) -> None:
    small(opened)
    for view in ["A service", "Packet by packet"]:
        opened.page.get_by_role("tab", name=view).click()
        nameless = opened.page.evaluate(
            """() => [...document.querySelectorAll("button, input, select, textarea, canvas, [role]")]
                .filter((of) => of.getClientRects().length)
                .filter((of) => !(of.labels?.length || of.ariaLabel || of.getAttribute("aria-labelledby") || of.textContent.trim()
                    || of.getAttribute("role") === "status"))
                .map((of) => of.outerHTML)"""
        )
        assert nameless == []


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_a_phone_has_nothing_wider_than_its_screen(browser: Browser, url: str, pictures: Path, scheme: str) -> None:
    of = Opened(browser, pictures, viewport=PHONE, color_scheme=scheme, has_touch=True, reduced_motion="reduce")
    of.page.goto(url)
    small(of)
    wide = "() => document.documentElement.scrollWidth"
    assert of.page.evaluate(wide) <= PHONE["width"]
    of.picture(f"phone-{scheme}")
    story(of, "d3-fig01", "slack", "d3")
    to(of, 300)
    expect(of.page.locator("#port-text")).to_contain_text("packets")
    assert of.page.evaluate(wide) <= PHONE["width"]
    of.picture(f"phone-story-{scheme}")
    assert of.said == []
    of.context.close()


def test_the_dark_page_on_a_desk(browser: Browser, url: str, pictures: Path) -> None:
    of = Opened(browser, pictures, color_scheme="dark")
    of.page.goto(url)
    small(of)
    of.picture("dark")
    story(of, "d3-fig01", "slack", "dctcp")
    to(of, 200)
    expect(of.page.locator("#port-text")).to_contain_text("packets")
    of.picture("dark-story")
    assert of.said == []
    of.context.close()


def test_exported_files_work_elsewhere(
    browser: Browser, duetime: str, pictures: Path, tmp_path: Path
) -> None:
    folder = tmp_path / "below" / "page"
    subprocess.run([duetime, "play", "--export", folder], check=True, capture_output=True)
    again = subprocess.run([duetime, "play", "--export", folder], capture_output=True, text=True)
    assert again.returncode == 2 and "not empty" in again.stderr
    # Python's own server, in a folder below its root.
    serve = ["python3", "-u", "-m", "http.server", "0", "--bind", "127.0.0.1", "--directory", str(tmp_path)]
    with subprocess.Popen(serve, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as server:
        assert server.stdout is not None
        found = re.search(r"port (\d+)", server.stdout.readline())
        assert found
        of = Opened(browser, pictures)
        of.page.goto(f"http://127.0.0.1:{found[1]}/below/page/")
        small(of)
        assert of.said == []
        of.context.close()
        server.terminate()


def test_the_server_says_what_its_files_are(url: str) -> None:
    for name, kind in [("", "text/html"), ("duetime.wasm", "application/wasm"), ("app.js", "text/javascript")]:
        with urllib.request.urlopen(url + name) as answer:
            assert answer.headers["Content-Type"].startswith(kind)
            assert "default-src 'none'" in answer.headers["Content-Security-Policy"]


def test_a_port_in_use_is_named(duetime: str, url: str) -> None:
    port = re.findall(r"\d+", url)[-1]
    refused = subprocess.run([duetime, "play", "--port", port], capture_output=True, text=True)
    assert refused.returncode == 2 and f"port {port} is in use" in refused.stderr


#: Starts a worker of its own, which draws nothing.
START = """async () => {
    globalThis.alone = new Worker("worker.js", { type: "module" });
    alone.postMessage(await WebAssembly.compile(await (await fetch("duetime.wasm")).arrayBuffer()));
}"""
#: Asks it; the answer and the seconds that it took.
ASK = """(request) => new Promise((resolve) => {
    alone.onmessage = ({ data }) => resolve([data.told ?? data.fault, data.seconds]);
    alone.postMessage({ id: 0, request });
})"""


def test_speed_beside_native(opened: Opened, request: pytest.FixtureRequest) -> None:
    """The same runs in the browser's worker and without a browser, one after the other: equal digests; packet-hops/s."""
    native = request.config.getoption("--native")
    if native is None:
        pytest.skip("no native program with optimisation: --quick")
    opened.page.locator("#stop").click()
    opened.page.evaluate(START)
    text = (Path(__file__).parents[2] / "scenarios" / "feature-store.toml").read_text()
    transports = ["tcp", "dctcp", "d2tcp", "rcpdc", "d3"]
    runs = [(of, run) for run in range(3) for of in range(len(transports))]
    #: By transport: packet-hops, seconds in the page, seconds of the native program.
    spent = {name: [0.0, 0.0, 0.0] for name in transports}
    with subprocess.Popen([native], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as beside:
        assert beside.stdin is not None and beside.stdout is not None

        def both(asked: dict[str, object]) -> tuple[dict[str, Any], float, float]:
            """The answer of both, which must be the same, and the seconds that each took."""
            assert beside.stdin is not None and beside.stdout is not None
            ours, page = opened.page.evaluate(ASK, asked)
            beside.stdin.write(json.dumps(asked) + "\n")
            beside.stdin.flush()
            told = json.loads(beside.stdout.readline())
            assert ours == told["answer"]
            return ours["ok"], page, told["seconds"]

        both({"ask": "begin", "text": text, "transports": []})
        for transport, run in runs:
            made, page, alone = both({"ask": "run", "transport": transport, "run": run})
            assert re.fullmatch("[0-9a-f]{32}", made["digest"])
            for i, value in enumerate([made["packet_hops"], page, alone]):
                spent[made["transport"]][i] += value
        beside.stdin.close()
    spent["all"] = [sum(of[i] for of in spent.values()) for i in range(3)]
    print()
    for name, (hops, page, alone) in spent.items():
        speeds = f"page {hops / page / 1e6:5.2f} M packet-hops/s, native {hops / alone / 1e6:5.2f}"
        print(f"{name:6} {speeds}; the page takes {page / alone:.2f} times as long")
    print(f"digests equal: {len(runs)} of {len(runs)} runs")
