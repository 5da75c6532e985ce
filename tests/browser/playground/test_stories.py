"""The papers' small experiments on the page: they must show what the papers state."""

import re

from opened import Opened, progress, small, story, to
from playwright.sync_api import expect


def test_figure_1_of_d3_plays(opened: Opened) -> None:
    small(opened)
    page = opened.page
    assert "2 of 2 flows are in time: f1 at 11.8 ms" in story(opened, "d3-fig01", "slack", "d3")
    # Halfway, the flow with the earlier deadline is ahead.
    to(opened, 250)
    expect(page.locator("#port-text")).to_contain_text("packets")
    near, far = progress(opened)
    assert near > far + 15, (near, far)
    expect(page.locator("#shares")).to_contain_text("granted")
    opened.picture("d3-figure-1")
    to(opened, 1000)
    expect(page.locator("#flows li").first).to_contain_text("in time, at 11.8 ms of 12.0 ms")
    # With equal shares, neither flow is ahead, and the first is late.
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
    assert "is quenched" in story(opened, "d3-fig02", None, "d3-quench")


def test_figure_6_of_d2tcp_plays(opened: Opened) -> None:
    small(opened)
    ends: dict[str, list[float]] = {}
    for scheme in ["dctcp", "d2tcp"]:
        summary = story(opened, "d2tcp-fig06", "4-gbps", scheme)
        ends[scheme] = [float(end) for end in re.findall(r"flow \d at ([\d.]+) s", summary)]
        assert "2 of 4 flows are in time" in summary
        to(opened, 250)
        expect(opened.page.locator("#port-text")).to_contain_text("In the queue: ")
        opened.picture(f"d2tcp-figure-6-{scheme}")
    # D2TCP §4.1.2: the near flows end sooner than under DCTCP.
    assert ends["d2tcp"][0] < ends["dctcp"][0] and ends["d2tcp"][1] < ends["dctcp"][1], ends


def test_story_plays_pauses_and_steps(opened: Opened) -> None:
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
    # At the highest speed, it reaches the end and stops there.
    page.locator("#speed").select_option("whole")
    to(opened, 950)
    page.locator("#play").click()
    expect(page.locator("#flows li").last).to_contain_text("in time")
    page.get_by_role("button", name="Copy a link").click()
    expect(page.locator("#story-shared")).to_contain_text("link")
    assert "#story=d3-fig01&panel=slack&scheme=d3" in page.url
