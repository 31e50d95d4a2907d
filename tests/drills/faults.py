"""What must be true after every fault, and a dataset whose true counts and ids give themselves away."""

from __future__ import annotations

import base64
import errno
import multiprocessing
import os
import re
import signal
import sys
from pathlib import Path

import numpy as np
import pyarrow as pa

from discreet.errors import DiscreetError
from discreet.formats import format_by_name
from discreet.model.request import TableRequest
from discreet.records.keys import Secret
from discreet.release.dataset_registry import open_registry
from discreet.workspace.operate.diagnosis import examine
from discreet.workspace.workspace import Workspace

FORK = multiprocessing.get_context("fork")
#: A word that stands in the id of every record, and nowhere else.
ID = "zq7id"
COUNTS = {("1", "1"): 1_307, ("1", "2"): 1_139, ("2", "1"): 1_057, ("2", "2"): 1_273}
TRUE_COUNTS = (*COUNTS.values(), 2_446, 2_330, 2_364, 2_412, 4_776)
COUNTED = """
id = "counted"
label = "Counted"
id_column = "id"
version = "1"
[[variable]]
name = "sex"
categories = ["1", "2"]
[[variable]]
name = "job"
categories = ["1", "2"]
[publish]
variables = ["sex", "job"]
[protection.noise]
family = "maxent"
D = 15
V = 40
"""
SECOND = COUNTED.replace('version = "1"', 'version = "2"')
TABLE = TableRequest("counted", ("sex",), ("job",))
#: Where exact counts, keys and the secret belong: versions, what was retired, and the secret itself.
PROTECTED = re.compile(r"(retir\w+-?\w*/)?(datasets/|\.?secret)|signing-key\.pem|\.signing-key")


def counted_records(fewer: int = 0) -> pa.Table:
    """The records behind `COUNTS`; the first ones may be left out."""
    codes = np.repeat(np.array(list(COUNTS)), list(COUNTS.values()), axis=0)
    ids = pa.array([f"{ID}-{number}" for number in range(len(codes))])
    return pa.table({"id": ids, "sex": codes[:, 0], "job": codes[:, 1]}).slice(fewer)


def check_after_fault(folder, *elsewhere) -> None:
    """Examine a workspace, read all its records, and look for what must not lie outside of the protected store."""
    faults = [found for found in examine(folder) if found.state == "fault"]
    assert not faults, faults
    workspace = Workspace(folder, threads=1)
    for name in workspace.ids():
        assert workspace.verify(name)
    workspace.close()
    assert found_outside(folder, *elsewhere) == set()


def found_outside(folder, *elsewhere) -> set[tuple[str, str]]:
    """Secrets, keys, ids and true counts in files of a workspace beside the protected store, and in other folders."""
    secrets = [*folder.glob("*secret*"), *folder.glob("*/secret")]
    words = [spelt for path in secrets if path.is_file() for spelt in _spelt(path.read_bytes())]
    inside = (p for p in folder.rglob("*") if not PROTECTED.match(str(p.relative_to(folder))))
    files = [*inside, *(path for place in elsewhere for path in place.rglob("*"))]
    return {(path.name, told) for path in files if path.is_file() for told in _told(path.read_bytes(), words)}


def _spelt(raw: bytes) -> list[bytes]:
    """A secret and the keys that follow from it, as bytes, in hexadecimal and in base 64."""
    if not raw:
        return []
    names = [("record-key", name) for name in ("town", "counted")]
    keys = [raw, *(Secret(raw).derive(*name) for name in names)]
    return [each for key in keys for each in (key, key.hex().encode(), base64.b64encode(key))]


def _told(content: bytes, words: list[bytes]) -> set[str]:
    found = {"a secret or key" for word in words if word in content}
    if ID.encode() in content:
        found.add("an id")
    for count in TRUE_COUNTS:
        digits = re.search(rb"(?<![0-9A-Za-z.])%d(?![0-9A-Za-z])" % count, content)
        if digits or np.array([count], "<i8").tobytes() in content:
            found.add(f"the true count {count}")
    return found


def served(folder) -> tuple[str, bytes]:
    """The digest of the version that is served, and the bytes of its table; nothing where it is refused."""
    try:
        registry = open_registry(folder, threads=1)
    except DiscreetError:
        return "", b""
    try:
        service = registry.open("counted")
        return service.digest, b"".join(format_by_name("csv").pieces(service.release(TABLE)))
    except DiscreetError:
        return "", b""
    finally:
        registry.close()


#: What a program does to files, as Python tells its audit hooks before it is done; and what of it needs room.
CHANGES = (
    "open",
    "os.mkdir",
    "os.link",
    "os.rename",
    "os.remove",
    "os.rmdir",
    "shutil.rmtree",
    "os.truncate",
)
GROWS = CHANGES[:3]
WRITES = os.O_WRONLY | os.O_RDWR | os.O_CREAT


def on_change(base, act) -> None:
    """From now on call `act` with its number before each change of a file below `base`; this cannot be undone."""
    done = [0]

    def hook(event, given) -> None:
        if event not in CHANGES or (event == "open" and not given[2] & WRITES):
            return
        # `shutil.rmtree` names what it removes within an open folder
        of_folder = event in {"os.remove", "os.rmdir"} and given[1] >= 0
        where = str(Path(f"/proc/self/fd/{given[1]}").readlink() if of_folder else given[0])
        if str(base) in where:
            done[0] += 1
            act(done[0], event)

    sys.addaudithook(hook)


def killed(number: int, done: int, _event: str) -> None:
    """kill -9 before a change."""
    if done == number:
        os.kill(os.getpid(), signal.SIGKILL)


def full(number: int, done: int, event: str) -> None:
    """A disk that is full from a change on."""
    if done >= number and event in GROWS:
        raise OSError(errno.ENOSPC, "No space left on device")


def changes_of(base, command) -> int:
    """How many changes of files a command makes."""
    seen = os.memfd_create("seen")
    assert (
        outcome(base, lambda done, _event: os.pwrite(seen, done.to_bytes(4, "little"), 0), command) == "done"
    )
    found = int.from_bytes(os.pread(seen, 4, 0), "little")
    os.close(seen)
    return found


def outcome(base, act, command) -> str:
    """Run a command in a child: "done", "died", or "refused" with an error that the command line can say."""

    def target() -> None:
        on_change(base, act)
        try:
            command()
        except (DiscreetError, OSError):
            os._exit(3)
        os._exit(0)

    child = FORK.Process(target=target)
    child.start()
    child.join(120)
    return {0: "done", 3: "refused", -signal.SIGKILL: "died"}[child.exitcode]
