"""The code in the documents runs."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize("document", ["docs/python.md", "python/README.md"])
def test_its_code_runs(document: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    shutil.copytree(ROOT / "scenarios", tmp_path / "scenarios")
    shutil.copy(ROOT / "scenarios" / "feature-store.toml", tmp_path)
    monkeypatch.chdir(tmp_path)
    text = (ROOT / document).read_text(encoding="utf-8")
    blocks = [part.split("```")[0] for part in text.split("```python\n")[1:]]
    assert blocks
    # The blocks of a document are one session.
    names: dict[str, Any] = {}
    for number, block in enumerate(blocks):
        exec(compile(block, f"{document}, block {number}", "exec"), names)
