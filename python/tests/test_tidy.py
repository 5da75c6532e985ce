"""Tables and summaries as tidy data: axes as columns, units, seeds, frames, arrays, pickles and HTML."""

from __future__ import annotations

import html
import pickle
import subprocess
import sys
from pathlib import Path
from typing import Any

import pandas
import polars
import pyarrow
import pytest

import duetime
from duetime import Result, Scenario, ScenarioError, TableName, figures
from duetime._grid import Grid, numbers_of

from samples import SERVICE

AXES = ["workload_fan_in", "switch_buffer_kb", "switch_ecn_threshold_kb", "workload_deadline_ms"]
VARY: dict[Any, Any] = {
    "workload.fan_in": [4, 5],
    ("switch.buffer", "switch.ecn_threshold"): [("100 KB", "20 KB"), ("1 MB", "65 KB")],
    "workload.deadline": ["5 ms", "7.5 ms"],
}


@pytest.fixture(scope="module")
def swept(tmp_path_factory: pytest.TempPathFactory) -> Result:
    """A sweep with three axes, one of them with two keys."""
    out = tmp_path_factory.mktemp("tidy") / "out"
    return duetime.sweep(SERVICE, VARY, seeds=4, out=out, report=False)


@pytest.mark.parametrize(
    ("texts", "values", "unit"),
    [
        (["4", "40"], [4, 40], None),
        (["0.5", "1.0"], [0.5, 1.0], None),
        (["1.0", "2.0"], [1.0, 2.0], None),
        (["5 ms", "200 us"], [5000, 200], "us"),
        (["5 ms", "7.5 ms"], [5.0, 7.5], "ms"),
        (["0.1 ms", "1 us"], [100.0, 1.0], "us"),
        (["100 KB", "1 MB"], [100, 1000], "KB"),
        (["1 KiB", "1500 B"], [1024, 1500], "B"),
        (["1 Gbps", "400 Mbps"], [1000, 400], "Mbps"),
        (["250 packets", "1 packet"], [250, 1], "packets"),
        (["20%", "50 %"], [20, 50], "%"),
        (["2000 /s"], [2000], "/s"),
        (["true", "false"], [True, False], None),
        (["250 packets", "16 MB"], ["250 packets", "16 MB"], None),
        (["off", "65 KB"], ["off", "65 KB"], None),
        (["uniform 2 KB..50 KB"], ["uniform 2 KB..50 KB"], None),
        (["3", "3 ms"], ["3", "3 ms"], None),
    ],
)
def test_values_of_one_dimension_are_numbers(texts: list[str], values: list[Any], unit: str | None) -> None:
    found = numbers_of(texts)
    assert found == (values, unit)
    assert [type(item) for item in found[0]] == [type(item) for item in values]


@pytest.mark.parametrize(
    ("key", "value", "name"),
    [
        ("workload.search.fan_in", "4", "workload_search_fan_in"),
        ("workload[1].deadline", "5 ms", "workload_1_deadline_ms"),
        ("topology.link.rate", "1 Gbps", "topology_link_rate_gbps"),
        ("switch.buffer", "9 B", "switch_buffer_bytes"),
        ("workload.rate", "9 /s", "workload_rate_per_s"),
    ],
)
def test_column_names(key: str, value: str, name: str) -> None:
    grid = Grid.of({"points": [{"id": "of", "values": [[key, f'"{value}"']]}]})
    assert [axis.name for axis in grid.axes] == [name]
    assert grid.find(key) == grid.find(name) == grid.axes[0]


def test_axis_labels() -> None:
    grid = Grid.of({"points": [{"id": "of", "values": [["switch.ecn_threshold", "20 KB"], ["workload.fan_in", "4"]]}]})
    assert [axis.label for axis in grid.axes] == ["ECN threshold (KB)", "Fan-in"]


