"""Which arithmetic answers a version: keys, noise lookup, rounding, additivity, weights, statuses.

A loaded version never changes a number. Where the arithmetic has to change, for a mistake say, it gets the next
number here: new versions get the new arithmetic, and a version that was loaded before keeps its own as long as this
program knows it. A version of an arithmetic that this program does not know is not served.

    revision 1   0.1, which was never released, and versions without a number; given up: their records are not sealed
    revision 2   today's

To change a number that a version answers: add the next revision to `KNOWN`, keep the old way for the old revision or
take that one out of `KNOWN`, and say so in docs/reference/versions.md.

Source: docs/decisions/0007-versions.md.
"""

from __future__ import annotations

#: The revisions that this program can answer by. A new version gets the newest.
KNOWN = frozenset({2})


def newest_arithmetic() -> int:
    """The arithmetic of a new version."""
    return max(KNOWN)


def knows_arithmetic(revision: int) -> bool:
    """Whether this program can answer by a revision."""
    return revision in KNOWN
