"""Key paths for editor completion match the schema."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import duetime
from duetime import _native

FILE = Path(__file__).parents[1] / "duetime" / "_keys.py"
HEAD = '''"""Key paths of scenarios, for editor completion. Generated from the schema by UPDATE=1 script/python."""

from typing import Literal, TypeAlias

KnownKey: TypeAlias = Literal[
'''


def tables(schema: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the table schemas that a value, or an item of a list, may have."""
    found = [schema] if "properties" in schema else []
    for choice in schema.get("anyOf", []):
        found += tables(choice)
    if "items" in schema:
        found += tables(schema["items"])
    return found


def paths(table: dict[str, Any], prefix: str) -> set[str]:
    """Return all key paths below a table."""
    found = set()
    for name, value in table["properties"].items():
        below = tables(value)
        # A workload cannot be set as a whole.
        if name not in ("workload", "variant"):
            found.add(prefix + name)
        for one in below:
            found |= paths(one, f"{prefix}{name}.")
    return found


def test_keys_match_schema() -> None:
    keys = sorted(paths(json.loads(_native.schema()), ""))
    assert "workload.fan_in" in keys and "switch.buffer" in keys and "seeds" in keys
    text = HEAD + "".join(f'    "{key}",\n' for key in keys) + "]\n\"\"\"Key path of a scenario.\"\"\"\n"
    if os.environ.get("UPDATE"):
        FILE.write_text(text, encoding="utf-8")
    assert FILE.read_text(encoding="utf-8") == text, "UPDATE=1 script/python"


def test_set_accepts_every_key(star: duetime.Scenario) -> None:
    # Only unknown keys have this reason; wrong values have another one.
    try:
        star.set("topology.hots", "nothing")
    except duetime.ScenarioError as error:
        assert "unknown key" in error.reason and error.help is not None
    else:
        raise AssertionError("a key that does not exist was set")
