"""Entry point of ``python -m duetime``, the command ``duetime``."""

from ._cli import main

main()