@pytest.mark.parametrize("name", ["queries", "flows", "ports"])
def test_tables_have_axis_columns(swept: Result, name: TableName) -> None:
    table = swept.to_polars(name)
    assert table.columns[:8] == ["point", *AXES, "transport", "run", "seed"]
    kinds = [polars.Int64, polars.Int64, polars.Int64, polars.Float64]
    assert [table.schema[axis] for axis in AXES] == kinds
    points = table.select("point", *AXES).unique().sort(*AXES).rows()
    assert len(points) == 8
    for point, fan_in, buffer, threshold, deadline in points:
        assert f"workload.fan_in={fan_in}," in point
        assert (buffer, threshold) in [(100, 20), (1000, 65)]
        assert f"workload.deadline={deadline:g}" in point
    assert list(swept.table(name).columns) == table.columns
    assert swept.table(name).columns["workload_deadline_ms"] == "`workload.deadline` of the point, in ms."


def test_tables_have_seed_column(star: Scenario) -> None:
    flows = duetime.run(star, seeds=2, seed=7).to_polars()
    assert flows.columns[:3] == ["transport", "run", "seed"]
    assert flows.select("run", "seed").unique().sort("run").rows() == [(0, 7), (1, 7)]
    swept = duetime.sweep(star, {"seed": [3, 5], "transport": ["tcp", "d3"]}, seeds=1).to_polars()
    assert swept.columns[:4] == ["point", "transport", "run", "seed"]
    for point, transport, seed in swept.select("point", "transport", "seed").unique().rows():
        assert f"seed={seed}" in point and f"transport={transport}" in point


def test_fields_have_units_and_descriptions(swept: Result) -> None:
    flows = swept.to_arrow()
    for name, meaning in swept.flows.columns.items():
        assert flows.schema.field(name).metadata[b"description"] == meaning.encode()
    units = {name: (flows.schema.field(name).metadata or {}).get(b"unit") for name in flows.schema.names}
    assert units["fct_ns"] == units["slack_ns"] == b"ns"
    assert (units["start_ps"], units["size_bytes"], units["met"]) == (b"ps", b"bytes", None)
    assert (units["workload_deadline_ms"], units["switch_buffer_kb"], units["workload_fan_in"]) == (b"ms", b"KB", None)
    assert all(unit is not None or not name.endswith(("_ns", "_ps", "_bytes")) for name, unit in units.items())


def test_summary_as_frame(swept: Result) -> None:
    frame = swept.summary.to_polars()
    whole = ["workload", "kind", "metric", "unit", "value", "low", "high", "runs"]
    assert frame.columns == ["point", *AXES, "transport", *whole]
    assert not frame.select("point", "transport", "workload", "kind", "metric").is_duplicated().any()
    points = {point["id"]: ",".join(map("=".join, point["values"])) for point in swept.manifest["points"]}
    for row in swept.summary.queries:
        own = frame.filter(
            pl_point(points, row["point"]), transport=row["transport"], workload=row["workload_name"], kind="queries"
        )
        numbers = {item["metric"]: item for item in own.to_dicts()}
        for metric, estimate in (
            ("in_time", row["objective"]["in_time"]),
            ("completion_p50", row["completion_s"]["p50"]),
            ("answers_in_time_per_query", row["in_time"]),
        ):
            item = numbers[metric]
            interval = estimate["interval"]
            assert (item["value"], item["low"], item["high"]) == (estimate["value"], interval["low"], interval["high"])
            assert item["runs"] == 4
        assert numbers["missed"]["value"] == pytest.approx(1 - numbers["in_time"]["value"])
        assert numbers["queries"]["value"] == row["queries"]
        assert "completion_p999" not in numbers
    for row in swept.summary.rows:
        own = frame.filter(pl_point(points, row["point"]), transport=row["transport"])
        flows = {item["metric"]: item for item in own.filter(kind=row["class"]).to_dicts()}
        assert flows["goodput_mean"]["value"] == row["goodput_bytes_per_s"]["mean"]["value"]
        assert (flows["goodput_mean"]["unit"], flows["completion_p50"]["unit"]) == ("bytes/s", "s")
        assert own.filter(kind="network", metric="queue_max")["value"].to_list() == [
            row["network"]["queue_max_bytes"]["value"]
        ]
    assert set(frame["unit"]) == {"share", "s", "bytes/s", "bytes", "count"}
    assert "no transport can do better" in set(frame["transport"])


