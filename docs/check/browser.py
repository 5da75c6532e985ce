"""Opens every page of the built site in Chromium, from the file system.

    browser.py FOLDER

Fails if a page writes an error to the console, loads anything from a network, or is wider than a phone of 390 pixels.
"""

from __future__ import annotations

import sys
from pathlib import Path

from playwright.sync_api import sync_playwright

WIDTH = 390
"""Width of a phone, in CSS pixels."""


def main() -> int:
    """Check all pages and return the exit code."""
    folder = Path(sys.argv[1]).resolve()
    pages = sorted(folder.rglob("*.html"))
    wrong: list[str] = []
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path="/usr/bin/chromium", args=["--no-sandbox", "--disable-gpu"])
        page = browser.new_page(viewport={"width": WIDTH, "height": 844})
        page.on("console", lambda message: wrong.append(f"{page.url}: {message.text}") if message.type == "error" else None)
        page.on("pageerror", lambda error: wrong.append(f"{page.url}: {error}"))
        page.on("request", lambda asked: None if local(asked.url) else wrong.append(f"{page.url}: loads {asked.url}"))
        for path in pages:
            page.goto(path.as_uri())
            wide = page.evaluate("document.documentElement.scrollWidth")
            if wide > WIDTH:
                wrong.append(f"{path.relative_to(folder)}: {wide} pixels wide on a phone of {WIDTH}")
        browser.close()
    for line in wrong:
        print(line)
    print(f"{len(pages)} pages opened at {WIDTH} pixels")
    return 1 if wrong else 0


def local(url: str) -> bool:
    """Return true if the URL needs no network."""
    return url.startswith(("file:", "data:", "about:", "blob:"))


if __name__ == "__main__":
    sys.exit(main())
