"""Opens the reports of a run and of a sweep in Chromium and does with them what a reader does.

    report_page.py BROWSER SHOTS RUN SWEEP [REPORT.html]    the browser's program, a folder for screenshots, two run folders
    report_page.py BROWSER SHOTS REPORT.html                any report: what does not depend on its numbers
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from playwright.sync_api import Browser, Locator, Page, sync_playwright

WIDTHS = (1280, 390)

# The shapes between the axes of every figure.
SHAPES = """() => [...document.querySelectorAll("g.panel")].map((panel) =>
  [...panel.querySelectorAll("path, rect, text")].map((of) => [of.tagName, ...of.getAttributeNames().filter(
    (name) => name !== "stroke-width" || of.getAttribute(name) !== "1").map((name) => `${name}=${of.getAttribute(name)}`).sort(),
    of.textContent].join(" ")))"""

# Whether anything between the axes of a figure has changed, without telling what.
DIGEST = """() => {
  let digest = 0;
  for (const panel of document.querySelectorAll("g.panel")) {
    for (const letter of panel.innerHTML) digest = (Math.imul(digest, 31) + letter.codePointAt(0)) | 0;
  }
  return digest;
}"""

# The least size of a letter on the screen, in the page and in drawings.
LETTERS = """() => {
  const sizes = { page: 99, drawing: 99 };
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  for (let node = walker.nextNode(); node; node = walker.nextNode()) {
    const of = node.parentElement;
    if (!node.data.trim() || of.closest("script, style, title, desc, metadata") || !of.getClientRects().length) continue;
    const svg = of.closest("svg");
    const scale = svg ? svg.getBoundingClientRect().width / svg.viewBox.baseVal.width : 1;
    const kind = svg ? "drawing" : "page";
    sizes[kind] = Math.min(sizes[kind], parseFloat(getComputedStyle(of).fontSize) * scale);
  }
  return [sizes.page, sizes.drawing];
}"""

# Where a value is on the screen: [figure's title, panel, series, point].
PLACE = """([title, panel, name, x]) => {
  const figure = [...document.querySelectorAll("figure")].find((of) => of.querySelector("figcaption").textContent === title);
  const data = JSON.parse(figure.querySelector("metadata").textContent)[panel];
  const bars = data.series.filter((of) => of.style === "bars");
  const series = data.series.find((of) => of.name === name);
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
                visit(browser, run / "report.html", width, shot, lambda page: of_run(page, run, shots))
                shot = Path(shots) / f"sweep-{width}.png"
                visit(browser, sweep / "report.html", width, shot, lambda page: of_sweep(page, sweep, shots))
            for other in others:
                visit(browser, other, WIDTHS[0], Path(shots) / "other.png", lambda page: None)
            without_script(browser, run / "report.html")
            in_the_dark(browser, sweep / "report.html", Path(shots))
        browser.close()


def visit(browser: Browser, path: Path, width: int, shot: Path, more: Callable[[Page], None]) -> None:
    """Opens a page at a width; checks what must hold on every report, then `more`."""
    context = browser.new_context(
        viewport={"width": width, "height": 900},
        has_touch=width < 600,
        permissions=["clipboard-read", "clipboard-write"],
    )
    page = context.new_page()
    said: list[str] = []
    asked: list[str] = []
    page.on("console", lambda message: said.append(message.text))
    page.on("pageerror", lambda error: said.append(str(error)))
    page.on("request", lambda request: asked.append(request.url))
    page.goto(path.resolve().as_uri())
    page.screenshot(path=shot, full_page=True)
    figures = page.locator("figure svg").count()
    wide = page.evaluate("document.documentElement.scrollWidth")
    letters = page.evaluate(LETTERS)
    assert figures > 0, "no figures"
    assert wide <= width, f"{wide} px wide on a screen of {width} px"
    assert min(letters) >= 11, f"letters of {letters} px"
    draws_as_duetime_does(page)
    zooms(page)
    changes_scales(page)
    switches(page)
    sorts(page)
    copies(page)
    more(page)
    page.evaluate("document.activeElement.blur(); scrollTo(0, 0)")
    assert said == [], said
    assert [url for url in asked if not url.startswith("file:")] == [], asked
    size = path.stat().st_size
    name = f"{path.parent.name}/{path.name}"
    print(f"{name} at {width} px: {figures} figures, letters from {min(letters):.1f} px, {size / 1e6:.2f} MB")
    context.close()


def draws_as_duetime_does(page: Page) -> None:
    """What the script draws after a zoom and back is what was there before, shape by shape."""
    before = page.evaluate(SHAPES)
    for tools in page.locator(".tools").all():
        tools.get_by_text("+", exact=True).click()
    assert page.evaluate(SHAPES) != before, "nothing was zoomed"
    for reset in page.locator(".tools").get_by_text("Reset").all():
        reset.click()
        assert reset.is_disabled()
    same(before, page.evaluate(SHAPES))


def same(before: list[list[str]], after: list[list[str]]) -> None:
    """Equal words, and numbers equal but for the rounding of a coordinate."""
    assert [len(of) for of in before] == [len(of) for of in after], "other shapes"
    number = re.compile(r"-?\d+(?:\.\d+)?")
    for old, new in zip([a for of in before for a in of], [b for of in after for b in of]):
        assert number.sub("#", old) == number.sub("#", new), f"{old}\n{new}"
        for a, b in zip(number.findall(old), number.findall(new)):
            assert abs(float(a) - float(b)) < 0.11, f"{old}\n{new}"


def first_hit(page: Page) -> Locator:
    """The area of the first panel whose x axis can be zoomed."""
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
    hit.evaluate('of => of.scrollIntoView({ block: "center" })')
    return hit


def ticks(hit: Locator) -> list[str]:
    found: list[str] = hit.evaluate(
        "of => [...of.closest('svg').querySelector('g.x').querySelectorAll('text')].map((text) => text.textContent)"
    )
    return found


def zooms(page: Page) -> None:
    """By a drag, and back by two clicks; by keys, and back by Escape."""
    hit = first_hit(page)
    whole = ticks(hit)
    box = hit.bounding_box()
    assert box
    left, top = box["x"] + box["width"] * 0.4, box["y"] + box["height"] * 0.5
    page.mouse.move(left, top)
    page.mouse.down()
    page.mouse.move(left + box["width"] * 0.2, top + 3, steps=4)
    page.mouse.up()
    assert ticks(hit) != whole, "a drag does not zoom"
    page.mouse.dblclick(left, top)
    assert ticks(hit) == whole, "two clicks do not reset"
    hit.focus()
    page.keyboard.press("ArrowRight")
    tip = hit.locator("xpath=ancestor::div[@class='stage']").locator(".tip")
    assert tip.is_visible(), "the keyboard shows no value"
    first = tip.inner_text()
    page.keyboard.press("End")
    assert tip.inner_text() != first, "the keyboard does not move"
    assert page.locator("[role=status]").inner_text() != "", "nothing is said"
    page.keyboard.press("+")
    zoomed = ticks(hit)
    assert zoomed != whole, "+ does not zoom"
    for _ in range(4):
        page.keyboard.press("Shift+ArrowLeft")
    assert ticks(hit) != zoomed, "arrows do not move what is shown"
    page.keyboard.press("Escape")
    assert ticks(hit) == whole, "Escape does not reset"


def changes_scales(page: Page) -> None:
    """Every logarithmic axis becomes linear and back, every linear one that can be logarithmic becomes so."""
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
        assert now != old, f"{button.get_attribute('title')} changes nothing"
        button.click()
    same(before, page.evaluate(SHAPES))


def colours(page: Page) -> dict[str, str]:
    """The colour of each series, by name."""
    found: dict[str, str] = page.evaluate(
        """() => Object.fromEntries([...document.querySelectorAll("metadata")].flatMap((of) => JSON.parse(of.textContent))
        .flatMap((panel) => panel.series).map((series) => [series.name, series.colour]))"""
    )
    return found


def drawn_in(page: Page, colour: str) -> list[int]:
    """By figure, how many shapes between the axes have a colour."""
    count: list[int] = page.evaluate(
        """(colour) => [...document.querySelectorAll("figure")].map((figure) =>
        figure.querySelectorAll(`g.panel [stroke="${colour}"], g.panel [fill="${colour}"]`).length)""",
        colour,
    )
    return count


def switches(page: Page) -> None:
    """A transport switched off leaves every figure and table at once, and the address says so."""
    bar = page.locator(".switches button")
    if bar.count() == 0:
        return
    first = bar.first
    name = first.inner_text().strip()
    colour = colours(page)[name]
    there = drawn_in(page, colour)
    assert sum(there) > 0
    first.click()
    assert first.get_attribute("aria-pressed") == "false"
    assert sum(drawn_in(page, colour)) == 0, f"{name} is still in {drawn_in(page, colour)}"
    assert page.locator(f'table [data-name="{name}"]:visible').count() == 0
    assert page.evaluate("location.hash") == f"#off={name}"
    page.reload()
    assert sum(drawn_in(page, colour)) == 0, "the address is not followed"
    page.locator(f'.entry[data-name="{name}"]').first.click()
    assert drawn_in(page, colour) == there, "the legend does not switch it on"
    assert page.evaluate("location.hash") == ""
    second = bar.nth(1)
    second.focus()
    page.keyboard.press("Space")
    assert second.get_attribute("aria-pressed") == "false"
    page.get_by_text("Show all", exact=True).click()
    assert second.get_attribute("aria-pressed") == "true"


def sorts(page: Page) -> None:
    """The first table with numbers, up and down and back; and it folds."""
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
    # The last command makes the study again; the verdict has one of its own.
    page.get_by_text("Copy", exact=True).last.click()
    page.get_by_text("Copied", exact=True).wait_for(timeout=2000)
    copied = page.evaluate("navigator.clipboard.readText()")
    assert copied == page.locator("pre.command code").last.inner_text().strip(), copied
    assert copied.startswith("duetime "), copied


def significant(value: float) -> str:
    """As tooltips write a number."""
    if value == 0:
        return "0"
    first = int(f"{abs(value):e}".split("e")[1])
    digits = min(max(3 - first, 0), 12)
    text = f"{value:.{digits}f}"
    return text.rstrip("0").rstrip(".") if digits else text


def tip_at(page: Page, title: str, name: str, x: float) -> tuple[str, dict[str, str]]:
    """Points at a value with the mouse, or a finger where that is what there is: the tooltip's head, and its lines by name."""
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


def of_run(page: Page, folder: Path, shots: str) -> None:
    """Bars and their intervals are those of the summary."""
    assert (folder / "report.html").stat().st_size < 1e6
    point = json.loads((folder / "summary.json").read_text())["points"][0]
    for of in point["transports"]:
        groups = [group for group in of["groups"] if group["deadlines"]]
        for i, group in enumerate(groups):
            head, lines = tip_at(page, "Missed deadlines", of["transport"], i)
            assert group["class"] in head, head
            assert lines[of["transport"]] == in_words(group["deadlines"]["missed"], 100, "%"), (lines, group["deadlines"])
        slack = points_of(page, "Slack", of["transport"])
        late = max((share for x, share in slack if x < 0), default=0.0)
        missed = 100 - 100 * of["deadlines"]["met"] / of["deadlines"]["flows"]
        assert abs(late - missed) <= 1e-6 * missed, f"{late} % have negative slack, {missed} % missed"
        rates = [rate for _, rate in points_of(page, "Link throughput", of["transport"])]
        # A sample counts whole packets: two more than it had time for, at most.
        assert 9.5 < max(rates) < 10.25, f"a link of 10 Gbps carries {max(rates)}"
    wanted = ["Query completion times", "Missed deadlines", "Completion times", "Slack", "Deadline and completion times"]
    titles = page.locator("figcaption").all_inner_texts()
    places = [titles.index(title) for title in [*wanted, "Link queue", "Link throughput"]]
    assert places == sorted(places), titles
    at = page.evaluate(PLACE, ["Query completion times", 0, "cubic", first_x(page)])
    page.mouse.move(at[0], at[1])
    page.screenshot(path=Path(shots) / f"run-hover-{width_of(page)}.png")


def points_of(page: Page, title: str, name: str) -> list[tuple[float, float]]:
    """The points of a series in the figure of that title."""
    values: list[float] = page.evaluate(
        """([title, name]) => {
        const figure = [...document.querySelectorAll("figure")].find((of) => of.querySelector("figcaption").textContent === title);
        const series = JSON.parse(figure.querySelector("metadata").textContent).flatMap((panel) => panel.series);
        return series.find((of) => of.name === name).points;
        }""",
        [title, name],
    )
    return list(zip(values[::2], values[1::2]))


def first_x(page: Page) -> float:
    x: float = page.evaluate('JSON.parse(document.querySelector("figure metadata").textContent)[0].series[0].points[80]')
    return x


def width_of(page: Page) -> int:
    return page.viewport_size["width"] if page.viewport_size else 0


def in_words(estimate: dict[str, Any], factor: float, unit: str) -> str:
    text = f"{significant(estimate['value'] * factor)} {unit}"
    range_ = estimate.get("interval")
    if range_ and range_["low"] < range_["high"]:
        text += f" ({significant(range_['low'] * factor)} to {significant(range_['high'] * factor)})"
    return text


def of_sweep(page: Page, folder: Path, shots: str) -> None:
    """At each point of the sweep, every transport's value is that of the summary."""
    points = json.loads((folder / "summary.json").read_text())["points"]
    for point in points:
        senders = float(point["settings"][0][1])
        head, lines = tip_at(page, "Missed deadlines", point["transports"][0]["transport"], senders)
        assert head == f"workload.senders: {significant(senders)}", head
        wanted = {of["transport"]: in_words(of["deadlines"]["missed"], 100, "%") for of in point["transports"]}
        assert lines == wanted, (lines, wanted)
    page.screenshot(path=Path(shots) / f"sweep-hover-{width_of(page)}.png")
    # A closer look, on a logarithmic axis, without the first transport.
    figure = page.locator("figure").filter(has_text="Missed deadlines").first
    figure.get_by_text("log y").click()
    figure.get_by_text("+", exact=True).click()
    page.locator(".switches button").first.click()
    page.screenshot(path=Path(shots) / f"sweep-zoomed-{width_of(page)}.png")
    page.get_by_text("Show all", exact=True).click()


def without_script(browser: Browser, path: Path) -> None:
    """The page is all there without the script: figures with their lines, tables, the command; no dead buttons."""
    context = browser.new_context(java_script_enabled=False)
    page = context.new_page()
    page.goto(path.resolve().as_uri())
    assert page.locator("g.panel path").count() > 20
    assert page.locator("button:visible").count() == 0
    assert page.locator(".switches:visible").count() == 0
    assert page.locator("pre.command").last.is_visible()
    context.close()


def in_the_dark(browser: Browser, path: Path, shots: Path) -> None:
    context = browser.new_context(color_scheme="dark", reduced_motion="reduce", viewport={"width": 1280, "height": 900})
    page = context.new_page()
    page.goto(path.resolve().as_uri())
    page.locator(".hit").first.focus()
    page.keyboard.press("ArrowRight")
    page.screenshot(path=shots / "sweep-dark.png")
    assert page.evaluate("document.getAnimations().length") == 0
    context.close()


main()
