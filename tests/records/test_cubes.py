"""A cube answers every table of its variables and the levels above them exactly; the plan builds those that save most."""

import pickle
from types import SimpleNamespace

import numpy as np
import pyarrow as pa
import pytest

from discreet.errors import RecordsAway
from discreet.model.description.dataset_toml import parse_dataset
from discreet.model.exact import Confidential
from discreet.records import cubes
from discreet.records.cubes import (
    FEW,
    GAIN,
    Cube,
    CubedEngine,
    MarginCache,
    StoredCube,
    covers,
    cube_schema,
    derivable_variables,
    plan_cubes,
    read_cube,
    reduce_margin,
    rollup_variables,
    row_bytes,
    rows_at_most,
    tables_of,
    write_cube,
)
from discreet.records.engine import AggregateQuery, InParts, records_in
from discreet.records.tabulate import sum_groups
from discreet.workspace.versions.load_version import load_dataset
from discreet.workspace.workspace import Workspace

MARGIN = ("area", "age", "job")
QUERIES = (
    AggregateQuery(("age",)),
    AggregateQuery(("job", "area"), (("age", (1, 2)),)),
    AggregateQuery(("region", "age"), (("area", (0, 3)), ("job", (0, 1)))),
    AggregateQuery(("region",), (("region", (1,)),)),
)


@pytest.fixture
def dataset(town_workspace):
    return town_workspace.stored("town").dataset


@pytest.fixture
def live(town_workspace):
    return town_workspace.stored("town").engine._records()


@pytest.fixture
def survey_stored(tmp_path):
    """Four people with weights, whose squares are kept for sampling errors."""
    text = (
        'id = "s"\nlabel = "S"\nid_column = "id"\nweight_column = "w"\nweight_decimals = 2\n'
        '[[variable]]\nname = "sex"\ncategories = ["1", "2"]\n[[variable]]\nname = "age"\ncategories = ["y", "o"]\n'
        '[survey]\nform = "largest-weight"\n'
        "sample_size = 4\npopulation_size = 40\nlargest_weight = 20\nrelative_variance = 0.375\n"
    )
    people = {
        "id": [1, 2, 3, 4],
        "sex": ["1", "2", "1", "2"],
        "age": ["y", "o", "o", "o"],
        "w": [20, 10, 5, 5],
    }
    load_dataset(tmp_path / "w", text, pa.table(people))
    workspace = Workspace(tmp_path / "w")
    yield workspace.stored("s")
    workspace.close()


def told(cells):
    groups = zip(*(codes.tolist() for codes in cells.codes), strict=True)
    return sorted(zip(groups, cells.counts.tolist(), cells.key_sums.tolist(), strict=True))


def slowly(cube, dataset, query):
    """All rows of the cube that the filters leave, added up."""
    return sum_groups(cube.cells(query), [len(dataset.variable(name)) for name in query.group_by])


@pytest.mark.parametrize("at_once", [2**21, 30])
@pytest.mark.parametrize("query", QUERIES, ids=str)
def test_a_cube_answers_what_the_records_answer(dataset, live, tmp_path, monkeypatch, query, at_once):
    monkeypatch.setattr(cubes, "AT_ONCE", at_once)
    rows = write_cube(live, dataset, MARGIN, tmp_path / "c.arrow", 3000, 3000)
    cube = read_cube(dataset, MARGIN, tmp_path / "c.arrow")
    assert rows == live.aggregate(AggregateQuery(MARGIN)).counts.size
    assert told(slowly(cube, dataset, query)) == told(live.aggregate(query))


def test_weights_and_further_sums_are_kept(survey_stored, tmp_path):
    live, dataset = survey_stored.engine._records(), survey_stored.dataset
    names = ("sex", "age")
    write_cube(live, dataset, names, tmp_path / "c.arrow", 10**6, 10**6)
    sums = tuple(cube_schema(dataset, names).names[len(names) + 3 :])
    query = AggregateQuery(names[:1], weights=True, sums=sums)
    assert covers(dataset, derivable_variables(dataset, names), query)
    found = slowly(read_cube(dataset, names, tmp_path / "c.arrow"), dataset, query)
    true = live.aggregate(query)
    order = np.argsort(true.codes[0])
    assert found.weight_sums.tolist() == true.weight_sums[order].tolist()
    assert [s.tolist() for s in found.sums] == [s[order].tolist() for s in true.sums] != []


def test_what_a_cube_tells(dataset):
    answered = derivable_variables(dataset, MARGIN)
    assert answered == {"region", "area", "age", "job"}
    assert derivable_variables(dataset, ("region",)) == {"region"}, "not the areas in it"
    assert covers(dataset, answered, AggregateQuery(("region",), (("job", (0,)),)))
    assert not covers(dataset, answered, AggregateQuery(("region",), (("sex", (0,)),)))
    assert not covers(dataset, answered, AggregateQuery(("age", "record_key")))
    assert not covers(dataset, answered, AggregateQuery(("age",), weights=True))


