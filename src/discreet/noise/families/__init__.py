"""The registry of noise families: from a name and parameters to a design and a noise table.

A `dataset.toml` names its noise (`family = "maxent"`, `D = 5`, ...), and so does the command line; both come
here. An unknown family, an unknown parameter or a missing one is refused by name.

Comes from: `workspace`, `cli`. Goes to: `quantise`, hence one noise table.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from discreet.errors import BadRequest, nearest
from discreet.noise.families import abs as abs_by_epsilon
from discreet.noise.families import dropadd as drop_add
from discreet.noise.families import gaussian as discrete_gaussian
from discreet.noise.families import hellinger as hellinger_type
from discreet.noise.families import laplace as discrete_laplace
from discreet.noise.families import maxent as maximum_entropy
from discreet.noise.families import normal as truncated_normal
from discreet.noise.families import pram as pram_matrices
from discreet.noise.quantise import quantise

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from discreet.noise.ideal import IdealTable
    from discreet.noise.table import NoiseTable

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
    default_rounding: str = "exact"

    def names(self) -> list[str]:
        """The parameters' names, in the order of the documentation."""
        return [parameter.name for parameter in self.parameters]


def _maxent(*, D: int, V: float, symmetric: bool = False, modulus: int, **rest: Any) -> IdealTable:  # noqa: ARG001
    if not symmetric:
        return maximum_entropy.ideal_maxent(D, V, **rest)
    if rest:
        raise BadRequest(f"The symmetric form of maxent takes D and V only, not {', '.join(rest)}.")
    return maximum_entropy.ideal_symmetric(D, V)


def _without_modulus(design: Callable[..., IdealTable]) -> Callable[..., IdealTable]:
    """A design that does not depend on where the keys end."""

    def made(*, modulus: int, **parameters: Any) -> IdealTable:  # noqa: ARG001
        return design(**parameters)

    return made


_EPSILON = Parameter("epsilon", "privacy loss of one cell", required=True)
_DELTA = Parameter("delta", "the probability that the epsilon may fail")

FAMILIES: dict[str, Family] = {
    family.name: family
    for family in (
        Family(
            "laplace",
            "Discrete Laplace, truncated at m or cut where the keys end.",
            (_EPSILON, Parameter("m", "largest change", int), _DELTA),
            discrete_laplace.ideal_laplace,
        ),
        Family(
            "normal",
            "Truncated normal: the exponential mechanism of squared loss.",
            (_EPSILON, Parameter("m", "largest change", int), _DELTA),
            _without_modulus(truncated_normal.ideal_normal),
        ),
        Family(
            "hellinger",
            "Square-root loss: larger counts are changed more.",
            (
                _EPSILON,
                Parameter("largest", "largest count with a row of its own", int),
                Parameter("top", "largest released value", int),
            ),
            _without_modulus(hellinger_type.ideal_hellinger),
        ),
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
        Family(
            "abs",
            "Maximum entropy whose variance is chosen for an epsilon (the ABS guide).",
            (_EPSILON, Parameter("D", "largest change", int), _DELTA),
            _without_modulus(abs_by_epsilon.ideal_abs),
            default_rounding="ceiling",
        ),
        Family(
            "pram",
            "Post-randomisation matrices for small and large counts.",
            (
                Parameter("epsilon", "rate of the Laplace law that the matrices start from"),
                Parameter("m", "cap of the change", int),
                Parameter("sign", "how a large count moves: printed or invariant", str),
            ),
            _without_modulus(pram_matrices.ideal_pram),
        ),
        Family(
            "dropadd",
            "Uniform noise on -q..q, q a share of the count; zeros stay zero.",
            (
                Parameter("m", "cap of q", int),
                Parameter("percent", "q as a share of the count, in percent"),
            ),
            _without_modulus(drop_add.ideal_dropadd),
        ),
        Family(
            "gaussian",
            "Discrete Gaussian, calibrated exactly to (epsilon, delta), or of a given variance.",
            (
                Parameter("epsilon", "privacy loss of one cell"),
                _DELTA,
                Parameter("V", "in place of both: the parameter σ²"),
                Parameter("m", "where the law is cut", int),
            ),
            discrete_gaussian.ideal_gaussian,
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


def ideal(name: str, parameters: Mapping[str, Any], modulus: int = DEFAULT_MODULUS) -> IdealTable:
    """The design of a family before quantisation; parameters are checked by name and kind.

    The modulus matters only where an untruncated law is cut where the keys end.
    """
    chosen = family(name)
    known = {parameter.name: parameter for parameter in chosen.parameters}
    for word in parameters:
        if word not in known:
            raise BadRequest(f'The noise family "{name}" has no parameter "{word}".', nearest(word, known))
    missing = [p for p in chosen.parameters if p.required and p.name not in parameters]
    if missing:
        wanted = "; ".join(f"{p.name} ({p.meaning})" for p in missing)
        raise BadRequest(f'The noise family "{name}" needs {wanted}.', f"Its parameters: {', '.join(known)}.")
    checked = {word: _checked(name, known[word], value) for word, value in parameters.items()}
    return chosen.ideal(modulus=modulus, **checked)


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
    return quantise(ideal(name, parameters, modulus), modulus, rule or family(name).default_rounding)
