"""What a noise family says about itself: everything that the rest of the program asks about a family.

A family is one module in `noise/families/` with one value, `FAMILY`. No other module lists families: commands, plans,
assessments, pictures and pages read the fields below. A field that does not apply keeps its default.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Literal

from discreet.errors import BadRequest
from discreet.model.messages.text import nearest
from discreet.noise.ideal_distribution import IdealDistribution, IdealTable
from discreet.noise.table import NoiseTable

#: A noise table at an epsilon and a delta, and how the family got there, in words.
AtEpsilon = Callable[[float, float], tuple[NoiseTable, str]]
#: The designs of least noise at an epsilon and a delta, each with a name.
Sides = Callable[[float, float, "Match"], Mapping[str, IdealTable]]

#: Which width matches a delta: the closest on the log scale, or the smallest that keeps it.
Match = Literal["closest", "smallest"]
#: What a budget under dp is counted in: the family's scale is then its `epsilon`, or its `V` = 1 / (2 rho).
Currency = Literal["epsilon", "rho"]

_KINDS = {
    int: "a whole number",
    float: "a number",
    bool: "true or false",
    str: "text",
    dict: "a list of tables, as in [{ from = 0, D = 5, V = 3 }, { from = 1000, D = 15, V = 9 }]",
}


@dataclass(frozen=True, slots=True)
class Parameter:
    """One parameter of a family: its name, what it means, its kind, and whether it must be given (unless another is)."""

    name: str
    meaning: str
    kind: type = float
    required: bool = False
    unless: str = ""

    def check(self, family: str, value: Any) -> None:
        """Refuse a value of another kind; a list of values serves row by row."""
        allowed: tuple[type, ...] = (int, float) if self.kind is float else (self.kind,)
        for one in value if isinstance(value, (list, tuple)) else [value]:
            if not isinstance(one, allowed) or (isinstance(one, bool) and self.kind is not bool):
                raise BadRequest(
                    f'The parameter "{self.name}" of "{family}" is {value!r}; it must be {_KINDS[self.kind]}.'
                )


@dataclass(frozen=True, slots=True)
class Family:
    """A noise family as people name it.

    Args:
        name: The word in `[protection.noise]` and after `discreet design`; a module is named likewise.
        summary: What the noise is, in one line.
        parameters: What may be given, in the order of the documentation.
        ideal: From parameters to a design.
        page: The page that documents it, below `docs/`.
        make: From parameters to a noise table: the function that `discreet.noise` shows.
        place: Where it stands in lists; lower numbers come first.
        cut_by_keys: Whether `ideal` takes the modulus, because the law is cut where the keys end.
        rounding: How its probabilities become whole numbers of keys, unless the user says otherwise.
        currency: What scales it in a plan under dp; None where it cannot serve there.
        law: The law on all integers that its tables stand for, where there is one.
        at_epsilon: Its case in an assessment at an epsilon and a delta.
        sides: Its designs in `discreet design compare`.
        alternative: What `discreet design` tells beside its design.
        colour: Its colour in pictures.
    """

    name: str
    summary: str
    parameters: tuple[Parameter, ...]
    ideal: Callable[..., IdealTable]
    page: str
    make: Callable[..., NoiseTable] | None = None
    place: int = 1000
    cut_by_keys: bool = False
    rounding: str = "exact"
    currency: Currency | None = None
    law: IdealDistribution | None = None
    at_epsilon: AtEpsilon | None = None
    sides: Sides | None = None
    alternative: Callable[[IdealTable], dict[str, Any]] | None = None
    colour: str | None = None

    def names(self) -> list[str]:
        """The parameters' names, in the order of the documentation."""
        return [parameter.name for parameter in self.parameters]

    @property
    def assessable(self) -> bool:
        """Whether an assessment can make a case of it: at an epsilon, or as published."""
        return self.at_epsilon is not None or not any(each.required for each in self.parameters)

    def design(self, parameters: Mapping[str, Any], modulus: int) -> IdealTable:
        """The design before quantisation; parameters are checked by name and kind.

        Raises:
            BadRequest: A parameter is unknown, missing or of another kind.
        """
        known = {parameter.name: parameter for parameter in self.parameters}
        for word, value in parameters.items():
            if word not in known:
                raise BadRequest(
                    f'The noise family "{self.name}" has no parameter "{word}".', nearest(word, known)
                )
            known[word].check(self.name, value)
        missing = [
            each
            for each in self.parameters
            if each.required and each.name not in parameters and each.unless not in parameters
        ]
        if missing:
            wanted = "; ".join(f"{each.name} ({each.meaning})" for each in missing)
            raise BadRequest(
                f'The noise family "{self.name}" needs {wanted}.',
                f"Its parameters: {', '.join(known)}; docs/{self.page} explains them.",
            )
        cut = {"modulus": modulus} if self.cut_by_keys else {}
        return self.ideal(**cut, **parameters)


def at_smallest_width(make: Callable[..., NoiseTable]) -> AtEpsilon:
    """The case of a family that takes epsilon and delta and finds its largest change."""

    def at(epsilon: float, delta: float) -> tuple[NoiseTable, str]:
        table = make(epsilon=epsilon, delta=delta)
        return table, f"Largest change {table.largest}: the smallest that keeps delta."

    return at


#: Parameters that several families share.
EPSILON = Parameter("epsilon", "privacy loss of one cell", required=True)
DELTA = Parameter("delta", "the probability that the epsilon may fail")
