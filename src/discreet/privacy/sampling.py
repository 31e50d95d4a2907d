"""Privacy amplification by sampling: the exact guarantee for a person of the population whose sample is secret.

A person is in the sample with probability r. Neighbouring populations differ by that person; P is the released count with
the person in the sample, Q without. A reader who does not know the sample sees the mixture M = (1 - r) Q + r P:

    inside:   max(M(E) - e^epsilon Q(E)),    with M(E) = (1 - r) B + r A for an event of A = P(E) and B = Q(E)
    outside:  max(Q(E) - e^epsilon M(E)),    with A = Q(E) and B = P(E)

Mixing changes the masses of every event by a linear map of positive determinant that keeps the order of the ratios, so the
best events of the mixture are those of the pair (P, Q): the frontier of the noise table is mapped vertex by vertex, in
integers. Nothing is bounded, and both directions differ.

Poisson sampling includes each person independently with the declared rate. Simple random sampling of n of N has r = n / N;
when one person replaces another, the place in the sample may otherwise go to a person of the same cell or of no counted
cell, and the worse case is taken. Stratified sampling is simple random sampling in each stratum; the largest rate is the
worst, because both divergences grow with r.

Source: Balle, Barthe & Gaboardi (2018), Theorems 2, 8 and 11 (bounds for every mechanism; here the divergence of the
shipped integers); Rinott et al. (2018), section 8; Shlomo et al. (2019), section 4; Bailie (2020), section 4.1.
"""

import math
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from typing import Any, NamedTuple

from discreet.errors import BadRequest
from discreet.model.messages.text import message, nearest
from discreet.model.survey import Survey
from discreet.noise.table import NoiseTable
from discreet.privacy.audit import neighbour_frontiers
from discreet.privacy.claim import three_digits_up
from discreet.privacy.hockey_stick import Exponential, Frontier

#: The sampling designs, in words.
DESIGNS = {
    "poisson": message("Poisson sampling"),
    "simple": message("simple random sampling"),
    "stratified": message("stratified random sampling"),
}
#: What must hold for a person of the population, in sentences.
CONDITIONS = (
    message(
        "Nobody learns who is in the sample. A person who is known to be in it has the guarantee of the sample only."
    ),
    message(
        "The rates are public and do not depend on the answers; they were fixed before the sample was drawn."
    ),
    message(
        "People enter the sample one by one. If households or areas are drawn whole, a reader who recognises one of them "
        "knows that the others are in the sample: the guarantee is that of the sample."
    ),
    message(
        "Nothing released reveals an individual rate. A weighted table whose weights differ within a cell does; it has the "
        "guarantee of the sample."
    ),
)


@dataclass(frozen=True, slots=True)
class Sampling:
    """A sampling design: one rate, or one for each stratum.

    >>> Sampling.of(["1/20", "0.02"], "stratified").largest
    Fraction(1, 20)
    """

    rates: tuple[Fraction, ...]
    design: str = "poisson"

    def __post_init__(self) -> None:
        if self.design not in DESIGNS:
            raise BadRequest(f'There is no sampling design "{self.design}".', nearest(self.design, DESIGNS))
        if not self.rates or not all(0 < rate <= 1 for rate in self.rates):
            raise BadRequest("A sampling rate lies above 0 and is at most 1.", "Write 0.05 or 1/20.")
        if len(self.rates) > 1 and self.design == "simple":
            raise BadRequest("Simple random sampling has one rate.", "Say stratified, or give one rate.")

    @classmethod
    def of(cls, rates: list[str], design: str = "poisson") -> "Sampling":
        """Parse rates such as 0.05 or 1/20, exactly as written."""
        try:
            return cls(tuple(map(Fraction, rates)), design)
        except (ValueError, ZeroDivisionError):
            raise BadRequest(f"A sampling rate is {', '.join(rates)!r}.", "Write 0.05 or 1/20.") from None

    @classmethod
    def of_survey(cls, survey: Survey) -> "Sampling | None":
        """The declared design of a survey whose weights are public by stratum or equal; None for any other.

        Clusters and individual weights leave no guarantee beyond that of the sample.
        """
        if survey.clustered or survey.design.clusters:
            return None
        if survey.form == "public-strata":
            weights = sorted({weight for _, weight in survey.stratum_weights})
            return cls(tuple(min(Fraction(1), 1 / weight) for weight in weights), "stratified")
        if survey.relative_variance > 0:
            return None
        return cls((min(Fraction(1), survey.sample_size / survey.population_size),), "simple")

    @property
    def largest(self) -> Fraction:
        """The rate of the worst-protected stratum."""
        return max(self.rates)


def inside(frontier: Frontier, rate: Fraction) -> Frontier:
    """The frontier of the mixture (1 - r) Q + r P against Q, from that of P against Q."""
    a, b = rate.numerator, rate.denominator
    vertices = tuple((a * p + (b - a) * q, b * q) for p, q in frontier.vertices)
    return Frontier(b * frontier.total, vertices, frontier.pairs)


