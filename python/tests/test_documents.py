"""Code blocks of the documents run."""

from __future__ import annotations

import shutil
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]
ENGINES = {"Ray(": "ray", "Dask(": "distributed", "Slurm(": "submitit"}
"""Module required by a block that names an engine; script/python --cluster runs all of these blocks."""


def blocks_of(document: str) -> list[str]:
    """Return the Python blocks of a document."""
    text = (ROOT / document).read_text(encoding="utf-8")
    return [part.split("```")[0] for part in text.split("```python\n")[1:]]


def test_readme_example_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    (block,) = blocks_of("README.md")
    assert blocks_of("python/README.md") == [block]
    assert len(block.splitlines()) == 5
    names: dict[str, Any] = {}
    exec(compile(block, "README.md", "exec"), names)
    shown = capsys.readouterr().out
    assert "dctcp" in shown and "met" in shown
    queries = names["result"].queries.to_pandas()
    met = queries.groupby("transport")["met"].mean()
    summary = {row["transport"]: row["objective"]["in_time"]["value"] for row in names["result"].summary.queries}
    assert met.to_dict() == pytest.approx(summary)
    # Unmeasured queries in the scenario would change the mean.
    assert len(queries) < len(names["result"].table("queries", all=True))
    assert [path.name for path in tmp_path.iterdir()] == ["budget.pdf"]


@pytest.mark.parametrize("document", ["docs/python.md", "docs/sweeps.md"])
def test_document_code_runs(document: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    shutil.copytree(ROOT / "scenarios", tmp_path / "scenarios")
    monkeypatch.chdir(tmp_path)
    blocks = blocks_of(document)
    assert blocks
    # All blocks of a document share one session.
    names: dict[str, Any] = {}
    for number, block in enumerate(blocks):
        needed = [module for name, module in ENGINES.items() if name in block]
        if any(find_spec(module) is None for module in needed):
            continue
        exec(compile(block, f"{document}, block {number}", "exec"), names)
