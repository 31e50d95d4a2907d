"""The sample by cells and units against a loop over records."""

from collections import defaultdict
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

from discreet.model.dataset import Dataset
from discreet.model.request import canonical, request_from_text
from discreet.model.shape import table_shape
from discreet.model.survey import SamplingDesign, Survey
from discreet.model.variable import Category, Hierarchy, Variable
from discreet.records.engine import AggregateQuery, SparseCells
from discreet.survey.variance import sample_rows

RECORDS = 300
VARIABLES = (
    Variable("region", "", (Category("N", ""), Category("S", ""))),
    Variable("area", "", tuple(Category(f"{r}{n}", "", r) for r in "NS" for n in range(3))),
    Variable("age", "", tuple(Category(str(n), "") for n in range(4))),
)
SURVEY = Survey("average-weight", RECORDS, Fraction(10**4), Fraction(100), Fraction(0))


class LoopEngine:
    """Every aggregate is a loop, its groups in an order of their own."""

    def __init__(self, records):
        self.records = records

    def aggregate(self, query: AggregateQuery) -> SparseCells:
        groups = defaultdict(lambda: [0, 0, *[0] * len(query.sums)])
        for record in self.records:
            if all(record[name] in codes for name, codes in query.filters):
                numbers = (1, record["w"], *(record[name] for name in query.sums))
                group = groups[tuple(record[name] for name in query.group_by)]
                group[:] = [a + b for a, b in zip(group, numbers, strict=True)]
        keys = sorted(groups, key=hash)
        codes = np.array(keys, dtype=np.int64).reshape(len(keys), len(query.group_by)).T
        sums = np.array([groups[key] for key in keys], dtype=np.int64).reshape(-1, 2 + len(query.sums)).T
        return SparseCells(tuple(codes), sums[0], sums[0].astype(np.uint64), sums[1], tuple(sums[2:]))


@pytest.fixture(scope="module")
def records():
    rng = np.random.RandomState(1)
    made = []
    for _ in range(RECORDS):
        area, weight, stratum = rng.randint(6), int(rng.randint(1, 10**6)), rng.randint(3)
        made.append(
            {
                "region": area // 3, "area": area, "age": rng.randint(4), "w": weight, "_stratum": stratum,
                "_cluster": stratum * 20 + rng.randint(20), "_square_high": weight**2 // 2**32,
                "_square_low": weight**2 % 2**32, "_replicate_1": 2 * weight, "_replicate_2": 0,
            }
        )  # fmt: skip
    return made


def dataset_of(design):
    hierarchy = Hierarchy("geography", "", ("region", "area"), geography=True)
    survey = replace(SURVEY, design=design)
    return Dataset("s", "S", VARIABLES, "id", weight_column="w", hierarchies=(hierarchy,), survey=survey)


ASKED = {
    "totals": {"rows": ["area"], "columns": ["age"]},
    "filtered": {"rows": ["age"], "filters": ["area=N0,S1"]},
    "levels": {"rows": ["area"], "levels": ["area=region,area"], "columns": ["age"]},
    "groups": {"rows": ["age"], "groups": ["age=0+1,2+3"]},
}


DESIGNS = [SamplingDesign(), SamplingDesign("h"), SamplingDesign(None, "c"), SamplingDesign("h", "c")]


@pytest.mark.parametrize("asked", ASKED)
@pytest.mark.parametrize("design", DESIGNS)
def test_cells_have_the_sums_and_squares_of_their_units(design, asked, records):
    dataset = dataset_of(design)
    shape = table_shape(canonical(request_from_text("s", **ASKED[asked]), dataset), dataset)
    rows = sample_rows(LoopEngine(records), shape, dataset)
    found = rows.by_cell()
    for place in np.ndindex(*shape.lengths):
        inside = [
            record
            for record in records
            if all(record[d.name] in d.members()[at] for d, at in zip(shape.dimensions, place, strict=True))
            and all(record[hidden.name] in hidden.members for hidden in shape.filters)
        ]
        units = defaultdict(int)
        for number, record in enumerate(inside):
            stratum = record["_stratum"] if design.strata else 0
            units[stratum, record["_cluster"] if design.clusters else number] += record["w"]
        flat = int(np.ravel_multi_index(place, shape.lengths))
        for stratum in {h for h, _ in units}:
            (at,) = np.flatnonzero((found.cell == flat) & (found.stratum == stratum))
            z = [value / 10**4 for (h, _), value in units.items() if h == stratum]
            assert found.totals[at] == pytest.approx(sum(z))
            assert found.squares[at] == pytest.approx(sum(value**2 for value in z), rel=1e-9)
        assert (found.cell == flat).sum() == len({h for h, _ in units})
        assert int(rows.weights[rows.inside(place)].sum()) == sum(record["w"] for record in inside)


def test_units_are_those_of_the_whole_sample_whatever_the_filter(records):
    dataset = dataset_of(SamplingDesign("h", "c"))
    shape = table_shape(request_from_text("s", rows=["age"], filters=["area=N0"]), dataset)
    rows = sample_rows(LoopEngine(records), shape, dataset)
    clusters = {(record["_stratum"], record["_cluster"]) for record in records}
    assert rows.units.tolist() == [sum(h == stratum for h, _ in clusters) for stratum in range(3)]


def test_nobody_is_nowhere_and_the_rows_of_a_sample_are_not_shown():
    dataset = dataset_of(SamplingDesign("h"))
    shape = table_shape(request_from_text("s", rows=["age"]), dataset)
    rows = sample_rows(LoopEngine([]), shape, dataset)
    assert rows.by_cell().cell.size == 0
    assert str(rows) == "<SampleRows, confidential>"
