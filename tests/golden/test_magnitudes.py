"""Sums and means of the three definitions: fixed keys, fixed integers of the tables, fixed numbers."""

import hashlib

import numpy as np
import pytest

from discreet.model.exact import MeasureSums
from discreet.model.magnitude import (
    DEFINITIONS,
    Flexible,
    MagnitudeProtection,
    Multipliers,
    NumericMeasure,
    Sensitive,
)
from discreet.protect.magnitudes import protect_sums
from discreet.records.keys import Purpose, Secret

#: Rows of multipliers in steps of 1/2 up to 2, and of whole ones up to 2: the values, and their numbers of keys of 2^32.
HALVES = tuple(
    (tuple(range(-row, 5)), tuple((place + 1) * 2**32 // (row + 5) for place in range(row + 5)))
    for row in range(5)
)
WHOLES = tuple(
    (tuple(range(-row, 3)), tuple((place + 1) * 2**32 // (row + 3) for place in range(row + 3)))
    for row in range(3)
)


def cells(number=300, seed=17):
    random = np.random.RandomState(seed)
    contributors = random.randint(0, 8, number)
    largest = -np.sort(
        -random.randint(1, 10**6, (number, 3)) // random.choice([1, 100, 10_000], (number, 3)), axis=1
    )
    largest[np.arange(3) >= contributors[:, None]] = 0
    keys = random.randint(0, 2**40, number, dtype=np.int64).astype(np.uint64)
    totals = largest.sum(axis=1) + np.maximum(contributors - 3, 0) * largest[:, 2]
    released = np.maximum(contributors + random.randint(-2, 3, number), 0) * (contributors > 0)
    return MeasureSums(contributors, keys, totals, largest), released


@pytest.mark.parametrize("counts", ["released", "independent"])
@pytest.mark.parametrize("definition", DEFINITIONS)
def test_sums_of_a_definition_never_change(golden, secret, definition, counts):
    assert isinstance(secret, Secret)
    protection = MagnitudeProtection(
        definition,
        flex=Flexible(1_000, 0.2, 0.03),
        noise=Multipliers(2, 1.0, 2),
        small=Multipliers(2, 1.0),
        counts=counts,
        sensitive=Sensitive(0.5, p_percent=10),
        tables=(HALVES, WHOLES),
    )
    measure = NumericMeasure("income", "Income", "INC", "EUR", 2, 0, 10**6, protection=protection)
    exact, released = cells()
    found = protect_sums(exact, released, measure, secret.derive(Purpose.MAGNITUDE, "town", "income"), 8)
    numbers = [found.sums.tolist(), found.means.tolist(), found.withheld.tolist()]
    golden.check(f"{definition} | {counts} | first", [each[:12] for each in numbers])
    golden.check(f"{definition} | {counts}", hashlib.sha256(str(numbers).encode()).hexdigest())
