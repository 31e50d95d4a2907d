"""Numeric variables of a dataset: the sections `[[measure]]` of `dataset.toml`, whose sums and means are released.

Values are stored as whole numbers, in units of 10^-decimals. A request names a measure and a statistic; internally, and in
the codes of formats, they are one word: `income.mean`.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from fractions import Fraction
from typing import Any

from discreet.errors import BadDescription, BadRequest
from discreet.model.description.sections import (
    check_section,
    check_texts,
    check_type,
    check_value,
    is_texts,
    refuse_first,
    refuse_unknown_keys,
    require_keys,
)
from discreet.model.messages.text import message, nearest

STATISTICS = ("sum", "mean")
DEFINITIONS = ("discreet-1", "cellkey-1", "tau-argus-4")
MAGNIFIERS = ("top", "mean", "sum")
#: Names that requests use otherwise.
_TAKEN = {"count", "weighted"}
_NAME = re.compile(r"[a-z][a-z0-9_]{0,31}\Z")
#: Larger values are not exact as doubles.
LARGEST_STORED = 2**53
MOST_DECIMALS = 9
#: The rows of a noise table: their values, and their cumulated numbers of keys.
Rows = tuple[tuple[tuple[int, ...], tuple[int, ...]], ...]
#: Contributions that are perturbed one by one, at most.
MOST_FACTORS = 10
#: The most steps on either side of a table of multipliers: every step has a row of its own.
MOST_STEPS = 100


@dataclass(frozen=True, slots=True)
class Multipliers:
    """A maximum-entropy table of multipliers: up to D in steps of 1 / step, with variance V."""

    D: int = 5
    V: float = 1.0
    step: int = 1


@dataclass(frozen=True, slots=True)
class Flexible:
    """A multiplier that falls from `small`, below `point`, to `large`."""

    point: float
    small: float
    large: float
    power: int = 2


@dataclass(frozen=True, slots=True)
class Sensitive:
    """The rules that make a cell sensitive, and what its noise gains: added to the multiplier of the largest contribution.

    Args:
        p_percent: Sensitive if the second largest contributor could estimate the largest within p percent.
        dominance: (n, k): sensitive if the n largest contributions exceed k percent of the sum.
    """

    extra: float
    p_percent: float | None = None
    dominance: tuple[int, float] | None = None


@dataclass(frozen=True, slots=True)
class MagnitudeProtection:
    """How the sums of a measure are protected under the cell key method; see docs/methods/magnitudes.md.

    Args:
        factors: By rank of the contributions; their number is the number that is perturbed.
        flex: Flexible noise; None with `simple`, one multiplier for all sizes.
        small: The table of small contributions; None without separation.
        zero_contributors: `left-out`: people with the value 0 are no contributors; `included`: they are.
        least_contributors: With fewer released contributors a value is withheld.
        tables: The integers of its tables of multipliers as a version stores them; empty before a load.
        counts: `released`: a sum is its mean times the released number of contributors; `independent`: it is not.
    """

    definition: str = "discreet-1"
    magnifier: str = "top"
    factors: tuple[float, ...] = (1.0, 0.5, 0.2)
    flex: Flexible | None = None
    simple: float | None = None
    noise: Multipliers = Multipliers(5, 1.0, 2)
    small: Multipliers | None = None
    zero_contributors: str = "left-out"
    least_contributors: int = 3
    counts: str = "released"
    sensitive: Sensitive | None = None
    tables: tuple[Rows, ...] = field(default=(), compare=False)

    @property
    def includes_zeros(self) -> bool:
        return self.zero_contributors == "included"

    @property
    def contributions(self) -> int:
        """The number of largest contributions that noise or a rule looks at."""
        rules = self.sensitive
        ruled = 0 if rules is None else max(2 * (rules.p_percent is not None), (rules.dominance or (0, 0))[0])
        return max(len(self.factors) if self.magnifier == "top" else 0, ruled, 1)


@dataclass(frozen=True, slots=True)
class NumericMeasure:
    """A numeric variable; see docs/reference/dataset-toml.md for each field."""

    name: str
    label: str
    column: str
    unit: str
    decimals: int
    lowest: Fraction
    largest: Fraction
    missing: tuple[str, ...] = ()
    statistics: tuple[str, ...] = STATISTICS
    protection: MagnitudeProtection = field(default=MagnitudeProtection())

    @property
    def stored_name(self) -> str:
        """Its column of stored records."""
        return f"_measure_{self.name}"

    @property
    def scale(self) -> int:
        return int(10**self.decimals)

    @property
    def bounds(self) -> tuple[int, int]:
        """The smallest and the largest stored value."""
        return int(self.lowest * self.scale), int(self.largest * self.scale)

    @property
    def words(self) -> tuple[str, ...]:
        """The measure with each of its statistics, as requests name them: `income.mean`."""
        return tuple(f"{self.name}.{statistic}" for statistic in self.statistics)


def join_statistic(measure: str, statistic: str) -> str:
    """A measure and a statistic in one word."""
    if "," in statistic:
        raise BadRequest(
            message('The statistic is "{statistic}".', statistic=statistic),
            message("Ask for one statistic at a time."),
        )
    return f"{measure}.{statistic}" if statistic else measure


def split_statistic(word: str) -> tuple[str, str]:
    """The measure and the statistic of a word.

    >>> split_statistic("income.mean"), split_statistic("count")
    (('income', 'mean'), ('count', ''))
    """
    measure, _, statistic = word.partition(".")
    return measure, statistic


def parse_measure(entry: dict[str, Any]) -> NumericMeasure:
    """Parse one `[[measure]]`."""
    known = {each.name for each in fields(NumericMeasure)}
    refuse_unknown_keys(entry, known, "[[measure]]")
    require_keys(entry, ("name", "lowest", "largest"), "[[measure]]")
    name = entry["name"]
    where = f"the measure {name!r}"
    check_value(
        isinstance(name, str) and _NAME.match(name) and name not in _TAKEN,
        name,
        "The name of a measure",
        "Use lower-case letters, digits and underscores, starting with a letter, and not count or weighted.",
    )
    for key in ("label", "column", "unit"):
        check_type(entry.get(key, ""), str, f"`{key}` of {where}")
    decimals = entry.get("decimals", 0)
    check_type(decimals, int, f"`decimals` of {where}")
    check_value(
        0 <= decimals <= MOST_DECIMALS,
        decimals,
        f"`decimals` of {where}",
        f"It lies between 0 and {MOST_DECIMALS}.",
    )
    lowest, largest = (_bound(entry[key], key, where, decimals) for key in ("lowest", "largest"))
    refuse_first(
        (lowest >= largest, f"`lowest` of {where} is not below `largest`.", "Give two bounds."),
        (
            max(abs(lowest), abs(largest)) * 10**decimals > LARGEST_STORED,
            f"The bounds of {where} exceed {LARGEST_STORED:,} units of its last decimal.",
            "Use fewer decimals, or a larger unit such as thousands.",
        ),
    )
    missing = entry.get("missing", [])
    check_texts(missing, f"`missing` of {where}", "Give a list of texts.")
    return NumericMeasure(
        name,
        entry.get("label") or name.replace("_", " ").capitalize(),
        entry.get("column") or name,
        entry.get("unit", ""),
        decimals,
        lowest,
        largest,
        tuple(missing),
        _statistics(entry.get("statistics", list(STATISTICS)), where),
        _protection(entry.get("protection", {}), where, lowest),
    )


def _bound(value: Any, key: str, where: str, decimals: int) -> Fraction:
    _number(value, f"`{key}` of {where}")
    bound = Fraction(str(value))
    check_value(
        (bound * 10**decimals).denominator == 1,
        value,
        f"`{key}` of {where}",
        f"It has at most the {decimals} decimals of the measure.",
    )
    return bound


def _statistics(value: Any, where: str) -> tuple[str, ...]:
    check_value(is_texts(value) and value, value, f"`statistics` of {where}", "Give a list of texts.")
    for each in value:
        if each not in STATISTICS:
            raise BadDescription(f'{where} has the statistic "{each}".', nearest(each, STATISTICS))
    return tuple(dict.fromkeys(value))


def _number(value: Any, what: str, least: float | None = None) -> float:
    fits = isinstance(value, (int, float)) and not isinstance(value, bool) and abs(value) < float("inf")
    check_value(fits and value == value, value, what, "Give a number.")  # noqa: PLR0124 - NaN
    if least is not None:
        check_value(value > least, value, what, f"It is above {least:g}.")
    return float(value)


def _protection(section: Any, where: str, lowest: Fraction) -> MagnitudeProtection:
    """Parse `[measure.protection]`."""
    values = dict(
        check_section(
            section, "measure.protection", {f.name for f in fields(MagnitudeProtection)} - {"tables"}
        )
    )
    default, own = MagnitudeProtection(), f"[measure.protection] of {where}"
    allowed = {
        "definition": DEFINITIONS,
        "magnifier": MAGNIFIERS,
        "zero_contributors": ("left-out", "included"),
        "counts": ("released", "independent"),
    }
    for key, words in allowed.items():
        value = values.get(key, getattr(default, key))
        if value not in words:
            raise BadDescription(f"`{key}` of {own} is {value!r}.", nearest(str(value), words))
    values["factors"] = _factors(values, own)
    for key in ("noise", "small"):
        if key in values:
            values[key] = _multipliers(values[key], f"`{key}` of {own}")
    if "flex" in values:
        values["flex"] = _flexible(values["flex"], f"`flex` of {own}")
    if "simple" in values:
        values["simple"] = _number(values["simple"], f"`simple` of {own}", 0)
    if values.get("flex") and values.get("simple"):
        raise BadDescription(f"{own} has `flex` and `simple`.", "Give one of them.")
    if not values.get("flex") and "simple" not in values:
        values["simple"] = 0.2
    if "sensitive" in values:
        values["sensitive"] = _sensitive(values["sensitive"], f"`sensitive` of {own}", lowest)
    least = values.get("least_contributors", default.least_contributors)
    check_type(least, int, f"`least_contributors` of {own}")
    check_value(least >= 1, least, f"`least_contributors` of {own}", "It is at least 1.")
    return MagnitudeProtection(**values)


def _factors(values: Mapping[str, Any], own: str) -> tuple[float, ...]:
    top = values.get("magnifier", "top") == "top"
    factors = values.get("factors", [1.0, 0.5, 0.2] if top else [1.0])
    advice = f"Give at most {MOST_FACTORS} numbers above 0, as in [1, 0.5, 0.2]."
    check_value(
        isinstance(factors, list) and 0 < len(factors) <= MOST_FACTORS, factors, f"`factors` of {own}", advice
    )
    if not top and len(factors) > 1:
        raise BadDescription(
            f"{own} has {len(factors)} factors and the magnifier {values['magnifier']}.",
            'Only the magnifier "top" has more than one factor.',
        )
    return tuple(_number(each, f"A factor of {own}", 0) for each in factors)


def _multipliers(value: Any, what: str) -> Multipliers:
    check_value(isinstance(value, dict), value, what, "Write { D = 5, V = 1, step = 2 }.")
    refuse_unknown_keys(value, {"family", "D", "V", "step"}, what)
    require_keys(value, ("D", "V"), what)
    family = value.get("family", "maxent-magnitude")
    check_value(family == "maxent-magnitude", family, f"The family in {what}", 'Use "maxent-magnitude".')
    for key in ("D", "step"):
        check_type(value.get(key, 1), int, f"{key} in {what}")
    D, step = value["D"], value.get("step", 1)
    check_value(
        D >= 1 and step >= 1 and D * step <= MOST_STEPS,
        f"D = {D}, step = {step}",
        what,
        f"D times step lies between 1 and {MOST_STEPS}.",
    )
    return Multipliers(D, _number(value["V"], f"V in {what}", 0), step)


def _flexible(value: Any, what: str) -> Flexible:
    advice = "Write { point = 1000, small = 0.2, large = 0.03, power = 2 }."
    check_value(isinstance(value, dict), value, what, advice)
    refuse_unknown_keys(value, {"point", "small", "large", "power"}, what)
    require_keys(value, ("point", "small", "large"), what)
    point, small, large = (_number(value[key], f"{key} in {what}", 0) for key in ("point", "small", "large"))
    power = value.get("power", 2)
    check_type(power, int, f"power in {what}")
    check_value(0 < power <= 16, power, f"power in {what}", "It lies between 1 and 16.")
    check_value(large <= small, f"small = {small:g}, large = {large:g}", what, "`large` is at most `small`.")
    return Flexible(point, small, large, power)


def _sensitive(value: Any, what: str, lowest: Fraction) -> Sensitive:
    check_value(isinstance(value, dict), value, what, "Write { p_percent = 10, extra = 0.5 }.")
    refuse_unknown_keys(value, {"p_percent", "n", "k", "extra"}, what)
    require_keys(value, ("extra",), what)
    extra = _number(value["extra"], f"extra in {what}", 0)
    percent = _number(value["p_percent"], f"p_percent in {what}", 0) if "p_percent" in value else None
    refuse_first(
        (
            ("n" in value) != ("k" in value),
            f"{what} has one of n and k.",
            "Give both, as in { n = 2, k = 85 }.",
        ),
        (percent is None and "n" not in value, f"{what} has no rule.", "Give p_percent, or n and k."),
        (
            lowest < 0,
            f"{what} compares contributions with their sum, and values may be negative.",
            "Set lowest = 0, or leave the rule out.",
        ),
    )
    dominance = None
    if "n" in value:
        check_type(value["n"], int, f"n in {what}")
        check_value(
            1 <= value["n"] <= MOST_FACTORS,
            value["n"],
            f"n in {what}",
            f"It lies between 1 and {MOST_FACTORS}.",
        )
        dominance = (value["n"], _number(value["k"], f"k in {what}", 0))
    return Sensitive(extra, percent, dominance)
