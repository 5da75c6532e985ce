"""Opens the reports of a run and of a sweep in Chromium and uses them as a reader would.

    report_page.py BROWSER SHOTS RUN SWEEP [REPORT.html]    the browser's program, a folder for screenshots, two run folders
    report_page.py BROWSER SHOTS REPORT.html                any report: checks that do not depend on its numbers
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from playwright.sync_api import Browser, Locator, Page, sync_playwright

# Limit of a screenshot in milliseconds: on a busy machine, one takes longer than the default of 30 s.
SCREENSHOT_MS = 120_000
WIDTHS = (1280, 390)

# Returns the shapes between the axes of every figure.
SHAPES = """() => [...document.querySelectorAll("g.panel")].map((panel) =>
  [...panel.querySelectorAll("path, rect, text")].map((e) => [e.tagName, ...e.getAttributeNames().filter(
    (name) => name !== "stroke-width" || e.getAttribute(name) !== "1").map((name) => `${name}=${e.getAttribute(name)}`).sort(),
    e.textContent].join(" ")))"""

# Returns a digest of everything between the axes of all figures.
DIGEST = """() => {
  let digest = 0;
  for (const panel of document.querySelectorAll("g.panel")) {
    for (const letter of panel.innerHTML) digest = (Math.imul(digest, 31) + letter.codePointAt(0)) | 0;
  }
  return digest;
}"""

# Returns the smallest font size on the screen, in the page and in drawings.
LETTERS = """() => {
  const sizes = { page: 99, drawing: 99 };
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  for (let node = walker.nextNode(); node; node = walker.nextNode()) {
    const parent = node.parentElement;
    if (!node.data.trim() || parent.closest("script, style, title, desc, metadata")) continue;
    if (!parent.getClientRects().length) continue;
    const svg = parent.closest("svg");
    const scale = svg ? svg.getBoundingClientRect().width / svg.viewBox.baseVal.width : 1;
    const kind = svg ? "drawing" : "page";
    sizes[kind] = Math.min(sizes[kind], parseFloat(getComputedStyle(parent).fontSize) * scale);
  }
  return [sizes.page, sizes.drawing];
}"""

# Returns the screen position of a value, given as [title of the figure, panel, series, x].
PLACE = """([title, panel, name, x]) => {
  const figure = [...document.querySelectorAll("figure")].find((f) => f.querySelector("figcaption").textContent === title);
  const data = JSON.parse(figure.querySelector("metadata").textContent)[panel];
  const bars = data.series.filter((series) => series.style === "bars");
  const series = data.series.find((series) => series.name === name);
  const at = series.points.findIndex((value, i) => i % 2 === 0 && value === x);
  const share = (axis, value) => axis.scale === "log" ? Math.log(value / axis.ends[0]) / Math.log(axis.ends[1] / axis.ends[0])
    : (value - axis.ends[0]) / (axis.ends[1] - axis.ends[0]);
  let [left, top, width, height] = data.box;
  let px = left + width * share(data.x, x);
  if (bars.length) px += (bars.indexOf(series) + 0.5 - bars.length / 2) * 0.8 / bars.length * width / data.x.ticks.length;
  const py = top + height * (1 - share(data.y, series.points[at + 1]));
  figure.scrollIntoView({ block: "center" });
  const svg = figure.querySelector("svg").getBoundingClientRect();
  const scale = svg.width / figure.querySelector("svg").viewBox.baseVal.width;
  return [svg.left + px * scale, svg.top + py * scale];
}"""


def main() -> None:
    browser_path, shots, *pages = sys.argv[1:]
    Path(shots).mkdir(parents=True, exist_ok=True)
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=browser_path,
            args=["--no-sandbox", "--disable-gpu", "--disable-background-networking", "--disable-component-update"],
        )
        if len(pages) == 1:
            for width in WIDTHS:
                visit(browser, Path(pages[0]), width, Path(shots) / f"page-{width}.png", lambda page: None)
        else:
            run, sweep, *others = map(Path, pages)
            for width in WIDTHS:
                shot = Path(shots) / f"run-{width}.png"
                visit(browser, run / "report.html", width, shot, lambda page: check_run(page, run, shots))
                shot = Path(shots) / f"sweep-{width}.png"
                visit(browser, sweep / "report.html", width, shot, lambda page: check_sweep(page, sweep, shots))
            for other in others:
                visit(browser, other, WIDTHS[0], Path(shots) / "other.png", lambda page: None)
            without_script(browser, run / "report.html")
            dark_mode(browser, sweep / "report.html", Path(shots))
        browser.close()


def visit(browser: Browser, path: Path, width: int, shot: Path, more: Callable[[Page], None]) -> None:
    """Opens a page at a width, checks what must be true of every report, then calls `more`."""
    context = browser.new_context(
        viewport={"width": width, "height": 900},
        has_touch=width < 600,
        permissions=["clipboard-read", "clipboard-write"],
    )
    page = context.new_page()
    console: list[str] = []
    requests: list[str] = []
    page.on("console", lambda message: console.append(message.text))
    page.on("pageerror", lambda error: console.append(str(error)))
    page.on("request", lambda request: requests.append(request.url))
    page.goto(path.resolve().as_uri())
    page.screenshot(path=shot, full_page=True, timeout=SCREENSHOT_MS)
    figures = page.locator("figure svg").count()
    wide = page.evaluate("document.documentElement.scrollWidth")
    letters = page.evaluate(LETTERS)
    assert figures > 0, "no figures"
    assert wide <= width, f"{wide} px wide on a screen of {width} px"
    assert min(letters) >= 11, f"letters of {letters} px"
    redraws_identically(page)
    zooms(page)
    changes_scales(page)
    switches(page)
    sorts(page)
    copies(page)
    more(page)
    page.evaluate("document.activeElement.blur(); scrollTo(0, 0)")
    assert console == [], console
    assert [url for url in requests if not url.startswith("file:")] == [], requests
    size = path.stat().st_size
    name = f"{path.parent.name}/{path.name}"
    print(f"{name} at {width} px: {figures} figures, letters from {min(letters):.1f} px, {size / 1e6:.2f} MB")
    context.close()


def redraws_identically(page: Page) -> None:
    """Checks that the script's drawing after a zoom and a reset equals the original, shape by shape."""
    before = page.evaluate(SHAPES)
    for tools in page.locator(".tools").all():
        tools.get_by_text("+", exact=True).click()
    assert page.evaluate(SHAPES) != before, "nothing was zoomed"
    for reset in page.locator(".tools").get_by_text("Reset").all():
        reset.click()
        assert reset.is_disabled()
    assert_same_shapes(before, page.evaluate(SHAPES))


