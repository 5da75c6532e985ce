"""The code in the documents runs."""

from __future__ import annotations

import shutil
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]
ENGINES = {"Ray(": "ray", "Dask(": "distributed", "Slurm(": "submitit"}
"""What a block needs that names an engine; script/cluster runs them all."""


@pytest.mark.parametrize("document", ["docs/python.md", "docs/sweeps.md", "python/README.md"])
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
        needed = [module for name, module in ENGINES.items() if name in block]
        if any(find_spec(module) is None for module in needed):
            continue
        exec(compile(block, f"{document}, block {number}", "exec"), names)
