"""Who reaches the page, and how: by keyboard, by name, on a phone, in the dark."""

from pathlib import Path

import pytest
from opened import LONG, PHONE, Opened, small, story, to
from playwright.sync_api import Browser, FloatRect, expect


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
    order = ["tab-service", "run", "preset", "control-fan_in", "cubic", "share", "download", "text"]
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


def box(of: Opened, at: str) -> FloatRect:
    """Place of a visible element on the screen."""
    found = of.page.locator(at).bounding_box()
    assert found is not None, at
    return found


def test_the_answer_is_above_the_fold(browser: Browser, url: str, pictures: Path) -> None:
    """On a phone the answer, all transports and the best possible come first; at a desk the controls are beside them."""
    for name, screen in [("phone", PHONE), ("desk", {"width": 1280, "height": 800})]:
        of = Opened(browser, pictures, viewport=screen)
        of.page.goto(url)
        expect(of.page.locator("#bars li")).to_have_count(5, timeout=LONG)
        answer, best, scale, controls = (box(of, at) for at in ["#answer", "#bars .best", "#scale", "#controls"])
        assert 0 < answer["y"] < best["y"] < scale["y"] + scale["height"] <= screen["height"]
        if name == "phone":
            assert controls["y"] > scale["y"], "the controls are below"
        else:
            assert controls["x"] + controls["width"] < best["x"] and controls["y"] < best["y"], "the controls are beside"
        of.picture(f"fold-{name}", whole=False)
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