def assert_same_shapes(before: list[list[str]], after: list[list[str]]) -> None:
    """Checks that words are equal, and numbers up to the rounding of a coordinate."""
    assert [len(panel) for panel in before] == [len(panel) for panel in after], "different shapes"
    number = re.compile(r"-?\d+(?:\.\d+)?")
    for old, new in zip([a for panel in before for a in panel], [b for panel in after for b in panel]):
        assert number.sub("#", old) == number.sub("#", new), f"{old}\n{new}"
        for a, b in zip(number.findall(old), number.findall(new)):
            assert abs(float(a) - float(b)) < 0.11, f"{old}\n{new}"


def first_hit(page: Page) -> Locator:
    """Returns the area of the first panel whose x axis can be zoomed."""
    at = page.evaluate(
        """() => {
        let at = 0;
        for (const figure of document.querySelectorAll("figure")) {
          for (const panel of JSON.parse(figure.querySelector("metadata").textContent)) {
            if (panel.x.scale !== "names") return at;
            at += 1;
          }
        }
        return 0;
        }"""
    )
    hit = page.locator(".hit").nth(at)
    hit.evaluate('element => element.scrollIntoView({ block: "center" })')
    return hit


def ticks(hit: Locator) -> list[str]:
    found: list[str] = hit.evaluate(
        "e => [...e.closest('svg').querySelector('g.x').querySelectorAll('text')].map((text) => text.textContent)"
    )
    return found


