"""Levels of a hierarchy map into each other; a table has the cells that its levels, groups and filters leave."""

import itertools

import numpy as np
import pytest

from discreet.errors import BadRequest
from discreet.model.description.dataset_toml import parse_dataset
from discreet.model.hierarchy import (
    ancestors,
    at_or_below,
    coarser,
    finer,
    finest,
    inside,
    is_at_least_as_fine,
    is_level_of,
    level_groups,
    level_names,
    map_labels,
    variables_showing,
    visible_levels,
)
from discreet.model.request import canonical, request_from_text
from discreet.model.shape import structural_zeros, table_shape


def ask(dataset, **parts):
    return canonical(request_from_text("town", **parts), dataset)


def shape_of(dataset, **parts):
    return table_shape(ask(dataset, **parts), dataset)


def outputs_of(dataset, **parts):
    return shape_of(dataset, **parts).dimensions[0].outputs


def test_a_variable_can_be_shown_at_its_own_level_at_coarser_ones_and_by_code_lists(dataset):
    names = [level_names(dataset, name) for name in ("area", "age", "sex")]
    assert names == [["region", "area"], ["grown", "age"], ["sex"]]
    north, south = level_groups(dataset, "area", "region")
    assert (north.code, north.members) == ("N", (0, 1))
    assert (south.label, south.members) == ("South", (2, 3, 4))


def test_mixed_levels_stand_each_after_its_parent(dataset):
    outputs = outputs_of(dataset, rows=["area"], levels=["area=area,region"])
    assert [output.code for output in outputs] == ["N", "N1", "N2", "S", "S1", "S2", "S3"]
    assert [output.parent for output in outputs] == [-1, 0, 0, -1, 3, 3, 3]
    assert [output.depth for output in outputs] == [0, 1, 1, 0, 1, 1, 1]


def test_categories_outside_a_code_list_stand_on_their_own(dataset):
    outputs = outputs_of(dataset, rows=["age"], levels=["age=grown,age"])
    found = [(output.code, output.depth) for output in outputs]
    assert found == [("grown", 0), ("adult", 1), ("old", 1), ("child", 0)]
    outputs = outputs_of(dataset, rows=["job"], levels=["job=work,job"])  # two levels share the code 0
    assert [output.code for output in outputs] == ["any", "1", "2", "work:0", "job:0", "9"]


@pytest.mark.parametrize(
    ("parts", "advice"),
    [
        ({"rows": ["area"], "levels": ["area=regoin"]}, 'Did you mean "region"?'),
        ({"rows": ["sex"], "levels": ["area=region"]}, "Add it to the table"),
        ({"rows": ["age"], "levels": ["age=grown"], "groups": ["age=child+old"]}, "groups of your own"),
        ({"rows": ["age"], "levels": ["age=grown", "age=age"]}, "once"),
    ],
)
def test_levels_that_make_no_sense_are_refused(dataset, parts, advice):
    with pytest.raises(BadRequest) as raised:
        ask(dataset, **parts)
    assert advice in str(raised.value)


def test_levels_that_do_not_nest_are_refused(town):
    more = '[[code_list]]\nname = "young"\nvariable = "age"\ncategories = [{ code = "y", members = ["child", "adult"] }]\n'
    dataset = parse_dataset(town.description.replace("[[structural_zero]]", more + "[[structural_zero]]", 1))
    with pytest.raises(BadRequest, match="do not nest"):
        ask(dataset, rows=["age"], levels=["age=grown,young"])


def test_each_area_has_its_region_and_a_region_has_no_area(dataset):
    assert ancestors(dataset, "area", "region").tolist() == [0, 0, 1, 1, 1]
    assert ancestors(dataset, "region", "area") is ancestors(dataset, "area", "sex") is None
    assert is_at_least_as_fine(dataset, "area", "region")
    assert not is_at_least_as_fine(dataset, "region", "area")
    assert is_level_of(dataset, "region", "area")
    assert not is_level_of(dataset, "region", "sex")
    assert (finer(dataset, "region"), finer(dataset, "area")) == ({"area"}, frozenset())
    assert (coarser(dataset, "area"), coarser(dataset, "sex")) == (("region",), ())
    assert finest(dataset, frozenset({"region", "area", "sex"})) == ("area", "sex")


def test_labels_go_down_to_every_part_and_up_only_where_parts_agree(dataset):
    assert map_labels(dataset, "region", np.array([7, 8]), "area").tolist() == [7, 7, 8, 8, 8]
    assert map_labels(dataset, "area", np.array([7, 7, 8, 8, 8]), "region").tolist() == [7, 8]
    assert map_labels(dataset, "area", np.array([7, 6, 8, 8, 8]), "region") is None
    assert map_labels(dataset, "area", np.arange(5), "sex") is None


def test_a_region_is_inside_only_if_all_its_areas_are_kept(dataset):
    kept = np.array([True, True, True, False, True])
    assert inside(dataset, "area", kept, "region").tolist() == [True, False]
    assert inside(dataset, "region", np.array([False, True]), "area").tolist() == [False] * 2 + [True] * 3
    assert inside(dataset, "area", kept, "sex") is None


