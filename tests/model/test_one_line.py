"""Every value that a reader can reach shows itself in one short line."""

import dataclasses
from collections.abc import Mapping

import numpy as np
import pytest

import discreet
from discreet.inference import picked, posterior
from discreet.inference.posterior import flat
from discreet.model.one_line import LONGEST, one_line
from discreet.model.variable import Category, Variable
from discreet.noise import laplace
from discreet.privacy import audit, curve

#: The longest line: the kind, the brackets and what is told.
LIMIT = 200


def values(thing, depth=8):
    """A value of ours and all that its fields hold."""
    found, waiting, seen = [], [(thing, depth)], set()
    while waiting:
        each, left = waiting.pop()
        if id(each) in seen or not left:
            continue
        seen.add(id(each))
        if dataclasses.is_dataclass(each) and type(each).__module__.startswith("discreet"):
            found.append(each)
            waiting += [(getattr(each, field.name), left - 1) for field in dataclasses.fields(each)]
        elif isinstance(each, Mapping):
            waiting += [(value, left - 1) for value in each.values()]
        elif isinstance(each, tuple | list):
            waiting += [(value, left - 1) for value in each]
    return found


@pytest.fixture(scope="module")
def catalogue(town_workspace):
    with discreet.open(town_workspace.folder) as opened:
        yield opened


def test_every_value_of_a_table_and_a_catalogue_is_one_short_line(catalogue):
    table = catalogue.table("town", rows=["age"], columns=["sex"], filters={"job": ["0", "1"]})
    noise = laplace(epsilon=1.0, m=7)
    roots = [catalogue["town"], table.release, table.test_independence(), table.interval("adult", "1")]
    roots += [noise, audit(noise, epsilon=1.0), curve(noise, [0.5])[0], posterior(5, noise, flat())]
    roots += [picked(table.release, ("adult", "1"), ("old", "1"))]
    found = [each for root in roots for each in values(root)] + [catalogue, table, *roots]
    assert {"Release", "Dataset", "Variable", "Dimension", "NoiseTable"} <= {
        type(each).__name__ for each in found
    }
    for each in found:
        assert len(repr(each)) <= LIMIT, type(each)
        assert "\n" not in repr(each), type(each)


def test_a_line_stays_short_whatever_the_labels_are():
    """Wrong: the line of a dataclass, which holds every category."""
    areas = tuple(Category(str(n), f"Area {n}") for n in range(5000))
    hostile = Variable("area", "x" * 1000 + "\n\x1b[31m", areas)
    assert len(repr(hostile)) <= LIMIT
    assert repr(hostile).isprintable()
    assert len(str(dataclasses.asdict(hostile))) > 100_000


def test_a_line_that_is_too_long_is_cut_and_says_so():
    line = one_line(3, "a" * LONGEST, "b")
    assert line.endswith("...>")
    assert len(line) == len("<int >") + LONGEST
    assert "b" not in line


def test_numbers_of_a_release_do_not_stand_in_its_line(town_release):
    assert not any(
        str(number) in repr(town_release) for number in np.unique(town_release.values) if number > 99
    )
