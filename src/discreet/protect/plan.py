"""The plan: a universe and its terms as noise tables, one for each released margin.

    in epsilon:  epsilon(margin) = share / (changes x records per unit),             shares add up to E
    in rho:      rho(cell) = share / (changes x records per unit^2), V = 1/(2 rho),  shares add up to rho(E, delta)

A record shows in one cell of each margin, in two when neighbours replace it; a unit with r records may put all of them
into one cell, which costs r times (epsilon) or r^2 times (rho) as much. A family says which of the two scales it.

A joint universe has no tables of its own but residuals (`joint_plan`), whose noise is Gaussian.

Source: Rinott et al. (2018), section 7; docs/methods/dp.md.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from discreet.errors import BadDescription
from discreet.model.nearest import nearest
from discreet.noise.families import build, families
from discreet.privacy.claim import float_down, float_up
from discreet.privacy.composition_basic import Spent
from discreet.privacy.composition_zcdp import rho_at, rho_for
from discreet.protect.calibrate import calibrate
from discreet.protect.joint_plan import make_joint
from discreet.protect.spread import spread_by_importance, spread_equally, spread_for, workload_of

if TYPE_CHECKING:
    from collections.abc import Mapping

    from discreet.model.dataset import Dataset
    from discreet.model.terms import Terms
    from discreet.model.universe import Margin, Universe
    from discreet.noise.family import Currency
    from discreet.noise.table import NoiseTable
    from discreet.privacy.claim import Claim
    from discreet.protect.joint_plan import JointPlan

MODULUS = 2**64
#: Of the delta of a plan in rho, kept for the distance of the shipped tables to the ideal law.
KEPT_FOR_DISTANCE = 0.01


@dataclass(frozen=True, slots=True)
class PlannedTable:
    """A released margin: its share of the budget, the epsilon of one changed cell, and its noise."""

    margin: Margin
    share: Fraction
    epsilon: float
    noise: NoiseTable


@dataclass(frozen=True)
class NoisePlan:
    """All noise tables of one version of a dataset.

    Args:
        universe: The declared tables; its `margins` are those of `tables`.
        terms: What is promised.
        tables: The released margins.
        currency: `epsilon` or `rho`: what the shares are shares of.
        answer: The noise and cost of one margin outside the universe, whichever it is; None where none is answered.
        claim: What was claimed when the version was loaded, for ever; None before.
        joint: The residuals of a joint universe, which has no `tables`; None elsewhere.
    """

    universe: Universe
    terms: Terms
    tables: tuple[PlannedTable, ...]
    currency: str
    answer: PlannedTable | None = None
    claim: Claim | None = None
    joint: JointPlan | None = None

    @property
    def d(self) -> int:
        """In how many cells each record is counted; of a joint universe, in how many residuals with noise."""
        if self.joint is None:
            return len(self.tables)
        return sum(each.noise is not None for each in self.joint.residuals)

    def noise(self) -> dict[Margin, NoiseTable]:
        """The noise table of each margin."""
        return {table.margin: table.noise for table in self.tables}

    def variances(self) -> dict[Margin, float]:
        """The variance of each margin's noise, for `cover`."""
        return {table.margin: float(table.noise.rows[0].variance()) for table in self.tables}

    def spent(self) -> tuple[Spent, ...]:
        """The tables as composition takes them, equal ones together."""
        found: dict[tuple[NoiseTable, float], int] = {}
        for table in self.tables:
            key = (table.noise, table.epsilon)
            found[key] = found.get(key, 0) + 1
        return tuple(Spent(noise, epsilon, times) for (noise, epsilon), times in found.items())


def make_plan(dataset: Dataset, universe: Universe, terms: Terms, noise: Mapping[str, Any]) -> NoisePlan:
    """Spread the budget and design the noise.

    Args:
        dataset: The description.
        universe: The declared tables.
        terms: What is promised.
        noise: The family and its other parameters, as in `[protection.noise]`.

    Raises:
        BadDescription: The family cannot serve, or a parameter is the plan's own.
    """
    if universe.style == "joint":
        return _joint_plan(dataset, universe, terms, noise)
    source = _Source.of(noise)
    shares = shares_of(dataset, universe, terms, source.currency)
    _refuse_dear_answers(terms)
    answer = interactive_table(terms, (), terms.answer_cost, noise) if terms.answer_cost else None

    def plan_at(times: Fraction) -> NoisePlan:
        tables = tuple(
            _planned(margin, share * times, terms, source)
            for margin, share in sorted(shares.items(), key=lambda item: (len(item[0]), item[0]))
        )
        released = replace(universe, margins=tuple(table.margin for table in tables))
        return NoisePlan(released, terms, tables, source.currency, answer)

    claims_less = terms.calibrate and terms.delta > 0 and terms.composition == "basic"
    return calibrate(plan_at) if claims_less else plan_at(Fraction(1))


