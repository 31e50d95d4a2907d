"""The universe of declared tables is canonical, counted from public knowledge only, and holds together under `dp`."""

from fractions import Fraction

import numpy as np
import pytest

from discreet.errors import BadDescription
from discreet.model.description.dataset_toml import parse_dataset
from discreet.model.universe import (
    canonical_margin,
    contains,
    dp_terms,
    margin_cells,
    margin_zeros,
    maximal,
    parse_universe,
)


def test_all_tables_of_up_to_two_variables_are_listed_once_in_canonical_order(dataset):
    universe = parse_universe({"variables": ["sex", "age", "job"], "up_to": 2}, dataset)
    names = ["*".join(margin) for margin in universe.margins]
    assert names == ["", "age", "job", "sex", "age*job", "age*sex", "job*sex"]
    assert universe.d == 7
    again = parse_universe({"variables": ["job", "sex", "age"], "up_to": 2}, dataset)
    assert again == universe
    assert universe.without("job", dataset).margins == ((), ("age",), ("sex",), ("age", "sex"))


def test_levels_of_a_hierarchy_are_variables_and_never_crossed(dataset):
    universe = parse_universe({"variables": ["region", "area", "sex"], "up_to": 3}, dataset)
    assert ("area", "region") not in universe.margins
    assert {("area", "sex"), ("region", "sex")} <= set(universe.margins)
    assert canonical_margin(["region", "sex", "area"], dataset) == ("area", "sex")


def test_each_person_is_in_2_to_the_t_cells_when_every_margin_is_declared(dataset):
    """The grand total counts: the paper's 2^t - 1 leaves it out."""
    universe = parse_universe({"variables": ["sex", "age", "job"], "up_to": 3}, dataset)
    assert universe.d == 2**3
    known = parse_universe({"variables": ["sex", "age", "job"], "up_to": 3}, dataset, known_total=True)
    assert known.d == 2**3 - 1
    assert () in known.declared


def test_an_excluded_table_takes_all_tables_that_contain_it_finer_levels_included(dataset):
    entry = {"variables": ["region", "area", "sex", "job"], "up_to": 3, "exclude": [["region", "job"]]}
    margins = parse_universe(entry, dataset).margins
    assert not any({"job"} < set(m) and {"region", "area"} & set(m) for m in margins)
    assert ("job", "sex") in margins
    with pytest.raises(BadDescription, match="excluded"):
        parse_universe({**entry, "tables": [["area", "job"]]}, dataset)


def test_sums_release_only_the_largest_tables(dataset):
    entry = {"variables": ["region", "area", "sex", "age"], "up_to": 2, "margins": "sums"}
    universe = parse_universe(entry, dataset)
    assert universe.margins == (("age", "area"), ("age", "sex"), ("area", "sex"))
    assert ("region",) in universe.declared
    for margin in universe.declared:
        assert any(contains(large, margin, dataset) for large in universe.margins)
    assert maximal((("sex",), ()), dataset) == (("sex",),)


def test_extra_tables_and_importance_are_read(dataset):
    entry = {
        "variables": ["sex", "age"],
        "up_to": 1,
        "tables": [["sex", "job", "age"]],
        "importance": [{"table": ["job", "age", "sex"], "weight": 2.5}],
    }
    universe = parse_universe(entry, dataset)
    assert universe.margins[-1] == ("age", "job", "sex")
    assert universe.weight(("age", "job", "sex")) == Fraction(5, 2)
    assert universe.weight(("sex",)) == 1
    assert margin_cells(("age", "job", "sex"), dataset) == 3 * 4 * 2


