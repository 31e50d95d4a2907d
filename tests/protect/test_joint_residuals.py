"""A joint universe as it is measured and answered: values, keys, agreement of all tables, variances and covariances."""

import itertools
import math
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress

import numpy as np
import pytest
from scipy import stats

from discreet.errors import BadDescription, OutsideUniverse, WorkspaceUnusable
from discreet.margins import residual_space
from discreet.margins.residual_space import UNIT, Attribute, differences
from discreet.model.description.dataset_toml import parse_dataset
from discreet.model.release import subset_release
from discreet.model.request import canonical, request_from_text
from discreet.model.shape import table_shape
from discreet.model.universe import dp_terms
from discreet.noise.cell_distribution import RoundedNormalDistribution
from discreet.protect import joint_residuals as joint_noise
from discreet.protect.joint_plan import make_joint
from discreet.protect.joint_residuals import StoredResiduals, joint_blocks, residual_cells
from discreet.records.tabulate import tabulate
from discreet.release.pipeline import release_table

VARIABLES = ("sex", "age", "job", "region", "area")
FILTERS = {
    "sex": ["sex=1", ""],
    "age": ["age=adult,old", "age=old", ""],
    "job": ["job=1,2", "job=0", ""],
    "region": ["region=S", ""],
    "area": ["area=N1,N2", "area=S1,S2,S3", "area=N1,S2", ""],
}
GROUPS = {
    "age": "age=adult+old,child",
    "area": "area=N1+N2,S1+S3,S2",
    "job": "job=0+9,1,2",
    "sex": "",
    "region": "",
}
PAIRS = 10_000


def asked(rng):
    """A random table: one or two variables, a filter, groups or levels."""
    one, two = rng.choice(VARIABLES, 2, replace=False)
    parts = {"rows": [str(one)]}
    if rng.random() < 0.7:
        parts["columns"] = [str(two)]
    elif rng.random() < 0.7:
        parts["filters"] = [word for word in [str(rng.choice(FILTERS[two]))] if word]
    if rng.random() < 0.4 and GROUPS[one]:
        parts["groups"] = [GROUPS[one]]
    return request_from_text("town", **parts)


def described(release, dataset):
    """Every cell by whom it counts, and its unrounded and its shown value."""
    finest = {v.name: v.codes for v in dataset.variables}
    areas = {c.code: c.parent for c in dataset.variable("area").categories}

    def people(name, members):
        codes = frozenset(finest[name][m] for m in members)
        if name == "region":
            name, codes = "area", frozenset(a for a, r in areas.items() if r in codes)
        return (name, codes) if len(codes) < len(finest[name]) else None

    fixed = [
        (f, tuple(dataset.variable(f).position(c) for c in codes)) for f, codes in release.request.filters
    ]
    found = {}
    for place in itertools.product(*(range(d.length) for d in release.dimensions)):
        told = [people(d.name, d.members()[at]) for d, at in zip(release.dimensions, place, strict=True)]
        told += [people(*each) for each in fixed]
        sets = {}
        for name, codes in filter(None, told):
            sets[name] = sets.get(name, codes) & codes
        if all(sets.values()):
            found[frozenset(sets.items())] = (release.unrounded[place], int(release.noisy[place]))
    return found


@pytest.fixture(scope="module")
def stored(joint_workspace):
    return joint_workspace.stored("town")


@pytest.mark.slow
def test_common_cells_of_ten_thousand_pairs_of_tables_are_equal(stored):
    """Exactly, unrounded and shown. Wrong alternative: noise of its own for every table, found out at once."""
    rng = np.random.default_rng(12)
    tables = []
    while len(tables) < 150:
        request = asked(rng)
        with suppress(OutsideUniverse):
            tables.append(described(release_table(stored, request), stored.dataset))
    pairs = list(itertools.combinations(tables, 2))[:PAIRS]
    assert len(pairs) == PAIRS
    common = 0
    for one, two in pairs:
        shared = one.keys() & two.keys()
        common += len(shared)
        assert all(one[cell] == two[cell] for cell in shared)
    assert common > PAIRS
    apart = [{cell: (v + n, s) for cell, (v, s) in table.items()} for n, table in enumerate(tables[:2])]
    assert any(apart[0][cell] != apart[1][cell] for cell in apart[0].keys() & apart[1].keys())


