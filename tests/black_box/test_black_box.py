"""`dp` seen through the HTTP application and nothing else: the stated distribution, the stated promise, no shared noise.

10,000 disjoint cells with one true count under 20 secrets, one request each: 200,000 draws a side. Every check is a
function of what came over HTTP; it passes for the product, and the same function finds out a product with one fault.
The distribution that noise is checked against is the closed form, not the product's own table.
"""

import io
import itertools
import math
import re
import shutil
from dataclasses import replace
from functools import cache

import numpy as np
import pyarrow as pa
import pyarrow.csv as pv
import pytest
from scipy import stats

from discreet.model.shape import structural_zeros
from discreet.noise import laplace
from discreet.protect import description_keys as noise_module
from discreet.protect.best_composition import _figures
from discreet.protect.description_keys import NoiseContext, add_description_noise, canonical_cells
from discreet.protect.plan import NoisePlan
from discreet.records.tabulate import tabulate
from discreet.release.verdicts import verdict_of
from discreet.rules.noisy_table import NoisyTable
from discreet.rules.verdict import rule_table_shape
from discreet.workspace.versions.load_version import load_dataset

from .conftest import load_under

pytestmark = pytest.mark.slow

#: Of every single check; secrets are fixed, so the outcome is too.
FALSE_ALARM = 1e-6
AREAS, PARTS = 5000, ("1", "2")
#: Secrets of the main comparison, of records that moved, and of questions that few draws settle.
SECRETS, MOVED, FEW = 20, 20, 2
#: Of each table; every record is in three of them.
EPSILON, TABLES = 1.0, ("a", "b", "c")

DESCRIPTION = f"""
id = "cells"
label = "Many cells"
id_column = "id"
version = "1"
[[variable]]
name = "cell"
categories = [{", ".join(f'"c{n}"' for n in range(AREAS))}]
{"".join(f'[[variable]]{chr(10)}name = "{name}"{chr(10)}categories = ["1", "2"]{chr(10)}' for name in TABLES)}
[protection]
method = "dp"
non_negative = false
[protection.universe]
variables = []
up_to = 0
tables = [["cell", "a"], ["cell", "b"], ["cell", "c"]]
margins = "sums"
[protection.budget]
calibrate = false
family = "cells"
epsilon = 3.0
cap_epsilon = 6.0
cap_delta = 1e-6
"""
SECOND = DESCRIPTION.replace('version = "1"', 'version = "2"')
SHARPER = DESCRIPTION.replace("epsilon = 3.0", "epsilon = 3.6")
#: An area is withheld when both of its cells look empty.
RULED = re.sub(r'"(c\d+)"', r'{ code = "\1", parent = "here" }', DESCRIPTION).replace(
    "[protection]\n",
    """[[variable]]
name = "zone"
categories = ["here"]
[[hierarchy]]
name = "places"
levels = ["zone", "cell"]
geography = true
[[rule]]
kind = "share-of-zeros"
most = 0.5
[protection]
""",
    1,
)
#: Discrete Laplace: p(k) = tanh(eps/2) exp(-eps |k|).
DISTRIBUTION = {k: math.tanh(EPSILON / 2) * math.exp(-EPSILON * abs(k)) for k in range(-80, 81)}


@cache
def records(*parts):
    """One record in each of the named parts of every area; none at all without parts."""
    part = [part for _ in range(AREAS) for part in parts]
    area = [f"c{n}" for n in range(AREAS) for _ in parts]
    columns = {"zone": ["here"] * len(area), "cell": area, **dict.fromkeys(TABLES, part)}
    return pa.table(
        {
            "id": pa.array(range(len(part)), pa.int64()),
            **{k: pa.array(v, pa.string()) for k, v in columns.items()},
        }
    )


# What comes over HTTP -------------------------------------------------------------------------------------------


def numbers(response):
    """The released numbers, area by area; withheld ones are -1000, all of them where the table is refused."""
    if response.status_code == 403 and response.json()["code"] == "table-not-released":
        return np.full(2 * AREAS, -1000)
    assert response.status_code == 200, response.text
    read = pv.read_csv(io.BytesIO(response.content))
    return read["value"].cast(pa.int64()).fill_null(-1000).to_numpy()


