"""Which arithmetic answers a version: keys, noise lookup, rounding, additivity, weights, statuses.

A loaded version never changes a number. Where the arithmetic has to change, for a mistake say, it gets the next
number here: new versions get the new arithmetic, and a version that was loaded before keeps its own as long as this
program knows it. A version of an arithmetic that this program does not know is not served.

    revision 1   0.1, which was never released, and versions without a number; given up: their records are not sealed
    revision 2   today's

To change a number that a version answers: add the next revision to `KNOWN`, keep the old way for the old revision or
take that one out of `KNOWN`, and say so in docs/reference/versions.md.

Source: docs/decisions/0007-versions.md.

The defaults of a description, by revision: a lineage keeps those of its first load.

A key that a description leaves out has a default, which stands beside its meaning (`Protection`, `Terms`, `Survey`, the
rules, the families of noise). A default may become another one day. A lineage that was loaded before must not change by
that: its first load wrote down the revision of the defaults, and every later load fills in what that revision said.

    revision 1   everything up to 0.2
    revision 2   the margins of a universe are joint where Gaussian noise may be; a plan is calibrated at what it claims

To change a default: change it where it stands, and give `FORMER` a function that fills in what was the default before.
That begins the next revision. `tests/golden` fails where a default changes without it.

Source: docs/decisions/0007-versions.md.
"""

from __future__ import annotations

from collections.abc import Callable
from copy import deepcopy
from typing import Any

#: The revisions that this program can answer by. A new version gets the newest.
KNOWN = frozenset({2})


def newest_arithmetic() -> int:
    """The arithmetic of a new version."""
    return max(KNOWN)


def knows_arithmetic(revision: int) -> bool:
    """Whether this program can answer by a revision."""
    return revision in KNOWN


def _before_joint(document: dict[str, Any]) -> None:
    """Revision 1: every declared table had noise of its own, and shares added up to epsilon whatever was claimed."""
    protection = document.get("protection")
    if not isinstance(protection, dict) or protection.get("method") != "dp":
        return
    for section, key, value in (("universe", "margins", "own"), ("budget", "calibrate", False)):
        if isinstance(protection.get(section), dict):
            protection[section].setdefault(key, value)


#: `FORMER[n]` fills in, where a key is left out, what was the default before revision n; the first n is 2.
FORMER: dict[int, Callable[[dict[str, Any]], None]] = {2: _before_joint}


def newest_defaults() -> int:
    """The revision of the defaults of a new lineage."""
    return max(FORMER, default=1)


def add_former_defaults(document: dict[str, Any], revision: int) -> dict[str, Any]:
    """A description in which keys that are left out, and whose default has changed since a revision, are stated.

    Args:
        document: The description as TOML gives it; it is not changed.
        revision: Of the defaults of its lineage.
    """
    changed_since = range(revision + 1, newest_defaults() + 1)
    filled = deepcopy(document) if changed_since else document
    for later in changed_since:
        FORMER[later](filled)
    return filled
