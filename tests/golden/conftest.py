"""Golden numbers: written down once in a JSON file beside the test, compared for ever after.

    python -m pytest tests/golden                      compare
    python -m pytest tests/golden --golden record      write down what is new; what is there stays and is compared
    python -m pytest tests/golden --golden overwrite   replace what differs: published numbers change

The second and third run in one process (no `-n`). A number that comes from floating point and lies near a rounding edge
is compared only on a machine whose floating point gives the same bits (`float_bits`).
"""

import hashlib
import json
import math
from functools import cache
from pathlib import Path

import numpy as np
import pytest

HOW_TO = (
    "Golden numbers: what is here may never change. New entries: `python -m pytest tests/golden --golden record`. "
    "An existing entry is replaced only by `--golden overwrite`, which means that published numbers change."
)


@cache
def float_bits():
    """A hash of what this machine's elementary functions and sums give: equal bits, equal designs."""
    at = np.linspace(-30, 3, 997)
    matrix = np.cos(np.arange(9.0).reshape(3, 3)) + 3 * np.eye(3)
    parts = [np.exp(at), matrix @ matrix.T, np.linalg.solve(matrix, at[:3]), at @ at]
    parts += [np.array([f(x) for x in at[at > 0]]) for f in (math.exp, math.log, math.erfc, math.expm1)]
    return hashlib.sha256(b"".join(np.asarray(part, "<f8").tobytes() for part in parts)).hexdigest()[:16]


class Golden:
    """The golden numbers of one test module."""

    def __init__(self, path, mode):
        self.path, self.mode = path, mode
        known = json.loads(path.read_text("utf-8")) if path.exists() else {}
        self.entries = known.get("entries", {})
        self.float_bits = known.get("float_bits", float_bits())
        self.changed = False

    @property
    def same_floats(self):
        """Whether the numbers were written down on a machine whose floating point is that of this one."""
        return self.float_bits == float_bits()

    def check(self, name, found):
        """Compare a number with what was written down, or write it down."""
        found = json.loads(json.dumps(found))
        if (self.mode == "record" and name not in self.entries) or self.mode == "overwrite":
            self.changed |= self.entries.get(name) != found
            self.entries[name] = found
        assert name in self.entries, f"{name} is not written down: run with --golden record"
        assert found == self.entries[name], name

    def save(self):
        """Write the file again if something was added or replaced."""
        if self.changed:
            assert self.same_floats, (
                "add numbers on a machine with the same floating point, or start a new file"
            )
            lines = ",\n".join(
                f"  {json.dumps(name, ensure_ascii=False)}: {json.dumps(value, ensure_ascii=False)}"
                for name, value in sorted(self.entries.items())
            )
            head = f'"comment": {json.dumps(HOW_TO)},\n"float_bits": "{self.float_bits}"'
            self.path.write_text(f'{{\n{head},\n"entries": {{\n{lines}\n}}\n}}\n', "utf-8")


@pytest.fixture(scope="module")
def golden(request):
    """The golden numbers of a module `test_x.py`, in `x.json`."""
    path = Path(request.path)
    kept = Golden(
        path.with_name(path.stem.removeprefix("test_") + ".json"), request.config.getoption("golden")
    )
    yield kept
    kept.save()