def table(site, name="a"):
    return numbers(site.get(f"rows=cell&columns={name}&totals=no&format=csv"))


def watch(site_of, folder, secret, description, *, data):
    """Publish records with a secret of our own in a new workspace, and open it."""
    load_under(secret, folder, description, data)
    return site_of(folder, "cells")


@pytest.fixture(scope="module")
def collect(home, next_site, parsed_once):
    """What a site says to some questions under many secrets, as one array for each question."""
    numbered = itertools.count()

    def collected(secrets, description, data, questions, first_version=None):
        rng, found = np.random.default_rng(2024), {name: [] for name in questions}
        for _ in range(secrets):
            folder = home / str(next(numbered))
            site = watch(next_site, folder, rng.bytes(32), first_version or description, data=data)
            if first_version is not None:
                load_dataset(folder, description, data)
            for name, (fault, column) in questions.items():
                with pytest.MonkeyPatch.context() as patch:
                    fault(patch)
                    found[name].append(table(site, column))
            site.close()
            shutil.rmtree(folder)
        return {name: np.concatenate(arrays) for name, arrays in found.items()}

    return collected


# Faults: each takes one thing out of the product ------------------------------------------------------------------


def none(patch):
    """The product as it is."""


def rules_alone(patch):
    """The rules without the complement, which looks at the other areas: each of them has one person more here."""
    patch.setattr("discreet.rules.verdict.add_secondary", lambda failed, _seeds, _slices: failed)


def scale(patch):
    """Noise of a scale that is five per cent too small, under the right key."""
    wrong = laplace(epsilon=1.05 * EPSILON, modulus=2**64)
    lookup = type(wrong).noise
    patch.setattr(type(wrong), "noise", lambda _self, rows, keys: lookup(wrong, rows, keys))


def zeros(patch):
    """Empty cells are released as they are."""

    def spared(exact, parts, noise, **options):
        empty = exact.counts == 0  # the counts may be spent for the noisy ones
        cells = add_description_noise(exact, parts, noise, **options)
        cells.noisy[empty] = 0
        return cells

    patch.setattr("discreet.protect.dp_protector.add_description_noise", spared)


def no_fingerprint(patch):
    """The records' fingerprint is not in the key."""
    patch.setattr(noise_module, "NoiseContext", lambda d, v, _f, m: NoiseContext(d, v, "", m))


def no_version(patch):
    """The version is not in the key."""
    patch.setattr(noise_module, "NoiseContext", lambda d, _v, f, m: NoiseContext(d, "", f, m))


def no_epsilon(patch):
    """The mechanism and its epsilon are not in the key."""
    patch.setattr(noise_module, "mechanism_name", lambda _table: "")


def one_key(patch):
    """The margin is not in the key."""
    patch.setattr(noise_module, "canonical_cells", lambda m, d: replace(canonical_cells(m, d), domain=""))


def uncharged(patch):
    """One of the tables is published and not charged."""
    spent = NoisePlan.spent

    def fewer(plan):
        one, *others = spent(plan)
        return (type(one)(one.table, one.epsilon, one.times - 1), *others)

    patch.setattr(NoisePlan, "spent", fewer)


def true_counts(patch):
    """Rules look at the true counts."""

    def verdict(stored, _protector, asked, _shape, _noisy=None):
        shape = rule_table_shape(asked, stored.dataset)
        cells = tabulate(stored.engine, shape).counts.astype(np.int64)
        seen = NoisyTable(shape, cells, structural_zeros(shape, stored.dataset))
        return verdict_of(stored.rules, seen, stored.dataset)

    rules_alone(patch)
    patch.setattr("discreet.release.pipeline.verdict_on", verdict)


# Checks: functions of released numbers alone ----------------------------------------------------------------------


def follows_distribution(noise, distribution=None):
    """Chi-square against the exact distribution, rare values taken together."""
    distribution = distribution or DISTRIBUTION
    values = np.array(sorted(distribution))
    expected = np.array([distribution[value] for value in values.tolist()]) * noise.size
    common = expected >= 20
    counts = np.array([(noise == value).sum() for value in values[common].tolist()])
    observed = np.append(counts, noise.size - counts.sum())
    wanted = np.append(expected[common], noise.size - expected[common].sum())
    return stats.chisquare(observed, wanted).pvalue > FALSE_ALARM


