"""Invented populations, and probability samples of them under many designs, with weights and replicate weights.

300,000 people in 1,500 clusters. Region is constant within clusters; a, b and c are categories whose distribution differs
between clusters by Dirichlet draws, which have the intra-cluster correlation ρ of every category:

    p_c  ~  Dirichlet(p (1 - ρ)/ρ),    Var(p_ck) = ρ p_k (1 - p_k)

b depends on a, and c on b. Weights are proportional to exp(related · (1 - b) + spread · z), z normal. People of unequal
weights are drawn with replacement, so that estimates by 1/π are unbiased exactly.

Replicate weights: JK1 and JKn drop a cluster; BRR and Fay's method halve 31 strata of two clusters by a Hadamard matrix; the
bootstrap draws n_h - 1 clusters of each stratum (Rao & Wu).

Source: Wolter (2007), chapters 3-5; Rao & Wu (1988); Fay (1989).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Codes = NDArray[np.int64]

PEOPLE, CLUSTERS = 300_000, 1_500
REGIONS = np.array([0.30, 0.25, 0.20, 0.15, 0.10])
#: The categories of each variable of a table.
CATEGORIES = {"region": 5, "a": 5, "b": 3, "c": 8}
_A = np.array([0.25, 0.25, 0.20, 0.20, 0.10])
_B = np.array(
    [[0.20, 0.45, 0.35], [0.25, 0.45, 0.30], [0.35, 0.45, 0.20], [0.45, 0.40, 0.15], [0.60, 0.30, 0.10]]
)
_C = np.array([0.35, 0.25, 0.15, 0.10, 0.07, 0.05, 0.02, 0.01])
#: Strata of two clusters, for half-samples; one less than the order of the Hadamard matrix.
PAIRS = 31
#: Weights have this many decimals.
DECIMALS = 4


@dataclass(frozen=True, slots=True)
class Design:
    """How a sample is drawn and weighted.

    Args:
        clusters: How many are drawn; 0 for people one by one.
        icc: The intra-cluster correlation of categories; `uneven` multiplies that of the rarer half of c.
        latent: Whether one trait of a cluster moves all variables.
        strata: Whether regions are strata.
        rates: The relative sampling rates of regions.
        related: The effect of b on the logarithm of the weight; `spread` is the rest.
        most: No weight is above this multiple of their mean.
        outliers: The share of people whose weight is six times as large.
        sizes: The standard deviation of the logarithm of the size of clusters.
        take: With unequal sizes: "rate" of each drawn cluster, or "pps", a fixed number with clusters drawn by size.
        adjust: "ratio" to the population, "raked" to region and a (after less response by the young), "" for 1/π as it is.
        replicates: The method; the survey declares replicate weights only.
        by: The variable of the strata of the form `public-strata`.
    """

    name: str
    clusters: int = 0
    icc: float = 0.0
    uneven: float = 1.0
    latent: bool = False
    strata: bool = False
    rates: tuple[float, ...] = (1, 1, 1, 1, 1)
    related: float = 0.0
    spread: float = 0.0
    most: float = 0.0
    outliers: float = 0.0
    sizes: float = 0.0
    take: str = ""
    adjust: str = ""
    replicates: str = ""
    by: str = "region"


UNEQUAL_RATES = (1.0, 1.5, 2.0, 3.0, 4.0)
#: The designs of the grid.
DESIGNS = (
    Design("simple"),
    Design("strata", strata=True),
    Design("weights-by-stratum", strata=True, rates=UNEQUAL_RATES),
    Design("related-little", related=0.015, spread=0.2, adjust="ratio", by="b"),
    Design("related", related=0.5, spread=0.1, adjust="ratio", by="b"),
    Design("unrelated-calibrated", spread=0.3, adjust="ratio"),
    Design("unrelated-uncalibrated", spread=0.3),
    Design("raked", adjust="raked", by="a"),
    Design("outliers", outliers=0.01, adjust="ratio"),
    Design("heavy-tail", spread=0.8, adjust="ratio"),
    Design("heavy-trimmed", spread=0.8, most=4.0, adjust="ratio"),
    Design("clusters-200-icc-.02", 200, 0.02),
    Design("clusters-100-icc-.05", 100, 0.05),
    Design("clusters-40-icc-.15", 40, 0.15),
    Design("clusters-150-icc-.15", 150, 0.15),
    Design("clusters-latent", 100, 0.08, latent=True),
    Design("clusters-uneven-icc", 100, 0.05, uneven=5.0),
    Design("strata-clusters", 100, 0.08, strata=True),
    Design("strata-clusters-weights", 160, 0.05, strata=True, rates=UNEQUAL_RATES),
    Design("clusters-related", 150, 0.05, related=0.35, by="b"),
    Design("clusters-unrelated", 100, 0.05, spread=0.3),
    Design("clusters-unequal-rate", 100, 0.05, sizes=0.5, take="rate"),
    Design("clusters-unequal-pps", 100, 0.05, sizes=0.5, take="pps"),
    Design("jk1", 60, 0.05, replicates="jk1"),
    Design("jkn", 100, 0.05, strata=True, replicates="jkn"),
    Design("brr", 2 * PAIRS, 0.05, replicates="brr"),
    Design("fay", 2 * PAIRS, 0.05, replicates="fay"),
    Design("bootstrap", 100, 0.05, strata=True, replicates="bootstrap"),
    Design("strata-jkn-weights", 100, 0.05, strata=True, rates=UNEQUAL_RATES, replicates="jkn"),
)


@dataclass(frozen=True, slots=True, eq=False)
class Sample:
    """The respondents of one sample.

    Args:
        people: Their numbers in the population.
        weights: In fixed point.
        stratum: Of the design, like `cluster`.
        replicates: The factor of each respondent's weight in each replicate.
        coefficients: Of JKn.
    """

    people: Codes
    weights: Codes
    stratum: Codes
    cluster: Codes
    replicates: Floats = field(default_factory=lambda: np.empty((0, 0)))
    coefficients: tuple[float, ...] = ()


class Population:
    """The people of a design, from a seed."""

    def __init__(self, design: Design, seed: int) -> None:
        rng = np.random.default_rng([seed, 1])
        self.design = design
        share = np.exp(design.sizes * rng.standard_normal(CLUSTERS))
        sizes = np.maximum(np.rint(PEOPLE * share / share.sum()), 10).astype(np.int64)
        self.starts = np.concatenate([[0], np.cumsum(sizes)])
        self.cluster = np.repeat(np.arange(CLUSTERS), sizes)
        self.region_of = np.searchsorted(np.cumsum(REGIONS) * CLUSTERS - 0.5, np.arange(CLUSTERS)).clip(max=4)
        icc_c = np.where(np.arange(_C.size) < 3, 1.0, design.uneven) * design.icc
        trait = rng.standard_normal(CLUSTERS) if design.latent else None
        tilts = [
            _tilts(each, icc, trait, rng)
            for each, icc in ((_A, design.icc), (_B.mean(axis=0), design.icc), (_C, icc_c))
        ]
        region = self.region_of[self.cluster]
        older = 1 + 0.15 * np.multiply.outer(np.arange(5) - 2, np.arange(5) - 2) / 4
        a = _categories((_A * older)[region] * tilts[0][self.cluster], rng)
        b = _categories(_B[a] * tilts[1][self.cluster], rng)
        with_b = _C * (1 + 0.2 * np.multiply.outer(np.arange(3) - 1, np.resize([1, -1], 8)))
        c = _categories(with_b[b] * tilts[2][self.cluster], rng)
        self.columns = {"region": region, "a": a, "b": b, "c": c}
        weight = np.exp(design.related * (1 - b) + design.spread * rng.standard_normal(region.size))
        weight = np.where(rng.random(region.size) < design.outliers, 6 * weight, weight)
        if design.most:
            weight = np.minimum(weight, design.most / np.mean(1 / weight))
        self.weight = weight * (1 / np.array(design.rates))[region]

    @property
    def size(self) -> int:
        return self.cluster.size

    @cached_property
    def _chances(self) -> Floats:
        return np.cumsum(1 / self.weight)

    @cached_property
    def _margins(self) -> tuple[Floats, Floats]:
        return np.bincount(self.columns["region"]).astype(float), np.bincount(self.columns["a"]).astype(float)

    def draw(self, size: int, rng: np.random.Generator) -> Sample:
        """A sample of about `size` respondents."""
        design = self.design
        if design.clusters:
            people, weights, cluster = self._clusters(size, rng)
            stratum = self.region_of[cluster] if design.strata else np.zeros_like(cluster)
            if design.replicates in {"brr", "fay"}:
                stratum = cluster * PAIRS // CLUSTERS
        else:
            people, weights = self._one_by_one(size, rng)
            cluster = np.arange(people.size)
            stratum = self.columns["region"][people] if design.strata else np.zeros_like(people)
        if design.adjust == "raked":
            weights = self._rake(people, weights)
        if design.adjust == "ratio":
            weights = weights * self.size / weights.sum()
        fixed = np.rint(weights * 10**DECIMALS).astype(np.int64)
        units = np.unique(cluster, return_inverse=True)[1].ravel()
        if not design.replicates:
            return Sample(people, fixed, stratum, units)
        of_unit = np.zeros(int(units.max()) + 1, dtype=np.int64)
        of_unit[units] = stratum
        factors, coefficients = replicate_factors(design.replicates, of_unit, rng)
        return Sample(people, fixed, stratum, units, factors[:, units], coefficients)

    def _one_by_one(self, size: int, rng: np.random.Generator) -> tuple[Codes, Floats]:
        design = self.design
        if design.strata:
            shares = REGIONS * np.array(design.rates)
            sizes = np.rint(size * shares / shares.sum()).astype(np.int64)
            ends = np.searchsorted(self.columns["region"], np.arange(6))
            drawn = [
                lo + rng.choice(hi - lo, n, replace=False)
                for lo, hi, n in zip(ends, ends[1:], sizes, strict=False)
            ]
            weights = np.diff(ends) / sizes
            return np.concatenate(drawn), np.repeat(weights, sizes)
        if design.adjust == "raked":
            tried = rng.choice(self.size, int(size * 1.5), replace=False)
            young = self.columns["a"][tried]
            answered = tried[rng.random(tried.size) < np.array([0.55, 0.6, 0.7, 0.75, 0.8])[young]]
            return answered, np.full(answered.size, self.size / answered.size)
        if design.spread or design.related or design.outliers:
            total = self._chances[-1]
            people = np.searchsorted(self._chances, rng.random(size) * total)
            return people, self.weight[people] * total / size
        return rng.choice(self.size, size, replace=False), np.full(size, self.size / size)

    def _clusters(self, size: int, rng: np.random.Generator) -> tuple[Codes, Floats, Codes]:
        design, sizes = self.design, np.diff(self.starts)
        if design.replicates in {"brr", "fay"}:
            blocks = np.arange(CLUSTERS) * PAIRS // CLUSTERS
            drawn, chance = self._by_group(blocks, np.full(PAIRS, 2), rng)
        elif design.strata:
            shares = REGIONS * np.array(design.rates)
            drawn, chance = self._by_group(
                self.region_of,
                np.maximum(np.rint(design.clusters * shares / shares.sum()), 2).astype(np.int64),
                rng,
            )
        elif design.take == "pps":
            drawn = rng.choice(CLUSTERS, design.clusters, p=sizes / sizes.sum())
            chance = design.clusters * sizes[drawn] / sizes.sum()
        else:
            drawn = rng.choice(CLUSTERS, design.clusters, replace=False)
            chance = np.full(drawn.size, drawn.size / CLUSTERS)
        take = size // drawn.size
        rate = size / (drawn.size * sizes.mean())
        people, weights, unit = [], [], []
        for at, (cluster, pi) in enumerate(zip(drawn.tolist(), chance.tolist(), strict=True)):
            first, many = int(self.starts[cluster]), int(sizes[cluster])
            number = max(int(rate * many + rng.random()), 2) if design.take == "rate" else take
            if design.spread or design.related:
                wanted = np.cumsum(1 / self.weight[first : first + many])
                own = first + np.searchsorted(wanted, rng.random(number) * wanted[-1])
                weights.append(self.weight[own] * wanted[-1] / (number * pi))
            else:
                own = first + rng.permutation(many)[: min(number, many)]
                weights.append(np.full(own.size, many / (own.size * pi)))
            people.append(own)
            unit.append(np.full(own.size, cluster + CLUSTERS * at if design.take == "pps" else cluster))
        found = np.concatenate(unit)
        if design.take == "rate":  # the rate is the same everywhere, whatever rounding gave
            weights = [np.full(found.size, CLUSTERS / (drawn.size * rate))]
        return np.concatenate(people), np.concatenate(weights), found

    def _by_group(self, group: Codes, numbers: Codes, rng: np.random.Generator) -> tuple[Codes, Floats]:
        drawn, chance = [], []
        for at, number in enumerate(numbers.tolist()):
            inside = np.flatnonzero(group == at)
            drawn.append(rng.choice(inside, number, replace=False))
            chance.append(np.full(number, number / inside.size))
        return np.concatenate(drawn), np.concatenate(chance)

    def _rake(self, people: Codes, weights: Floats) -> Floats:
        """Weights that reproduce the margins of region and a."""
        for _ in range(8):
            for name, margin in zip(("region", "a"), self._margins, strict=True):
                codes = self.columns[name][people]
                weights = weights * (margin / np.bincount(codes, weights, margin.size))[codes]
        return weights


def _tilts(p: Floats, icc: float | Floats, trait: Floats | None, rng: np.random.Generator) -> Floats:
    """The categories' factors of each cluster; their mean is 1."""
    icc = np.broadcast_to(np.asarray(icc, dtype=np.float64), p.shape)
    if not icc.any():
        return np.ones((CLUSTERS, p.size))
    if trait is not None:
        slope = np.linspace(-1, 1, p.size) * np.sqrt(3 * icc)
        return np.asarray(np.exp(np.multiply.outer(trait, slope) - slope**2 / 2))
    shape = p * (1 - icc) / icc
    return np.asarray(rng.gamma(shape, size=(CLUSTERS, p.size)) / shape)


