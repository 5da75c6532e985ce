"""Sphinx configuration of the site, with MyST and Furo.

``script/site`` builds the site from the sources that ``check/site_pages.py`` prepares.
"""

from __future__ import annotations

import os
import tomllib
from pathlib import Path
from typing import TYPE_CHECKING

from pygments.lexers.special import TextLexer  # type: ignore[import-untyped]  # it has no types

if TYPE_CHECKING:
    from sphinx.application import Sphinx

ROOT = Path(__file__).resolve().parents[1]
_WORKSPACE = tomllib.loads((ROOT / "Cargo.toml").read_text(encoding="utf-8"))["workspace"]["package"]

project = "Duetime"
author = "The authors of Duetime"
copyright = "The authors of Duetime"  # noqa: A001, Sphinx wants this name
version = release = _WORKSPACE["version"]
language = "en"

extensions = ["myst_nb", "sphinx.ext.autodoc"]
templates_path: list[str] = []
html_static_path = ["_static"]
html_css_files = ["site.css"]

html_theme = "furo"
html_title = "Duetime"
html_copy_source = False
html_show_sourcelink = False
html_theme_options = {
    "source_repository": _WORKSPACE["repository"],
    "source_branch": "main",
    "source_directory": "docs/",
    "top_of_page_buttons": [],
    "footer_icons": [],
}

myst_enable_extensions = ["dollarmath", "deflist", "colon_fence"]
# Anchors like GitHub's.
myst_heading_anchors = 4

pygments_style = "friendly"
pygments_dark_style = "monokai"

autodoc_typehints = "description"
autodoc_typehints_description_target = "documented_params"
autodoc_member_order = "bysource"
autodoc_preserve_defaults = True
add_module_names = False
python_use_unqualified_type_names = True
maximum_signature_line_length = 80
# The site is built without a network, so references to other projects cannot be resolved.
nitpick_ignore_regex = [
    ("py:.*", r"(pandas|polars|pyarrow|xarray|concurrent|matplotlib|pathlib|os|collections|typing|datetime)\..*"),
    ("py:.*", r"(pandas|polars|pyarrow|matplotlib|Path|StrPath|Mapping|Iterable|Callable|Duration|Value|Progress|TableName)(\..*)?"),
    ("py:.*", r"duetime\._.*"),
]

# `site_pages.py lay-out` already checks links to files of the repository.
linkcheck_ignore = [rf"{_WORKSPACE['repository']}(/.*)?$"]

nb_execution_mode = "cache"
nb_execution_cache_path = os.environ.get("DUETIME_NOTEBOOK_CACHE", "")
nb_execution_raise_on_error = True
nb_execution_timeout = 600
nb_merge_streams = True


def setup(app: Sphinx) -> None:
    """Register a lexer for CSV, which Pygments lacks."""
    app.add_lexer("csv", TextLexer)
