"""A joint universe from a fixed secret, fixed records and a fixed plan: keys, residuals and values.

The plan is stated, not optimised, so that no float decides it: every residual has the same grid and noise table.
"""

import hashlib

import numpy as np
import pytest

from discreet.margins.integer_noise import gaussian_tables
from discreet.model.description.dataset_toml import parse_dataset
from discreet.model.universe import dp_terms
from discreet.protect.description_keys import NoiseContext, canonical_cells, residual_keys
from discreet.protect.joint_plan import make_joint, read_joint
from discreet.protect.joint_residuals import StoredResiduals, margin_shape, noisy_residuals

GRID, SPREAD = 7, 60.0
FINGERPRINT = "ab" * 16


@pytest.fixture(scope="module")
def planned(joint_town):
    dataset = parse_dataset(joint_town.description)
    terms, universe = dp_terms(dataset)
    ((_, table),) = gaussian_tables(SPREAD)
    margins = [each.margin for each in make_joint(dataset, universe, terms).residuals]
    return dataset, read_joint(dataset, universe, terms, dict.fromkeys(margins, (GRID, table)))


def counts(dataset, records, margin):
    """The exact table of a margin, counted in NumPy."""
    table = np.zeros(margin_shape(margin, dataset).lengths, dtype=np.int64)
    columns = [records[name].to_pylist() for name in margin]
    for row in zip(*columns, strict=True) if columns else [()] * records.num_rows:
        places = (dataset.variable(n).position(v or "9") for n, v in zip(margin, row, strict=True))
        table[tuple(places)] += 1
    return table


def test_keys_of_a_residual(golden, secret, planned):
    dataset, _ = planned
    context = NoiseContext("town", "1", FINGERPRINT, "gaussian:None:feed")
    keys = residual_keys(secret, context, canonical_cells(("age", "sex"), dataset), "blocks")
    golden.check("keys age sex", [[str(key) for key in row] for row in keys.tolist()])


def test_residuals_and_values(golden, secret, planned, joint_town):
    dataset, plan = planned
    exact = {r.margin: counts(dataset, joint_town.records, r.margin) for r in plan.residuals}
    numbers = noisy_residuals(plan, exact, secret, dataset, FINGERPRINT)
    golden.check("residuals", hashlib.sha256(numbers.astype("<i8").tobytes()).hexdigest())
    golden.check("first residuals", numbers[:40].tolist())
    kept = StoredResiduals(plan, numbers)
    for margin in ((), ("region",), ("area",), ("age", "sex")):
        golden.check(f"values {'*'.join(margin)}", kept.values(plan.levels(margin)).ravel().tolist())
