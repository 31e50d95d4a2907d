"""The fast way (one aggregate, then addition) against the slow, obvious one (a loop over records)."""

import itertools

import numpy as np
import pytest
from hypothesis import given, reject, settings
from hypothesis import strategies as st

from discreet.errors import BadRequest
from discreet.model.description.dataset_toml import parse_dataset
from discreet.model.exact import MeasureSums
from discreet.model.hierarchy import level_names
from discreet.model.request import TableRequest, canonical, request_from_text
from discreet.model.shape import table_shape
from discreet.records import compiled_count as fast_count
from discreet.records import tabulate as tabulation
from discreet.records.compiled_count import CodeFile, count_dense
from discreet.records.engine import AggregateQuery, MeasureQuery, SparseCells
from discreet.records.storage import RECORD_KEY, WEIGHT
from discreet.records.tabulate import flat_positions, sum_groups, tabulate, wide_blocks


class SlowEngine:
    """Counts records one by one, with Python integers."""

    def __init__(self, records: list[dict[str, int]]) -> None:
        self.records = records

    def aggregate(self, query: AggregateQuery) -> SparseCells:
        cells: dict[tuple[int, ...], list[int]] = {}
        for record in self.records:
            if all(record[name] in codes for name, codes in query.filters):
                cell = cells.setdefault(tuple(record[name] for name in query.group_by), [0, 0, 0])
                cell[0] += 1
                cell[1] += record["key"]
                cell[2] += record["weight"]
        places = np.array(list(cells), dtype=np.int64).reshape(len(cells), len(query.group_by))
        sums = np.array(list(cells.values()), dtype=np.uint64).reshape(-1, 3)
        return SparseCells(
            tuple(places.T), sums[:, 0].astype(np.int64), sums[:, 1], sums[:, 2].astype(np.int64)
        )

    def close(self) -> None:
        """Nothing to let go of."""


class PartedEngine(SlowEngine):
    """Gives every three records a part of their own; a part that took the place of another would be seen."""

    def parts(self, query):
        for first in range(0, len(self.records), 3):
            yield SlowEngine(self.records[first : first + 3]).aggregate(query)


class MappedEngine(SlowEngine):
    """Counts by places, from columns as a file of codes has them."""

    def __init__(self, records, dataset, kernel):
        super().__init__(sorted(records, key=lambda record: record["area"]))
        self.kernel, widths = kernel, {"weight": 8, "key": 4} | {v.name: 1 for v in dataset.variables}
        columns = [
            np.array([record[name] for record in self.records], f"<u{width}")
            for name, width in widths.items()
        ]
        names = {"weight": WEIGHT, "key": RECORD_KEY}
        widths = {names.get(name, name): width for name, width in widths.items()}
        starts = np.cumsum([0, *(column.nbytes for column in columns)]).tolist()
        raw = np.concatenate([column.view(np.uint8) for column in columns])
        self.codes = CodeFile(raw, widths, dict(zip(widths, starts, strict=False)), len(self.records), "area")

    def dense(self, query, lookups, cells):
        return count_dense(self.codes, query, lookups, cells, self.kernel, threads=3)


def slow_table(records, shape):
    """Every cell by its definition: the records that satisfy its conditions."""
    counts = np.zeros(shape.lengths, dtype=object)
    keys, weights = counts.copy(), counts.copy()
    for place in itertools.product(*(range(n) for n in shape.lengths)):
        for record in records:
            inside = all(
                record[d.name] in d.members()[at] for d, at in zip(shape.dimensions, place, strict=True)
            ) and all(record[hidden.name] in hidden.members for hidden in shape.filters)
            if inside:
                counts[place] += 1
                keys[place] += record["key"]
                weights[place] += record["weight"]
    return counts, keys, weights


@st.composite
def requests(draw, dataset):
    names = draw(st.permutations([v.name for v in dataset.variables]))
    chosen = names[: draw(st.integers(1, 3))]
    cut = draw(st.integers(0, len(chosen)))
    filters, groups = [], []
    for name in names[:4]:
        codes = dataset.variable(name).codes
        if draw(st.booleans()):
            filters.append((name, tuple(draw(st.sets(st.sampled_from(codes), min_size=1)))))
    for name in chosen:
        kept = dict(filters).get(name, dataset.variable(name).codes)
        if draw(st.booleans()):
            shuffled = draw(st.permutations(sorted(kept)))
            size = draw(st.integers(1, len(shuffled)))
            at = draw(st.integers(0, size))
            parts = [tuple(shuffled[:at]), tuple(shuffled[at:size])]
            groups.append((name, tuple(part for part in parts if part)))
    levels = [
        (name, tuple(draw(st.sets(st.sampled_from(level_names(dataset, name)), min_size=1))))
        for name in chosen
        if name not in dict(groups) and draw(st.booleans())
    ]
    rows, columns, totals = tuple(chosen[:cut]), tuple(chosen[cut:]), draw(st.booleans())
    return TableRequest("town", rows, columns, (), tuple(filters), tuple(groups), totals, tuple(levels))


