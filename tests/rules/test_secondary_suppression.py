"""The complement of what rules withhold: no difference between levels gives one area back."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.model.description.dataset_toml import parse_dataset
from discreet.model.shape import Dimension, level_outputs
from discreet.rules.noisy_table import Slices
from discreet.rules.secondary_suppression import TIMES, add_secondary, divisions, same_people

LEVELS = ("land", "district", "area")


def country(districts):
    """Lands of three districts each, with so many areas in each district."""

    def listed(pairs):
        return ", ".join(f'{{ code = "{code}", parent = "{parent}" }}' for code, parent in pairs)

    lands = ", ".join(f'"L{n}"' for n in range(-(-len(districts) // 3)))
    areas = listed((f"A{d}.{a}", f"D{d}") for d, number in enumerate(districts) for a in range(number))
    return parse_dataset(f"""
id = "country"
label = "x"
id_column = "i"
variable = [
  {{ name = "land", categories = [{lands}] }},
  {{ name = "district", categories = [{listed((f"D{d}", f"L{d // 3}") for d in range(len(districts)))}] }},
  {{ name = "area", categories = [{areas}] }},
]
hierarchy = [{{ name = "g", levels = ["land", "district", "area"], geography = true }}]
code_list = [{{ name = "coast", variable = "area", categories = [{{ code = "c", members = ["A0.0", "A1.0"] }}] }}]
""")


def slices(dataset, people):
    everybody = tuple(range(len(dataset.variable("area"))))
    outputs = level_outputs(dataset, "area", LEVELS, everybody)
    place = Dimension("area", "Area", outputs, everybody, dataset.variable("area").codes, geography=True)
    counts = np.array([sum(people[m] for m in members) for members in place.members()])
    return Slices((place,), counts, np.ones((len(counts),), dtype=bool), dataset)


@st.composite
def cases(draw):
    districts = draw(st.lists(st.integers(1, 5), min_size=2, max_size=7))
    people = draw(st.lists(st.integers(0, 300), min_size=sum(districts), max_size=sum(districts)))
    dataset = country(districts)
    table = slices(dataset, people)
    failed = draw(st.lists(st.booleans(), min_size=len(table.counts) - 1, max_size=len(table.counts) - 1))
    thin = np.array([*failed, False]) & (np.random.default_rng(len(failed)).random(len(failed) + 1) < 0.4)
    return table, same_people(thin, table)


def gives_back(division, mask, failed, people):
    """Whether a shown area, less its shown parts, says too much of a part that a rule withholds: the slow way."""
    if division.whole is not None and mask[division.whole]:
        return not mask[division.parts].all()
    gone = [p for p in division.parts if mask[p]]
    open_parts = [p for p in division.parts if not mask[p] and people[p] > 0]
    if not gone or not open_parts:
        return False
    most = max((people[p] for p in gone if failed[p]), default=0)
    return len(gone) < 2 or sum(people[p] for p in gone) < TIMES * most


@settings(max_examples=120)
@given(case=cases())
def test_nothing_is_given_back_at_any_level_and_what_the_rules_withhold_alone_would_be(case):
    table, failed = case
    people = np.maximum(table.total, 0)
    mask = add_secondary(failed, table.none(), table)
    tree = divisions(table.dataset, table.places[0])
    assert (mask >= failed).all()
    assert not any(gives_back(division, mask, failed, people) for division in tree)
    assert mask.any() == failed.any()
    for division in tree:  # the same people have one answer
        if division.whole is not None and len(division.parts) == 1:
            assert mask[division.whole] == mask[division.parts[0]]
    assert np.array_equal(add_secondary(failed, mask, table), mask)


def test_the_wrong_complements_are_told_apart():
    """Nothing added gives the area back; one area of any size says half of it; the same size ten times is enough."""
    table = slices(country([12, 3]), [100] * 12 + [500, 500, 500])
    failed, codes = failing(table, "A0.0")
    tree, people = divisions(table.dataset, table.places[0]), table.total
    alone, two = failed.copy(), failed.copy()
    two[codes.index("A0.1")] = True
    right = add_secondary(failed, table.none(), table)
    wrong = [any(gives_back(f, mask, failed, people) for f in tree) for mask in (alone, two, right)]
    assert wrong == [True, True, False]
    # Ten of the district, the coast's other half, and one for that in its district.
    assert right.sum() == 10 + 2


@pytest.mark.parametrize(("sizes", "added"), [([950, 2000, 30, 40], [950]), ([500, 600, 30, 40], [500, 600])])
def test_the_smallest_area_that_is_enough_is_added_or_the_largest(sizes, added):
    table = slices(country([5, 1, 1]), [100, *sizes, 7, 7])
    failed, codes = failing(table, "A0.0")
    mask = add_secondary(failed, table.none(), table)
    district = [n for n, code in enumerate(codes) if code.startswith("A0.") and mask[n]]
    assert [int(table.total[n]) for n in district[1:]] == added


def failing(table, *codes):
    """Where some areas fail, and the codes of all."""
    listed = [output.code for output in table.places[0].outputs]
    failed = table.none()
    failed[[listed.index(code) for code in codes]] = True
    return failed, listed


def test_an_area_that_fills_its_district_has_the_answer_of_the_district():
    table = slices(country([1, 2]), [50, 60, 70])
    assert not same_people(failing(table, "A0.0")[0], table).any()  # a noise of its own does not decide
    failed, codes = failing(table, "A0.0", "D0")
    assert same_people(failed, table)[codes.index("A0.0")]


def test_a_withheld_district_takes_its_areas_with_it():
    table = slices(country([3, 3, 3]), [10] * 9)
    failed, codes = failing(table, "D1")
    mask = add_secondary(failed, table.none(), table)
    # All of the land: each other district has fewer than ten times its people.
    assert mask[[codes.index(code) for code in ("A1.0", "A1.1", "A1.2", "D0", "D1", "D2")]].all()
