"""Revisions of the arithmetic and of the defaults, which a loaded version keeps.

The arithmetic (keys, noise lookup, rounding, additivity, weights, statuses) of a loaded version never changes. To change a
number that a version answers, add the next revision to `KNOWN`, keep the old code for the old revision or remove that one
from `KNOWN`, and document it in docs/reference/versions.md. Versions of an unknown revision are not served.

    arithmetic 1   0.1, never released, and versions without a number; dropped: their records are not sealed
    arithmetic 2   current

A lineage keeps the defaults of its first load. To change a default, change it where it is defined, and add a function to
`FORMER` that fills in the former value; `tests/golden` fails otherwise.

    defaults 1     up to 0.2
    defaults 2     margins of a universe are joint where Gaussian noise is possible; plans are calibrated to the claim

Source: docs/decisions/0007-versions.md.
"""

from collections.abc import Callable
from copy import deepcopy
from typing import Any

#: The supported revisions of the arithmetic; a new version gets the newest.
KNOWN = frozenset({2})


def newest_arithmetic() -> int:
    """The arithmetic of a new version."""
    return max(KNOWN)


def knows_arithmetic(revision: int) -> bool:
    """Whether this program can answer by a revision."""
    return revision in KNOWN


def _before_joint(document: dict[str, Any]) -> None:
    """Revision 1: every declared table had independent noise, and shares added up to epsilon."""
    protection = document.get("protection")
    if not isinstance(protection, dict) or protection.get("method") != "dp":
        return
    for section, key, value in (("universe", "margins", "own"), ("budget", "calibrate", False)):
        if isinstance(protection.get(section), dict):
            protection[section].setdefault(key, value)


#: `FORMER[n]` fills in the defaults before revision n for missing keys; the first n is 2.
FORMER: dict[int, Callable[[dict[str, Any]], None]] = {2: _before_joint}


def newest_defaults() -> int:
    """The revision of the defaults of a new lineage."""
    return max(FORMER, default=1)


def add_former_defaults(document: dict[str, Any], revision: int) -> dict[str, Any]:
    """A copy of the document with the former default of every missing key that changed since a revision."""
    changed_since = range(revision + 1, newest_defaults() + 1)
    filled = deepcopy(document) if changed_since else document
    for later in changed_since:
        FORMER[later](filled)
    return filled
