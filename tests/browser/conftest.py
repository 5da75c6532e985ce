"""What the tests of the pages are told on the command line."""

import pytest


def pytest_addoption(parser: pytest.Parser) -> None:
    """Programs and places, as paths."""
    parser.addoption("--duetime", help="the command duetime, with the playground in it")
    parser.addoption("--browser", help="the browser")
    parser.addoption("--pictures", help="folder for screenshots")
    parser.addoption("--native", default=None, help="the example `call` of crates/web, with optimisation")
