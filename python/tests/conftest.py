"""Fixtures with small scenarios."""

from __future__ import annotations

import shutil
import sysconfig
from collections.abc import Iterator

import pytest

import duetime

from samples import LONG, SERVICE, STAR


@pytest.fixture
def star() -> duetime.Scenario:
    """Bursts of eight flows to one host."""
    return duetime.Scenario.from_toml(STAR)


@pytest.fixture
def service() -> duetime.Scenario:
    """Queries to five leaves each."""
    return duetime.Scenario.from_toml(SERVICE)


@pytest.fixture
def long() -> duetime.Scenario:
    """A scenario that would run much longer than a test waits."""
    return duetime.Scenario.from_toml(LONG)


@pytest.fixture(scope="session")
def command() -> str:
    """Path of the command that the wheel installs."""
    found = shutil.which("duetime", path=sysconfig.get_path("scripts"))
    assert found is not None, "the wheel installs no command"
    return found


@pytest.fixture
def url() -> Iterator[str]:
    """URL of an empty folder on in-memory storage."""
    fsspec = pytest.importorskip("fsspec")
    memory = fsspec.filesystem("memory")
    memory.store.clear()
    yield "memory://bucket/sweep"
    memory.store.clear()