def test_a_filter_on_areas_sees_areas_even_where_regions_are_shown(dataset):
    coarse = ask(dataset, rows=["area"], levels=["area=region"])
    assert visible_levels(coarse, dataset, "area") == {"region"}
    assert not at_or_below(coarse, dataset, "area")
    filtered = ask(dataset, rows=["area"], levels=["area=region"], filters=["area=N1"])
    assert visible_levels(filtered, dataset, "area") == {"area"}
    assert at_or_below(filtered, dataset, "area")


def test_areas_show_their_regions_and_regions_do_not_show_areas(dataset):
    areas, regions = ask(dataset, rows=["area"]), ask(dataset, rows=["region"])
    assert variables_showing(areas, dataset, "region") == {"area"}
    assert variables_showing(regions, dataset, "area") == frozenset()
    assert at_or_below(regions, dataset, None)


def test_the_size_counts_totals(dataset):
    assert shape_of(dataset, rows=["sex"], columns=["age"]).cells == 3 * 4
    assert shape_of(dataset, rows=["sex"], columns=["age"], totals=False).cells == 2 * 3


def test_a_table_that_shows_nothing_is_refused_not_a_crash(dataset):
    nobody = {"rows": ["age"], "levels": ["age=grown"], "filters": ["age=child"]}
    with pytest.raises(BadRequest, match="shows nothing of"):
        shape_of(dataset, totals=False, **nobody)
    assert shape_of(dataset, **nobody).cells == 1


def test_a_group_has_its_members_and_a_code_that_reads_back(dataset):
    (dimension,) = shape_of(dataset, rows=["age"], groups=["age=child+old"]).dimensions
    assert dimension.codes == ("child+old", "_T")
    assert dimension.labels == ("Child + Old", "Total (all persons)")
    assert dimension.members() == [(0, 2), (0, 1, 2)]


def test_a_filter_on_a_shown_variable_limits_its_total_too(dataset):
    (dimension,) = shape_of(dataset, rows=["age"], filters=["age=child,old"]).dimensions
    assert dimension.codes == ("child", "old", "_T")
    assert dimension.members()[-1] == (0, 2)


@pytest.mark.parametrize(
    "parts",
    [
        {"rows": ["age"], "columns": ["job"]},
        {"rows": ["age"], "columns": ["job", "sex"], "groups": ["job=1+2,0"]},
        {"rows": ["sex"], "columns": ["job"], "filters": ["age=child"]},
        {"rows": ["age", "job"], "filters": ["job=0,1"]},
        {"rows": ["sex"], "filters": ["age=child", "job=1"]},
    ],
)
def test_structural_zeros_are_the_cells_whose_every_record_is_declared_impossible(dataset, parts):
    shape = shape_of(dataset, **parts)
    assert structural_zeros(shape, dataset).tolist() == _slow_zeros(shape, dataset).tolist()


def _slow_zeros(shape, dataset):
    """Enumerate every record that could be in each cell."""
    everything = {variable.name: range(len(variable)) for variable in dataset.variables}
    everything |= {hidden.name: hidden.members for hidden in shape.filters}
    impossible = [
        {name: {dataset.variable(name).position(code) for code in codes} for name, codes in zero.where}
        for zero in dataset.structural_zeros
    ]
    result = np.zeros(shape.lengths, dtype=bool)
    for place in np.ndindex(*shape.lengths):
        possible = dict(everything)
        for dimension, at in zip(shape.dimensions, place, strict=True):
            possible[dimension.name] = dimension.members()[at]
        records = [dict(zip(possible, codes, strict=True)) for codes in itertools.product(*possible.values())]
        result[place] = all(
            any(all(record[name] in codes for name, codes in zero.items()) for zero in impossible)
            for record in records
        )
    return result


def test_a_filter_on_another_level_leaves_out_what_it_empties(dataset):
    """The areas of other regions are no cells of the question; listed with zeros they would be five."""
    inside = shape_of(dataset, rows=["area"], filters=["region=N"])
    assert inside.dimensions[0].codes == ("N1", "N2", "_T")
    assert inside.dimensions[0].labels[-1] == "Total"
    above = shape_of(dataset, rows=["region"], filters=["area=S1,S2"])
    assert above.dimensions[0].codes == ("S", "_T")
    nested = shape_of(dataset, rows=["area"], levels=["area=region,area"], filters=["region=S"])
    assert nested.dimensions[0].codes == ("S", "S1", "S2", "S3", "_T")
    assert shape_of(dataset, rows=["sex"], filters=["region=N"]).dimensions[0].codes == ("1", "2", "_T")


def test_filters_that_exclude_each_other_leave_the_variable_s_own(dataset):
    shape = shape_of(dataset, rows=["area"], filters=["region=N", "area=S1"])
    assert shape.dimensions[0].codes == ("S1", "_T")
