import itertools

import numpy as np
import pytest

from discreet.errors import BadRequest
from discreet.model.request import canonical, request_from_text
from discreet.model.shape import structural_zeros, table_shape


def shape_of(dataset, **parts):
    return table_shape(canonical(request_from_text("town", **parts), dataset), dataset)


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
    assert shape_of(dataset, rows=["area"], filters=["region=N", "area=S1"]).dimensions[0].codes == (
        "S1",
        "_T",
    )