def zooms(page: Page) -> None:
    """Zooms by dragging and resets by a double click; zooms by keys and resets by Escape."""
    hit = first_hit(page)
    whole = ticks(hit)
    box = hit.bounding_box()
    assert box
    left, top = box["x"] + box["width"] * 0.4, box["y"] + box["height"] * 0.5
    page.mouse.move(left, top)
    page.mouse.down()
    page.mouse.move(left + box["width"] * 0.2, top + 3, steps=4)
    page.mouse.up()
    assert ticks(hit) != whole, "dragging does not zoom"
    page.mouse.dblclick(left, top)
    assert ticks(hit) == whole, "a double click does not reset"
    hit.focus()
    page.keyboard.press("ArrowRight")
    tip = hit.locator("xpath=ancestor::div[@class='stage']").locator(".tip")
    assert tip.is_visible(), "the keyboard does not show a value"
    first = tip.inner_text()
    page.keyboard.press("End")
    assert tip.inner_text() != first, "the keyboard does not move"
    assert page.locator("[role=status]").inner_text() != "", "no status is announced"
    page.keyboard.press("+")
    zoomed = ticks(hit)
    assert zoomed != whole, "+ does not zoom"
    for _ in range(4):
        page.keyboard.press("Shift+ArrowLeft")
    assert ticks(hit) != zoomed, "the arrow keys do not move the range"
    page.keyboard.press("Escape")
    assert ticks(hit) == whole, "Escape does not reset"


def changes_scales(page: Page) -> None:
    """Toggles every axis between linear and logarithmic, and back."""
    before = page.evaluate(SHAPES)
    now = page.evaluate(DIGEST)
    for button in page.locator(".tools").get_by_text(re.compile("^log ")).all():
        if button.is_disabled():
            continue
        was = button.get_attribute("aria-pressed")
        old = now
        button.click()
        assert button.get_attribute("aria-pressed") != was
        now = page.evaluate(DIGEST)
        assert now != old, f"{button.get_attribute('title')} has no effect"
        button.click()
    assert_same_shapes(before, page.evaluate(SHAPES))


def colours(page: Page) -> dict[str, str]:
    """Returns the colour of each series, by name."""
    found: dict[str, str] = page.evaluate(
        """() => Object.fromEntries([...document.querySelectorAll("metadata")].flatMap((node) => JSON.parse(node.textContent))
        .flatMap((panel) => panel.series).map((series) => [series.name, series.colour]))"""
    )
    return found


def drawn_in(page: Page, colour: str) -> list[int]:
    """Returns, for each figure, the number of shapes between the axes that have a colour."""
    count: list[int] = page.evaluate(
        """(colour) => [...document.querySelectorAll("figure")].map((figure) =>
        figure.querySelectorAll(`g.panel [stroke="${colour}"], g.panel [fill="${colour}"]`).length)""",
        colour,
    )
    return count


def switches(page: Page) -> None:
    """Checks that switching off a transport removes it from all figures and tables and is recorded in the address."""
    bar = page.locator(".switches button")
    if bar.count() == 0:
        return
    first = bar.first
    name = first.inner_text().strip()
    colour = colours(page)[name]
    shown = drawn_in(page, colour)
    assert sum(shown) > 0
    first.click()
    assert first.get_attribute("aria-pressed") == "false"
    assert sum(drawn_in(page, colour)) == 0, f"{name} is still in {drawn_in(page, colour)}"
    assert page.locator(f'table [data-name="{name}"]:visible').count() == 0
    assert page.evaluate("location.hash") == f"#off={name}"
    page.reload()
    assert sum(drawn_in(page, colour)) == 0, "the address has no effect"
    page.locator(f'.entry[data-name="{name}"]').first.click()
    assert drawn_in(page, colour) == shown, "the legend does not switch it on"
    assert page.evaluate("location.hash") == ""
    second = bar.nth(1)
    second.focus()
    page.keyboard.press("Space")
    assert second.get_attribute("aria-pressed") == "false"
    page.get_by_text("Show all", exact=True).click()
    assert second.get_attribute("aria-pressed") == "true"


