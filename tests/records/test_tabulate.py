"""The fast way (one aggregate, then addition) against the slow, obvious one (a loop over records)."""

import itertools

import numpy as np
import pytest
from hypothesis import given, reject, settings
from hypothesis import strategies as st

from discreet.errors import BadRequest
from discreet.model.description.dataset_toml import parse_dataset
from discreet.model.hierarchy import level_names
from discreet.model.request import TableRequest, canonical
from discreet.model.shape import table_shape
from discreet.records import compiled_count as fast_count
from discreet.records import tabulate as tabulation
from discreet.records.compiled_count import CodeFile, count_dense
from discreet.records.engine import AggregateQuery, SparseCells
from discreet.records.storage import RECORD_KEY, WEIGHT
from discreet.records.tabulate import tabulate


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
    keys = np.zeros(shape.lengths, dtype=object)
    for place in itertools.product(*(range(n) for n in shape.lengths)):
        for record in records:
            inside = all(
                record[d.name] in d.members()[at] for d, at in zip(shape.dimensions, place, strict=True)
            ) and all(record[hidden.name] in hidden.members for hidden in shape.filters)
            if inside:
                counts[place] += 1
                keys[place] += record["key"]
    return counts, keys


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
    return TableRequest(
        "town",
        tuple(chosen[:cut]),
        tuple(chosen[cut:]),
        (),
        tuple(filters),
        tuple(groups),
        draw(st.booleans()),
        tuple(levels),
    )


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
    exact = tabulate(SlowEngine(records), shape)
    counts, keys = slow_table(records, shape)
    assert exact.counts.tolist() == counts.tolist()
    assert exact.key_sums.tolist() == keys.tolist()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(tabulation, "MANY", 0)
        patch.setattr(fast_count, "STRETCH", 5)
        engines = (PartedEngine(records), MappedEngine(records, dataset, slow_kernel))
        tables = [tabulate(engine, shape, weights=True) for engine in engines]
    weights = tabulate(SlowEngine(records), shape, weights=True).weight_sums.tolist()
    for table in tables:
        assert table.counts.tolist() == counts.tolist()
        assert table.key_sums.tolist() == keys.tolist()
        assert table.weight_sums.tolist() == weights


def test_weights_are_summed_like_counts(dataset):
    records = [
        {"region": 0, "area": 0, "sex": s, "age": 1, "job": 0, "key": 5, "weight": 10 + s} for s in (0, 1, 1)
    ]
    shape = table_shape(TableRequest("town", ("sex",)), dataset)
    assert tabulate(SlowEngine(records), shape, weights=True).weight_sums.tolist() == [10, 22, 32]


def test_key_sums_are_exact_where_floats_would_not_be(dataset):
    records = [
        {"region": 0, "area": 0, "sex": 0, "age": 1, "job": 0, "key": 2**62 + n, "weight": 0} for n in (1, 2)
    ]
    shape = table_shape(TableRequest("town", ("sex",)), dataset)
    assert tabulate(SlowEngine(records), shape).key_sums.tolist() == [2**63 + 3, 0, 2**63 + 3]
