"""A disk that is really full: commands leave what was before or what is after, and a server answers wholly or not at all."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = [
    pytest.mark.slow,
    pytest.mark.drill,
    pytest.mark.skipif(sys.platform != "linux", reason="a small disk of one's own is Linux's"),
]
ROOT = Path(__file__).parents[2]
#: Blocks of 4,096 bytes that are free: small commands need a few, a load some hundred.
FEW, MANY = (0, 60, 800), (0, 2, 4, 8, 16, 32, 64, 128, 256, 400, 800)


def test_a_disk_that_is_really_full(tmp_path, drill):
    """Free room from nothing to enough; `tests/workspace/test_sealed.py` has the sentences, and what must not be blamed."""
    rooms = (FEW, MANY)[drill.times(0, 1)]
    program = f'exec "{sys.executable}" -m tests.drills.small_disk "{tmp_path}" {" ".join(map(str, rooms))}'
    small = f'mount -t tmpfs -o size=24m tmpfs "{tmp_path}" && {program}'
    try:
        done = subprocess.run(
            ["unshare", "-rm", "sh", "-c", small], capture_output=True, text=True, check=False, cwd=ROOT
        )
    except FileNotFoundError:
        pytest.skip("no unshare here")
    if done.stderr.startswith(("mount", "unshare")):
        pytest.skip("no file system may be mounted here")
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    server = found.pop("server")
    assert server["503"]  # the ledger met the end of the disk
    assert all(tally.get("refused") for name, tally in found.items() if name != "removes"), found
    assert all(tally.get("done") for tally in found.values()), found
    refused, ended = (sum(tally.get(word, 0) for tally in found.values()) for word in ("refused", "done"))
    drill.note(
        commands=len(found),
        full_disks=refused + ended,
        refused=refused,
        done=ended,
        answers=server["200"],
        answers_503=server["503"],
        other=0,
    )
