"""Sums and means with noise, against a loop over cells in Python."""

import hashlib

import numpy as np
import pytest

from discreet.model.exact import MeasureSums
from discreet.model.magnitude import (
    Flexible,
    MagnitudeProtection,
    Multipliers,
    NumericMeasure,
    Sensitive,
)
from discreet.noise.magnitude import Keys, lone_exposure, noise_of, rotated
from discreet.protect.magnitudes import protect_sums, sensitive_cells
from discreet.records.keys import encipher, pair_blocks

KEY = hashlib.sha256(b"a key").digest()
PROTECTION = MagnitudeProtection(
    flex=Flexible(1_000, 0.2, 0.03),
    small=Multipliers(8, 3.0),
    sensitive=Sensitive(0.5, p_percent=10, dominance=(2, 85)),
)


def measure(protection=PROTECTION, decimals=1):
    return NumericMeasure("income", "Income", "INC", "EUR", decimals, 0, 10**6, protection=protection)


def invented(cells=400, seed=2):
    random = np.random.default_rng(seed)
    contributors = random.integers(0, 9, cells)
    largest = -np.sort(-np.exp(random.normal(8, 2, (cells, 3))).astype(np.int64), axis=1)
    largest[np.arange(3) >= contributors[:, None]] = 0
    rest = np.where(contributors > 3, largest[:, 2] * (contributors - 3) // 2, 0)
    keys = random.integers(0, 2**34, cells, dtype=np.uint64)
    exact = MeasureSums(contributors, keys, largest.sum(axis=1) + rest, largest)
    return exact, np.maximum(contributors + random.integers(-3, 4, cells), 0) * (contributors > 0)


def half_away(x):
    return int(np.floor(abs(x) + 0.5)) * (-1 if x < 0 else 1)


@pytest.mark.parametrize("counts", ["released", "independent"])
def test_every_cell_is_that_of_a_loop(counts):
    exact, released = invented()
    own = measure(MagnitudeProtection(**{**vars_of(PROTECTION), "counts": counts}))
    found, noise = protect_sums(exact, released, own, KEY, 0), noise_of(own)
    for place in range(exact.totals.size):
        n, total, top = (
            int(exact.contributors[place]),
            int(exact.totals[place]),
            exact.largest[place].tolist(),
        )
        shown = int(released[place])
        assert found.withheld[place] == (shown < 3)
        if n == 0:
            assert found.sums[place] == found.means[place] == 0
            continue
        numbers, signs = [], []
        for rank in range(3):
            block = encipher(KEY, pair_blocks(exact.key_sums[place : place + 1], rank)).view("<u8")[0]
            numbers.append((int(block[0]) % 2**32) / 2**32)
            signs.append(1.0 if int(block[1]) % 2 else -1.0)
        sensitive = total - top[0] - top[1] < 0.1 * top[0] or top[0] + top[1] > 0.85 * total
        row = [float(x) if rank < n else np.nan for rank, x in enumerate(top)]
        (noisy,) = noise.perturb(
            np.array([float(total)]),
            np.array([row]),
            Keys(np.array([numbers]), np.array([signs])),
            np.array([sensitive]),
        )
        if counts == "released":
            assert found.means[place] == half_away(noisy / n)
            assert found.sums[place] == half_away(noisy * shown / n)
        else:
            assert found.sums[place] == (half_away(noisy) if shown else 0)
            assert found.means[place] == half_away(noisy / max(shown, 1))


def vars_of(protection):
    return {name: getattr(protection, name) for name in protection.__slots__}


def test_no_contributors_never_have_a_sum():
    exact, _ = invented()
    for counts in ("released", "independent"):
        own = measure(MagnitudeProtection(**{**vars_of(PROTECTION), "counts": counts}))
        nobody = protect_sums(exact, np.zeros(exact.totals.size, dtype=np.int64), own, KEY, 0)
        assert not nobody.sums.any()
        assert nobody.withheld.all()


def test_another_measure_has_other_noise():
    exact, released = invented()
    first, second = (protect_sums(exact, released, measure(), key, 0).means for key in (KEY, KEY[::-1]))
    people = exact.contributors > 0
    assert (first[people] != second[people]).mean() > 0.8


def test_the_noise_of_a_sum_is_not_correlated_with_that_of_its_count():
    """With one key for both, as some programs have it, they are: the wrong alternative correlates above 0.9."""
    random = np.random.default_rng(9)
    sums = random.integers(0, 2**40, 4_000, dtype=np.uint64)
    ones = np.ones(sums.size, dtype=np.int64)
    exact = MeasureSums(5 * ones, sums, 50_000 * ones, np.stack([10_000 * ones] * 3, axis=1))
    own = measure(MagnitudeProtection(factors=(1.0,), simple=0.2))
    noise = protect_sums(exact, 5 * ones, own, KEY, 0).means - 10_000
    count_key = (encipher(KEY[::-1], pair_blocks(sums)).view("<u8")[:, 0] & np.uint64(2**32 - 1)) / 2**32
    same_key = (encipher(KEY, pair_blocks(sums, 0)).view("<u8")[:, 0] & np.uint64(2**32 - 1)) / 2**32
    assert abs(np.corrcoef(noise, count_key)[0, 1]) < 0.06
    assert np.corrcoef(noise, same_key)[0, 1] > 0.9


def test_rules_of_dominance_are_those_of_the_handbook():
    rules = Sensitive(0.5, p_percent=10, dominance=(2, 85))
    totals, largest = np.array([100, 100, 100, 7]), np.array([[90, 5], [60, 20], [50, 36], [7, 0]])
    assert sensitive_cells(totals, largest, rules).tolist() == [True, False, True, True]
    assert not sensitive_cells(totals, largest, None).any()


def test_the_other_definitions_rotate_the_digits_of_the_cell_key():
    exact, released = invented()
    own = measure(MagnitudeProtection(**{**vars_of(PROTECTION), "definition": "tau-argus-4"}))
    found = protect_sums(exact, released, own, KEY, 8)
    place = int(np.flatnonzero(exact.contributors > 4)[0])
    digits = f"{int(exact.key_sums[place]) % 10**8:08d}"
    keys = rotated([digits], 3, same_key=False, trim=False)
    top, total = exact.largest[place], int(exact.totals[place])
    sensitive = total - top[0] - top[1] < 0.1 * top[0] or top[0] + top[1] > 0.85 * total
    (noisy,) = noise_of(own).perturb(
        np.array([float(total)]),
        top[None].astype(float),
        Keys(keys, np.ones_like(keys)),
        np.array([sensitive]),
    )
    assert found.means[place] == half_away(noisy / exact.contributors[place])


@pytest.mark.parametrize("magnifier", ["mean", "sum"])
def test_other_magnifiers_take_the_mean_or_the_sum_for_a_contribution(magnifier):
    exact, released = invented()
    protection = MagnitudeProtection(magnifier=magnifier, factors=(1.0,), simple=0.1)
    found = protect_sums(exact, released, measure(protection), KEY, 0)
    people = exact.contributors > 0
    means = exact.totals[people] / exact.contributors[people]
    width = 0.1 * (exact.totals[people] if magnifier == "sum" else means)
    assert (
        np.abs(found.means[people] - means) * exact.contributors[people]
        <= 5 * width + exact.contributors[people]
    ).all()


def test_the_stated_exposure_is_what_a_simulation_finds():
    """The probability that one contributor's mean lies within 10 %; without the extra noise it is larger."""
    rules = Sensitive(0.5, p_percent=10)
    own, plain = (measure(MagnitudeProtection(simple=0.2, sensitive=each)) for each in (rules, None))
    stated = [lone_exposure(noise_of(each), 10.0**7, 10, extra=each is own) for each in (own, plain)]
    random = np.random.default_rng(4)
    cells = 20_000
    ones = np.ones(cells, dtype=np.int64)
    top = np.zeros((cells, 3), dtype=np.int64)
    for each, most in zip((own, plain), stated, strict=True):
        for value in (10_000, 10**7):
            top[:, 0] = value
            keys = random.integers(0, 2**40, cells, dtype=np.uint64)
            shown = protect_sums(MeasureSums(ones, keys, value * ones, top), 3 * ones, each, KEY, 0).means
            near = (np.abs(shown - value) <= 0.1 * value + 1).mean()
            assert near <= most + 4 * np.sqrt(0.25 / cells)
    assert stated[0] < stated[1]
