"""A server takes less memory: Arrow does not import pandas for it, and whoever wants pandas still finds it."""

import subprocess
import sys

import pytest

_ARROW = "import sys; import pyarrow as pa; pa.array(['a'])"
_LESS = "from discreet.web.memory import take_less_memory; take_less_memory()"
_TELL = "print('pandas' in sys.modules); import pandas; print(pandas.DataFrame({'a': [1]}).shape)"


def run(*statements):
    words = [sys.executable, "-c", "; ".join(statements)]
    done = subprocess.run(words, capture_output=True, text=True, check=True)
    return done.stdout.split("\n")


@pytest.mark.slow
def test_arrow_does_not_import_pandas_and_a_program_still_can():
    """The wrong alternative is what Arrow does by itself."""
    assert run(_LESS, _ARROW, _TELL)[:2] == ["False", "(1, 1)"]
    assert run(_ARROW, _TELL)[:2] == ["True", "(1, 1)"]


_FILE = """
import mmap, sys
from pathlib import Path
from discreet.web.memory import let_go_of_files
def resident():
    return int(Path("/proc/self/statm").read_text().split()[1]) * mmap.PAGESIZE
with open(sys.argv[1], "rb") as file, mmap.mmap(file.fileno(), 0, prot=mmap.PROT_READ) as mapped:
    before = resident()
    total = sum(mapped[::4096])
    print(resident() - before)
    let_go_of_files(sys.argv[2])
    print(resident() - before, total == sum(mapped[::4096]))
"""


@pytest.mark.skipif(sys.platform != "linux", reason="reads memory from /proc")
@pytest.mark.parametrize(("part", "stays"), [("library", False), ("another", True), ("", False)])
def test_a_file_that_was_read_once_is_let_go_of(tmp_path, part, stays):
    """The wrong alternative names another file: its pages stay."""
    (tmp_path / "library").write_bytes(bytes(range(256)) * 80_000)
    words = [sys.executable, "-c", _FILE, str(tmp_path / "library"), part]
    done = subprocess.run(words, capture_output=True, text=True, check=True)
    held, left, same = done.stdout.split()
    assert int(held) > 15_000_000
    assert (int(left) > 15_000_000) == stays
    assert same == "True"


def test_a_process_that_has_pandas_keeps_it():
    import pandas as pd

    from discreet.web.memory import arrow_without_pandas

    before = list(sys.meta_path)
    arrow_without_pandas()
    assert sys.modules["pandas"] is pd
    assert sys.meta_path == before