def test_more_rows_than_are_worth_it_leave_no_file_and_one_of_another_margin_is_not_read(
    dataset, live, tmp_path
):
    assert write_cube(live, dataset, MARGIN, tmp_path / "c.arrow", 3000, 3) is None
    assert not list(tmp_path.iterdir())
    write_cube(live, dataset, ("age",), tmp_path / "c.arrow", 3000, 3000)
    with pytest.raises(ValueError, match="another margin"):
        read_cube(dataset, ("sex",), tmp_path / "c.arrow")


def test_cubes_and_their_margins_are_as_confidential_as_records(town_workspace, dataset):
    assert issubclass(Cube, Confidential)
    with pytest.raises(TypeError):
        pickle.dumps(MarginCache(dataset))
    assert row_bytes(dataset, ("age",)) == 1 + 4 + 8
    assert records_in(town_workspace.stored("town").engine, dataset) == 3000


VARIABLES = ("area", "age", "sex", "job")


@pytest.fixture
def cube(live, dataset, tmp_path):
    write_cube(live, dataset, VARIABLES, tmp_path / "cube.arrow", 3000, 3000)
    return read_cube(dataset, VARIABLES, tmp_path / "cube.arrow")


def queries(dataset):
    """Every pair of variables, a level above one of them among these, with and without a filter on a third."""
    names = ("region", *VARIABLES[1:])
    for first in names:
        for second in names:
            if first < second:
                yield AggregateQuery((first, second))
                yield AggregateQuery((second, first), ((first, (0,)),))
                for other in set(names) - {first, second}:
                    yield AggregateQuery((first, second), ((other, (0, 1)),))


def test_every_margin_tells_what_its_cube_tells(cube, dataset, monkeypatch):
    """The wrong alternative: a margin that was kept without the variable of a filter."""
    monkeypatch.setattr(cubes, "GAIN", 0)  # the town is small: keep whatever is asked
    memory, asked = MarginCache(dataset), list(queries(dataset))
    for query in (*asked, *asked):
        margin = memory.of(cube, query)
        assert margin is not cube
        assert told(slowly(margin, dataset, query)) == told(slowly(cube, dataset, query))
    filtered = next(query for query in asked if query.filters and query.filters[0][0] not in query.group_by)
    wrong = cube.margin(AggregateQuery(filtered.group_by))
    with pytest.raises(StopIteration):
        wrong.cells(filtered)


def test_a_margin_is_added_up_once_if_it_is_smaller_than_its_cube(cube, dataset, monkeypatch):
    memory = MarginCache(dataset)
    assert memory.of(cube, AggregateQuery(VARIABLES)) is cube
    assert memory.kept.currsize == 0
    monkeypatch.setattr(cubes, "GAIN", 0)
    memory, query = MarginCache(dataset), AggregateQuery(("sex",))
    assert memory.of(cube, query) is memory.of(cube, AggregateQuery(("sex",), (("sex", (0,)),)))
    assert memory.of(cube, query) is not memory.of(cube, AggregateQuery(("sex", "age")))


def test_memory_is_bounded_and_what_was_not_used_longest_goes_first(cube, dataset, monkeypatch):
    """The wrong alternative: to keep everything that was ever asked."""
    monkeypatch.setattr(cubes, "GAIN", 0)
    monkeypatch.setattr(cubes, "LARGEST_SHARE", 1)
    first, second = AggregateQuery(("age", "sex")), AggregateQuery(("sex",))
    all_bytes, memory = MarginCache(dataset), MarginCache(dataset, 0)
    for query in (first, second):
        all_bytes.of(cube, query)
    assert memory.of(cube, second) is cube
    memory = MarginCache(dataset, all_bytes.kept.currsize - 1)
    kept = memory.of(cube, first)
    memory.of(cube, second)
    assert 0 < memory.kept.currsize < all_bytes.kept.currsize
    assert memory.of(cube, first) is not kept


COVERED, OTHER = AggregateQuery(("region",), (("age", (0,)),)), AggregateQuery(("sex",))


@pytest.fixture
def shelved(live, dataset, tmp_path):
    """Cubes of two margins; `opened` remembers which was read."""
    opened = []

    def shelve(*variables, broken=False):
        path = tmp_path / f"{'-'.join(variables)}.arrow"
        rows = write_cube(live, dataset, variables, path, 3000, 3000)

        def read():
            opened.append(variables)
            return None if broken else read_cube(dataset, variables, path)

        return StoredCube(derivable_variables(dataset, variables), rows, read)

    shelve.opened = opened
    return shelve


