"""Unknown key paths are refused."""

from __future__ import annotations

import duetime


def test_set_refuses_unknown_keys(star: duetime.Scenario) -> None:
    # Only unknown keys have this reason; wrong values have another one.
    try:
        star.set("topology.hots", "nothing")
    except duetime.ScenarioError as error:
        assert "unknown key" in error.reason and error.help is not None
    else:
        raise AssertionError("a key that does not exist was set")
