"""The registry of noise families: from a name and parameters to a design and a noise table.

A `dataset.toml` names its noise (`family = "maxent"`, `D = 5`, ...), and so does the command line; both come
here. An unknown family, an unknown parameter or a missing one is refused by name.

Comes from: `workspace`, `cli`. Goes to: `quantise`, hence one noise table.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from discreet.errors import BadRequest, nearest
from discreet.mechanism import maximum_entropy
from discreet.mechanism.quantise import quantise

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from discreet.mechanism.ideal import IdealTable
    from discreet.mechanism.noise_table import NoiseTable

DEFAULT_MODULUS = 2**32


@dataclass(frozen=True, slots=True)
class Parameter:
    """One parameter of a family: its name, what it means, and whether it must be given."""

    name: str
    meaning: str
    kind: type = float
    required: bool = False


@dataclass(frozen=True, slots=True)
class Family:
    """A noise family as people name it."""

    name: str
    summary: str
    parameters: tuple[Parameter, ...]
    ideal: Callable[..., IdealTable]
    default_rule: str = "exact"

    def names(self) -> list[str]:
        """The parameters' names, in the order of the documentation."""
        return [parameter.name for parameter in self.parameters]


def _maxent(*, D: int, V: float, symmetric: bool = False, **rest: Any) -> IdealTable:
    if not symmetric:
        return maximum_entropy.ideal_maxent(D, V, **rest)
    if rest:
        raise BadRequest(f"The symmetric form of maxent takes D and V only, not {', '.join(rest)}.")
    return maximum_entropy.ideal_symmetric(D, V)


FAMILIES: dict[str, Family] = {
    family.name: family
    for family in (
        Family(
            "maxent",
            "Maximum entropy given D and V: the small-count design, or its symmetric one-row form.",
            (
                Parameter("D", "largest change of a count", int, required=True),
                Parameter("V", "variance of the noise, as a bound", float, required=True),
                Parameter("js", "released counts are never 1..js", int),
                Parameter("pstay", "lower bound of the probability of no change"),
                Parameter("monotone", "probabilities rise towards no change from the left", bool),
                Parameter("equality", "every row has variance V exactly", bool),
                Parameter("relax_pstay", "lower pstay where V is missed, as ptable does, and say so", bool),
                Parameter("symmetric", "one symmetric row for every count, zero included", bool),
            ),
            _maxent,
        ),
    )
}


def family(name: str) -> Family:
    """The family of a name.

    Raises:
        BadRequest: with the nearest known name.
    """
    if name not in FAMILIES:
        raise BadRequest(f'There is no noise family "{name}".', nearest(name, FAMILIES))
    return FAMILIES[name]


def ideal(name: str, parameters: Mapping[str, Any]) -> IdealTable:
    """The design of a family before quantisation; parameters are checked by name and kind."""
    chosen = family(name)
    known = {parameter.name: parameter for parameter in chosen.parameters}
    for word in parameters:
        if word not in known:
            raise BadRequest(f'The noise family "{name}" has no parameter "{word}".', nearest(word, known))
    missing = [p for p in chosen.parameters if p.required and p.name not in parameters]
    if missing:
        wanted = "; ".join(f"{p.name} ({p.meaning})" for p in missing)
        raise BadRequest(f'The noise family "{name}" needs {wanted}.', f"Its parameters: {', '.join(known)}.")
    return chosen.ideal(**{word: _checked(name, known[word], value) for word, value in parameters.items()})


def _checked(name: str, parameter: Parameter, value: Any) -> Any:
    """The value if it is of the parameter's kind (a list of them serves row by row)."""
    values = value if isinstance(value, (list, tuple)) else [value]
    allowed: tuple[type, ...] = (int, float) if parameter.kind is float else (parameter.kind,)
    for one in values:
        if not isinstance(one, allowed) or (isinstance(one, bool) and parameter.kind is not bool):
            kind = {int: "a whole number", float: "a number", bool: "true or false"}.get(
                parameter.kind, "text"
            )
            raise BadRequest(f'The parameter "{parameter.name}" of "{name}" is {value!r}; it must be {kind}.')
    return value


def build(
    name: str, parameters: Mapping[str, Any], modulus: int = DEFAULT_MODULUS, rule: str | None = None
) -> NoiseTable:
    """The noise table of a family, quantised to a key modulus.

    >>> build("maxent", {"D": 5, "V": 3, "js": 2}, 2**32).row(2).values
    (-2, 1, 2, 3, 4, 5)
    """
    return quantise(ideal(name, parameters), modulus, rule or family(name).default_rule)
