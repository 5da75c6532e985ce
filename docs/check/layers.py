"""Compares the table of layers in ARCHITECTURE.md with the dependencies that `cargo metadata` prints.

Fails if a crate is missing in the table, uses a crate that its row does not list or that is not below it, has no description,
does not inherit the workspace's lints, or has its own `clippy.toml` although it builds for wasm32. Dependencies of tests and
examples are ignored.

cargo-deny's `wrappers` can restrict who uses a crate, but only in a second copy of the table, the other way round.
"""

import json
import re
import subprocess
import sys
import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
ROW = re.compile(r"^\| (\d+) \| `(\w+)` \| .* \| ([^|]*) \| (yes|no) \|$", re.MULTILINE)


def wrong() -> list[str]:
    """Return the errors."""
    table = ROW.findall((ROOT / "ARCHITECTURE.md").read_text(encoding="utf-8"))
    layers = {name: int(layer) for layer, name, _, _ in table}
    command = ["cargo", "metadata", "--format-version", "1", "--locked", "--no-deps"]
    packages = json.loads(subprocess.run(command, cwd=ROOT, stdout=subprocess.PIPE, check=True).stdout)["packages"]
    folders = [(Path(package["manifest_path"]).parent, package) for package in packages]
    crates = {folder.name: package for folder, package in folders if folder.parent == ROOT / "crates"}
    if sorted(crates) != sorted(name for _, name, _, _ in table):
        return [f"ARCHITECTURE.md: the table and crates/ differ in {sorted(set(crates) ^ set(layers)) or 'a repeated row'}"]
    errors = []
    for layer, name, row, wasm32 in table:
        dependencies = [used for used in crates[name]["dependencies"] if used["kind"] != "dev"]
        uses = {used["name"].removeprefix("duetime-") for used in dependencies if used["name"].startswith("duetime-")}
        allowed = set(re.findall(r"`(\w+)`", row))
        errors += [f"{name} uses {used}, which its row does not list" for used in uses - allowed]
        errors += [f"{name} may use {used}, which is not below layer {layer}" for used in allowed if layers.get(used, 99) >= int(layer)]
        manifest = tomllib.loads(Path(crates[name]["manifest_path"]).read_text(encoding="utf-8"))
        if not crates[name]["description"] or manifest.get("lints") != {"workspace": True}:
            errors.append(f"{name}: the manifest needs `description` and `[lints] workspace = true`")
        # Clippy reads the nearest file: crates for wasm32 use the common one.
        if (ROOT / "crates" / name / "clippy.toml").exists() == (wasm32 == "yes"):
            errors.append(f"{name}: only crates that do not build for wasm32 have a clippy.toml")
    return errors


if __name__ == "__main__":
    sys.exit("\n".join(wrong()) or None)
