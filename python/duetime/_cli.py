"""The command ``duetime`` that the wheel installs."""

import sys

from . import _native


def main() -> None:
    """Run the command with this process's arguments and exit with its exit code."""
    sys.stdout.flush()
    sys.stderr.flush()
    sys.exit(_native.cli(["duetime", *sys.argv[1:]]))
