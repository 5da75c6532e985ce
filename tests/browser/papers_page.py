"""Opens the page of a paper campaign in Chromium: all figures must be drawn within the screen, and all text be readable.

    papers_page.py BROWSER PAGE.html
"""

from __future__ import annotations

import sys
from pathlib import Path

from playwright.sync_api import sync_playwright
from report_page import LETTERS, WIDTHS

# Returns the number of figures within the screen that have contents between the axes.
DRAWN = """() => [...document.querySelectorAll("figure svg")].filter((svg) => {
  const box = svg.getBoundingClientRect();
  return box.width > 100 && box.height > 100 && box.left >= 0 && box.right <= innerWidth + 0.5
    && svg.querySelectorAll("path[stroke], path[fill], rect[fill]").length > 0;
}).length"""


def main() -> None:
    browser_path, path = sys.argv[1:]
    figures = Path(path).read_text(encoding="utf-8").count("<svg")
    assert figures > 0, "no figures"
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=browser_path, args=["--no-sandbox", "--disable-gpu"])
        for width in WIDTHS:
            page = browser.new_page(viewport={"width": width, "height": 900})
            console: list[str] = []
            requests: list[str] = []
            page.on("console", lambda message: console.append(message.text))
            page.on("pageerror", lambda error: console.append(str(error)))
            page.on("request", lambda request: requests.append(request.url))
            page.goto(Path(path).resolve().as_uri())
            drawn = page.evaluate(DRAWN)
            wide = page.evaluate("document.documentElement.scrollWidth")
            letters = page.evaluate(LETTERS)
            print(f"{width} px: {drawn} of {figures} figures, {wide} px wide, letters from {min(letters):.1f} px")
            assert drawn == figures, "figures are missing"
            assert wide <= width, "the page is wider than the screen"
            assert min(letters) >= 11, f"letters of {letters} px"
            assert console == [], console
            assert [url for url in requests if not url.startswith("file:")] == [], requests
        browser.close()


if __name__ == "__main__":
    main()
