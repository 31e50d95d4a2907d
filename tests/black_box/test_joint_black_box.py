"""A joint universe seen through the HTTP application alone: the stated distribution, the promise, agreement.

Zones are blocks of five cells, and contrasts within a block are independent from zone to zone: 500 draws a load, under 20
secrets a side. The person who is there or not has three records, of which a load keeps one. Every check is a function of
what came over HTTP; it passes for the product, and the same function finds out a product with one fault.
"""

import io
import itertools
import json
import math
import shutil

import numpy as np
import pyarrow as pa
import pyarrow.csv as pv
import pytest
from scipy import stats

from discreet.margins.residual_space import UNIT
from discreet.noise.table import NoiseTable
from discreet.privacy.composition import gaussian_delta
from discreet.protect import joint_residuals as joint_noise
from discreet.protect.best_composition import _figures
from discreet.protect.description_keys import NoiseContext, residual_keys
from discreet.protect.joint_plan import JointPlan
from discreet.protect.joint_residuals import StoredResiduals
from discreet.records.staging import ContributionBounds

from .conftest import load_under
from .test_black_box import FALSE_ALARM
from .test_black_box import keeps_promise as keeps_promise_on

pytestmark = pytest.mark.slow

ZONES, SECRETS = 500, 20
#: Of a person; `records_per_unit` is 1.
RECORDS = 3
#: Secrets that settle a scale, and that settle whether noise is shared.
SCALED, FEW = 5, 1
PARTS = "vwxyz"
EPSILON, DELTA = 1.0, 0.05
#: An epsilon at which so many draws settle what is spent.
SMALL = 0.1
#: As many zones as an address can name the cells of.
NAMED = 100


def cells(zones):
    return [f"{zone}{part}" for zone in range(zones) for part in PARTS]


def described(zones):
    return f"""
id = "cells"
label = "Many cells"
id_column = "id"
unit_column = "who"
version = "1"
[[variable]]
name = "zone"
categories = [{", ".join(f'"{n}"' for n in range(zones))}]
[[variable]]
name = "cell"
categories = [{", ".join(f'{{ code = "{cell}", parent = "{cell[:-1]}" }}' for cell in cells(zones))}]
[[variable]]
name = "a"
categories = ["1", "2"]
[[variable]]
name = "b"
categories = ["1", "2"]
[[hierarchy]]
name = "places"
levels = ["zone", "cell"]
[protection]
method = "dp"
non_negative = false
[protection.universe]
variables = ["zone"]
tables = [["cell", "a"], ["cell", "b"]]
margins = "joint"
importance = "cells"
[protection.budget]
name = "cells"
epsilon = {EPSILON}
delta = {DELTA}
cap_epsilon = 2.0
cap_delta = 0.5
"""


DESCRIPTION = described(ZONES)
#: The number of persons in a zone is exact: neighbours differ in a person who stays in the zone.
HELD = DESCRIPTION.replace(
    'name = "cells"\nepsilon', 'name = "cells"\nneighbours = "replace-one"\ninvariants = ["zone"]\nepsilon'
)


def records(*, somebody, part=PARTS[0]):
    """Nobody at all, or a person of three records in one cell of every zone, of the first kind of a and of b."""
    zones = [zone for zone in range(ZONES if somebody else 0) for _ in range(RECORDS)]
    columns = {
        "zone": [str(z) for z in zones],
        "cell": [f"{z}{part}" for z in zones],
        "a": ["1" for _ in zones],
    }
    columns["b"] = columns["a"]
    return pa.table(
        {
            "id": pa.array(range(len(zones)), pa.int64()),
            "who": pa.array(zones, pa.int64()),
            **{k: pa.array(v, pa.string()) for k, v in columns.items()},
        }
    )


# What comes over HTTP -------------------------------------------------------------------------------------------


def numbers(response):
    assert response.status_code == 200, response.text
    return pv.read_csv(io.BytesIO(response.content))["value"].cast(pa.int64()).to_numpy()


def contrasts(site, others=4):
    """For each zone its first cell less the mean of so many others: in all, by a, and by b, from two tables."""
    found = []
    for name in "ab":
        table = numbers(site.get(f"rows=cell&columns={name}&totals=no&format=csv")).reshape(
            ZONES, len(PARTS), 2
        )
        found.append(table[:, 0] - table[:, 1 : 1 + others].mean(axis=1))
    by_a, by_b = found
    return np.stack([by_a.sum(axis=1), by_a[:, 0] - by_a[:, 1], by_b[:, 0] - by_b[:, 1]])


def against_one(site):
    """The same against the second cell alone, and the persons of every zone."""
    return contrasts(site, 1), numbers(site.get("rows=zone&totals=no&format=csv"))


