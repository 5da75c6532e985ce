"""The simulator in the page beside the same calls without a browser."""

import json
import re
import subprocess
from pathlib import Path
from typing import Any

import pytest
from opened import Opened

#: Starts a worker of its own, which draws nothing.
START = """async () => {
    globalThis.alone = new Worker("worker.js", { type: "module" });
    alone.postMessage(await WebAssembly.compile(await (await fetch("duetime.wasm")).arrayBuffer()));
}"""
#: Asks it; the answer and the seconds that it took.
ASK = """(request) => new Promise((resolve) => {
    alone.onmessage = ({ data }) => resolve([data.told ?? data.fault, data.seconds]);
    alone.postMessage({ id: 0, request });
})"""


def test_speed_beside_native(opened: Opened, request: pytest.FixtureRequest) -> None:
    """The same runs in the browser's worker and without a browser, one after the other: equal digests; packet-hops/s."""
    native = request.config.getoption("--native")
    if native is None:
        pytest.skip("no native program with optimisation: --quick")
    opened.page.locator("#stop").click()
    opened.page.evaluate(START)
    text = (Path(__file__).parents[3] / "scenarios" / "feature-store.toml").read_text()
    transports = ["cubic", "dctcp", "d2tcp", "d3"]
    runs = [(of, run) for run in range(3) for of in range(len(transports))]
    #: By transport: packet-hops, seconds in the page, seconds of the native program.
    spent = {name: [0.0, 0.0, 0.0] for name in transports}
    with subprocess.Popen([native], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as beside:
        assert beside.stdin is not None and beside.stdout is not None

        def both(asked: dict[str, object]) -> tuple[dict[str, Any], float, float]:
            """The answer of both, which must be the same, and the seconds that each took."""
            assert beside.stdin is not None and beside.stdout is not None
            ours, page = opened.page.evaluate(ASK, asked)
            beside.stdin.write(json.dumps(asked) + "\n")
            beside.stdin.flush()
            told = json.loads(beside.stdout.readline())
            assert ours == told["answer"]
            return ours["ok"], page, told["seconds"]

        both({"ask": "begin", "text": text, "transports": []})
        for transport, run in runs:
            made, page, alone = both({"ask": "run", "transport": transport, "run": run})
            assert re.fullmatch("[0-9a-f]{32}", made["digest"])
            for i, value in enumerate([made["packet_hops"], page, alone]):
                spent[made["transport"]][i] += value
        beside.stdin.close()
    spent["all"] = [sum(of[i] for of in spent.values()) for i in range(3)]
    print()
    for name, (hops, page, alone) in spent.items():
        speeds = f"page {hops / page / 1e6:5.2f} M packet-hops/s, native {hops / alone / 1e6:5.2f}"
        print(f"{name:6} {speeds}; the page takes {page / alone:.2f} times as long")
    print(f"digests equal: {len(runs)} of {len(runs)} runs")