def _categories(chances: Floats, rng: np.random.Generator) -> Codes:
    """A category of each person, by their row of chances, which need not add up to 1."""
    up_to = np.cumsum(chances, axis=1)
    return np.asarray(
        (rng.random(len(chances))[:, None] * up_to[:, -1:] > up_to[:, :-1]).sum(axis=1), dtype=np.int64
    )


def replicate_factors(
    method: str, stratum: Codes, rng: np.random.Generator
) -> tuple[Floats, tuple[float, ...]]:
    """The factor of each unit's weights in each replicate, and the coefficients of JKn.

    >>> replicate_factors("jk1", np.zeros(3, int), np.random.default_rng(1))[0].tolist()
    [[0.0, 1.5, 1.5], [1.5, 0.0, 1.5], [1.5, 1.5, 0.0]]
    """
    units = stratum.size
    same = stratum[:, None] == stratum[None]
    if method in {"jk1", "jkn"}:
        inside = np.ones_like(same) if method == "jk1" else same
        many = inside.sum(axis=1, keepdims=True)
        factors = np.where(inside, many / (many - 1), 1.0)
        np.fill_diagonal(factors, 0.0)
        return factors, tuple((1 - 1 / many[:, 0]).tolist()) if method == "jkn" else ()
    if method in {"brr", "fay"}:
        from scipy.linalg import hadamard  # noqa: PLC0415 - slow to import

        left = 0.5 if method == "fay" else 0.0
        first = np.array([stratum[:at].tolist().count(own) == 0 for at, own in enumerate(stratum.tolist())])
        sign = hadamard(PAIRS + 1)[:, 1 + stratum] * np.where(first, 1, -1)
        return np.asarray(1 + (1 - left) * sign), ()
    chosen = np.zeros((60, units))
    for own in np.unique(stratum).tolist():
        inside = np.flatnonzero(stratum == own)
        times = rng.multinomial(inside.size - 1, np.full(inside.size, 1 / inside.size), size=60)
        chosen[:, inside] = times * inside.size / (inside.size - 1)
    return chosen, ()


#: What `method` of `[survey]` is called for each kind of replicates.
METHODS: Mapping[str, Mapping[str, Any]] = {
    "jk1": {"method": "jackknife"},
    "jkn": {"method": "jackknife"},
    "brr": {"method": "brr"},
    "fay": {"method": "fay", "fay": 0.5},
    "bootstrap": {"method": "bootstrap"},
}
