"""The command ``duetime`` that the wheel installs."""

import sys

from . import _native


def main() -> None:
    """Does what the arguments of this process ask for, and ends it with the exit code of the command."""
    sys.stdout.flush()
    sys.stderr.flush()
    sys.exit(_native.cli(["duetime", *sys.argv[1:]]))
