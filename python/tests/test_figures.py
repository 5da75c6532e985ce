"""Figures match the tables and the summary, with labels and units."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy
import polars
import pytest
from matplotlib.axes import Axes
from matplotlib.container import ErrorbarContainer
from matplotlib.figure import Figure

import duetime
from duetime import FigureError, Result, Scenario, figures

from samples import SERVICE, STAR

TIGHT = SERVICE.replace('objective = { within = "5 ms"', 'objective = { within = "1100 us"')
ALL: list[Callable[..., Figure]] = [
    figures.in_time,
    figures.budget,
    figures.completion_times,
    figures.slack,
    figures.deadlines,
    figures.queues,
    figures.throughput,
]


@pytest.fixture(scope="module")
def result(tmp_path_factory: pytest.TempPathFactory) -> Result:
    """A result with some late queries and sampled links."""
    scenario = Scenario.from_toml(TIGHT).with_({"record.every": "100 us", "workload.load": 0.5})
    return duetime.run(scenario, seeds=5, out=tmp_path_factory.mktemp("figures") / "out", report=False)


@pytest.fixture(scope="module")
def swept(tmp_path_factory: pytest.TempPathFactory) -> Result:
    """A sweep over the fan-in and the buffer."""
    folder = tmp_path_factory.mktemp("sweep")
    (folder / "service.toml").write_text(TIGHT, encoding="utf-8")
    vary = ["--vary", "workload.fan_in=2,5,8", "--vary", "switch.buffer=100 KB,1 MB", "--seeds", "4", "--quiet"]
    command = [sys.executable, "-m", "duetime", "sweep", "service.toml", "--out", "out", *vary]
    subprocess.run(command, cwd=folder, check=True, capture_output=True)
    return duetime.load(folder / "out")


def intervals(ax: Axes) -> dict[str, list[tuple[float, float, float]]]:
    """Return the drawn values with both ends of their intervals, by colour, from the axis that has them."""
    found: dict[str, list[tuple[float, float, float]]] = {}
    for container in ax.containers:
        assert isinstance(container, ErrorbarContainer)
        line = container.lines[0]
        assert line is not None
        colour = str(line.get_color())
        sideways = container.has_xerr
        at = numpy.asarray(line.get_xdata() if sideways else line.get_ydata(), dtype=float)
        ends = [(value, value) for value in at]
        if container.lines[2]:
            segments = container.lines[2][0].get_segments()
            ends = [tuple(segment[:, 0 if sideways else 1]) for segment in segments]
        found.setdefault(colour, []).extend((value, *end) for value, end in zip(at, ends))
    return found


def title(ax: Axes) -> str:
    """Return the title of a panel."""
    return ax.get_title(loc="left")


def estimate(reported: Any) -> tuple[float, float, float]:
    """Return value and both ends of an estimate in JSON."""
    interval = reported["interval"] or {"low": reported["value"], "high": reported["value"]}
    return reported["value"], interval["low"], interval["high"]


COLOURS = {"dctcp": "#d55e00", "d3": "#009e73"}


def test_in_time_matches_summary(result: Result) -> None:
    figure = figures.in_time(result)
    ax = figure.axes[0]
    assert ax.get_xlabel() == "Queries in time (%)"
    drawn = intervals(ax)
    for row in result.summary.queries:
        assert drawn[COLOURS[row["transport"]]][0] == pytest.approx(estimate(row["objective"]["in_time"]))
    assert [label.get_text() for label in ax.get_yticklabels()] == ["DCTCP", "D3", "no transport\ncan do better"]


def test_budget_curves_match_table(result: Result) -> None:
    figure = figures.budget(result)
    ax = figure.axes[0]
    assert re.fullmatch(r"Time until enough answers \((µs|ms)\)", ax.get_xlabel())
    unit = 1e3 if "µs" in ax.get_xlabel() else 1e6
    queries = result.queries.to_polars()
    drawn = intervals(ax)
    curves = {str(line.get_color()): line for line in ax.lines if str(line.get_label()).startswith(("DCTCP:", "D3:"))}
    for row in result.summary.queries:
        colour = COLOURS[row["transport"]]
        own = queries.filter(polars.col("transport") == row["transport"])
        took = own["enough_ns"].drop_nulls().to_numpy() / unit
        x, y = (numpy.asarray(axis, dtype=float) for axis in curves[colour].get_data())
        for at in numpy.quantile(took, [0.1, 0.5, 0.9]):
            drawn_share = y[numpy.searchsorted(x, at, side="right") - 1]
            assert drawn_share == pytest.approx(float((took > at).sum()) / len(own))
        value, low, high = estimate(row["objective"]["in_time"])
        if value < 1:
            assert drawn[colour][0] == pytest.approx((1 - value, 1 - high, 1 - low))
            # At the budget, the curve equals the share of late queries.
            at_budget = y[numpy.searchsorted(x, 1.1e6 / unit, side="right") - 1]
            assert at_budget == pytest.approx(1 - value)
    assert any(row["objective"]["in_time"]["value"] < 1 for row in result.summary.queries)
    assert "budget" in {text.get_text().split(" ")[0] for text in ax.texts}


@pytest.mark.parametrize("kind", ["queries", "flows"])
def test_completion_curves_pass_percentiles(result: Result, kind: Any) -> None:
    figure = figures.completion_times(result, kind)
    rows = result.summary.queries if kind == "queries" else result.summary.rows
    assert len(figure.axes) == len({(row["workload"], row.get("class")) for row in rows})
    for ax in figure.axes:
        unit = {"µs": 1e-6, "ms": 1e-3, "s": 1.0}[ax.get_xlabel().split("(")[1].rstrip(")")]
        drawn = intervals(ax)
        for row in (row for row in rows if kind == "queries" or title(ax).endswith(row["class"])):
            found = [row["completion_s"][name] for name in ("p50", "p90", "p99")]
            reported = [estimate(one) for one in found if one is not None]
            expected = [tuple(value / unit for value in one) for one in reported]
            assert drawn[COLOURS[row["transport"]]] == [pytest.approx(one) for one in expected]
            # The curve covers all runs.
            table = (result.queries if kind == "queries" else result.flows).to_polars()
            own = table.filter(polars.col("transport") == row["transport"])
            if kind == "flows":
                own = own.filter(polars.col("class") == row["class"])
            took = own["enough_ns" if kind == "queries" else "fct_ns"].to_numpy() * 1e-9 / unit
            lines = [line for line in ax.lines if line.get_color() == COLOURS[row["transport"]]]
            x, y = max((line.get_data() for line in lines), key=lambda line: len(numpy.asarray(line[0])))
            middle = numpy.median(took)
            share = numpy.asarray(y, dtype=float)[numpy.searchsorted(x, middle, side="right") - 1]
            assert share == pytest.approx((took <= middle).mean())


def test_slack_crosses_zero_at_missed_share(result: Result) -> None:
    figure = figures.slack(result, flows="response")
    ax = figure.axes[0]
    assert ax.get_xlabel().startswith("Slack (")
    drawn = intervals(ax)
    for row in result.summary.rows:
        if row["deadlines"] is None:
            continue
        reported = estimate(row["deadlines"]["missed"])
        if reported[0] > 0:
            assert drawn[COLOURS[row["transport"]]][0] == pytest.approx(reported)
        else:
            assert COLOURS[row["transport"]] not in drawn


def test_deadlines_draws_every_flow(result: Result) -> None:
    figure = figures.deadlines(result, against="size")
    flows = result.flows.to_polars().filter(polars.col("deadline_ns").is_not_null())
    assert [title(ax).split(":")[0] for ax in figure.axes] == ["DCTCP", "D3"]
    for ax, name in zip(figure.axes, ("dctcp", "d3")):
        points = sum(numpy.asarray(collection.get_offsets()).shape[0] for collection in ax.collections)
        assert points == flows.filter(polars.col("transport") == name).height
        reported = next(row["deadlines"] for row in result.summary.rows if row["transport"] == name and row["deadlines"])
        assert title(ax).endswith(f": {reported['flows'] - reported['met']} of {reported['flows']} late")


def test_series_match_tables(result: Result) -> None:
    table = result.queues.to_polars().filter(polars.col("run") == 0)
    largest = table.sort("queue_bytes", "link", descending=[True, False])["link"][0]
    ax = figures.queues(result).axes[0]
    assert title(ax) == largest and ax.get_ylabel() == "Queue (KB)"
    own = table.filter((polars.col("link") == largest) & (polars.col("transport") == "d3"))
    line = next(line for line in ax.lines if line.get_color() == COLOURS["d3"])
    assert list(numpy.asarray(line.get_ydata())) == pytest.approx(list(own["queue_bytes"] / 1e3))
    ax = figures.throughput(result, largest).axes[0]
    assert ax.get_ylabel() == "Throughput (Gbps)"
    sent = result.throughput.to_polars().filter(
        (polars.col("run") == 0) & (polars.col("link") == largest) & (polars.col("transport") == "d3")
    )
    line = next(line for line in ax.lines if line.get_color() == COLOURS["d3"])
    x, y = (numpy.asarray(axis, dtype=float) for axis in line.get_data())
    unit = {"µs": 1e3, "ms": 1e6}[ax.get_xlabel().split("(")[1].rstrip(")")]
    assert numpy.trapezoid(y, x * unit) / 8 == pytest.approx(sent["sent_bytes"].sum())
    # A packet counts in the interval in which its last bit is sent.
    assert 0 < y.max() <= 1 + 1500 * 8 / 100e3


def test_several_budgets_are_normalized() -> None:
    several = Scenario.from_toml(TIGHT).with_(
        {
            "workload.trees": 4,
            "workload.applications": 2,
            "workload.deadline": ["5 ms", "6 ms"],
            "workload.objective.within": ["1100 us", "3 ms"],
        }
    )
    result = duetime.run(several, "dctcp", 4)
    ax = figures.budget(result).axes[0]
    assert ax.get_xlabel() == "Time until enough answers (budgets)"
    queries = result.queries.to_polars()
    assert queries["budget_ns"].n_unique() == 2
    x, y = (numpy.asarray(axis, dtype=float) for axis in ax.lines[0].get_data())
    late = 1 - result.summary.queries[0]["objective"]["in_time"]["value"]
    assert y[numpy.searchsorted(x, 1.0, side="right") - 1] == pytest.approx(late)


def test_sweep_figure_matches_summary(swept: Result) -> None:
    figure = figures.sweep(swept, "workload.fan_in", "in_time")
    titles = [title(ax) for ax in figure.axes]
    assert sorted(titles) == [f"oldi, switch.buffer = {size}" for size in ("1 MB", "100 KB")]
    assert figure.axes[0].get_xlabel() == "Fan-in" and figure.axes[0].get_ylabel() == "Queries in time (%)"
    for ax in figure.axes:
        assert list(ax.get_xticks()) == [2, 5, 8]
        buffer = title(ax).split("= ")[1]
        for name, colour in COLOURS.items():
            rows = [row for row in swept.summary.queries if row["transport"] == name and buffer in row["point"]]
            line = next(line for line in ax.lines if line.get_color() == colour)
            assert list(numpy.asarray(line.get_xdata())) == [2, 5, 8]
            values = [100 * row["objective"]["in_time"]["value"] for row in rows]
            assert list(numpy.asarray(line.get_ydata())) == pytest.approx(values)
    by_size = figures.sweep(swept, "switch.buffer", "p50", log=True)
    assert len(by_size.axes) == 3 and by_size.axes[0].get_ylabel().endswith("(ms)")
    # Sizes have one unit, the smallest one used.
    assert by_size.axes[-1].get_xlabel() == "Buffer (KB)"
    assert list(numpy.asarray(by_size.axes[0].lines[0].get_xdata())) == [100, 1000]


def test_facets_share_one_scale(swept: Result) -> None:
    figure = figures.sweep(swept, "workload.fan_in", "p50", facet="switch_buffer_kb")
    assert [title(ax) for ax in figure.axes] == ["switch.buffer = 100 KB", "switch.buffer = 1 MB"]
    assert len({ax.get_ylim() for ax in figure.axes}) == 1
    frame = swept.summary.to_polars().filter(kind="queries", metric="completion_p50")
    for ax, buffer in zip(figure.axes, (100, 1000)):
        for name, colour in COLOURS.items():
            line = next(line for line in ax.lines if line.get_color() == colour)
            rows = frame.filter(transport=name, switch_buffer_kb=buffer).sort("workload_fan_in")
            assert list(numpy.asarray(line.get_xdata())) == rows["workload_fan_in"].to_list()
            assert list(numpy.asarray(line.get_ydata())) == pytest.approx((rows["value"] * 1e3).to_list())
    (only,) = figures.sweep(swept, "workload.fan_in", at={"switch_buffer_kb": 1000}).axes
    assert list(numpy.asarray(only.lines[0].get_xdata())) == [2, 5, 8]
    with pytest.raises(FigureError, match="choose another axis"):
        figures.sweep(swept, "workload.fan_in", facet="workload.fan_in")
    with pytest.raises(FigureError, match="no axis"):
        figures.sweep(swept, facet="workload.load")


@pytest.mark.parametrize(("metric", "name", "factor"), [("in_time", "in_time", 100.0), ("p50", "completion_p50", 1e3)])
def test_heatmap_matches_summary(swept: Result, metric: Any, name: str, factor: float) -> None:
    figure = figures.heatmap(swept, "workload.fan_in", "switch_buffer_kb", metric)
    panels = figure.axes[:2]
    assert [title(ax) for ax in panels] == ["DCTCP", "D3"]
    assert panels[1].get_xlabel() == "Fan-in" and panels[0].get_ylabel() == "Buffer (KB)"
    assert figure.axes[-1].get_ylabel() == {"in_time": "Queries in time (%)", "p50": "Query time, median (ms)"}[metric]
    frame = swept.summary.to_polars().filter(kind="queries", metric=name)
    for ax, transport in zip(panels, COLOURS):
        drawn = ax.collections[0].get_array()
        assert drawn is not None
        rows = frame.filter(transport=transport).sort("switch_buffer_kb", "workload_fan_in")
        assert numpy.asarray(drawn).ravel() == pytest.approx(rows["value"].to_numpy() * factor)
        assert [label.get_text() for label in ax.get_xticklabels()] == ["2", "5", "8"]
        texts = [float(text.get_text()) for text in ax.texts]
        assert texts == pytest.approx([float(f"{value:.3g}") for value in rows["value"] * factor])
    assert [label.get_text() for label in panels[0].get_yticklabels()] == ["100", "1000"]
    # All panels share one scale.
    assert panels[0].collections[0].norm is panels[1].collections[0].norm


def test_heatmap_requires_two_axes(swept: Result, star: Scenario) -> None:
    (panel, _) = figures.heatmap(swept, transport="d3").axes
    assert (panel.get_xlabel(), panel.get_ylabel()) == ("Buffer (KB)", "Fan-in")
    with pytest.raises(FigureError, match="two axes"):
        figures.heatmap(swept, "workload.fan_in", "workload.fan_in")
    with pytest.raises(ValueError, match="p98"):
        figures.heatmap(swept, metric="p98")  # type: ignore[arg-type]
    third = duetime.sweep(
        star,
        {"seed": [1, 2], "workload.senders": [2, 3], ("switch.buffer", "workload.size"): [("1 MB", "10 KB"), ("2 MB", "9 KB")]},
        seeds=1,
    )
    with pytest.raises(FigureError, match="seed varies as well"):
        figures.heatmap(third)
    with pytest.raises(FigureError, match="change together"):
        figures.heatmap(third, "switch.buffer", "workload.size", at={"seed": 1})
    # A key that is linked to an axis does not need a separate axis.
    panels = figures.heatmap(third, at={"seed": 1}).axes
    assert panels[0].get_xlabel() == "Buffer (MB)" and len(panels) == 3
    with pytest.raises(FigureError, match="seed varies as well"):
        figures.sweep(third, "switch.buffer", facet="workload.senders")


def test_at_selects_a_point(swept: Result) -> None:
    for draw in (figures.in_time, figures.budget, figures.completion_times, figures.slack, figures.deadlines):
        draw(swept, at={"workload.fan_in": 5, "switch.buffer": "1 MB"})
        with pytest.raises(FigureError, match="workload.fan_in = 2, 5, 8"):
            draw(swept)
        with pytest.raises(FigureError, match="0 points"):
            draw(swept, at={"workload.fan_in": 6})


def test_old_folder_is_drawn_without_runs(result: Result) -> None:
    before = {path: path.stat().st_mtime_ns for path in result.folder.rglob("*")}
    for draw in ALL:
        draw(result.folder)
        draw(str(result.folder), transports="d3", style="serif", width=5)
    assert {path: path.stat().st_mtime_ns for path in result.folder.rglob("*")} == before


def test_files_have_journal_width_and_fonts(result: Result, tmp_path: Path) -> None:
    for draw in ALL:
        figure = draw(result, width="column")
        assert figure.get_figwidth() == 3.5
        figure.savefig(tmp_path / "figure.pdf")
        pdf = (tmp_path / "figure.pdf").read_bytes()
        assert b"/FontFile2" in pdf and b"/Type3" not in pdf
        width = re.search(rb"/MediaBox \[ ?0 0 (\S+) ", pdf)
        assert width is not None and float(width[1]) == pytest.approx(3.5 * 72, abs=1)
        figure.savefig(tmp_path / "figure.svg")
        assert "<text" not in (tmp_path / "figure.svg").read_text()
    assert figures.slack(result, width="page").get_figwidth() == 7


def test_draws_into_given_axes(result: Result) -> None:
    for draw in ALL:
        mine = Figure(figsize=(4, 3))
        ax = mine.subplots()
        options = {"flows": "response"} if draw in (figures.slack, figures.deadlines) else {}
        assert draw(result, ax=ax, **options) is mine
        assert ax.get_xlabel() and ax.has_data()


def test_missing_data_is_reported(star: Scenario, result: Result) -> None:
    plain = duetime.run(star.set("workload.deadline", "10 ms"), seeds=1)
    for draw in ALL[-2:]:
        with pytest.raises(FigureError, match=r"record\.every"):
            draw(plain)
    with pytest.raises(FigureError, match="budget"):
        figures.budget(plain)
    assert figures.in_time(plain).axes[0].get_xlabel() == "Deadlines met (%)"
    with pytest.raises(FigureError, match="not a sweep"):
        figures.sweep(plain)
    none = duetime.run(STAR.replace('deadline = "10 ms"\n', ""), seeds=1)
    without: list[Callable[..., Figure]] = [figures.in_time, figures.slack, figures.deadlines]
    for draw in without:
        with pytest.raises(FigureError, match="deadline"):
            draw(none)
    with pytest.raises(FigureError, match="d4"):
        figures.budget(result, transports="d4")
    with pytest.raises(FigureError, match="nowhere->host1"):
        figures.queues(result, "nowhere->host1")
    with pytest.raises(FigureError, match="0 to 4"):
        figures.queues(result, run=9)
    with pytest.raises(FigureError, match="'other'"):
        figures.budget(result, workload="other")
    with pytest.raises(FigureError, match="0 points"):
        figures.budget(result, at={"workload.fan_in": 5})
    for wrong in ({"width": 0}, {"width": "wide"}, {"style": "bold"}):
        with pytest.raises(ValueError):
            figures.budget(result, **wrong)
    with pytest.raises(duetime.FolderError):
        figures.budget("no-such-folder")


def test_unknown_axis_lists_axes(swept: Result) -> None:
    with pytest.raises(FigureError, match=r"workload\.fan_in, switch\.buffer"):
        figures.sweep(swept, "workload.load")
    with pytest.raises(FigureError, match="goodput"):
        figures.sweep(swept, y="goodput")
    with pytest.raises(ValueError, match="p98"):
        figures.sweep(swept, y="p98")  # type: ignore[arg-type]


def test_figure_has_png_view(result: Result) -> None:
    shown: Any = figures.budget(result)
    pixels, size = shown._repr_png_()
    assert pixels.startswith(b"\x89PNG") and size["width"] == 385


def test_package_imports_without_matplotlib(tmp_path: Path) -> None:
    code = (
        "import sys; sys.modules['matplotlib'] = None; import duetime; from duetime import *\n"
        "try: duetime.figures\n"
        "except ImportError as error: print(error)\n"
        "try: duetime.nothing\n"
        "except AttributeError as error: print(error)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, check=True)
    lines = done.stdout.splitlines()
    assert "pip install 'duetime[figures]'" in lines[0] and "nothing" in lines[1]