def test_totals_and_levels_add_up_but_for_rounding(stored):
    release = release_table(
        stored, request_from_text("town", rows=["area"], columns=["sex"], levels=["area=region,area"])
    )
    codes = release.dimensions[0].codes
    at = {code: codes.index(code) for code in codes}
    for values, most in ((release.unrounded, 1e-6), (release.values, 3)):
        assert np.abs(values[:, :-1].sum(axis=1) - values[:, -1]).max() <= most
        assert np.abs(values[[at["S1"], at["S2"], at["S3"]]].sum(axis=0) - values[at["S"]]).max() <= most
        assert np.abs(values[[at["N"], at["S"]]].sum(axis=0) - values[at["_T"]]).max() <= most
    assert (release.values == np.rint(release.unrounded)).all()


@pytest.mark.slow
def test_an_answer_reads_no_record(joint_town, tmp_path):
    """Wrong alternative: tables counted again for every answer, which this engine refuses."""
    workspace = joint_town.load(tmp_path / "w")
    stored = workspace.stored("town")

    class Nothing:
        def __getattr__(self, name):
            raise AssertionError(f"an answer asked the engine for {name}")

    blind = type(stored)(
        stored.dataset, stored.digest, Nothing(), stored.protector, stored.arithmetic, stored.rules
    )
    request = request_from_text("town", rows=["area"], columns=["sex"])
    assert (release_table(blind, request).values == release_table(stored, request).values).all()
    workspace.close()


def exact_tables(stored):
    dataset = stored.dataset
    plan = stored.dp.plan.joint
    tables = {}
    for residual in plan.residuals:
        shape = joint_noise.margin_shape(residual.margin, dataset)
        tables[residual.margin] = tabulate(stored.engine, shape).counts
    return tables


def test_residuals_have_streams_of_their_own(stored, secret, monkeypatch):
    """Wrong alternative: a residual measured twice with one key. What is left of two such differences has no noise."""
    plan, dataset = stored.dp.plan.joint, stored.dataset
    counted = exact_tables(stored)
    seen = []
    keys = joint_noise.residual_keys

    def watched(*given):
        found = keys(*given)
        seen.append(found.ravel()[:4].tobytes())
        return found

    monkeypatch.setattr(joint_noise, "residual_keys", watched)
    first = joint_noise.noisy_residuals(plan, counted, secret, dataset, "f" * 64)
    assert len(set(seen)) == len(seen) == len(plan.residuals)
    assert (joint_noise.noisy_residuals(plan, counted, secret, dataset, "f" * 64) == first).all()
    assert (joint_noise.noisy_residuals(plan, counted, secret, dataset, "e" * 64) != first).mean() > 0.4
    names = {r.margin: r for r in plan.residuals}
    streams = {
        joint_noise._blocks(plan, r) for r in (names["age",], names["job",], names["area",], names["region",])
    }
    assert len(streams) == 4


def test_the_order_of_categories_moves_no_noise(joint_town, stored, secret):
    """Wrong alternative: keys by the position of a category, which another order of the list would give to others."""
    text = joint_town.description
    one, two = '{ code = "1", label = "Male" }', '{ code = "2", label = "Female" }'
    turned = parse_dataset(text.replace(f"[{one}, {two}]", f"[{two}, {one}]"))
    assert turned.variable("sex").codes == ("2", "1")
    plan, counted = stored.dp.plan.joint, exact_tables(stored)
    here = joint_noise.StoredResiduals(
        plan, joint_noise.noisy_residuals(plan, counted, secret, stored.dataset, "f" * 64)
    )
    swapped = {m: np.flip(t, m.index("sex")) if "sex" in m else t for m, t in counted.items()}
    there = joint_noise.StoredResiduals(
        plan, joint_noise.noisy_residuals(plan, swapped, secret, turned, "f" * 64)
    )
    levels = plan.levels(("sex",))
    assert np.array_equal(here.values(levels).ravel(), there.values(levels).ravel()[::-1])


