"""Fixtures of the rules' tests: the town with more geography, and noisy tables made of plain integers."""

from dataclasses import replace

import numpy as np
import pytest

from discreet.errors import Refused
from discreet.model.description.dataset_toml import parse_dataset
from discreet.model.request import canonical, request_from_text
from discreet.model.shape import structural_zeros, table_shape
from discreet.rules.noisy_table import NoisyTable
from discreet.rules.rule_set import parse_rules, refuse_by_rules
from discreet.rules.verdict import rule_table


@pytest.fixture(scope="session")
def dataset(town):
    return parse_dataset(town.description)


@pytest.fixture(scope="session")
def ask(dataset):
    """A canonical request of the town and its shape, from the one-line grammar."""

    def asked(**parts):
        request = canonical(request_from_text("town", **parts), dataset)
        return request, table_shape(request, dataset)

    return asked


@pytest.fixture(scope="session")
def rules(dataset):
    """Rules from plain sections: `rules({"kind": ...}, ...)`."""
    return lambda *entries: parse_rules(entries, dataset)


@pytest.fixture(scope="session")
def noisy(dataset):
    """The noisy table that the rules look at for a request, from counts of its variables' own categories, or a seed."""

    def table(request, interior=0):
        wide = rule_table(request, dataset)
        shape = table_shape(wide, dataset)
        base = table_shape(canonical(replace(wide, levels=(), totals=False), dataset), dataset)
        if isinstance(interior, int):
            interior = np.random.default_rng(interior).poisson(3, base.lengths)
        counts = np.broadcast_to(np.asarray(interior, dtype=np.int64), base.lengths).copy()
        counts[structural_zeros(base, dataset)] = 0
        for axis, dimension in enumerate(shape.dimensions):
            parts = [counts.take(list(members), axis).sum(axis) for members in dimension.members()]
            counts = np.stack(parts, axis)
        return NoisyTable(shape, counts, structural_zeros(shape, dataset))

    return table


def first_refusal(*asked, **more):
    """The refusal of the first rule that does not allow a request; None where all do."""
    try:
        refuse_by_rules(*asked, **more)
    except Refused as refusal:
        return refusal
    return None


def of_areas(verdict, flags):
    """What a mask of a verdict says of the areas of the finest level, and of the total over areas."""
    (place,) = verdict.places
    finest = np.append(place.depths == place.depths.max(), np.True_)
    return flags[finest].tolist()


@pytest.fixture(scope="session")
def by_rule():
    """Which areas the rules themselves withhold, the total last."""
    return lambda verdict: of_areas(verdict, verdict.by_rule)


@pytest.fixture(scope="session")
def in_all():
    """Which areas are withheld, complement included, the total last."""
    return lambda verdict: of_areas(verdict, verdict.mask)


@pytest.fixture(scope="session")
def two_regions(ask, noisy):
    """The verdict's table of region x sex x age from two interiors."""
    request, shape = ask(rows=["region"], columns=["sex"], layers=["age"])

    def table(north, south):
        return noisy(request, np.array([north, south]))

    return table, shape
