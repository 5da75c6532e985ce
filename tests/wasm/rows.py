"""Prints the digests of the ready-made scenarios on wasm32, one per line, for script/digests.

    rows.py MODULE.wasm

Compiles the module with wasmtime: the interpreter of tests/wasm/host takes hours for these rows.
"""

import multiprocessing
import sys

import wasmtime


def start(path: str) -> None:
    """Compiles the module in a process of the pool."""
    global engine, module
    engine = wasmtime.Engine()
    module = wasmtime.Module.from_file(engine, path)


def call(name: str, *arguments: int) -> int:
    """Calls a function in a new instance, whose memory is freed afterwards."""
    store = wasmtime.Store(engine)
    instance = wasmtime.Instance(store, module, [])
    return instance.exports(store)[name](store, *arguments)


def digest(row: int) -> str:
    """Returns the digest of a row."""
    return f"{call('row_digest', row) % 2**64:016x}"


if __name__ == "__main__":
    with multiprocessing.Pool(initializer=start, initargs=sys.argv[1:]) as pool:
        rows = pool.apply(call, ("rows",))
        for line in pool.imap(digest, range(rows)):
            print(line, flush=True)