def test_threads_share_one_computation_of_a_table_and_evict_the_oldest(stored, monkeypatch):
    """Wrong alternative: a cache without a lock, which one thread changes while another sums its sizes."""
    computed = []
    compute = residual_space.table_values

    def watched(space, table, residual):
        computed.append(table)
        return compute(space, table, residual)

    monkeypatch.setattr(residual_space, "table_values", watched)
    plan = stored.dp.plan.joint
    residuals = joint_noise.StoredResiduals(plan, stored.dp.residuals.numbers)
    with ThreadPoolExecutor(8) as pool:
        found = list(pool.map(residuals.values, [plan.space.parts[-1]] * 40))
    assert len(computed) == 1
    assert all(each is found[0] for each in found)
    monkeypatch.setattr(joint_noise, "CACHED_CELLS", 1)
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(residuals.values, plan.space.parts * 5))
    assert len(residuals._values) == 1


def test_numbers_of_another_plan_and_too_many_are_refused(stored, monkeypatch):
    plan = stored.dp.plan.joint
    with pytest.raises(WorkspaceUnusable, match="residuals"):
        joint_noise.StoredResiduals(plan, np.zeros(3, np.int64))
    monkeypatch.setattr(joint_noise, "MOST_NUMBERS", 10)
    with pytest.raises(BadDescription, match="at most 10"):
        joint_noise.residual_cells(plan)


GEOGRAPHY = Attribute((np.zeros(2, np.int64), np.array([0, 0, 1, 1, 1])))


def side(*labels):
    """Outputs by a label for every area; -1 is left out."""
    told = np.array(labels)
    return joint_noise.AttributeSide(
        GEOGRAPHY, np.flatnonzero(told >= 0), told[told >= 0], (int(told.max()) + 1,)
    )


def test_an_output_is_told_at_the_coarsest_level_that_can_say_it():
    """Wrong alternative: the finest level for all, by which a region would have two sums."""
    assert side(0, 1, 2, 3, 4).levels.tolist() == [2, 2, 2, 2, 2]
    assert side(0, 0, 1, 1, 1).levels.tolist() == [1, 1]
    assert side(0, 0, 1, 1, 2).levels.tolist() == [1, 2, 2]
    assert side(0, 0, 0, 0, 0).levels.tolist() == [0]
    assert side(0, 0, 0, -1, -1).levels.tolist() == [2]
    assert joint_noise.AttributeSide(GEOGRAPHY, np.array([0]), np.array([1]), (3,)).levels.tolist() == [
        -1,
        2,
        -1,
    ]


@pytest.fixture(scope="module")
def declared(joint_town):
    dataset = parse_dataset(joint_town.description)
    terms, universe = dp_terms(dataset)
    return dataset, universe, make_joint(dataset, universe, terms)


def covered(declared, **asked):
    dataset, universe, plan = declared
    shape = table_shape(canonical(request_from_text("town", **asked), dataset), dataset)
    return joint_noise.joint_blocks(shape, universe, dataset, plan)


@pytest.mark.parametrize(
    "asked",
    [
        {"rows": ["job"], "columns": ["area"]},
        {"rows": ["sex"], "columns": ["age"], "layers": ["job"]},
        {"rows": ["sex"], "filters": ["job=1", "age=old"]},
    ],
)
def test_what_no_declared_table_contains_is_refused_by_its_shape(declared, asked):
    with pytest.raises(OutsideUniverse) as refused:
        covered(declared, **asked)
    assert "Take out" in refused.value.advice


#: Of all checks of this module together.
FALSE_ALARM = 1e-6
DRAWS = 200


@pytest.fixture(scope="module")
def release(stored):
    return release_table(
        stored, request_from_text("town", rows=["area"], columns=["sex"], levels=["area=region,area"])
    )