def stated(site, others=4):
    """The variances of the three contrasts, from the noise that the site publishes."""
    plan = json.loads(site.client.get("/api/datasets/cells/noise").text)
    found = {}
    for each in plan["residuals"]:
        if each["noise"] is None:
            continue
        found[tuple(each["margin"])] = (
            float(plan["noise"][each["noise"]]["parameters"]["V"]) / each["grid"] ** 2
        )
    # One cell less the mean of the others; by a or b, the difference of two such. Shown numbers are rounded each.
    length = 1 + 1 / others
    return (
        np.array([found["cell",] * length, *(2 * length * found[n, "cell"] for n in "ab")]) + 2 * length / 12
    )


@pytest.fixture(scope="module")
def load(home, next_site, parsed_once):
    """Publish records under a secret in a new workspace, with a fault, and look at it."""
    numbered = itertools.count()

    def loaded(secret, look, *, somebody=False, part=PARTS[0], text=DESCRIPTION, fault=lambda _patch: None):
        folder = home / str(next(numbered))
        with pytest.MonkeyPatch.context() as patch:
            fault(patch)
            load_under(secret, folder, text, records(somebody=somebody, part=part))
            site = next_site(folder, "cells")
            try:
                return look(site)
            finally:
                site.close()
                shutil.rmtree(folder)

    return loaded


@pytest.fixture(scope="module")
def collect(load):
    """The contrasts of all zones under many secrets."""

    def collected(secrets, **how):
        rng = np.random.default_rng(2027)
        return np.concatenate([load(rng.bytes(32), contrasts, **how) for _ in range(secrets)], axis=1)

    return collected


# Faults: each takes one thing out of the product ------------------------------------------------------------------


def one_key(patch):
    """A residual is measured twice with one key: what is measured is not in it."""
    plain = NoiseContext("cells", "1", "", "")

    def keys(secret, context, margin, _measured):
        context = NoiseContext(context.dataset, context.version, context.fingerprint, plain.mechanism)
        return residual_keys(
            secret, context, type(margin)(margin.names, margin.lengths, margin.ranks, ""), ""
        )

    patch.setattr(joint_noise, "residual_keys", keys)


def scale(patch):
    """Noise of a scale that is ten per cent too small, under the right key."""
    lookup = NoiseTable.noise
    patch.setattr(
        NoiseTable, "noise", lambda table, rows, keys: np.rint(0.9 * lookup(table, rows, keys)).astype(int)
    )


def untruncated(patch):
    """All records of a person are kept, however many there are."""
    patch.setattr(ContributionBounds, "surplus", lambda _units, _most: np.zeros(0, dtype=np.int64))


def uncharged(patch):
    """The finest level is published and not charged."""
    whole = JointPlan.loss

    def less(plan, terms):
        kept = [r.variance if "cell" not in r.margin else 0 * r.variance for r in plan.residuals]
        return min(whole(plan, terms), terms.records_per_unit**2 * plan.space.cost(kept))

    patch.setattr(JointPlan, "loss", less)


def rounding_first(patch):
    """Values are rounded before they are added up."""
    values = StoredResiduals.values
    patch.setattr(
        StoredResiduals,
        "values",
        lambda kept, table: np.rint(values(kept, table) / UNIT).astype(np.int64) * UNIT,
    )


# Checks: functions of released numbers alone ----------------------------------------------------------------------


def follows_distribution(noise, variances):
    """Chi-square of squares, and of counts in tenths of the normal distribution, for each contrast."""
    for each, variance in zip(noise, variances, strict=True):
        total = float((each**2).sum() / variance)
        if min(stats.chi2.cdf(total, each.size), stats.chi2.sf(total, each.size)) < FALSE_ALARM:
            return False
        ends = (
            np.unique(np.rint(stats.norm.ppf(np.linspace(0.1, 0.9, 9)) * math.sqrt(variance))) + 0.125
        )  # contrasts are quarters
        chances = np.diff(stats.norm.cdf(np.concatenate([[-np.inf], ends, [np.inf]]) / math.sqrt(variance)))
        counts = np.bincount(np.searchsorted(ends, each), minlength=chances.size)
        if stats.chisquare(counts, chances * each.size).pvalue < FALSE_ALARM:
            return False
    return True


def told(found, variances):
    """The statistic that tells best whether the person is there, and its μ: a sum of contrasts over their variances."""
    return (found / variances[:, None]).sum(axis=0), math.sqrt((1 / variances).sum())


def one_record(found, variances):
    """Whether everybody who is there shows as one record: the mean of the best statistic is then μ²."""
    statistic, mu = told(found, variances)
    z = (statistic.mean() - mu**2) / (mu / math.sqrt(statistic.size))
    return 2 * stats.norm.sf(abs(z)) > FALSE_ALARM


def keeps_promise(without, somebody, epsilon, delta):
    """Whether the events {told > t} and {told <= t} keep a promise, as far as draws tell."""
    ends = np.quantile(np.concatenate([without, somebody]), np.linspace(0.05, 0.95, 10))
    events = [pair for t in ends for pair in ((somebody > t, without > t), (somebody <= t, without <= t))]
    return keeps_promise_on(events, epsilon, delta)


