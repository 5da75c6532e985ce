"""Accessibility and layout: keyboard, names, phone, dark mode."""

from pathlib import Path

import pytest
from opened import LONG, PHONE, Opened, small, story, to
from playwright.sync_api import Browser, FloatRect, expect


def test_keyboard_reaches_everything(opened: Opened) -> None:
    small(opened)
    page = opened.page
    page.locator(".skip").focus()
    page.keyboard.press("Tab")
    reached: list[str] = []
    for _ in range(60):
        found = page.evaluate(
            "() => { const e = document.activeElement; return [e.id || e.value || e.tagName, e.matches(':focus-visible')]; }"
        )
        if found[0] in reached or found[0] == "BODY":
            break
        assert found[1], f"{found[0]} does not show its focus"
        reached.append(found[0])
        page.keyboard.press("Tab")
    order = ["tab-service", "run", "preset", "control-fan_in", "cubic", "share", "download", "text"]
    places = [reached.index(name) for name in order]
    assert places == sorted(places), reached
    # Reach the stories, the play button and the time slider without a pointer.
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


def test_all_controls_have_names(opened: Opened) -> None:
    small(opened)
    for view in ["A service", "Packet by packet"]:
        opened.page.get_by_role("tab", name=view).click()
        nameless = opened.page.evaluate(
            """() => [...document.querySelectorAll("button, input, select, textarea, canvas, [role]")]
                .filter((element) => element.getClientRects().length)
                .filter((e) => !(e.labels?.length || e.ariaLabel || e.getAttribute("aria-labelledby") || e.textContent.trim()
                    || e.getAttribute("role") === "status"))
                .map((element) => element.outerHTML)"""
        )
        assert nameless == []


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_phone_page_fits_the_screen(browser: Browser, url: str, pictures: Path, scheme: str) -> None:
    view = Opened(browser, pictures, viewport=PHONE, color_scheme=scheme, has_touch=True, reduced_motion="reduce")
    view.page.goto(url)
    small(view)
    wide = "() => document.documentElement.scrollWidth"
    assert view.page.evaluate(wide) <= PHONE["width"]
    view.picture(f"phone-{scheme}")
    story(view, "d3-fig01", "slack", "d3")
    to(view, 300)
    expect(view.page.locator("#port-text")).to_contain_text("packets")
    assert view.page.evaluate(wide) <= PHONE["width"]
    view.picture(f"phone-story-{scheme}")
    assert view.said == []
    view.context.close()


def box(view: Opened, selector: str) -> FloatRect:
    """Returns the bounding box of a visible element."""
    found = view.page.locator(selector).bounding_box()
    assert found is not None, selector
    return found


def test_answer_is_above_the_fold(browser: Browser, url: str, pictures: Path) -> None:
    """On a phone, the answer, all transports and the best possible come first; a desktop has controls at the side."""
    for name, screen in [("phone", PHONE), ("desk", {"width": 1280, "height": 800})]:
        view = Opened(browser, pictures, viewport=screen)
        view.page.goto(url)
        expect(view.page.locator("#bars li")).to_have_count(5, timeout=LONG)
        answer, best, scale, controls = (box(view, at) for at in ["#answer", "#bars .best", "#scale", "#controls"])
        assert 0 < answer["y"] < best["y"] < scale["y"] + scale["height"] <= screen["height"]
        if name == "phone":
            assert controls["y"] > scale["y"], "the controls are below the results"
        else:
            assert controls["x"] + controls["width"] < best["x"] and controls["y"] < best["y"], "the controls are at the side"
        view.picture(f"fold-{name}", whole=False)
        assert view.said == []
        view.context.close()


def test_dark_page_on_a_desktop(browser: Browser, url: str, pictures: Path) -> None:
    view = Opened(browser, pictures, color_scheme="dark")
    view.page.goto(url)
    small(view)
    view.picture("dark")
    story(view, "d3-fig01", "slack", "dctcp")
    to(view, 200)
    expect(view.page.locator("#port-text")).to_contain_text("packets")
    view.picture("dark-story")
    assert view.said == []
    view.context.close()