def clopper_pearson(event, alarm):
    """A two-sided interval for the probability of an event that misses with probability at most `alarm`."""
    hits, trials = int(event.sum()), event.size
    low = stats.beta.ppf(alarm / 2, hits, trials - hits + 1) if hits else 0.0
    high = stats.beta.ppf(1 - alarm / 2, hits + 1, trials - hits) if hits < trials else 1.0
    return float(low), float(high)


def keeps_promise(events, epsilon, delta):
    """Whether H_eps is at most delta as far as events tell; each is a pair of arrays, from two neighbours.

    P(S) - e^eps Q(S) <= delta for every event S in both directions; a violation must be certain at `FALSE_ALARM`,
    shared out over all bounds.
    """
    pairs = [(p, q) for pair in events for p, q in (pair, pair[::-1])]
    alarm = FALSE_ALARM / (2 * len(pairs))
    return all(
        clopper_pearson(p, alarm)[0] - math.exp(epsilon) * clopper_pearson(q, alarm)[1] <= delta
        for p, q in pairs
    )


def spends_it(events, epsilon):
    """Whether the promise is tight: no smaller epsilon (by a tenth) would have been kept."""
    return not keeps_promise(events, 0.9 * epsilon, 0.0)


def thresholds(one, other):
    """The events {released <= t}."""
    return [(one <= t, other <= t) for t in range(-3, 4)] + [(one > t, other > t) for t in range(-3, 4)]


def quadrants(one, other):
    """Events on the two parts of an area, between which one record moved."""
    one, other = one.reshape(-1, 2), other.reshape(-1, 2)
    return [
        ((one[:, 0] > s) & (one[:, 1] <= t), (other[:, 0] > s) & (other[:, 1] <= t))
        for s in range(-2, 3)
        for t in range(-2, 3)
    ]


def jointly(one, other):
    """Events on all tables of one cell together."""
    sides = [np.stack([side[name] for name in TABLES]) for side in (one, other)]
    return [tuple((side <= t).all(axis=0) for side in sides) for t in range(-1, 3)] + [
        tuple((side > t).all(axis=0) for side in sides) for t in range(-1, 3)
    ]


def agrees_by_chance(one, other):
    """Whether two noises of one distribution agree as often as independent ones do."""
    chance = sum(p * p for p in DISTRIBUTION.values())
    low, high = clopper_pearson(one == other, FALSE_ALARM)
    return low <= chance <= high


def independent(one, other):
    """Whether the rank correlation is what chance gives."""
    return stats.spearmanr(one, other).pvalue > FALSE_ALARM


# The main comparison: no records at all, and one in every cell ------------------------------------------------------

FAULTS = {"scale": scale, "zeros": zeros, "fingerprint": no_fingerprint}
QUESTIONS = {name: (none, name) for name in TABLES} | {name: (fault, "a") for name, fault in FAULTS.items()}


@pytest.fixture(scope="module")
def empty(collect):
    same = {"one key": (one_key, "a"), "one key b": (one_key, "b")}
    return collect(SECRETS, DESCRIPTION, records(), QUESTIONS | same)


@pytest.fixture(scope="module")
def one(collect):
    return collect(SECRETS, DESCRIPTION, records("1", "2"), QUESTIONS)


@pytest.mark.parametrize("name", TABLES)
def test_noise_has_the_stated_distribution_on_empty_cells_and_on_others(empty, one, name):
    assert empty[name].size == one[name].size == 200_000
    assert follows_distribution(empty[name])
    assert follows_distribution(one[name] - 1)


def test_a_scale_five_per_cent_off_is_found_out(empty, one):
    assert not follows_distribution(empty["scale"])
    assert not follows_distribution(one["scale"] - 1)
    assert not keeps_promise(thresholds(empty["scale"], one["scale"]), EPSILON, 1e-9)


