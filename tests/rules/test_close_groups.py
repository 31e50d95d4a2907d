"""Groups that are close: every two of two lists are compared, as a plain loop over sets does it."""

from itertools import combinations

import numpy as np
import pytest
from tests.web.detectors.readers import census, sliver_dataset

from discreet.model.hierarchy import level_groups, level_names
from discreet.rules.close_groups import close_groups


def by_sets(dataset, name, people, fewer_than):
    """The slow, obvious way."""
    everybody = ("total", "everybody", set(range(len(people))))
    groups = [
        (level, group.code, set(group.members))
        for level in level_names(dataset, name)
        for group in level_groups(dataset, name, level)
    ]
    for (one, code, a), (other, close, b) in combinations([*groups, everybody], 2):
        apart = int(sum(people[list(a ^ b)]))
        if one != other and 0 < apart < fewer_than and people[list(a & b)].sum() > 0:
            yield frozenset([(one, code), (other, close)]), apart


@pytest.mark.parametrize("of", ["ones", "people"])
@pytest.mark.parametrize(("dataset", "name"), [(sliver_dataset(), "ward"), (census(), "district")])
def test_it_finds_what_comparing_sets_finds(dataset, name, of):
    number = len(dataset.variable(name))
    people = np.ones(number, dtype=np.int64)
    if of == "people":
        people = np.random.default_rng(3).integers(0, 4, number)
    found = {
        (frozenset([(one, code), (other, close)]), apart)
        for one, code, other, close, apart in close_groups(dataset, name, people, 3)
    }
    assert found == set(by_sets(dataset, name, people, 3))
    assert found or dataset.id == "census"
