"""A service on the page, used as a person would: sliders, transports, errors, links, downloads."""

import re
import subprocess
from pathlib import Path

import pytest
from opened import LONG, SMALL, Opened, small
from playwright.sync_api import Browser, expect


def test_the_first_scenario_answers_and_a_slider_changes_the_answer(opened: Opened) -> None:
    page = opened.page
    expect(page.locator("#answer")).to_contain_text("queries in time under", timeout=LONG)
    # While it runs there are results already.
    assert page.locator("body").get_attribute("data-state") == "running"
    assert page.locator("#rows tr").count() >= 1
    opened.slide("seeds", -8)
    opened.done()
    assert re.search(r"% of \d+ queries in time under .*; the best possible is [\d.]+ %", opened.answer())
    assert page.locator("#rows tr").count() == 4
    assert page.locator("#figure svg path").count() >= 4
    opened.picture("service")
    before = page.locator("#rows").inner_text()
    value = opened.slide("budget", -4)
    expect(page.locator("body")).to_have_attribute("data-state", "running")
    opened.done()
    after = page.locator("#rows").inner_text()
    assert before != after
    text = page.locator("#text").input_value()
    assert f'deadline = "{value}"' in text and f'within = "{value}"' in text
    assert "# shallow, per port" in text, "comments stay"


def test_a_transport_explains_itself_in_its_colour(opened: Opened) -> None:
    page = opened.page
    expect(page.locator("#rows tr")).to_have_count(4, timeout=LONG)
    for name, needs in [
        ("cubic", "Needs nothing."),
        ("dctcp", "Needs ECN marking in the switches, dctcp as congestion control."),
        ("d2tcp", "an eBPF program on the hosts (duetime kernel attach)."),
        ("d3", "its software switch as router."),
    ]:
        switch = page.get_by_role("checkbox", name=name, exact=True)
        expect(switch).to_have_accessible_description(re.compile(re.escape(needs) + "$"))
        # The dot beside the switch, the point of its share and its curve.
        dot, point = (
            page.locator(of).first.evaluate("of => getComputedStyle(of).backgroundColor")
            for of in [f"#transports label:has([value={name}]) .dot", f"#bars li:has-text('{name}') .point"]
        )
        colour = "#" + "".join(f"{int(of):02x}" for of in re.findall(r"\d+", dot))
        assert dot == point and page.locator(f"#figure path[stroke='{colour}']").count() >= 1, (name, dot, point)


def test_the_tail_is_visible(opened: Opened) -> None:
    figure = opened.page.locator("#figure svg")
    expect(figure).to_contain_text("share taking longer (%)", timeout=LONG)
    for share in ["100", "10", "1", "0.1"]:
        expect(figure.get_by_text(share, exact=True).first).to_be_visible()
    expect(figure.get_by_text("budget", exact=True)).to_be_visible()


def test_sliders_that_are_turned_quickly_are_all_heard(opened: Opened) -> None:
    small(opened)
    values = {of: opened.slide(of, 1) for of in ["fan_in", "size", "rate"]}
    text = opened.page.locator("#text")
    expect(text).to_have_value(re.compile(f"fan_in = {values['fan_in']} .*{values['size']}.*{values['rate']}", re.DOTALL))
    opened.done()


def test_transports_are_chosen_and_a_run_can_be_stopped(opened: Opened) -> None:
    page = opened.page
    expect(page.locator("#rows tr").first).to_be_visible(timeout=LONG)
    page.locator("#stop").click()
    expect(page.locator("body")).to_have_attribute("data-state", "stopped")
    small(opened)
    page.get_by_role("checkbox", name="cubic", exact=True).uncheck()
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
    opened.page.get_by_role("checkbox", name="cubic", exact=True).uncheck()
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
    assert not other.page.get_by_role("checkbox", name="cubic", exact=True).is_checked()
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
