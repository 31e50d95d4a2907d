"""One table, figure, example or section of a paper, recomputed.

A `Finding` sets one printed number beside ours; `agrees` is decided by a stated tolerance and never by hand.
Where a paper is wrong, `why` says what is right. An `Exhibit` is what `discreet reproduce` prints and draws. Where
the text does not lead to the print and another text would, the exhibit has a `Reading` beside the literal one.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
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
        tolerance: How far apart the two may be: rounding of the print, and Monte Carlo error where either has one.
            A bound has none: a number beyond it breaks the claim.
        why: For a disagreement: what is wrong with the print, or why it cannot be reproduced.
        relation: What the paper claims of the number: "=" to the printed one, or "<=" or ">=" a printed bound.
    """

    what: str
    printed: float | None
    ours: float
    tolerance: float = 0.0
    why: str = ""
    relation: str = "="

    def __post_init__(self) -> None:
        """Refuse a tolerance that would let a number beyond a bound pass."""
        if self.relation != "=" and self.tolerance:
            msg = f"{self.what}: a bound has no tolerance, {self.tolerance:g} was given. Leave it out."
            raise ValueError(msg)

    @property
    def agrees(self) -> bool | None:
        """Whether the two are within the tolerance, or ours keeps the bound; None where nothing is printed.

        >>> Finding("P(exact)", 0.46, 0.4621, tolerance=0.005).agrees
        True
        >>> Finding("interquartile range", 0.005, 0.0056, relation="<=").agrees
        False
        """
        if self.printed is None:
            return None
        if self.relation == "<=":
            return self.ours <= self.printed
        if self.relation == ">=":
            return self.ours >= self.printed
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


def verdict(findings: Sequence[Finding]) -> tuple[int, int, int]:
    """How many numbers agree, how many do not, and how many have nothing printed beside them."""
    outcomes = [finding.agrees for finding in findings]
    return outcomes.count(True), outcomes.count(False), outcomes.count(None)


@dataclass(frozen=True, slots=True)
class Reading:
    """Printed numbers of an exhibit under another reading of its text; they are counted apart.

    Args:
        name: What is read otherwise: "effects uniform on ±1".
        note: What the text says instead, and where this reading comes from.
        findings: The printed numbers again, beside ours under this reading.
    """

    name: str
    note: str
    findings: tuple[Finding, ...]

    @property
    def verdict(self) -> tuple[int, int, int]:
        """How many numbers agree, how many do not, and how many have nothing printed beside them."""
        return verdict(self.findings)

    @property
    def summary(self) -> str:
        """The reading and its count in a few words.

        >>> Reading("effects uniform on ±1", "", (Finding("n", 1531.1, 1531.3, 0.5),)).summary
        'Read with effects uniform on ±1: 1 of 1 agree'
        """
        agree, differ, _ = self.verdict
        return f"Read with {self.name}: {agree:,} of {agree + differ:,} agree"

    def document(self) -> dict[str, Any]:
        """The reading as JSON."""
        agree, differ, _ = self.verdict
        found = [finding.document() for finding in self.findings]
        return {
            "name": self.name,
            "note": self.note,
            "agree": agree,
            "printed": agree + differ,
            "findings": found,
        }


@dataclass(frozen=True, slots=True)
class Exhibit:
    """One exhibit of a paper.

    Args:
        name: "table 3", "figure 1", "section 7", "example 2": as `--table 3` or `--figure 1` finds it.
        title: What it shows, in the paper's words or plainer.
        picture: Draws it; called only when a picture is wanted.
        note: What the reader must know: an erratum, what could not be reproduced and why.
        readings: The same numbers under other readings of the text; `verdict` does not count them.
    """

    name: str
    title: str
    findings: tuple[Finding, ...] = ()
    picture: Callable[[], alt.TopLevelMixin] | None = None
    note: str = ""
    extra: Mapping[str, Any] = field(default_factory=dict)
    readings: tuple[Reading, ...] = ()

    @property
    def verdict(self) -> tuple[int, int, int]:
        """How many numbers agree, how many do not, and how many have nothing printed beside them."""
        return verdict(self.findings)

    def document(self) -> dict[str, Any]:
        """The exhibit as JSON, its picture left out."""
        return {
            "name": self.name,
            "title": self.title,
            "findings": [finding.document() for finding in self.findings],
            "note": self.note,
            "readings": [reading.document() for reading in self.readings],
            **self.extra,
        }


def drawn(paper: str, name: str, *data: Any) -> Callable[[], alt.TopLevelMixin]:
    """Draws data by a function of a paper's module in `pictures/`, imported only then: pictures are an extra."""

    def draw() -> alt.TopLevelMixin:
        chart: alt.TopLevelMixin = getattr(import_module(f"discreet_studies.pictures.{paper}"), name)(*data)
        return chart

    return draw


#: What a paper's module offers: its exhibits by name, each computed when asked for.
Exhibits = dict[str, "Callable[[Effort], Exhibit]"]
