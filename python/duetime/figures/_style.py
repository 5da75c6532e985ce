"""Style of figures: journal sizes, fonts, and the colours that Duetime's reports use for the transports."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from functools import cache
from io import BytesIO
from typing import Any, Literal, TypeAlias

import matplotlib
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.font_manager import FontProperties, fontManager
from matplotlib.transforms import ScaledTranslation, Transform

from .. import _native

Style: TypeAlias = Literal["sans", "serif"]
"""Font family of a figure's text."""

Width: TypeAlias = Literal["column", "page"] | float
"""Width of a figure: a journal's column (3.5 in), its page (7 in), or a number of inches."""

COLUMN_IN = 3.5
PAGE_IN = 7.0
PANEL_IN = 2.3
"""Height of a panel, in inches."""
TEXT_COLOUR = "#222222"
GUIDE_COLOUR = "#444444"
LATE_COLOUR = "#f1f1f1"
"""Background of the late side."""
BAND_ALPHA = 0.18

# The first installed font is used; matplotlib includes the last one.
_FONTS: dict[Style, list[str]] = {
    "sans": ["Arial", "Helvetica", "Liberation Sans", "DejaVu Sans"],
    "serif": ["Times New Roman", "Times", "Liberation Serif", "STIXGeneral"],
}
_MARKERS = {"circle": "o", "square": "s", "diamond": "D", "triangle": "^"}
# Marker sizes in points, chosen for equal visual area.
_SIZES = {"circle": 4.2, "square": 3.9, "diamond": 3.7, "triangle": 4.6}


@dataclass(frozen=True)
class Look:
    """Style of a transport's series in every figure."""

    transport: str
    """Name of the transport in the scenario."""
    label: str
    """Display name."""
    colour: str
    """Colour as ``#rrggbb``."""
    marker: str
    """Marker in matplotlib's notation."""
    size: float
    """Size of the marker, in points."""
    dashes: tuple[float, ...]
    """Lengths of dashes and gaps, in points; empty for a solid line."""

    @property
    def line(self) -> dict[str, Any]:
        """Arguments of ``Axes.plot`` for lines."""
        style: Any = (0, self.dashes) if self.dashes else "-"
        return {"color": self.colour, "linestyle": style, "label": self.label}

    @property
    def dot(self) -> dict[str, Any]:
        """Arguments of ``Axes.errorbar`` for points with intervals."""
        return {
            "color": self.colour,
            "marker": self.marker,
            "markersize": self.size,
            "elinewidth": 0.9,
            "capsize": 1.8,
            "capthick": 0.9,
        }


def looks(transports: Sequence[str]) -> list[Look]:
    """Return the styles of these transports in one figure."""
    found = _native.looks(list(transports))
    return [
        Look(name, label, colour, _MARKERS[marker], _SIZES[marker], tuple(length / 2 for length in strokes))
        for name, (label, colour, marker, strokes) in zip(transports, found)
    ]


class JournalFigure(Figure):
    """Figure that keeps its style until it is drawn or saved.

    PDF and PostScript files have embedded fonts; SVG files have outlines. Notebooks show the figure once, with or without
    pyplot.
    """

    style_of_files: dict[str, Any] = {}

    def draw(self, renderer: Any) -> None:
        """Draw the figure in its style."""
        with _rc(self.style_of_files):
            super().draw(renderer)

    def savefig(self, fname: Any, **options: Any) -> None:
        """Save the figure like ``matplotlib.figure.Figure.savefig``; the default resolution is 300 dpi."""
        with _rc(self.style_of_files):
            super().savefig(fname, **{"dpi": 300, **options})

    def _repr_png_(self) -> tuple[bytes, dict[str, int]]:
        to = BytesIO()
        self.savefig(to, format="png", dpi=220)
        wide, high = self.get_size_inches()
        return to.getvalue(), {"width": round(wide * 110), "height": round(high * 110)}


def _rc(values: Any) -> AbstractContextManager[None]:
    return matplotlib.rc_context(values)


@contextmanager
def drawing(
    ax: Axes | None,
    panels: int,
    *,
    style: Style,
    width: Width | None,
    share: bool = False,
    panel_height: float = PANEL_IN,
) -> Iterator[tuple[Figure, list[Axes]]]:
    """Provide a new figure with one pair of axes per panel, or the figure of ``ax`` in its existing style."""
    if ax is not None:
        if panels > 1:
            raise ValueError(f"ax: one pair of axes is too few for {panels} panels; choose a workload")
        figure = ax.get_figure(root=True)
        if figure is None:
            raise ValueError("ax: the axes have no figure")
        yield figure, [ax]
        return
    inches = _inches(width, panels)
    down = math.ceil(panels / max(1, math.floor(inches / 2.2)))
    across = math.ceil(panels / down)
    chosen = _rc_of(style)
    with _rc(chosen):
        # The extra height is for the legend below the panels.
        new = JournalFigure(figsize=(inches, panel_height * down + 0.3), layout="constrained")
        new.style_of_files = chosen
        grid = new.subplots(down, across, squeeze=False, sharex=share, sharey=share)
        places: list[Axes] = list(grid.flat)
        for spare in places[panels:]:
            spare.remove()
        places = places[:panels]
        for place in places:
            place.grid(True)
        yield new, places
        for index, place in enumerate(places):
            _label_outside(place, places[0], left=index % across == 0, below=index + across >= panels, share=share)


