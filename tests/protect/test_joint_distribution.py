"""Variances and covariances of released cells, beside noise drawn many times."""

import math

import numpy as np
import pytest
from scipy import stats

from discreet.margins.residual_space import UNIT, differences
from discreet.model.release import subset_release
from discreet.model.request import canonical, request_from_text
from discreet.model.shape import table_shape
from discreet.noise.cell_distribution import RoundedNormalDistribution
from discreet.protect.joint_residuals import StoredResiduals, _places, joint_blocks, residual_cells
from discreet.release.pipeline import release_table

#: Of all checks of this module together.
FALSE_ALARM = 1e-6
DRAWS = 200


@pytest.fixture(scope="module")
def stored(joint_workspace):
    return joint_workspace.stored("town")


@pytest.fixture(scope="module")
def release(stored):
    return release_table(
        stored, request_from_text("town", rows=["area"], columns=["sex"], levels=["area=region,area"])
    )


def drawn(stored, shape, blocks, rng):
    """The noise of every cell of a table, by the road that answers: residuals of nobody with fresh noise."""
    plan = stored.dp.plan.joint
    numbers = np.zeros(residual_cells(plan), dtype=np.int64)
    for levels, place in _places(plan).items():
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