@pytest.mark.parametrize(
    ("entry", "words"),
    [
        ({"variable": ["sex"]}, "unknown key"),
        ({"variables": ["sexx"]}, "does not have"),
        ({"variables": "sex"}, "not a list of names"),
        ({"variables": ["sex", "sex"]}, "twice"),
        ({"variables": ["sex"], "up_to": 2}, "from 0 to 1"),
        ({"variables": ["sex"], "up_to": True}, "from 0 to 1"),
        ({"variables": ["sex"], "margins": "some"}, "margins"),
        ({"variables": ["sex"], "tables": "sex"}, "list of tables"),
        ({"variables": ["sex"], "importance": {"sex": 1}}, "importance"),
        ({"variables": ["sex"], "importance": [{"table": ["age"], "weight": 1}]}, "not declared"),
        ({"variables": ["sex"], "importance": [{"table": ["sex"], "weight": 0}]}, "above 0"),
        ({"variables": ["sex"], "importance": [{"table": ["sex"]}]}, "entry"),
    ],
)
def test_a_universe_that_cannot_be_meant_is_refused(dataset, entry, words):
    with pytest.raises(BadDescription, match=words):
        parse_universe({"up_to": 1, **entry}, dataset)


def test_a_forgotten_universe_is_refused_before_it_spends_all_on_the_total(dataset):
    for entry in ({}, {"up_to": 0}, {"exclude": [["sex"]]}):
        with pytest.raises(BadDescription, match="neither `variables` nor `tables`"):
            parse_universe(entry, dataset)
    assert parse_universe({"tables": [[]]}, dataset).margins == ((),)
    with pytest.raises(BadDescription, match="no table"):
        parse_universe({"variables": [], "up_to": 0}, dataset, known_total=True)


def test_too_many_tables_are_refused_before_they_are_listed():
    names = [f"v{n}" for n in range(60)]
    wide = "\n".join(f'[[variable]]\nname = "{name}"\ncategories = ["1"]' for name in names)
    many = parse_dataset(f'id = "x"\nlabel = "X"\nid_column = "i"\n{wide}')
    with pytest.raises(BadDescription, match="more than"):
        parse_universe({"variables": names, "up_to": 10}, many)


def test_structural_zeros_reach_finer_and_coarser_levels(town):
    text = town.description + (
        '\n[[structural_zero]]\nlabel = "No shops in the north"\nwhere = { region = ["N"], job = ["2"] }\n'
        '\n[[structural_zero]]\nlabel = "No farms in southern areas"\n'
        'where = { area = ["S1", "S2", "S3"], job = ["1"] }\n'
    )
    dataset = parse_dataset(_moved(text))
    areas = margin_zeros(("area", "job"), dataset)
    assert areas[:2, 2].all()
    assert not areas[2:, 2].any()
    regions = margin_zeros(("job", "region"), dataset)
    assert regions.T.tolist() == [[False, False, True, False], [False, True, False, False]]
    assert not margin_zeros(("region", "sex"), dataset).any()
    some = margin_zeros(("area", "job"), dataset, {"area": np.array([4, 0])})
    assert np.array_equal(some, areas[[4, 0]])


def _moved(text):
    """TOML wants tables of the file before those of the protection."""
    head, protection = text.split("[protection]", 1)
    cut = protection.index("\n[[structural_zero]]")
    return head + protection[cut:] + "\n[protection]" + protection[:cut]


SURVEY = """
[survey]
form = "{}"
sample_size = 3000
population_size = 9000
largest_weight = 5
relative_variance = 0.1
"""


ID, WEIGHTED = 'id_column = "person"', 'id_column = "person"\nweight_column = "w"'


@pytest.mark.parametrize(
    ("old", "new", "form", "words"),
    [
        ("answer_cost = 0.5", "records_per_unit = 2", "", "no column tells whose a record is"),
        (ID, f'{ID}\nkey_column = "key"', "", "Record keys mean nothing under dp"),
        (ID, WEIGHTED, "largest-weight", "reads exact weights"),
        (ID, WEIGHTED, "invariant", "holds the sample size fixed"),
    ],
)
def test_what_dp_cannot_keep_or_release_is_refused(private_town, old, new, form, words):
    text = private_town.description.replace(old, new, 1) + (SURVEY.format(form) if form else "")
    with pytest.raises(BadDescription, match=words):
        dp_terms(parse_dataset(text))
    if form:
        dp_terms(parse_dataset(text.replace(form, "average-weight")))
