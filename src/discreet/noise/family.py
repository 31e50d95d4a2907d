"""The description of a noise family: everything that the rest of the program asks about it.

A family is one module in `noise/families/` with one value, `FAMILY`. Commands, plans, assessments, charts and pages read the
fields below; no other module lists families. A field that does not apply keeps its default.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Literal

from discreet.errors import BadRequest
from discreet.model.messages.text import nearest
from discreet.noise.ideal_distribution import IdealDistribution, IdealTable
from discreet.noise.table import NoiseTable

#: A noise table at an epsilon and a delta, and an explanation.
AtEpsilon = Callable[[float, float], tuple[NoiseTable, str]]
#: The designs of least noise at an epsilon and a delta, each with a name.
Sides = Callable[[float, float, "Match"], Mapping[str, IdealTable]]

#: The width that matches a delta: the closest on the log scale, or the smallest that keeps it.
Match = Literal["closest", "smallest"]
#: The unit of a privacy budget under dp: the family's scale is its `epsilon`, or its `V` = 1 / (2 rho).
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
    """One parameter of a family; a required one may be replaced by the parameter `unless`."""

    name: str
    meaning: str
    kind: type = float
    required: bool = False
    unless: str = ""

    def check(self, family: str, value: Any) -> None:
        """Refuse a value of another kind; a list has one value per row."""
        allowed: tuple[type, ...] = (int, float) if self.kind is float else (self.kind,)
        for one in value if isinstance(value, (list, tuple)) else [value]:
            if not isinstance(one, allowed) or (isinstance(one, bool) and self.kind is not bool):
                raise BadRequest(
                    f'The parameter "{self.name}" of "{family}" is {value!r}; it must be {_KINDS[self.kind]}.'
                )


@dataclass(frozen=True, slots=True)
class Family:
    """A noise family.

    Args:
        name: The name in `[protection.noise]` and after `discreet design`; the module has the same name.
        page: The page that documents it, below `docs/`.
        make: From parameters to a noise table: the function that `discreet.noise` exports.
        cut_by_keys: Whether `ideal` takes the modulus, because the distribution is truncated at the last key.
        rounding: The default rounding of its probabilities.
        currency: The budget unit that scales it in a plan under dp; None if dp cannot use it.
        distribution: The distribution on all integers that its tables approximate, if there is one.
        at_epsilon: Its case in an assessment at an epsilon and a delta.
        sides: Its designs in `discreet design compare`.
        alternative: A better design that `discreet design` prints in addition.
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
    distribution: IdealDistribution | None = None
    at_epsilon: AtEpsilon | None = None
    sides: Sides | None = None
    alternative: Callable[[IdealTable], dict[str, Any]] | None = None
    colour: str | None = None

    def names(self) -> list[str]:
        return [parameter.name for parameter in self.parameters]

    @property
    def assessable(self) -> bool:
        """Whether an assessment can include it: at an epsilon, or as published."""
        return self.at_epsilon is not None or not any(each.required for each in self.parameters)

    def design(self, parameters: Mapping[str, Any], modulus: int) -> IdealTable:
        """The design before quantisation; parameters are checked by name and kind."""
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
    """The `at_epsilon` of a family that finds its largest change from epsilon and delta."""

    def at(epsilon: float, delta: float) -> tuple[NoiseTable, str]:
        table = make(epsilon=epsilon, delta=delta)
        return table, f"Largest change {table.largest}: the smallest that keeps delta."

    return at


#: Parameters that several families share.
EPSILON = Parameter("epsilon", "privacy loss of one cell", required=True)
DELTA = Parameter("delta", "the probability that the epsilon may fail")