def _joint_plan(dataset: Dataset, universe: Universe, terms: Terms, noise: Mapping[str, Any]) -> NoisePlan:
    _refuse_dear_answers(terms)
    answer = interactive_table(terms, (), terms.answer_cost, noise) if terms.answer_cost else None
    return NoisePlan(universe, terms, (), "rho", answer, joint=make_joint(dataset, universe, terms))


def interactive_table(
    terms: Terms, margin: Margin, share: Fraction, noise: Mapping[str, Any]
) -> PlannedTable:
    """One margin outside the universe, released at a share of the budget: epsilon, or rho under the zcdp rule.

    Args:
        terms: Neighbours, records per unit and rule.
        margin: The canonical margin that is asked for.
        share: What it may cost.
        noise: The family and its other parameters.
    """
    source = _Source.of(noise)
    wanted: Currency = "rho" if terms.composition == "zcdp" else "epsilon"
    if source.currency != wanted or share <= 0:
        fitting = ", ".join(each.name for each in families() if each.currency == wanted)
        raise BadDescription(
            f'A share of {float(share):g} of {source.family} noise does not fit the ledger\'s rule "{terms.composition}".',
            f"Use one of {fitting} with that rule, and a share above 0.",
        )
    return _planned(margin, share, terms, source)


@dataclass(frozen=True, slots=True)
class _Source:
    """Where the noise of a plan comes from: a family that has a scale, and its other parameters."""

    family: str
    currency: Currency
    parameters: tuple[tuple[str, Any], ...]

    @classmethod
    def of(cls, noise: Mapping[str, Any]) -> _Source:
        """Read `[protection.noise]`; a family without a scale, or a scale that is given, is refused."""
        parameters = dict(noise)
        family = str(parameters.pop("family"))
        able = {each.name: each.currency for each in families() if each.currency is not None}
        if family not in able:
            raise BadDescription(
                f'The noise family "{family}" cannot serve `dp`: it depends on the count or has no scale.',
                nearest(family, able),
            )
        for own in ("epsilon", "V", "modulus"):
            if own in parameters:
                raise BadDescription(
                    f"`{own}` of [protection.noise] follows from the budget.",
                    "Take it out; set epsilon in the budget.",
                )
        return cls(family, able[family], tuple(sorted(parameters.items())))


def _whole(terms: Terms, currency: str) -> Fraction:
    if currency == "epsilon":
        return terms.epsilon
    if terms.delta == 0:
        raise BadDescription(
            "Noise that is scaled by rho cannot promise delta 0.",
            "Give a delta, or use a family scaled by epsilon.",
        )
    if terms.composition == "zcdp":
        return rho_at(terms.epsilon, terms.delta)
    delta = float(terms.delta) * (1 - KEPT_FOR_DISTANCE)
    return Fraction(rho_for(float_down(terms.epsilon), delta))


def _refuse_dear_answers(terms: Terms) -> None:
    """An answer that costs more than a budget in rho has could never be paid; `Terms` sees to epsilon."""
    if terms.composition == "zcdp" and terms.answer_cost > rho_at(terms.cap_epsilon, terms.cap_delta):
        cap = float(rho_at(terms.cap_epsilon, terms.cap_delta))
        raise BadDescription(
            f"answer_cost is {float(terms.answer_cost):g}, and the budget has rho {cap:.4g}.",
            'Under rule = "zcdp" it is a rho: give what one table may cost, up to the cap, or leave it out.',
        )


def shares_of(dataset: Dataset, universe: Universe, terms: Terms, currency: str) -> dict[Margin, Fraction]:
    """The share of each released margin, in epsilon or rho; they add up to the whole budget."""
    whole = _whole(terms, currency)
    if terms.spread == "equal":
        return spread_equally(universe.margins, whole)
    if terms.spread == "importance":
        return spread_by_importance({m: universe.weight(m) for m in universe.margins}, whole)
    return spread_for(
        workload_of(universe), universe.margins, dataset, whole, measure=terms.measure, currency=currency
    )


def _planned(margin: Margin, share: Fraction, terms: Terms, source: _Source) -> PlannedTable:
    r, changes = terms.records_per_unit, terms.changes
    if source.currency == "epsilon":
        epsilon = float_down(share / (changes * r))
        return PlannedTable(margin, share, epsilon, _scaled(source, "epsilon", epsilon))
    rho = share / (changes * r * r)
    variance = float_up(1 / (2 * rho))  # never less noise than the share pays for
    # Such a table has no epsilon of its own: all of them are accounted together at the whole one.
    return PlannedTable(margin, share, float_down(terms.epsilon), _scaled(source, "V", variance))


@lru_cache(maxsize=1024)
def _scaled(source: _Source, parameter: str, scale: float) -> NoiseTable:
    return build(source.family, {parameter: scale, **dict(source.parameters)}, MODULUS)