def outside(frontier: Frontier, rate: Fraction) -> Frontier:
    """The frontier of P against the mixture (1 - r) P + r Q, from that of P against Q."""
    a, b = rate.numerator, rate.denominator
    vertices = tuple((b * p, (b - a) * p + a * q) for p, q in frontier.vertices)
    pairs = frontier.pairs
    if vertices[0][1] > 0:  # no event is proof any more: the empty event comes first
        vertices, pairs = ((0, 0), *vertices), (pairs[0], *pairs)
    return Frontier(b * frontier.total, vertices, pairs)


class Guarantee(NamedTuple):
    """The guarantee for a person of the population at one sampling rate.

    `delta_in` compares the mixture with the person against the release without; `delta_out` is the reverse.
    """

    rate: Fraction
    epsilon: float
    delta: Fraction
    delta_in: Fraction
    delta_out: Fraction
    exact: bool


def population_guarantee(
    table: NoiseTable,
    sampling: Sampling,
    *,
    epsilon: float | Fraction | Decimal | None = None,
    delta: float | Fraction | None = None,
    neighbours: str = "add-remove",
    cells: int = 1,
) -> tuple[Guarantee, ...]:
    """The guarantee of each rate at an epsilon, or at the smallest epsilon with a delta.

    Args:
        table: Any noise table.
        sampling: The declared design.
        epsilon: The epsilon of the population.
        delta: In place of epsilon.
        neighbours: "add-remove": the population has one person more or less; "replace-one": of the same stratum. Under
            Poisson sampling "replace-one" is an upper bound, otherwise all figures are attained.
        cells: The number of overlapping cells in which a person is counted.

    >>> from discreet.noise import laplace
    >>> table = laplace(epsilon=1.0, modulus=2**64)
    >>> found = population_guarantee(table, Sampling.of(["0.05"]), delta=1e-9)
    >>> round(found[0].epsilon, 4)
    0.0824
    """
    if (epsilon is None) == (delta is None):
        raise BadRequest("A guarantee is stated at an epsilon or at a delta.", "Give one of them.")
    both, exact = neighbour_frontiers(table, neighbours, cells)
    exact = exact and (neighbours == "add-remove" or sampling.design != "poisson")
    found = []
    for rate in sampling.rates:
        ways = _ways(both, rate, neighbours)
        at = (
            max(each.epsilon(Fraction(delta)) for way in ways for each in way)
            if delta is not None
            else epsilon
        )
        exponential = Exponential.of(at if at is not None else math.inf)
        inward, outward = (max(each.delta(exponential)[0] for each in way) for way in ways)
        found.append(Guarantee(rate, float(at or 0.0), max(inward, outward), inward, outward, exact))
    return tuple(found)


def _ways(
    both: tuple[Frontier, Frontier], rate: Fraction, neighbours: str
) -> tuple[tuple[Frontier, ...], tuple[Frontier, ...]]:
    """The frontiers of the mixture first, and those of the mixture second."""
    without, with_person = both  # the smaller count against the larger, and the reverse
    if neighbours == "add-remove":
        return (inside(with_person, rate),), (outside(without, rate),)
    return tuple(inside(each, rate) for each in both), tuple(outside(each, rate) for each in both)


def sample_terms(epsilon: float, delta: float, rate: Fraction) -> tuple[float, float]:
    """The epsilon and delta that a table needs within the sample, for a wish for the population.

        e^epsilon(sample) = 1 + (e^epsilon - 1) / r,    delta(sample) = delta / r

    The person's mixture then keeps the wish exactly, and the other direction keeps it with room to spare.

    >>> epsilon, delta = sample_terms(0.1, 1e-6, Fraction(1, 10))
    >>> round(epsilon, 4), round(delta, 9)
    (0.7187, 1e-05)
    """
    if epsilon > 700:
        return epsilon, min(1.0, delta / float(rate))
    return math.log1p(math.expm1(epsilon) / float(rate)), min(1.0, delta / float(rate))


def population_sentences(table: NoiseTable, sampling: Sampling, epsilon: float) -> tuple[str, ...]:
    """The guarantee of the worst stratum for a person of the population, and its conditions."""
    found = max(population_guarantee(table, sampling, epsilon=epsilon), key=lambda each: each.delta)
    return (
        message(
            "For a person of the population one count is ({epsilon:g}, {delta})-differentially private: {design} takes at "
            "most {percent:.3g} % of the people of a stratum. This holds only under the conditions that follow.",
            epsilon=epsilon,
            delta=three_digits_up(found.delta),
            design=DESIGNS[sampling.design],
            percent=100 * float(found.rate),
        ),
        *CONDITIONS,
    )


def guarantee_document(sampling: Sampling, found: tuple[Guarantee, ...]) -> dict[str, Any]:
    """The guarantee as JSON; an infinite epsilon is null."""
    rows = [
        {
            "rate": str(each.rate),
            "epsilon": each.epsilon if math.isfinite(each.epsilon) else None,
            "delta": float(each.delta),
            "delta_in": float(each.delta_in),
            "delta_out": float(each.delta_out),
            "exact": each.exact,
        }
        for each in found
    ]
    worst = max(range(len(found)), key=lambda place: found[place].rate)
    return {"design": sampling.design, **rows[worst], "rates": rows, "conditions": list(CONDITIONS)}