def sorts(page: Page) -> None:
    """Sorts the first table with numbers in both directions and back, and collapses it."""
    table = page.locator("table.sortable").first

    def cells() -> list[str]:
        texts = table.locator("tbody tr td:nth-child(2)").all_inner_texts()
        return [text.split()[0] for text in texts if text.strip()]

    original = cells()
    head = table.locator("thead th").nth(1)
    head.locator("button").click()
    assert head.get_attribute("aria-sort") == "ascending"
    up = [float(value) for value in cells() if re.fullmatch(r"[-\d.]+", value)]
    assert up == sorted(up), up
    head.locator("button").click()
    head.locator("button").click()
    assert cells() == original
    fold = page.locator("details:has(table.sortable) > summary").first
    fold.click()
    assert not table.is_visible()
    fold.click()
    assert table.is_visible()


def copies(page: Page) -> None:
    # The last command repeats the study; the verdict has a separate one.
    page.get_by_text("Copy", exact=True).last.click()
    page.get_by_text("Copied", exact=True).wait_for(timeout=2000)
    copied = page.evaluate("navigator.clipboard.readText()")
    assert copied == page.locator("pre.command code").last.inner_text().strip(), copied
    assert copied.startswith("duetime "), copied


def significant(value: float) -> str:
    """Formats a number as tooltips do."""
    if value == 0:
        return "0"
    first = int(f"{abs(value):e}".split("e")[1])
    digits = min(max(3 - first, 0), 12)
    text = f"{value:.{digits}f}"
    return text.rstrip("0").rstrip(".") if digits else text


def tip_at(page: Page, title: str, name: str, x: float) -> tuple[str, dict[str, str]]:
    """Points at a value with the mouse, or touches it on a phone. Returns the tooltip's head, and its lines by name."""
    at = page.evaluate(PLACE, [title, 0, name, x])
    if width_of(page) < 600:
        page.touchscreen.tap(*at)
    else:
        page.mouse.move(*at)
    tip = page.locator(".tip:visible")
    assert tip.count() == 1, f"{tip.count()} tooltips at {name}, {x} in {title}"
    box = tip.bounding_box()
    assert box and box["x"] >= 0 and box["x"] + box["width"] <= width_of(page), f"the tooltip is cut: {box}"
    lines = tip.locator("div")
    found = {}
    for line in lines.all():
        words = line.locator("span").all_inner_texts()
        found[words[0]] = words[1]
    return tip.locator("b").inner_text(), found


def check_run(page: Page, folder: Path, shots: str) -> None:
    """Checks that bars and their intervals agree with the summary."""
    assert (folder / "report.html").stat().st_size < 1e6
    point = json.loads((folder / "summary.json").read_text())["points"][0]
    for entry in point["transports"]:
        groups = [group for group in entry["groups"] if group["deadlines"]]
        for i, group in enumerate(groups):
            head, lines = tip_at(page, "Missed deadlines", entry["transport"], i)
            assert group["class"] in head, head
            expected = format_estimate(group["deadlines"]["missed"], 100, "%")
            assert lines[entry["transport"]] == expected, (lines, group["deadlines"])
        slack = points_of(page, "Slack", entry["transport"])
        late = max((share for x, share in slack if x < 0), default=0.0)
        missed = 100 - 100 * entry["deadlines"]["met"] / entry["deadlines"]["flows"]
        assert abs(late - missed) <= 1e-6 * missed, f"{late} % have negative slack, {missed} % missed"
        rates = [rate for _, rate in points_of(page, "Link throughput", entry["transport"])]
        # A sample counts whole packets, so it may exceed the link's rate by up to two packets.
        assert 9.5 < max(rates) < 10.25, f"a link of 10 Gbps carries {max(rates)}"
    wanted = ["Query completion times", "Missed deadlines", "Completion times", "Slack", "Deadline and completion times"]
    titles = page.locator("figcaption").all_inner_texts()
    places = [titles.index(title) for title in [*wanted, "Link queue", "Link throughput"]]
    assert places == sorted(places), titles
    at = page.evaluate(PLACE, ["Query completion times", 0, "cubic", first_x(page)])
    page.mouse.move(at[0], at[1])
    page.screenshot(path=Path(shots) / f"run-hover-{width_of(page)}.png")