def pl_point(points: dict[str, str], label: str) -> polars.Expr:
    """Return the summary's rows of a point."""
    return polars.col("point") == next(name for name, item in points.items() if item == label)


def test_summary_frames_are_equal(swept: Result, service: Scenario) -> None:
    for item in (swept, duetime.run(service, seeds=1)):
        summary = item.summary
        frame = summary.to_polars()
        table = summary.to_arrow()
        assert polars.DataFrame(table).equals(frame)
        plain = summary.to_pandas()
        assert list(plain.columns) == frame.columns and len(plain) == frame.height
        assert plain["value"].tolist() == frame["value"].to_list()
        assert plain["low"].isna().tolist() == frame["low"].is_null().to_list()
        assert isinstance(plain, pandas.DataFrame) and isinstance(table, pyarrow.Table)
    assert swept.summary.to_arrow().schema.field("workload_deadline_ms").metadata[b"unit"] == b"ms"
    # A single run has no interval.
    assert frame["low"].is_null().all() and "point" not in frame.columns


def test_summary_as_xarray(swept: Result) -> None:
    pytest.importorskip("xarray")
    data = swept.summary.to_xarray()
    assert dict(data.sizes) == {
        "workload_fan_in": 2,
        "switch_buffer_kb": 2,
        "workload_deadline_ms": 2,
        "transport": 4,
        "subject": 4,
    }
    # Linked keys are one dimension.
    assert data["switch_ecn_threshold_kb"].dims == ("switch_buffer_kb",)
    assert data["switch_ecn_threshold_kb"].values.tolist() == [20, 65]
    assert data["completion_p50"].attrs["units"] == data["completion_p50_low"].attrs["units"] == "s"
    assert data["workload_deadline_ms"].attrs["key"] == "workload.deadline"
    found = 0
    for row in swept.summary.to_polars().filter(kind="queries").to_dicts():
        place = {axis: row[axis] for axis in AXES if axis != "switch_ecn_threshold_kb"}
        place |= {"transport": row["transport"], "subject": "oldi queries"}
        for end, column in (("", "value"), ("_low", "low"), ("_high", "high")):
            value = float(data[row["metric"] + end].sel(place))
            assert value == (row[column] if row[column] is not None else pytest.approx(value, nan_ok=True))
            found += row[column] is not None
    assert found > 300
    hide = "import sys; sys.modules['xarray'] = None; import duetime\n"
    code = hide + f"try: duetime.load({str(swept.folder)!r}).summary.to_xarray()\nexcept ImportError as error: print(error)"
    done = subprocess.run([sys.executable, "-I", "-c", code], capture_output=True, text=True, check=True)
    assert "pip install 'duetime[xarray]'" in done.stdout


def test_linked_keys_change_together(star: Scenario, tmp_path: Path) -> None:
    linked: dict[Any, Any] = {
        ("switch.buffer", "switch.ecn_threshold"): [("100 KB", "20 KB"), ("1 MB", "20 KB")],
        "workload.senders": [2, 3],
    }
    plan = duetime.plan(star, linked)
    assert [tuple(point.values()) for point in plan.points] == [
        ("100 KB", "20 KB", "2"),
        ("100 KB", "20 KB", "3"),
        ("1 MB", "20 KB", "2"),
        ("1 MB", "20 KB", "3"),
    ]
    result = duetime.sweep(star, linked, "d3", 1, out=tmp_path / "out")
    assert duetime.plan(star, linked, "d3", 1, out=tmp_path / "out").missing == 0
    assert result.to_polars()["switch_ecn_threshold_kb"].unique().to_list() == [20]
    for wrong in ([("1 MB",)], ["1 MB", "2 MB"], [], "1 MB", [("1 MB", "2 KB", "3 KB")]):
        with pytest.raises(ValueError, match="vary"):
            duetime.plan(star, {("switch.buffer", "switch.ecn_threshold"): wrong})
    with pytest.raises(ScenarioError, match="listed twice"):
        duetime.plan(star, {("switch.buffer", "switch.ecn_threshold"): [("1 MB", "2 KB")] * 2})


