"""Speed of the simulator in the page, compared with the same calls outside the browser."""

import json
import re
import subprocess
from pathlib import Path
from typing import Any

import pytest
from opened import Opened

#: Starts a separate worker, which draws nothing.
START = """async () => {
    globalThis.alone = new Worker("worker.js", { type: "module" });
    alone.postMessage(await WebAssembly.compile(await (await fetch("duetime.wasm")).arrayBuffer()));
}"""
#: Sends a request to the worker; returns the answer and the elapsed seconds.
ASK = """(request) => new Promise((resolve) => {
    alone.onmessage = ({ data }) => resolve([data.reply ?? data.fault, data.seconds]);
    alone.postMessage({ id: 0, request });
})"""


def test_speed_compared_with_native(opened: Opened, request: pytest.FixtureRequest) -> None:
    """Alternates the same runs in the browser's worker and outside; digests must be equal. Prints packet-hops/s."""
    native = request.config.getoption("--native")
    if native is None:
        pytest.skip("no optimised native program: --quick")
    opened.page.locator("#stop").click()
    opened.page.evaluate(START)
    text = (Path(__file__).parents[3] / "scenarios" / "feature-store.toml").read_text()
    transports = ["cubic", "dctcp", "d2tcp", "d3", "due"]
    runs = [(index, run) for run in range(3) for index in range(len(transports))]
    #: Per transport: packet-hops, seconds in the page, seconds of the native program.
    spent = {name: [0.0, 0.0, 0.0] for name in transports}
    with subprocess.Popen([native], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdin is not None and process.stdout is not None

        def both(request: dict[str, object]) -> tuple[dict[str, Any], float, float]:
            """Returns the answer, which must be equal in both, and the seconds that each took."""
            assert process.stdin is not None and process.stdout is not None
            ours, page = opened.page.evaluate(ASK, request)
            process.stdin.write(json.dumps(request) + "\n")
            process.stdin.flush()
            reply = json.loads(process.stdout.readline())
            assert ours == reply["answer"]
            return ours["ok"], page, reply["seconds"]

        both({"ask": "begin", "text": text, "transports": []})
        for transport, run in runs:
            result, page, native_seconds = both({"ask": "run", "transport": transport, "run": run})
            assert re.fullmatch("[0-9a-f]{32}", result["digest"])
            for i, value in enumerate([result["packet_hops"], page, native_seconds]):
                spent[result["transport"]][i] += value
        process.stdin.close()
    spent["all"] = [sum(row[i] for row in spent.values()) for i in range(3)]
    print()
    for name, (hops, page, native_seconds) in spent.items():
        speeds = f"page {hops / page / 1e6:5.2f} M packet-hops/s, native {hops / native_seconds / 1e6:5.2f}"
        print(f"{name:6} {speeds}; the page takes {page / native_seconds:.2f} times as long")
    print(f"digests equal: {len(runs)} of {len(runs)} runs")
