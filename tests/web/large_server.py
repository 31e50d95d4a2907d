"""A server of a table of many cells; as a program, `discreet serve` of it, `--whole` with one aggregate of all cells.

`peak_ratio` starts it in a process of its own and reads from Linux how much memory one answer takes at most.
"""

import contextlib
import os
import subprocess
import sys
import time
import urllib.error
import urllib.request
from pathlib import Path

import numpy as np
import pyarrow as pa

LENGTHS = (100, 100, 100)
CELLS = 101**3
RECORDS = 1_500_000
#: Values and noisy counts of eight bytes, and a status of one.
ARRAYS = CELLS * 17
TABLE = "/api/datasets/large/table?format=csv&"
WARM = ("rows=v0&columns=v1", "rows=v1&columns=v2")
WHOLE = "rows=v0&columns=v1&layers=v2"


def load_large(folder):
    """A workspace with records spread over all cells."""
    from discreet.workspace.versions.load_version import load_dataset

    random, columns, variables = np.random.default_rng(1), {"id": np.arange(RECORDS)}, ""
    for number, length in enumerate(LENGTHS):
        codes = [f"c{place:03}" for place in range(length)]
        columns[f"v{number}"] = pa.array(codes).take(pa.array(random.integers(0, length, RECORDS)))
        listed = ",".join(f'{{ code = "{code}", label = "{code}" }}' for code in codes)
        variables += f'[[variable]]\nname = "v{number}"\nlabel = "V{number}"\ncategories = [{listed}]\n'
    description = f'id = "large"\nlabel = "Large"\nid_column = "id"\n{variables}'
    load_dataset(folder, description, pa.table(columns))


def peak_ratio(folder, port, *, whole=False):
    """The largest memory that a fresh server takes for one answer, as a multiple of the table's arrays; and the answer.

    Returns:
        The ratio, and the bytes of the answer.
    """
    serve = [
        sys.executable,
        __file__,
        "serve",
        "-w",
        str(folder),
        "--port",
        str(port),
        *(["--whole"] * whole),
    ]
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    server = subprocess.Popen(serve, env={**os.environ, "PYTHONHASHSEED": "0"}, **quiet)
    try:
        for query in WARM:  # the libraries are loaded and the records read
            _get(server, port, query)
        before = _memory(server, "VmRSS")
        Path(f"/proc/{server.pid}/clear_refs").write_text("5", "utf-8")
        answer = _get(server, port, WHOLE)
        return (_memory(server, "VmHWM") - before) / ARRAYS, answer
    finally:
        server.terminate()
        server.wait(20)


def _get(server, port, query):
    while server.poll() is None:
        with contextlib.suppress(urllib.error.URLError):
            return urllib.request.urlopen(f"http://127.0.0.1:{port}{TABLE}{query}", timeout=60).read()
        time.sleep(0.05)
    raise RuntimeError("the server ended")


def _memory(server, key):
    lines = Path(f"/proc/{server.pid}/status").read_text("utf-8").splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith(key)) * 1024


if __name__ == "__main__":
    from discreet.cli.main import run

    if "--whole" in sys.argv:  # the wrong alternative: the groups of all cells are in memory beside the table
        from discreet.records import tabulate

        tabulate.dense_of = lambda *_: None  # the compiled count needs no groups

        sys.argv.remove("--whole")
        tabulate.MANY = CELLS
    run()
