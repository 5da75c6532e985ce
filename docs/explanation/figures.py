"""Draws the figures of the explanation pages from runs of Duetime.

    figures.py            draws the figures into this folder
    figures.py --check    draws them into a temporary folder and reports the ones that differ

Runs and files are deterministic: the files have no date and no random names, and depend only on the matplotlib version in
``docs/requirements.txt``.
"""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import matplotlib
import matplotlib.pyplot as plt
from matplotlib.figure import Figure

import duetime

HERE = Path(__file__).parent

COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#56b4e9", "#e69f00")
"""Okabe and Ito's palette, which colour-blind readers can distinguish."""

LINK = {"rate": "1 Gbps", "latency": "25 us"}
"""Link of every host: a round trip over one switch is 100 us."""


def star(name: str, hosts: int, workloads: Sequence[dict[str, Any]], **more: Any) -> duetime.Scenario:
    """Return a scenario of hosts on one switch, with a buffer of 100 packets per port and marking from 20 packets on."""
    scenario: dict[str, Any] = {
        "name": name,
        "transport": ["tcp"],
        # Without the recovery of today's Linux, the figures show the rules that the text explains.
        "tcp": {"profile": "paper"},
        "topology": {"kind": "star", "hosts": hosts, "link": LINK},
        "switch": {"buffer": "100 packets", "ecn_threshold": "20 packets"},
        "workload": list(workloads),
    }
    return duetime.Scenario.from_dict(scenario | more)