def test_zeros_without_noise_are_found_out(empty, one):
    assert not follows_distribution(empty["zeros"])
    assert follows_distribution(one["zeros"] - 1)
    assert not keeps_promise(thresholds(empty["zeros"], one["zeros"]), EPSILON, 1e-9)


def test_nobody_in_a_cell_and_somebody_cannot_be_told_apart_better_than_promised(empty, one):
    events = thresholds(empty["a"], one["a"])
    assert keeps_promise(events, EPSILON, 1e-9)
    assert spends_it(events, EPSILON)


def test_records_that_differ_never_share_noise(empty, one):
    assert agrees_by_chance(empty["a"], one["a"] - 1)
    assert not agrees_by_chance(empty["fingerprint"], one["fingerprint"] - 1)


def test_tables_never_share_noise(empty):
    for first, second in itertools.combinations(TABLES, 2):
        assert agrees_by_chance(empty[first], empty[second])
        assert independent(empty[first], empty[second])
    assert not agrees_by_chance(empty["one key"], empty["one key b"])


def charged(site_of, folder, fault):
    """What the family's ledger was charged for the publication: epsilon and delta."""
    with pytest.MonkeyPatch.context() as patch:
        fault(patch)
        _figures.cache_clear()
        site = watch(site_of, folder, b"\x5a" * 16 + bytes(range(16)), DESCRIPTION, data=records())
    _figures.cache_clear()
    loss, failure = site.state().spent
    site.close()
    return float(loss), float(failure)


def test_all_tables_together_keep_what_the_ledger_was_charged(empty, one, home, site_of):
    events = jointly(empty, one)
    loss, failure = charged(site_of, home / "charged", none)
    assert keeps_promise(events, loss, failure)
    assert spends_it(events, loss)
    loss, failure = charged(site_of, home / "uncharged", uncharged)
    assert not keeps_promise(events, loss, failure)


# One record moved ------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def moved(collect):
    questions = {"right": (none, "a"), "wrong": (zeros, "a")}
    return [collect(MOVED, DESCRIPTION, data, questions) for data in (records("1"), records("2"))]


def test_a_record_that_moved_costs_twice_and_not_more(moved):
    before, after = moved
    events = quadrants(before["right"], after["right"])
    assert keeps_promise(events, 2 * EPSILON, 1e-9)
    assert spends_it(events, 2 * EPSILON)
    assert follows_distribution(before["right"] - np.tile([1, 0], AREAS * MOVED))
    assert not keeps_promise(quadrants(before["wrong"], after["wrong"]), 2 * EPSILON, 1e-9)


# Versions and scales ---------------------------------------------------------------------------------------------


def test_versions_never_share_noise(collect):
    questions = {"right": (none, "a"), "wrong": (no_version, "a")}
    first = collect(FEW, DESCRIPTION, records("1", "2"), questions)
    second = collect(FEW, SECOND, records("1", "2"), questions, first_version=DESCRIPTION)
    assert agrees_by_chance(first["right"] - 1, second["right"] - 1)
    assert not agrees_by_chance(first["wrong"] - 1, second["wrong"] - 1)


def test_scales_never_share_noise(collect):
    questions = {"right": (none, "a"), "wrong": (no_epsilon, "a")}
    first = collect(FEW, DESCRIPTION, records("1", "2"), questions)
    second = collect(FEW, SHARPER, records("1", "2"), questions)
    assert independent(first["right"], second["right"])
    assert not independent(first["wrong"], second["wrong"])


# Rules ------------------------------------------------------------------------------------------------------------


def test_what_is_withheld_tells_no_more_than_promised(collect):
    questions = {"right": (rules_alone, "a"), "wrong": (true_counts, "a")}
    nobody, somebody = (collect(FEW, RULED, data, questions) for data in (records(), records("1")))
    withheld = {
        name: tuple((side[name] == -1000).reshape(-1, 2).all(axis=1) for side in (nobody, somebody))
        for name in questions
    }
    share = withheld["right"][0].mean()
    assert 0.1 < share < 0.9
    assert keeps_promise([withheld["right"]], EPSILON, 1e-9)
    assert not keeps_promise([withheld["wrong"]], EPSILON, 1e-9)