@pytest.fixture(scope="module")
def dataset(town):
    return parse_dataset(town.description)


@pytest.mark.slow
@given(st.data(), st.integers(0, 60), st.integers(0, 2**32))
@settings(max_examples=120)
def test_every_cell_is_the_sum_over_its_records(dataset, slow_kernel, data, count, seed):
    rng = np.random.default_rng(seed)
    records = [
        {v.name: int(rng.integers(len(v))) for v in dataset.variables}
        | {"key": int(rng.integers(2**32)), "weight": int(rng.integers(10**6))}
        for _ in range(count)
    ]
    for record in records:  # a filter by area leaves out the other regions
        record["region"] = int(record["area"] > 1)
    try:
        shape = table_shape(canonical(data.draw(requests(dataset)), dataset), dataset)
    except BadRequest:  # a filter that leaves no category of a level
        reject()
    counts, keys, weights = slow_table(records, shape)
    exact = tabulate(SlowEngine(records), shape)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(tabulation, "MANY", 0)
        patch.setattr(fast_count, "STRETCH", 5)
        engines = (SlowEngine(records), PartedEngine(records), MappedEngine(records, dataset, slow_kernel))
        tables = [tabulate(engine, shape, weights=True) for engine in engines]
    for table in (exact, *tables):
        assert table.counts.tolist() == counts.tolist()
        assert table.key_sums.tolist() == keys.tolist()
        assert table is exact or table.weight_sums.tolist() == weights.tolist()


def test_key_sums_are_exact_where_floats_would_not_be(dataset):
    records = [
        {"region": 0, "area": 0, "sex": 0, "age": 1, "job": 0, "key": 2**62 + n, "weight": 0} for n in (1, 2)
    ]
    shape = table_shape(TableRequest("town", ("sex",)), dataset)
    assert tabulate(SlowEngine(records), shape).key_sums.tolist() == [2**63 + 3, 0, 2**63 + 3]


REQUESTS = {
    "totals": {"rows": ["area", "sex", "age", "job"]},
    "none": {"rows": ["area", "job"], "totals": False},
    "levels": {"rows": ["area", "age"], "levels": ["area=region,area"]},
    "people in no group": {"rows": ["job", "sex"], "groups": ["job=1+2"]},
    "filters": {"rows": ["area", "age"], "filters": ["age=adult", "region=S", "sex=2"]},
}


@pytest.mark.parametrize("at_once", [tabulation.AT_ONCE, 40, 1])
@pytest.mark.parametrize("name", REQUESTS)
def test_blocks_hold_the_cells_of_the_dense_table(town, town_workspace, monkeypatch, name, at_once):
    monkeypatch.setattr(tabulation, "AT_ONCE", at_once)
    dataset = parse_dataset(town.description)
    shape = table_shape(canonical(request_from_text("town", **REQUESTS[name]), dataset), dataset)
    exact = tabulate(town_workspace.stored("town").engine, shape)
    counts, keys = np.zeros(shape.cells, dtype=np.int64), np.zeros(shape.cells, dtype=np.uint64)
    blocks = list(wide_blocks(town_workspace.stored("town").engine, shape))
    for block in blocks:
        places = block.codes[0]
        assert (np.diff(places) > 0).all(), "ascending, each once"
        assert not counts[places].any(), "no cell is in two blocks"
        counts[places], keys[places] = block.counts, block.key_sums
    assert (counts.reshape(shape.lengths) == exact.counts).all()
    assert (keys.reshape(shape.lengths) == exact.key_sums).all()


def test_one_aggregate_is_enough(town, town_workspace, monkeypatch):
    """The wrong alternative: to ask the engine for each of the 16 blocks."""
    dataset, engine = parse_dataset(town.description), town_workspace.stored("town").engine
    shape = table_shape(canonical(request_from_text("town", **REQUESTS["totals"]), dataset), dataset)
    asked, aggregate = [], engine.aggregate
    monkeypatch.setattr(engine, "aggregate", lambda query: asked.append(query) or aggregate(query))
    assert len(list(wide_blocks(engine, shape))) == 16
    assert len(asked) == 2, "how many records there are, and the groups"
    monkeypatch.setattr(tabulation, "AT_ONCE", 40)
    sizes = []
    monkeypatch.setattr(engine, "aggregate", lambda query: sizes.append(aggregate(query)) or sizes[-1])
    list(wide_blocks(engine, shape))
    assert max(cells.counts.size for cells in sizes) <= 40, "no more groups at once than may be"


def rows(seed, size, lengths):
    random = np.random.RandomState(seed)
    codes = tuple(random.randint(0, length, size).astype(np.uint16) for length in lengths)
    keys = random.randint(2**31, 2**32, size).astype(np.uint64) << np.uint64(20)
    return SparseCells(
        codes, random.randint(1, 9, size), keys, random.randint(0, 10**15, size), (np.arange(size),)
    )


