"""The command that the wheel installs."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import duetime

from samples import STAR


def test_command_matches_binary(command: str, tmp_path: Path) -> None:
    def run(*arguments: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run([command, *arguments], cwd=tmp_path, capture_output=True, text=True)

    assert run("--version").stdout == f"duetime {duetime.__version__}\n"
    assert run("--help").returncode == 0
    wrong = run("run", "no-such-file.toml")
    assert wrong.returncode == 2 and "no-such-file.toml" in wrong.stderr
    assert run("no-such-command").returncode == 2
    (tmp_path / "star.toml").write_text(STAR, encoding="utf-8")
    assert "burst" in run("workload", "star.toml").stdout
    # The reader of its output may close the pipe.
    short = f"{command} schema | head -c 1"
    left = subprocess.run(["bash", "-o", "pipefail", "-c", short], capture_output=True, text=True)
    assert (left.stdout, left.stderr) == ("{", "")
    as_module = [sys.executable, "-m", "duetime", "--version"]
    of_module = subprocess.run(as_module, cwd=tmp_path, capture_output=True, text=True)
    assert of_module.stdout == f"duetime {duetime.__version__}\n"


def test_large_networks_read_standard_input(command: str, tmp_path: Path) -> None:
    text = STAR.replace("hosts = 11", "hosts = 2100").replace("seeds = 2", "seeds = 1")
    flags = ["run", "-", "--transport", "d3", "--quiet", "--no-report", "--out"]
    for out, program in (("command", [command]), ("module", [sys.executable, "-m", "duetime"])):
        arguments = [*program, *flags, out]
        done = subprocess.run(arguments, cwd=tmp_path, input=text, capture_output=True, text=True)
        assert (done.returncode, done.stderr) == (0, "")
        assert len(duetime.load(tmp_path / out).digests) == 1
