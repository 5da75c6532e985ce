"""The service view of the page, used as a person would: sliders, transports, errors, links, downloads."""

import re
import subprocess
from pathlib import Path

import pytest
from opened import LONG, SMALL, Opened, small
from playwright.sync_api import Browser, expect


def test_slider_changes_the_answer(opened: Opened) -> None:
    page = opened.page
    expect(page.locator("#answer")).to_contain_text("queries in time under", timeout=LONG)
    # Results appear while runs are still in progress.
    assert page.locator("body").get_attribute("data-state") == "running"
    assert page.locator("#rows tr").count() >= 1
    opened.slide("seeds", -8)
    opened.done()
    assert re.search(r"% of \d+ queries in time under .*; the best possible is [\d.]+ %", opened.answer())
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
    assert "# shallow, per port" in text, "comments are kept"


def test_transport_has_requirements_and_a_colour(opened: Opened) -> None:
    page = opened.page
    expect(page.locator("#rows tr")).to_have_count(5, timeout=LONG)
    for name, needs in [
        ("cubic", "Needs nothing."),
        ("dctcp", "Needs ECN marking in the switches, dctcp as congestion control."),
        ("d2tcp", "an eBPF program on the hosts (duetime kernel attach)."),
        ("d3", "its software switch as router."),
        ("due", "UDP sockets of Duetime, nothing of the switches; ECN marks and priority classes, which only the simulator's due uses, help."),
    ]:
        switch = page.get_by_role("checkbox", name=name, exact=True)
        expect(switch).to_have_accessible_description(re.compile(re.escape(needs) + "$"))
        # The dot next to the switch, the point of its share and its curve have the same colour.
        dot, point = (
            page.locator(at).first.evaluate("element => getComputedStyle(element).backgroundColor")
            for at in [f"#transports label:has([value={name}]) .dot", f"#bars li:has-text('{name}') .point"]
        )
        colour = "#" + "".join(f"{int(part):02x}" for part in re.findall(r"\d+", dot))
        assert dot == point and page.locator(f"#figure path[stroke='{colour}']").count() >= 1, (name, dot, point)


def test_transport_can_be_added(opened: Opened) -> None:
    page = opened.page
    small(opened)
    page.get_by_text("More transports").click()
    page.get_by_role("checkbox", name="pfabric", exact=True).check()
    expect(page.locator("#text")).to_have_value(re.compile(r'transport = \["cubic", "d3", "pfabric"\]'))
    expect(page.locator("#transports input[value=pfabric]")).to_be_focused()
    opened.done()
    assert page.locator("#rows tr").count() == 3


def test_tail_is_visible(opened: Opened) -> None:
    figure = opened.page.locator("#figure svg")
    expect(figure).to_contain_text("share taking longer (%)", timeout=LONG)
    for share in ["100", "10", "1", "0.1"]:
        expect(figure.get_by_text(share, exact=True).first).to_be_visible()
    expect(figure.get_by_text("budget", exact=True)).to_be_visible()


def test_quick_slider_changes_all_apply(opened: Opened) -> None:
    small(opened)
    values = {name: opened.slide(name, 1) for name in ["fan_in", "size", "rate"]}
    text = opened.page.locator("#text")
    expect(text).to_have_value(re.compile(f"fan_in = {values['fan_in']} .*{values['size']}.*{values['rate']}", re.DOTALL))
    opened.done()


def test_transports_can_be_chosen_and_runs_stopped(opened: Opened) -> None:
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
    ("line", "broken", "message"),
    [
        (13, SMALL.replace("fan_in = 8 ", "fan_in = 80"), "1..=11"),
        (15, SMALL.replace("20 KB", "20 KX"), "Allowed"),
        (11, SMALL.replace("[[workload]]", "[[workload]"), ""),
        (14, SMALL.replace("trees = 1", "tress = 1"), "trees"),
    ],
)
def test_error_points_at_its_line(opened: Opened, line: int, broken: str, message: str) -> None:
    small(opened)
    opened.paste(broken)
    error = opened.page.locator("#error")
    expect(error).to_contain_text(f"Line {line}:")
    expect(error).to_contain_text(message)
    assert opened.page.locator("#lines .wrong").inner_text() == str(line)
    assert opened.page.locator("#text").get_attribute("aria-invalid") == "true"
    opened.page.get_by_role("button", name=f"Go to line {line}").click()
    chosen = opened.page.evaluate("() => getSelection().toString()")
    assert chosen == broken.split("\n")[line - 1]
    opened.picture("error")
    # A valid scenario clears the error.
    opened.paste(SMALL)
    expect(error).to_be_hidden()
    opened.done()


def test_too_large_scenario_is_refused(opened: Opened) -> None:
    small(opened)
    opened.paste(SMALL.replace("300 /s", "10000000 /s"))
    expect(opened.page.locator("#error")).to_contain_text("too large for a page")
    expect(opened.page.locator("#error")).to_contain_text("at most 200000 flows")


def test_link_restores_the_scenario(opened: Opened, browser: Browser, url: str, pictures: Path) -> None:
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
    # A truncated link is reported, and the page still works.
    other.page.goto("about:blank")
    other.page.goto(link[:-40])
    expect(other.page.locator("#fault")).to_contain_text("damaged")
    expect(other.page.locator("#rows tr").first).to_be_visible(timeout=LONG)
    assert other.said == []
    other.context.close()


def test_download_is_a_valid_scenario(opened: Opened, duetime: str, tmp_path: Path) -> None:
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
