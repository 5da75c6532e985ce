"""Fixtures of the playground tests: the command, the browser and the page."""

import re
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from opened import Opened
from playwright.sync_api import Browser, sync_playwright

QUIET = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--no-first-run",
]


def pytest_addoption(parser: pytest.Parser) -> None:
    """Adds the options for programs and folders."""
    parser.addoption("--duetime", help="the command `duetime`, built with the playground")
    parser.addoption("--browser", help="path of the browser")
    parser.addoption("--pictures", help="folder for screenshots")
    parser.addoption("--native", default=None, help="the optimised example `call` of crates/web")


@pytest.fixture(scope="session")
def duetime(request: pytest.FixtureRequest) -> str:
    """Path of the command."""
    return str(request.config.getoption("--duetime"))


@pytest.fixture(scope="session")
def url(duetime: str) -> Iterator[str]:
    """Address of the page, served by the command, which must end without an error within a second of Ctrl-C."""
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
    """The browser, shared by all tests."""
    with sync_playwright() as driver:
        path = request.config.getoption("--browser")
        started = driver.chromium.launch(executable_path=path, headless=True, args=QUIET)
        yield started
        started.close()


@pytest.fixture
def pictures(request: pytest.FixtureRequest) -> Path:
    """Folder of the screenshots."""
    return Path(str(request.config.getoption("--pictures")))


@pytest.fixture
def opened(browser: Browser, pictures: Path, url: str) -> Iterator[Opened]:
    """A page in a desktop window, whose console must stay empty."""
    view = Opened(browser, pictures)
    view.page.goto(url)
    yield view
    assert view.said == []
    view.context.close()