def drawn(stored, shape, blocks, rng):
    """The noise of every cell of a table, by the road that answers: residuals of nobody with fresh noise."""
    plan = stored.dp.plan.joint
    numbers = np.zeros(residual_cells(plan), dtype=np.int64)
    for levels, place in plan.places.items():
        sd = math.sqrt(plan.by_levels[levels].noise.parameters["V"])
        noise = np.rint(rng.normal(0, sd, plan.space.shape(levels))).astype(np.int64)
        numbers[place] = differences(plan.space, noise, levels).ravel()
    residuals, found = StoredResiduals(plan, numbers), np.zeros(shape.lengths)
    for block in blocks:
        block.put(found, residuals._block(block) / UNIT)
    return found


def test_variances_and_covariances_are_those_of_what_is_released(stored, release):
    """Wrong alternatives: variances 20 % off, and cells taken for independent."""
    shape = table_shape(canonical(release.request, stored.dataset), stored.dataset)
    rng = np.random.default_rng(13)
    blocks = joint_blocks(shape, stored.dp.plan.universe, stored.dataset, stored.dp.plan.joint)
    noise = np.stack([drawn(stored, shape, blocks, rng) for _ in range(DRAWS)])
    variances = release.distribution.variances
    checks = 2 * variances.size + 2
    low, high = (stats.chi2.ppf(p, DRAWS) / DRAWS for p in (FALSE_ALARM / checks, 1 - FALSE_ALARM / checks))
    ratio = (noise**2).mean(axis=0) / variances
    assert (ratio > low).all()
    assert (ratio < high).all()
    assert not ((ratio / 2.4 > low).all() and (ratio * 1.8 < high).all())
    places = [(0, 0), (0, 2), (1, 0), (7, 2)]
    covariance = release.distribution.covariance(places)
    assert np.diag(covariance) == pytest.approx([variances[place] for place in places])
    cells = np.stack([noise[:, a, b] for a, b in places], axis=1)
    whitened = cells @ np.linalg.inv(np.linalg.cholesky(covariance)).T
    assert stats.chi2.sf((whitened**2).sum(), DRAWS * 4) > FALSE_ALARM
    together = cells.sum(axis=1).var() / covariance.sum()
    assert low < together < high
    assert not low < cells.sum(axis=1).var() / np.trace(covariance) < high


def test_a_cut_keeps_its_variances_and_covariances(release):
    few = subset_release(release, {"area": ["S1", "S3"], "sex": ["2"]})
    codes = release.dimensions[0].codes
    places = [(codes.index("S1"), 1), (codes.index("S3"), 1)]
    assert np.allclose(few.distribution.covariance([(0, 0), (1, 0)]), release.distribution.covariance(places))
    assert few.unrounded.ravel().tolist() == [release.unrounded[place] for place in places]


def test_a_test_is_told_at_least_the_noise_of_every_contrast(release):
    """Wrong alternative: the variances of cells, which contrasts of many cells may pass."""
    distribution = release.distribution.for_tests()
    codes = release.dimensions[0].codes
    inner = [(codes.index(area), sex) for area in ("N1", "N2", "S1", "S2", "S3") for sex in (0, 1)]
    largest = np.linalg.eigvalsh(release.distribution.covariance(inner)).max()
    assert all(distribution.variances[place] >= largest * (1 - 1e-9) for place in inner)
    assert min(release.distribution.variances[place] for place in inner) < largest


def test_what_documents_say(release):
    told = release.distribution.document()["noise"]
    classes, distributions = told["classes"], told["laws"]
    index = np.array(told["law"]).reshape([max(each) + 1 for each in classes])
    spread = [[distributions[index[a, b]]["standard_deviation"] for b in classes[1]] for a in classes[0]]
    assert np.allclose(spread, np.sqrt(release.distribution.variances))
    assert isinstance(release.distribution.at(0, 0), RoundedNormalDistribution)
    assert release.distribution.rounds
    assert "rounded: totals are the sums of their parts but for this rounding" in release.notes[0]