def queues() -> Figure:
    """Draw the queue of two long flows under five transports."""
    transports = {"tcp": "TCP", "cubic": "CUBIC", "dctcp": "DCTCP", "rcpdc": "RCPdc", "d3": "D3"}
    long_flows = {"kind": "burst", "senders": 2, "size": "10 MB", "deadline": "200 ms"}
    scenario = star("queues", 3, [long_flows], record={"every": "100 us"}, duration="100 ms")
    result = duetime.run(scenario, transports=list(transports), seeds=1, progress=False)
    frame = result.queues.to_polars()
    figure, axes = plt.subplots(len(transports), 1, sharex=True, sharey=True, figsize=(7, 6), layout="constrained")
    for place, (transport, label), colour in zip(axes, transports.items(), COLOURS, strict=False):
        of = frame.filter((frame["transport"] == transport) & (frame["link"] == "switch->host0"))
        place.plot(of["at_ns"] / 1e6, of["queue_packets"], color=colour, linewidth=0.9)
        place.axhline(20, color="0.6", linewidth=0.6, linestyle="--")
        place.set_title(label, loc="left", fontsize="medium")
        place.set(xlim=(0, 100), ylim=(0, 105))
    axes[len(transports) // 2].set_ylabel("packets in the queue of the port to the receiver")
    axes[-1].set_xlabel("time in ms")
    return figure


def deadlines() -> Figure:
    """Draw the rates of four flows with different deadlines under DCTCP, D2TCP and D3."""
    transports = {"dctcp": "DCTCP", "d2tcp": "D2TCP", "d3": "D3"}
    due = (60, 76, 105, 135)
    flows: dict[str, Sequence[object]] = {
        "src": [1, 2, 3, 4],
        "dst": [0] * 4,
        "bytes": [2_500_000] * 4,
        "start": [0.0] * 4,
        "deadline": [ms / 1e3 for ms in due],
    }
    record = {"every": "1 ms", "links": [f"host{index}->switch" for index in flows["src"]]}
    placeholder = {"kind": "burst", "senders": 1, "size": "1 KB"}
    scenario = star("deadlines", 5, [placeholder], record=record, duration="140 ms").with_flows(flows)
    result = duetime.run(scenario, transports=list(transports), seeds=1, progress=False)
    sent = result.throughput.to_polars()
    done = result.flows.to_polars()
    figure, axes = plt.subplots(len(transports), 1, sharex=True, sharey=True, figsize=(7, 5.5), layout="constrained")
    for place, (transport, label) in zip(axes, transports.items(), strict=True):
        for index, (ms, colour) in enumerate(zip(due, COLOURS, strict=False), 1):
            of = sent.filter((sent["transport"] == transport) & (sent["link"] == f"host{index}->switch"))
            place.plot(of["at_ns"] / 1e6, of["sent_bytes"] * 8 / 1e3, color=colour, linewidth=1, label=f"due at {ms} ms")
            ended = done.filter((done["transport"] == transport) & (done["source"] == index))["fct_ns"].item() / 1e6
            place.plot([ended], [-40], marker="^", color=colour, markersize=5, clip_on=False)
            place.axvline(ms, color=colour, linewidth=0.6, linestyle="--")
        place.set_title(label, loc="left", fontsize="medium")
        place.set(xlim=(0, 140), ylim=(0, 1000))
    axes[len(transports) // 2].set_ylabel("rate in Mbps, mean over 1 ms")
    axes[0].legend(ncols=2, fontsize="small")
    axes[-1].set_xlabel("time in ms")
    return figure


def last_answer() -> Figure:
    """Draw answers and queries in time by fan-in, for independent answers and for runs."""
    fans = (1, 5, 10, 20, 40)
    transports = {"tcp": "TCP", "dctcp": "DCTCP"}
    figure, place = plt.subplots(figsize=(7, 4.2), layout="constrained")
    for share, style in ((0.999, "-"), (0.99, "--"), (0.95, ":")):
        curve = [100 * share**needed for needed in range(1, 41)]
        label = f"queries, if {100 * share:g} % of the answers\nwere in time independently"
        place.plot(range(1, 41), curve, color="0.6", linestyle=style, linewidth=0.9, label=label)
    for (transport, label), colour in zip(transports.items(), COLOURS, strict=False):
        answers, queries = [], []
        for fan in fans:
            scenario = duetime.Scenario.from_file("scenarios/feature-store.toml")
            scenario = scenario.with_({"workload.features.fan_in": fan, "workload.features.load": 0.3, "duration": "120 ms"})
            row = duetime.run(scenario, transports=transport, seeds=3, progress=False).summary.queries[0]
            answers.append(100 * row["answers_in_time"]["value"])
            queries.append(100 * row["objective"]["in_time"]["value"])
        points: dict[str, Any] = {"color": colour, "marker": "o", "linewidth": 1}
        place.plot(fans, answers, **points, markerfacecolor="white", label=f"{label}: answers in time")
        place.plot(fans, queries, **points, label=f"{label}: queries in time")
    place.set(xlabel="fan-in: answers that a query needs", ylabel="share in %", xlim=(0, 41), ylim=(0, 102))
    place.legend(fontsize="small", loc="lower left")
    return figure


FIGURES: dict[str, Callable[[], Figure]] = {"queues": queues, "deadlines": deadlines, "last-answer": last_answer}


def draw(folder: Path) -> None:
    """Write all figures."""
    plt.rcParams.update({"svg.hashsalt": "duetime", "svg.fonttype": "none", "font.size": 9, "path.simplify_threshold": 0.5,
                         "axes.spines.top": False, "axes.spines.right": False})
    for name, figure in FIGURES.items():
        figure().savefig(folder / f"{name}.svg", metadata={"Date": None})


def main() -> int:
    """Draw or check the figures and return the exit code."""
    matplotlib.use("svg")
    if sys.argv[1:] != ["--check"]:
        draw(HERE)
        return 0
    with tempfile.TemporaryDirectory() as folder:
        draw(Path(folder))
        files = [f"{name}.svg" for name in FIGURES]
        differ = [name for name in files if (Path(folder) / name).read_bytes() != (HERE / name).read_bytes()]
    for name in differ:
        print(f"docs/explanation/{name} is not what docs/explanation/figures.py draws: run it")
    print(f"{len(FIGURES)} figures drawn")
    return 1 if differ else 0


if __name__ == "__main__":
    sys.exit(main())
