"""Files of the page, served by the command and exported."""

import gzip
import re
import subprocess
import urllib.request
from pathlib import Path

from opened import Opened, small
from playwright.sync_api import Browser


def test_exported_files_work_elsewhere(
    browser: Browser, duetime: str, pictures: Path, tmp_path: Path
) -> None:
    folder = tmp_path / "below" / "page"
    subprocess.run([duetime, "play", "--export", folder], check=True, capture_output=True)
    module = (folder / "duetime.wasm").read_bytes()
    assert gzip.decompress((folder / "duetime.wasm.gz").read_bytes()) == module
    again = subprocess.run([duetime, "play", "--export", folder], capture_output=True, text=True)
    assert again.returncode == 2 and "not empty" in again.stderr
    # Use Python's server, with the page in a folder below its root.
    serve = ["python3", "-u", "-m", "http.server", "0", "--bind", "127.0.0.1", "--directory", str(tmp_path)]
    with subprocess.Popen(serve, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as server:
        assert server.stdout is not None
        found = re.search(r"port (\d+)", server.stdout.readline())
        assert found
        view = Opened(browser, pictures)
        view.page.goto(f"http://127.0.0.1:{found[1]}/below/page/")
        small(view)
        assert view.said == []
        view.context.close()
        server.terminate()


def test_server_sends_content_types(url: str) -> None:
    for name, kind in [("", "text/html"), ("duetime.wasm", "application/wasm"), ("app.js", "text/javascript")]:
        with urllib.request.urlopen(url + name) as answer:
            assert answer.headers["Content-Type"].startswith(kind)
            assert "default-src 'none'" in answer.headers["Content-Security-Policy"]


def test_module_is_served_compressed(url: str) -> None:
    bodies = {}
    for accepted in ["gzip, deflate, br, zstd", "identity"]:
        request = urllib.request.Request(url + "duetime.wasm", headers={"Accept-Encoding": accepted})
        with urllib.request.urlopen(request) as answer:
            bodies[answer.headers["Content-Encoding"]] = answer.read()
    plain, packed = bodies[None], bodies["gzip"]
    assert gzip.decompress(packed) == plain and len(packed) < len(plain) / 2
    print(f"\nduetime.wasm: {len(plain)} B, with gzip {len(packed)} B")


def test_port_in_use_is_named(duetime: str, url: str) -> None:
    port = re.findall(r"\d+", url)[-1]
    refused = subprocess.run([duetime, "play", "--port", port], capture_output=True, text=True)
    assert refused.returncode == 2 and f"port {port} is in use" in refused.stderr
