"""Keyed noise by description, seen from outside: the published distribution, the promise, no shared noise.

2,000 disjoint cells with one true count under 100 secrets: 200,000 draws a side. Each test has a wrong answer beside it
that the same test rejects.
"""

import math
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from scipy import stats

from discreet.model.description.dataset_toml import parse_dataset
from discreet.model.exact import ExactTable
from discreet.model.request import TableRequest, canonical
from discreet.model.shape import table_shape
from discreet.model.universe import parse_universe
from discreet.noise import laplace
from discreet.noise.cell_distribution import SumDistribution
from discreet.privacy.accounting import TableCost, basic_composition
from discreet.privacy.audit import delta as exact_delta
from discreet.protect.description_keys import DescriptionNoise, add_description_noise
from discreet.protect.margin_choice import choose_margins
from discreet.records.keys import Secret

#: Of every single test below; secrets are fixed, so the outcome is too.
FALSE_ALARM = 1e-6
CELLS, SECRETS = 2000, 100
EPSILON = 1.0
TABLE = laplace(epsilon=EPSILON, modulus=2**64)
SHARPER = laplace(epsilon=1.05 * EPSILON, modulus=2**64)

DESCRIPTION = f"""
id = "cells"
label = "Many cells"
id_column = "id"
[[variable]]
name = "cell"
categories = [{", ".join(f'"c{n}"' for n in range(CELLS // 8))}]
[[variable]]
name = "part"
categories = ["1", "2", "3", "4", "5", "6", "7", "8"]
"""


@pytest.fixture(scope="module")
def dataset():
    return parse_dataset(DESCRIPTION)


def secrets():
    rng = np.random.default_rng(2024)
    return [Secret(rng.bytes(32)) for _ in range(SECRETS)]


def releases(dataset, count, table=TABLE, *, version="1", fingerprint=None, totals=False):
    """What every secret releases for cells that all have one true count; other counts are other records."""
    universe = parse_universe(
        {"tables": [["cell", "part"]], "variables": [], "up_to": 0, "margins": "sums"}, dataset
    )
    request = TableRequest("cells", ("cell",), () if totals else ("part",), totals=False)
    shape = table_shape(canonical(request, dataset), dataset)
    parts = choose_margins(shape, universe, dataset, {("cell", "part"): 1.0})
    counts = np.full(shape.lengths, count * (8 if totals else 1))
    exact = ExactTable(shape, counts, np.zeros(shape.lengths, dtype=np.uint64))
    found = []
    for secret in secrets():
        noise = DescriptionNoise(
            secret, dataset, version, fingerprint or f"records-{count}", {("cell", "part"): table}
        )
        cells = add_description_noise(exact, parts, noise)
        found.append(cells.noisy.ravel())
    return np.concatenate(found)


def chi_square(noise, distribution):
    """The p-value of draws against a distribution, rare values taken together."""
    values = np.array(sorted(distribution))
    expected = np.array([distribution[v] for v in values.tolist()]) * noise.size
    common = expected >= 20
    counts = np.array([(noise == v).sum() for v in values[common].tolist()])
    observed = np.append(counts, noise.size - counts.sum())
    wanted = np.append(expected[common], noise.size - expected[common].sum())
    return stats.chisquare(observed, wanted).pvalue


def clopper_pearson(successes, trials):
    """A two-sided interval that misses with probability at most `FALSE_ALARM`."""
    return stats.binomtest(successes, trials).proportion_ci(1 - FALSE_ALARM, method="exact")


def hockey_stick(one, other, epsilon):
    """Bounds on P(S) - e^eps Q(S), the worst over thresholds S = {released <= t} and {released > t}."""
    lows, highs = [], []
    for t in range(-3, 4):
        for first, second in ((one <= t, other <= t), (one > t, other > t)):
            p = clopper_pearson(int(first.sum()), first.size)
            q = clopper_pearson(int(second.sum()), second.size)
            lows.append(p[0] - math.exp(epsilon) * q[1])
            highs.append(p[1] - math.exp(epsilon) * q[0])
    return max(lows), max(highs)


DISTRIBUTION = {v: float(p) for v, p in TABLE.rows[0].probabilities().items()}


@pytest.mark.parametrize("count", [0, 1, 7])
def test_released_noise_follows_the_published_distribution_zeros_included(dataset, count):
    assert chi_square(releases(dataset, count) - count, DISTRIBUTION) > FALSE_ALARM


def test_noise_whose_scale_is_five_percent_off_is_found_out(dataset):
    assert chi_square(releases(dataset, 0, SHARPER), DISTRIBUTION) < FALSE_ALARM
    wider = laplace(epsilon=0.95 * EPSILON, modulus=2**64)
    assert chi_square(releases(dataset, 0, wider), DISTRIBUTION) < FALSE_ALARM


