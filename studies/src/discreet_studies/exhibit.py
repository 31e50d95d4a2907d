"""One table, figure, example or section of a paper, recomputed.

A `Finding` sets one printed number beside ours; `agrees` is decided by a stated tolerance and never by hand.
Where a paper is wrong, `why` says what is right. An `Exhibit` is what `discreet reproduce` prints and draws.
Comes from: one module a paper. Goes to: the command, its JSON, the methods book.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    import altair as alt


@dataclass(frozen=True, slots=True)
class Effort:
    """How much work to spend: `--quick` for a look, in full for a report; the seed makes either repeatable."""

    quick: bool = False
    seed: int = 20_261_115

    def of(self, full: int, quick: int) -> int:
        """The number of repetitions: `quick` of them with `--quick`."""
        return quick if self.quick else full


@dataclass(frozen=True, slots=True)
class Finding:
    """One number of a paper beside ours.

    Args:
        what: Which number, as the paper names it.
        printed: What the paper prints; None where it prints a curve only.
        ours: What follows from the method.
        tolerance: How far apart the two may be: rounding of the print, plus Monte Carlo error where `ours` has one.
        why: For a disagreement: what is wrong with the print, or why it cannot be reproduced.
        relation: What the paper claims of the number: "=" to the printed one, or "<=" or ">=" a printed bound.
    """

    what: str
    printed: float | None
    ours: float
    tolerance: float = 0.0
    why: str = ""
    relation: str = "="

    @property
    def agrees(self) -> bool | None:
        """Whether the two are within the tolerance; None where nothing is printed.

        >>> Finding("P(exact)", 0.46, 0.4621, tolerance=0.005).agrees
        True
        >>> Finding("interquartile range", 0.005, 0.0031, relation="<=").agrees
        True
        """
        if self.printed is None:
            return None
        if self.relation == "<=" and self.ours <= self.printed:
            return True
        if self.relation == ">=" and self.ours >= self.printed:
            return True
        return bool(math.isclose(self.printed, self.ours, rel_tol=1e-12, abs_tol=self.tolerance))

    def document(self) -> dict[str, Any]:
        """The finding as JSON."""
        return {
            "what": self.what,
            "relation": self.relation,
            "printed": self.printed,
            "ours": self.ours,
            "tolerance": self.tolerance,
            "agrees": self.agrees,
            "why": "" if self.agrees else self.why,
        }


@dataclass(frozen=True, slots=True)
class Exhibit:
    """One exhibit of a paper.

    Args:
        name: "table 3", "figure 1", "section 7", "example 2": as `--table 3` or `--figure 1` finds it.
        title: What it shows, in the paper's words or plainer.
        findings: Printed beside ours.
        picture: Draws it; called only when a picture is wanted.
        note: What the reader must know: an erratum, what could not be reproduced and why.
    """

    name: str
    title: str
    findings: tuple[Finding, ...] = ()
    picture: Callable[[], alt.TopLevelMixin] | None = None
    note: str = ""
    extra: Mapping[str, Any] = field(default_factory=dict)

    @property
    def verdict(self) -> tuple[int, int, int]:
        """How many numbers agree, how many do not, and how many have nothing printed beside them."""
        outcomes = [finding.agrees for finding in self.findings]
        return outcomes.count(True), outcomes.count(False), outcomes.count(None)

    def document(self) -> dict[str, Any]:
        """The exhibit as JSON, its picture left out."""
        return {
            "name": self.name,
            "title": self.title,
            "findings": [finding.document() for finding in self.findings],
            "note": self.note,
            **self.extra,
        }


#: What a paper's module offers: its exhibits by name, each computed when asked for.
Exhibits = dict[str, "Callable[[Effort], Exhibit]"]