def independent(found):
    """Whether contrasts of different residuals are uncorrelated from zone to zone."""
    return all(
        stats.spearmanr(found[i], found[j]).pvalue > FALSE_ALARM
        for i, j in itertools.combinations(range(3), 2)
    )


def adds_up(site):
    """Whether two groups of many cells add up to their total, but for the rounding of three numbers."""
    half = "+".join(cell for cell in cells(NAMED) if cell[-1] in PARTS[:2])
    rest = "+".join(cell for cell in cells(NAMED) if cell[-1] in PARTS[2:])
    one, two, total = numbers(site.get({"rows": "cell", "group": f"cell={half},{rest}", "format": "csv"}))
    return abs(one + two - total) <= 2


# The comparison: no records at all, and one in the first cell of every zone -----------------------------------------


@pytest.fixture(scope="module")
def nobody(collect):
    return collect(SECRETS)


@pytest.fixture(scope="module")
def somebody(collect):
    return collect(SECRETS, somebody=True)


@pytest.fixture(scope="module")
def variances(load):
    return load(bytes(range(32)), stated)


def test_contrasts_have_the_stated_distribution_and_residuals_noise_of_their_own(
    nobody, somebody, variances, collect
):
    assert nobody.shape == somebody.shape == (3, 10_000)
    assert follows_distribution(nobody, variances)
    assert follows_distribution(somebody - 1, variances)
    assert independent(nobody)
    assert not follows_distribution(collect(SCALED, fault=scale), variances)
    assert not independent(collect(FEW, fault=one_key))


def test_a_person_cannot_be_told_better_than_is_promised(nobody, somebody, variances):
    """The contrasts spend a part of the budget, which is known: a promise of less than that part is found broken."""
    without, mu = told(nobody, variances)
    with_one, _ = told(somebody, variances)
    assert keeps_promise(without, with_one, EPSILON, DELTA)
    assert keeps_promise(without, with_one, EPSILON, gaussian_delta(mu, EPSILON))
    assert not keeps_promise(without, with_one, SMALL, 0.6 * gaussian_delta(mu, SMALL))


def test_a_person_of_three_records_counts_as_one(somebody, variances, collect):
    assert one_record(somebody, variances)
    assert not one_record(collect(FEW, somebody=True, fault=untruncated), variances)


def charged(load, fault):
    """What the budget's ledger was charged for the publication."""

    def look(site):
        loss, failure = site.state().spent
        return float(loss), float(failure)

    _figures.cache_clear()
    found = load(bytes(range(32)), look, fault=fault)
    _figures.cache_clear()
    return found


def test_the_ledger_was_charged_for_every_level(nobody, somebody, variances, load):
    sides = told(nobody, variances)[0], told(somebody, variances)[0]
    loss, failure = charged(load, lambda _patch: None)
    assert 0.999 * EPSILON <= loss <= EPSILON
    assert keeps_promise(*sides, loss, failure)
    loss, failure = charged(load, uncharged)
    assert not keeps_promise(*sides, loss, failure)


def test_groups_are_added_up_before_they_are_rounded(load):
    text = described(NAMED)
    assert load(bytes(range(32)), adds_up, text=text)
    assert not load(bytes(range(32)), adds_up, text=text, fault=rounding_first)


# Invariants: the same, for neighbours who stay in their zone ----------------------------------------------------------


def test_persons_of_a_zone_are_exact_and_where_in_it_a_person_is_cannot_be_told(load):
    """Neighbours are a person in the first cell and one in the second. Wrong alternatives: a scale 10 % low, a smaller
    promise, and a person who leaves the zone, whom the exact total tells."""
    rng = np.random.default_rng(2028)

    def sides(part, secrets=SCALED, **how):
        how = {"text": HELD, "part": part, "somebody": True, **how}
        found, persons = zip(*(load(rng.bytes(32), against_one, **how) for _ in range(secrets)), strict=True)
        return np.concatenate(found, axis=1), np.concatenate(persons)

    (first, persons), (second, others) = sides(PARTS[0]), sides(PARTS[1])
    variances = load(rng.bytes(32), lambda site: stated(site, 1), text=HELD)
    assert (persons == 1).all()
    assert (others == 1).all()
    assert follows_distribution(first - 1, variances)
    assert follows_distribution(second + 1, variances)
    with_one, mu = told(first, variances)
    without, _ = told(second, variances)
    assert keeps_promise(without, with_one, EPSILON, DELTA)
    # The sides are two apart in every contrast.
    assert not keeps_promise(without, with_one, SMALL, 0.3 * gaussian_delta(2 * mu, SMALL))
    assert not follows_distribution(sides(PARTS[0], fault=scale)[0] - 1, variances)
    _, gone = sides(PARTS[0], FEW, somebody=False)
    assert not keeps_promise(gone.astype(float), persons.astype(float), EPSILON, DELTA)