def away():
    raise RecordsAway("The records are away.")


def test_the_smallest_cube_that_covers_answers(live, dataset, shelved):
    stored = shelved("area", "age"), shelved("area", "age", "job")
    engine = CubedEngine(dataset, lambda: stored, away)
    assert told(engine.aggregate(COVERED)) == told(live.aggregate(COVERED))
    assert shelved.opened == [("area", "age")]
    assert isinstance(engine, InParts)
    (part,) = engine.parts(AggregateQuery(("area", "age")))
    assert told(part) == told(live.aggregate(AggregateQuery(("area", "age"))))


def test_a_cube_that_is_not_as_sealed_is_passed_over(live, dataset, shelved):
    """The wrong alternative: to answer nothing, or to answer from it."""
    broken = shelved("area", "age", broken=True)
    engine = CubedEngine(dataset, lambda: (broken,), lambda: live)
    assert told(engine.aggregate(COVERED)) == told(live.aggregate(COVERED))
    assert shelved.opened == [("area", "age")]


def test_what_no_cube_covers_needs_the_records(live, dataset, shelved):
    back, cube = [], shelved("area", "age")
    engine = CubedEngine(dataset, lambda: (cube,), lambda: back[0] if back else away())
    for ask in (lambda: engine.aggregate(OTHER), engine.sound, lambda: CubedEngine(dataset, tuple, away)):
        with pytest.raises(RecordsAway):
            ask()
    back.append(live)
    assert told(engine.aggregate(OTHER)) == told(live.aggregate(OTHER)), "they may come back"


RECORDS = 50_000_000


@pytest.fixture
def described(town):
    return parse_dataset(town.description)


def test_margins_leave_out_levels_that_finer_ones_tell(described):
    assert reduce_margin(described, ("sex", "region", "area")) == ("area", "sex")
    assert rollup_variables(described) == ("region", "sex", "age", "job")


def test_the_tables_are_all_of_up_to_so_many_variables_at_each_level(described):
    tables = tables_of(described, 1)
    assert {("sex",), ("area",), ("region", "job"), ("area", "job")} <= set(tables)
    assert not any(len(set(table) - {"region", "area"}) > 1 for table in tables)


def test_under_dp_they_are_the_declared_ones(private_description):
    private = parse_dataset(private_description)
    assert ("area", "sex", "age", "job") not in tables_of(private, 4)
    assert all(tables_of(private, 1))


@pytest.mark.parametrize("skew", [0.0, 1.5])
def test_rows_stay_below_the_bound_on_average(described, skew):
    """The wrong alternative, K (1 - exp(-n / K)), is below the truth for equal chances: 7.6 of 10 cells for n = 14."""
    random, cells, people = np.random.RandomState(3), 120, 150
    chances = np.exp(-skew * np.arange(cells) / 20)
    drawn = random.choice(cells, (400, people), p=chances / chances.sum())
    mean = np.mean([np.unique(row).size for row in drawn])
    bound = rows_at_most(one_variable(cells), ("a",), people)
    assert mean < bound + 0.5  # FALSE_ALARM below 1e-6: the mean of 400 has a standard deviation below 0.3
    assert bound <= cells


def one_variable(categories):
    return SimpleNamespace(variable=lambda _name: range(categories))


def test_equal_chances_reach_the_bound():
    assert 10 * (1 - 0.9**14) <= rows_at_most(one_variable(10), ("a",), 14) < 10 * (1 - 0.9**14) + 1


def test_a_plan_makes_every_table_fast_that_it_can(described):
    plan = plan_cubes(described, RECORDS, 2, 10**9)
    answered = [derivable_variables(described, cube.variables) for cube in plan]
    assert all(any(set(table) <= each for each in answered) for table in tables_of(described, 2))
    assert all(cube.rows * GAIN <= RECORDS for cube in plan)
    assert len(plan) < len(tables_of(described, 2)), "one cube serves several tables"
    assert "times fewer" in plan[0].why


def test_a_plan_stays_within_its_limit_and_adds_nothing_that_is_there(described):
    first = plan_cubes(described, RECORDS, 2, 10**9)[0]
    assert plan_cubes(described, RECORDS, 2, first.bytes - 1) != plan_cubes(described, RECORDS, 2, 10**9)
    assert sum(cube.bytes for cube in plan_cubes(described, RECORDS, 2, 200)) <= 200
    assert plan_cubes(described, RECORDS, 2, 0) == ()
    assert plan_cubes(described, FEW, 2, 10**9) == (), "few records need no cube"
    everything = [(("area", "sex", "age", "job"), FEW)]
    assert plan_cubes(described, RECORDS, 2, 10**9, everything) == ()