def test_pickle_round_trip(swept: Result, star: Scenario) -> None:
    again = pickle.loads(pickle.dumps(swept))
    assert again.folder == swept.folder.resolve() and again.digests == swept.digests
    temporary = duetime.run(star, seeds=1)
    content = pickle.dumps(temporary)
    wanted, flows, summary = temporary.digests, temporary.to_arrow(), str(temporary.summary)
    folder = temporary.folder
    table = pickle.dumps(temporary.flows)
    del temporary
    assert not folder.exists()
    back = pickle.loads(content)
    assert back.digests == wanted and str(back.summary) == summary
    assert back.to_arrow().equals(flows, check_metadata=True)
    own = pickle.loads(table)
    assert own.to_arrow().equals(flows, check_metadata=True) and own.columns == back.flows.columns
    place = back.folder
    assert place.exists()
    del back
    assert not place.exists()
    assert pickle.loads(pickle.dumps(swept.summary)) == swept.summary


def test_pickles_load_in_other_processes(star: Scenario, tmp_path: Path) -> None:
    file = tmp_path / "result.pickle"
    result = duetime.run(star, seeds=1)
    file.write_bytes(pickle.dumps((result, result.flows)))
    code = "import pickle, sys; r, t = pickle.load(open(sys.argv[1], 'rb')); print(len(r.digests), len(t), len(r.flows))"
    done = subprocess.run([sys.executable, "-I", "-c", code, str(file)], capture_output=True, text=True, check=True)
    assert done.stdout.split() == [str(item) for item in (len(result.digests), len(result.flows), len(result.flows))]


def test_html_views(swept: Result, star: Scenario) -> None:
    shown = swept._repr_html_()
    assert "<th>workload_deadline_ms</th>" in shown and "<th>in time</th>" in shown
    assert "<td>no transport can do better</td>" in shown
    assert html.escape(str(swept.summary)) in shown
    row = next(item for item in swept.summary.queries if item["transport"] == "d3")
    assert f"<td>{row['completion_s']['p50']['value'] * 1e3:.4g} ms [" in shown
    table = swept.flows._repr_html_()
    assert table.count("<tr>") == 9 and "<th>fct_ns</th>" in table
    text = star._repr_html_()
    assert "&quot;uniform 2 KB..50 KB&quot;" in text and "11 hosts" in text
    odd = Scenario.from_toml(star.to_toml().replace("# A comment.", "# <b>"))
    assert "# &lt;b&gt;" in odd._repr_html_() and "<b>" not in odd._repr_html_()
    hide = "import sys; sys.modules['polars'] = sys.modules['pyarrow'] = None; import duetime\n"
    code = hide + f"print(duetime.load({str(swept.folder)!r}).flows._repr_html_())"
    done = subprocess.run([sys.executable, "-I", "-c", code], capture_output=True, text=True, check=True)
    assert "<td>Completion time; null if unfinished, quenched or reset.</td>" in done.stdout


def test_modules_are_imported_lazily() -> None:
    code = """
import sys
import duetime
for name in ("d3", "deadline", "figures"):
    print(name in dir(duetime), f"duetime.{name}" in sys.modules)
print("matplotlib" in sys.modules)
"""
    done = subprocess.run([sys.executable, "-I", "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["True", "False"] * 3 + ["False"]
    assert duetime.figures is figures