def _label_outside(ax: Axes, first: Axes, *, left: bool, below: bool, share: bool) -> None:
    """Keep labels only left of each row and, if panels share their axes, below each column."""
    if left:
        ax.set_ylabel(ax.get_ylabel() or first.get_ylabel())
    if share:
        ax.tick_params(labelleft=left, labelbottom=below)
        if not below:
            ax.set_xlabel("")


def legend(figure: Figure, axes: Sequence[Axes], *, title: str | None = None) -> None:
    """Add a legend: below the panels of a :class:`JournalFigure`, or within the user's own axes."""
    by_label: dict[str, Any] = {}
    for ax in axes:
        handles, labels = ax.get_legend_handles_labels()
        for handle, label in zip(handles, labels):
            by_label.setdefault(label, handle)
    handles, labels = list(by_label.values()), list(by_label)
    if not isinstance(figure, JournalFigure):
        axes[0].legend(handles, labels, title=title)
        return
    # Use as many columns as fit: a character takes about 0.052 in, the line sample with its space 0.3 in.
    one = 0.3 + 0.052 * max(len(label) for label in labels)
    across = max(1, min(len(labels), int(figure.get_figwidth() / one)))
    lines = math.ceil(len(labels) / across) + (title is not None)
    figure.set_figheight(figure.get_figheight() + 0.14 * (lines - 1))
    figure.legend(handles, labels, title=title, loc="outside lower center", ncols=across, columnspacing=1.0)


def widths(count: int) -> list[float]:
    """Return line widths in points, decreasing so that lines below others stay visible where they coincide."""
    return [1.0 + 0.3 * (count - 1 - index) for index in range(count)]


def _inches(width: Width | None, panels: int) -> float:
    if width is None:
        width = "column" if panels == 1 else "page"
    if width == "column":
        return COLUMN_IN
    if width == "page":
        return PAGE_IN
    if isinstance(width, str) or not (math.isfinite(width) and 1 <= width <= 50):
        raise ValueError(f"width={width!r}: must be \"column\", \"page\" or 1 to 50 inches")
    return float(width)


@cache
def _font(style: Style) -> str:
    installed = {entry.name for entry in fontManager.ttflist}
    return next((name for name in _FONTS[style] if name in installed), _FONTS[style][-1])


def _rc_of(style: Style) -> dict[str, Any]:
    if style not in _FONTS:
        raise ValueError(f"style={style!r}: must be \"sans\" or \"serif\"")
    return {
        "font.family": [_font(style)],
        "mathtext.fontset": "stix" if style == "serif" else "stixsans",
        "font.size": 8,
        "text.color": TEXT_COLOUR,
        "axes.labelsize": 8,
        "axes.titlesize": 8,
        "axes.titlelocation": "left",
        "axes.labelcolor": TEXT_COLOUR,
        "axes.edgecolor": TEXT_COLOUR,
        "axes.linewidth": 0.6,
        "axes.spines.top": False,
        "axes.spines.right": False,
        "axes.axisbelow": True,
        "xtick.labelsize": 7,
        "ytick.labelsize": 7,
        "xtick.color": TEXT_COLOUR,
        "ytick.color": TEXT_COLOUR,
        "xtick.major.width": 0.6,
        "ytick.major.width": 0.6,
        "xtick.major.size": 3,
        "ytick.major.size": 3,
        "xtick.minor.width": 0.4,
        "ytick.minor.width": 0.4,
        "xtick.minor.size": 1.6,
        "ytick.minor.size": 1.6,
        "grid.color": "#dddddd",
        "grid.linewidth": 0.4,
        "lines.linewidth": 1.2,
        "legend.fontsize": 7,
        "legend.title_fontsize": 7,
        "legend.frameon": False,
        "legend.handlelength": 1.4,
        "legend.borderaxespad": 0.3,
        "legend.labelspacing": 0.3,
        "figure.dpi": 110,
        "pdf.fonttype": 42,
        "ps.fonttype": 42,
        "svg.fonttype": "path",
    }


def small() -> FontProperties:
    """Return the font of notes within a panel."""
    size = float(FontProperties(size=matplotlib.rcParams["font.size"]).get_size_in_points())
    return FontProperties(family=matplotlib.rcParams["font.family"], size=0.875 * size)


def offset_transform(ax: Axes, index: int, count: int) -> Transform:
    """Return data coordinates shifted by a few points, so that intervals at the same value do not overlap."""
    figure = ax.get_figure(root=True)
    assert figure is not None
    points = (index - (count - 1) / 2) * 3.2
    return ax.transData + ScaledTranslation(points / 72, 0, figure.dpi_scale_trans)