def slowly(cells):
    found = {}
    for row, group in enumerate(zip(*(codes.tolist() for codes in cells.codes), strict=True)):
        before = found.get(group, (0, 0, 0, 0))
        numbers = (cells.counts[row], cells.key_sums[row], cells.weight_sums[row], cells.sums[0][row])
        found[group] = tuple(a + int(b) for a, b in zip(before, numbers, strict=True))
    return found


@settings(max_examples=25, deadline=None)
@given(
    st.integers(0, 10**6),
    st.integers(0, 60),
    st.sampled_from([(2, 3), (5,), (60_000, 60_000, 60_000, 60_000)]),
)
@pytest.mark.parametrize("dense", [0, 2**16])
def test_sums_are_those_of_a_dictionary(dense, seed, size, lengths):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(tabulation, "DENSE", dense)
        cells = rows(seed, size, lengths)
        expected, found = slowly(cells), sum_groups(cells, lengths)
    assert found.counts.size == len(expected)
    assert slowly(found) == expected
    ones = np.ones(5, dtype=np.int64)  # the total of a cube: no variable, one group
    assert sum_groups(SparseCells((), ones, ones.astype(np.uint64), None, ()), ()).counts.tolist() == [5]


def test_places_beyond_64_bits_are_still_told_apart():
    """The wrong alternative: to let the place of a row wrap round, so that two groups share one."""
    codes = (np.array([0, 2**8, 0]), *(np.zeros(3, dtype=np.int64),) * 2)
    lengths = (2**32, 2**32, 2**24)
    places = flat_positions(codes, lengths)
    assert places[0] == places[2] != places[1]
    wrong = (codes[0] * 2**56).astype(np.int64)
    assert wrong[0] == wrong[1]


def test_cells_tell_how_many_variables_they_have_and_no_count():
    cells = SparseCells(((), ()), 4711, 1234)
    assert repr(cells) == "<SparseCells by 2 variables, confidential>"
    assert "4711" not in f"{cells}{cells!r}"


# ---- measures ----------------------------------------------------------------------------------------


class MeasuringEngine(SlowEngine):
    """The same with one measure."""

    def aggregate(self, query):
        (own,) = query.measures
        found = {}
        for record in self.records:
            if all(record[name] in codes for name, codes in query.filters):
                found.setdefault(tuple(record[name] for name in query.group_by), []).append(record)
        places = np.array(list(found), dtype=np.int64).reshape(len(found), len(query.group_by))
        inside = [[r for r in each if r["value"]] for each in found.values()]
        tops = [
            (sorted((abs(r["value"]) for r in each), reverse=True) + [0] * own.top)[: own.top]
            for each in inside
        ]
        sums = MeasureSums(
            np.array([len(each) for each in inside], dtype=np.int64),
            np.array([sum(r["key"] for r in each) for each in inside], dtype=np.uint64),
            np.array([sum(r["value"] for r in each) for each in inside], dtype=np.int64),
            np.array(tops, dtype=np.int64).reshape(len(inside), own.top),
        )
        counts = np.array([len(each) for each in found.values()], dtype=np.int64)
        keys = np.array([sum(r["key"] for r in each) for each in found.values()], dtype=np.uint64)
        return SparseCells(tuple(places.T), counts, keys, measures=(sums,))


@pytest.mark.parametrize(
    "request_",
    [
        request_from_text("town", rows=["area"], columns=["sex"], levels=["area=region,area"]),
        request_from_text("town", rows=["age"], columns=["job"], groups=["age=adult+old"]),
        request_from_text("town", rows=["sex"], filters=["area=N1,S2"], totals=False),
    ],
    ids=str,
)
def test_sums_and_largest_values_of_every_cell_are_those_of_a_loop(town, request_):
    dataset = parse_dataset(town.description)
    random = np.random.RandomState(8)
    names = {variable.name: len(variable) for variable in dataset.variables}
    records = [
        {name: int(random.randint(width)) for name, width in names.items()}
        | {"key": int(random.randint(2**32, dtype=np.uint64)), "value": int(random.randint(-30, 30))}
        for _ in range(120)
    ]
    shape = table_shape(canonical(request_, dataset), dataset)
    exact = tabulate(MeasuringEngine(records), shape, measures=(MeasureQuery("value", 3),))
    (found,) = exact.measures
    filters = {hidden.name: hidden.members for hidden in shape.filters}
    for place in itertools.product(*(range(length) for length in shape.lengths)):
        members = {d.name: d.members()[at] for d, at in zip(shape.dimensions, place, strict=True)} | filters
        inside = [r for r in records if r["value"] and all(r[name] in few for name, few in members.items())]
        assert found.contributors[place] == len(inside)
        assert found.key_sums[place] == sum(r["key"] for r in inside)
        assert found.totals[place] == sum(r["value"] for r in inside)
        expected = sorted((abs(r["value"]) for r in inside), reverse=True)[:3]
        assert found.largest[place].tolist() == expected + [0] * (3 - len(expected))
