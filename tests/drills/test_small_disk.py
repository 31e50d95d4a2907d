"""A disk that is really full: commands leave what was before or what is after, and a server answers wholly or not at all.

    python -m tests.drills.test_small_disk DISK BLOCKS ...      so many blocks are free, one after the other

The test starts this module as a program inside of a file system of its own. What DuckDB, Arrow, SQLite and Python write all
needs blocks of the disk, so each of them meets its end at another step.
"""

from __future__ import annotations

import json
import shutil
import signal
import subprocess
import sys
from collections import Counter
from contextlib import suppress
from functools import partial
from pathlib import Path

import pytest
from tests.black_box.conftest import open_site
from tests.black_box.test_kills import DESCRIPTION, RECORDS, TABLES, margins_paid
from tests.conftest import write_secret
from tests.drills.conftest import start_server
from tests.drills.faults import check_after_fault, outcome, served
from tests.drills.test_commands import COMMANDS, make_template

from discreet.workspace.versions.load_version import load_dataset

pytestmark = [
    pytest.mark.slow,
    pytest.mark.drill,
    pytest.mark.skipif(sys.platform != "linux", reason="a small disk of one's own is Linux's"),
]
ROOT = Path(__file__).parents[2]
#: Blocks of 4,096 bytes that are free: small commands need a few, a load some hundred.
FEW, MANY = (0, 60, 800), (0, 2, 4, 8, 16, 32, 64, 128, 256, 400, 800)
BLOCK = 4096


class Disk:
    """A small disk, filled up to what shall be free."""

    def __init__(self, place: Path) -> None:
        self.place, self._ballast = place, place / "ballast"

    def fill(self, free: int) -> None:
        with suppress(OSError):  # a server wrote meanwhile: the disk is as full as it can be
            self._ballast.write_bytes(bytes(max(shutil.disk_usage(self.place).free - free, 0)))

    def empty(self) -> None:
        self._ballast.unlink(missing_ok=True)


def run_commands(disk: Disk, template: Path, rooms: list[int]) -> dict[str, Counter[str]]:
    """Each command with each room: what was before or what is after, and then the command again."""
    found: dict[str, Counter[str]] = {}
    for name, command in COMMANDS.items():
        tally = found[name] = Counter()
        base = shutil.copytree(template, disk.place / "base")
        before = served(base / "w")
        command(base / "w")
        after = served(base / "w")
        for room in rooms:
            shutil.rmtree(base)
            shutil.copytree(template, base)
            disk.fill(room)
            tally[outcome(base, lambda _done, _event: None, partial(command, base / "w"))] += 1
            disk.empty()
            if (base / "w").exists():
                assert served(base / "w") in {before, after}, (name, room)
                check_after_fault(base / "w")
            command(base / "w")
            assert served(base / "w") == after, (name, room)
            check_after_fault(base / "w")
        shutil.rmtree(base)
    return found


def run_server(disk: Disk, rooms: list[int]) -> Counter[str]:
    """A server with log, cache folder and ledger on the disk: whole answers that are charged, or a deliberate 503."""
    folder = disk.place / "w"
    write_secret(folder)
    load_dataset(folder, DESCRIPTION, RECORDS)
    site = open_site(folder)
    key = site.share("ann", 900)
    site.close()
    left, answered, tally, ann = iter(TABLES), {}, Counter(), {"authorization": f"Bearer {key}"}
    with start_server(folder, DISCREET_CACHE_FOLDER=str(disk.place / "cache")) as server:
        for room in rooms:
            assert server.get("rows=a&format=csv", headers=ann).status_code == 200  # it knows the accounts
            disk.fill(room)
            for rows in (next(left), next(left)):
                query = f"rows={rows}&format=csv"
                answer = server.get(query, headers=ann)
                tally[str(answer.status_code)] += 1
                assert answer.status_code in {200, 503}, (room, answer.text)
                if answer.status_code == 200:
                    answered[rows] = answer.content
            disk.empty()
        assert server.get("rows=a&format=csv", headers=ann).status_code == 200
        for rows, body in answered.items():
            assert server.get(f"rows={rows}&format=csv").content == body
        server.process.send_signal(signal.SIGTERM)
        server.process.wait(60)
    site = open_site(folder)
    assert set(answered) <= {*margins_paid(site.state())}
    site.close()
    check_after_fault(folder, disk.place / "cache")
    return tally


def main(place: str, *blocks: str) -> None:
    """Fill the disk again and again, and print what came of it."""
    disk, rooms = Disk(Path(place)), [BLOCK * int(each) for each in blocks]
    template = make_template(Path(place) / "template")
    found = {**run_commands(disk, template, rooms), "server": run_server(disk, rooms)}
    print(json.dumps(found))


def test_a_disk_that_is_really_full(tmp_path, drill):
    """Free room from nothing to enough; `tests/workspace/test_sealed.py` has the sentences, and what must not be blamed."""
    rooms = (FEW, MANY)[drill.times(0, 1)]
    program = (
        f'exec "{sys.executable}" -m tests.drills.test_small_disk "{tmp_path}" {" ".join(map(str, rooms))}'
    )
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


if __name__ == "__main__":
    main(*sys.argv[1:])