@pytest.mark.parametrize("counts", [(0, 1), (1, 0), (1, 2), (2, 1)])
def test_neighbours_cannot_be_told_apart_better_than_promised(dataset, counts):
    one, other = (releases(dataset, count) for count in counts)
    exact = float(exact_delta(TABLE, epsilon=EPSILON))
    low, high = hockey_stick(one, other, EPSILON)
    assert low <= exact <= high
    half = float(exact_delta(TABLE, epsilon=EPSILON / 2))
    low, high = hockey_stick(one, other, EPSILON / 2)
    assert low <= half <= high


def test_a_sharper_table_breaks_the_promise_visibly(dataset):
    one, other = releases(dataset, 0, SHARPER), releases(dataset, 1, SHARPER)
    low, _ = hockey_stick(one, other, EPSILON)
    assert low > float(exact_delta(TABLE, epsilon=EPSILON))


def test_zeros_without_noise_break_the_promise_visibly(dataset):
    one, other = np.zeros(CELLS * SECRETS, dtype=np.int64), releases(dataset, 1)
    low, _ = hockey_stick(one, other, EPSILON)
    assert low > 0.1
    assert chi_square(one, DISTRIBUTION) < FALSE_ALARM


def same_noise(one, other):
    """Whether two noises agree as often as independent ones do."""
    chance = sum(p * p for p in DISTRIBUTION.values())
    low, high = clopper_pearson(int((one == other).sum()), one.size)
    return low <= chance <= high


def test_neighbouring_records_never_share_noise(dataset):
    zero, one = releases(dataset, 0), releases(dataset, 1) - 1
    assert same_noise(zero, one)
    without = [releases(dataset, count, fingerprint="missing") - count for count in (0, 1)]
    assert not same_noise(*without)


def test_versions_never_share_noise(dataset):
    first, second = (releases(dataset, 0, version=version) for version in ("1", "2"))
    assert same_noise(first, second)
    without = [releases(dataset, 0, version="missing") for _ in range(2)]
    assert not same_noise(*without)


def independent(one, other):
    """Whether the rank correlation is what chance gives."""
    return stats.spearmanr(one, other).pvalue > FALSE_ALARM


def test_scales_never_share_noise(dataset, monkeypatch):
    assert independent(releases(dataset, 0), releases(dataset, 0, SHARPER))
    monkeypatch.setattr("discreet.protect.description_keys.mechanism_name", lambda _table: "missing")
    assert not independent(releases(dataset, 0), releases(dataset, 0, SHARPER))


def test_a_scale_is_in_the_key_even_where_the_integers_agree(dataset):
    """Two tables of the same distribution that were designed for different epsilons."""
    relabelled = replace(TABLE, parameters={**TABLE.parameters, "epsilon": 2.0})
    assert same_noise(releases(dataset, 0), releases(dataset, 0, relabelled))
    assert not same_noise(releases(dataset, 0), releases(dataset, 0))


def test_a_sum_of_released_cells_has_the_distribution_that_is_stated(dataset):
    noise = releases(dataset, 3, totals=True) - 24
    distribution = {v: float(p) for v, p in SumDistribution(TABLE.rows[0], 8).exact_distribution().items()}
    assert chi_square(noise, distribution) > FALSE_ALARM
    wrong = {v: float(p) for v, p in SumDistribution(TABLE.rows[0], 7).exact_distribution().items()}
    assert chi_square(noise, wrong) < FALSE_ALARM


def test_an_uncharged_margin_breaks_the_promise_visibly(dataset):
    """A person in three tables at 1/3 each: the joint release keeps E = 1, and not the E of two of them."""
    third = laplace(epsilon=EPSILON / 3, modulus=2**64)
    tables = [(f"table {n}", third) for n in range(3)]
    absent = [releases(dataset, 0, table, version=name) for name, table in tables]
    present = [releases(dataset, 1, table, version=name) for name, table in tables]
    below, below_with = (np.all([r <= 0 for r in side], axis=0) for side in (absent, present))
    charged, delta = basic_composition([TableCost(third, EPSILON / 3, 3)])
    uncharged, _ = basic_composition([TableCost(third, EPSILON / 3, 2)])
    p = clopper_pearson(int(below.sum()), below.size)
    q = clopper_pearson(int(below_with.sum()), below_with.size)
    assert p[0] - math.exp(charged) * q[1] <= float(delta)
    assert p[0] - math.exp(uncharged) * q[1] > float(delta)
    assert charged == pytest.approx(Fraction(1))