def points_of(page: Page, title: str, name: str) -> list[tuple[float, float]]:
    """Returns the points of a series in the figure with that title."""
    values: list[float] = page.evaluate(
        """([title, name]) => {
        const figure = [...document.querySelectorAll("figure")].find((f) => f.querySelector("figcaption").textContent === title);
        const series = JSON.parse(figure.querySelector("metadata").textContent).flatMap((panel) => panel.series);
        return series.find((s) => s.name === name).points;
        }""",
        [title, name],
    )
    return list(zip(values[::2], values[1::2]))


def first_x(page: Page) -> float:
    x: float = page.evaluate('JSON.parse(document.querySelector("figure metadata").textContent)[0].series[0].points[80]')
    return x


def width_of(page: Page) -> int:
    return page.viewport_size["width"] if page.viewport_size else 0


def format_estimate(estimate: dict[str, Any], factor: float, unit: str) -> str:
    text = f"{significant(estimate['value'] * factor)} {unit}"
    range_ = estimate.get("interval")
    if range_ and range_["low"] < range_["high"]:
        text += f" ({significant(range_['low'] * factor)} to {significant(range_['high'] * factor)})"
    return text


def check_sweep(page: Page, folder: Path, shots: str) -> None:
    """Checks that every transport's value at each point of the sweep agrees with the summary."""
    points = json.loads((folder / "summary.json").read_text())["points"]
    for point in points:
        senders = float(point["settings"][0][1])
        head, lines = tip_at(page, "Missed deadlines", point["transports"][0]["transport"], senders)
        assert head == f"workload.senders: {significant(senders)}", head
        wanted = {entry["transport"]: format_estimate(entry["deadlines"]["missed"], 100, "%") for entry in point["transports"]}
        assert lines == wanted, (lines, wanted)
    page.screenshot(path=Path(shots) / f"sweep-hover-{width_of(page)}.png")
    # Zoom in on a logarithmic axis, without the first transport.
    figure = page.locator("figure").filter(has_text="Missed deadlines").first
    figure.get_by_text("log y").click()
    figure.get_by_text("+", exact=True).click()
    page.locator(".switches button").first.click()
    page.screenshot(path=Path(shots) / f"sweep-zoomed-{width_of(page)}.png")
    page.get_by_text("Show all", exact=True).click()


def without_script(browser: Browser, path: Path) -> None:
    """Checks that the page is complete without the script: figures, tables, the command, and no dead buttons."""
    context = browser.new_context(java_script_enabled=False)
    page = context.new_page()
    page.goto(path.resolve().as_uri())
    assert page.locator("g.panel path").count() > 20
    assert page.locator("button:visible").count() == 0
    assert page.locator(".switches:visible").count() == 0
    assert page.locator("pre.command").last.is_visible()
    context.close()


def dark_mode(browser: Browser, path: Path, shots: Path) -> None:
    context = browser.new_context(color_scheme="dark", reduced_motion="reduce", viewport={"width": 1280, "height": 900})
    page = context.new_page()
    page.goto(path.resolve().as_uri())
    page.locator(".hit").first.focus()
    page.keyboard.press("ArrowRight")
    page.screenshot(path=shots / "sweep-dark.png")
    assert page.evaluate("document.getAnimations().length") == 0
    context.close()


if __name__ == "__main__":
    main()
