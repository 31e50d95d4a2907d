"""What every kind of engine must do: one suite over all that are registered, and over the toy.

Expected numbers come from a slow loop over the records; an engine may give its groups in any order.
"""

import json
import os
from collections import defaultdict
from concurrent.futures import ThreadPoolExecutor
from fractions import Fraction

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from discreet.errors import WorkspaceUnusable
from discreet.formats import format_by_name, formats
from discreet.model.dataset import Dataset
from discreet.model.magnitude import NumericMeasure
from discreet.model.request import TableRequest, request_from_text
from discreet.model.shape import table_shape
from discreet.model.survey import SamplingDesign, Survey
from discreet.model.variable import Category, Hierarchy, Variable
from discreet.records.engine import AggregateQuery, MeasureQuery, engine_kind, engine_kinds
from discreet.records.storage import NULL_VALUE, RECORD_KEY, WEIGHT, squares, storage_schema
from discreet.records.tabulate import tabulate
from discreet.release.pipeline import release_table
from discreet.workspace.versions.load_version import load_dataset
from discreet.workspace.workspace import Workspace

#: Codes of one, two and four bytes; the widest category that occurs is the last one.
WIDTHS = {"sex": 2, "age": 17, "place": 300, "parish": 70_000}
RECORDS = 2000
QUERIES = [
    AggregateQuery(("sex",)),
    AggregateQuery(("age", "sex")),
    AggregateQuery(("sex", "age", "place")),
    AggregateQuery(("parish",)),
    AggregateQuery(("parish", "sex"), (("place", tuple(range(250, 300))),)),
    AggregateQuery(("age",), (("sex", (1,)), ("parish", (0, 69_999)))),
    AggregateQuery(("sex",), (("sex", (0,)),)),
    AggregateQuery(("place", "age"), (("age", (0, 5, 16)),), weights=True),
    AggregateQuery(("sex",), weights=True),
    AggregateQuery(
        ("sex", "age"), (("place", (0, 7, 9)),), weights=True, sums=("_square_low", "_square_high")
    ),
    AggregateQuery(("age",), sums=("_square_high",)),
    AggregateQuery(("sex", "_stratum", "_cluster"), weights=True),
    AggregateQuery(("_stratum", "_cluster"), (("sex", (1,)),), sums=("_square_low",)),
]
REQUESTS = [
    request_from_text("town", rows=["area", "sex"], columns=["age"], levels=["area=region,area"]),
    request_from_text("town", rows=["sex"], filters=["job=2,0", "area=region:N"]),
    request_from_text("town", rows=["job"], groups=["job=0+1,2+9"]),
    request_from_text("town", rows=["job"], columns=["region"], filters=["age=child"]),
]
NOBODY = AggregateQuery(("age", "sex"), (("place", (299,)), ("parish", (7,))), weights=True)


def invented(records=RECORDS, seed=11):
    """A dataset and its coded records; keys reach both ends of 32 bits, weights both sides of one."""
    listed = tuple(
        Variable(name, name, tuple(Category(str(code), str(code)) for code in range(width)))
        for name, width in WIDTHS.items()
    )
    facts = (records, Fraction(10**5), Fraction(100), Fraction(0))
    survey = Survey("average-weight", *facts, design=SamplingDesign("h", "c"))
    dataset = Dataset("wide", "Wide", listed, "id", weight_column="weight", survey=survey)
    random = np.random.RandomState(seed)
    columns = {name: random.randint(0, width, records) for name, width in WIDTHS.items()}
    for name, width in WIDTHS.items():
        columns[name][:2] = (0, width - 1)
    columns["parish"][2:200] = 69_999
    columns["place"][columns["parish"] == 7] = 0
    columns[RECORD_KEY] = random.randint(0, 2**32, records, dtype=np.uint32)
    columns[RECORD_KEY][:2] = (0, 2**32 - 1)
    columns[WEIGHT] = random.randint(0, 10**6, records)
    columns["_stratum"], columns["_cluster"] = random.randint(0, 5, records), random.randint(0, 90, records)
    columns |= squares(columns[WEIGHT], 0)
    columns["_square_low"][:2] = 2**32 - 1
    schema = storage_schema(dataset)
    return dataset, pa.table(columns, schema=schema)


def stage(folder, records):
    folder.mkdir()
    with pa.ipc.new_file(folder / "staged.arrow", records.schema) as writer:
        writer.write_table(records, max_chunksize=700)
    return folder / "staged.arrow"


def kept(kind, dataset, records, folder):
    """The folder of a version: stored while it loads, renamed, and without what was staged."""
    staged = stage(folder / "loading", records)
    kind.store(staged, dataset, folder / "loading", "a tag")
    staged.unlink()
    return (folder / "loading").rename(folder / "version")


def expected(records, query):
    """The groups, by a loop."""
    found = defaultdict(lambda: [0, 0, 0])
    for record in records.to_pylist():
        if all(record[name] in codes for name, codes in query.filters):
            sums = found[tuple(record[name] for name in query.group_by)]
            sums += [0] * (3 + len(query.sums) - len(sums))
            numbers = [1, record[RECORD_KEY], record[WEIGHT] if query.weights else 0]
            for place, number in enumerate(numbers + [record[name] for name in query.sums]):
                sums[place] += number
    return {group: tuple(sums) for group, sums in found.items()}


MEASURED = [
    AggregateQuery(("sex",), measures=(MeasureQuery("_measure_income", 3),)),
    AggregateQuery(
        ("sex", "age"), (("place", (0, 7, 9)),), measures=(MeasureQuery("_measure_income", 2, zeros=True),)
    ),
    AggregateQuery(
        ("age",),
        (("sex", (1,)),),
        measures=(MeasureQuery("_measure_income", 1), MeasureQuery("_measure_debt", 4)),
    ),
]


def with_measures(records=600, seed=3):
    """The same categories with two measures: nulls, zeros, negative values, ties and the largest values."""
    dataset, table = invented(records, seed)
    random = np.random.RandomState(seed)
    incomes = random.randint(-1000, 1000, records).astype(np.int64) * 10**9
    incomes[random.random_sample(records) < 0.2] = 0
    incomes[random.random_sample(records) < 0.2] = NULL_VALUE
    incomes[:4] = (2**53, -(2**53), 2**53, NULL_VALUE)
    debts = random.randint(0, 5, records).astype(np.int64)
    names = [variable.name for variable in dataset.variables]
    columns = table.select([*names, RECORD_KEY])
    columns = columns.append_column("_measure_income", pa.array(incomes))
    columns = columns.append_column("_measure_debt", pa.array(debts))
    bounds = (Fraction(-(2**53)), Fraction(2**53))
    measures = tuple(NumericMeasure(name, name, name, "", 0, *bounds) for name in ("income", "debt"))
    return Dataset("firms", "Firms", dataset.variables, "id", measures=measures), columns


def expected_measures(records, query):
    """What is added up of measures in each group, by a loop."""
    found = defaultdict(lambda: [[] for _ in query.measures])
    for record in records.to_pylist():
        if all(record[name] in codes for name, codes in query.filters):
            group = found[tuple(record[name] for name in query.group_by)]
            for own, inside in zip(query.measures, group, strict=True):
                value = record[own.column]
                if value != NULL_VALUE and (value or own.zeros):
                    inside.append((value, record[RECORD_KEY]))
    return {
        group: tuple(
            (
                len(inside),
                sum(key for _, key in inside),
                sum(value for value, _ in inside),
                tuple((sorted((abs(value) for value, _ in inside), reverse=True) + [0] * own.top)[: own.top]),
            )
            for own, inside in zip(query.measures, each, strict=True)
        )
        for group, each in found.items()
    }


def measures_as_dict(cells):
    groups = list(zip(*(codes.tolist() for codes in cells.codes), strict=True))
    listed = [
        [
            (contributors, keys, total, tuple(largest))
            for contributors, keys, total, largest in zip(
                own.contributors.tolist(),
                own.key_sums.tolist(),
                own.totals.tolist(),
                own.largest.tolist(),
                strict=True,
            )
        ]
        for own in cells.measures
    ]
    return dict(zip(groups, zip(*listed, strict=True), strict=True))


def as_dict(cells):
    weights = [0] * cells.counts.size if cells.weight_sums is None else cells.weight_sums.tolist()
    further = [column.tolist() for column in cells.sums]
    sums = zip(cells.counts.tolist(), cells.key_sums.tolist(), weights, *further, strict=True)
    groups = list(zip(*(codes.tolist() for codes in cells.codes), strict=True))
    assert len(set(groups)) == len(groups), "each group occurs once"
    return dict(zip(groups, sums, strict=True))


def _in_duckdb(folder, key):
    import duckdb

    with duckdb.connect(str(folder / "data.duckdb")) as database:
        database.execute("ALTER TABLE records ALTER record_key TYPE UBIGINT")
        database.execute("UPDATE records SET record_key = ?", [key])


def _in_postgres(folder, key):
    import psycopg

    schema = json.loads((folder / "postgres.json").read_text())["schema"]
    with psycopg.connect(os.environ["DISCREET_POSTGRES"]) as connection:
        connection.execute(f'UPDATE "{schema}".records SET record_key = %s', (key,))


def _in_parquet(folder, key):
    for file in (folder / "records").glob("*.parquet"):
        table = pq.read_table(file).to_pandas().assign(record_key=key)
        pq.write_table(pa.Table.from_pandas(table, preserve_index=False), file)
    for check in (folder / "records").glob(".*.crc"):
        check.unlink()


#: How every stored record gets another key.
OVERWRITE = {"duckdb": _in_duckdb, "postgres": _in_postgres, "parquet": _in_parquet, "spark": _in_parquet}


@pytest.fixture(scope="module")
def database(name, request):
    """What an engine needs around it: a server of its own for PostgreSQL, Java for Spark."""
    if name == "spark":
        request.getfixturevalue("spark_home")
    if name != "postgres":
        return {}
    home = request.getfixturevalue("postgres_server")
    return {"DISCREET_POSTGRES": f"host={home} user=me dbname=postgres"}


@pytest.fixture(scope="module")
def kind(name, toy, database):
    with pytest.MonkeyPatch.context() as patch:
        for key, value in database.items():
            patch.setenv(key, value)
        yield engine_kind(name)


@pytest.fixture(scope="module")
def wide():
    return invented()


@pytest.fixture(scope="module")
def version(kind, wide, tmp_path_factory):
    return kept(kind, *wide, tmp_path_factory.mktemp("version"))


@pytest.fixture(scope="module")
def engine(kind, wide, version):
    opened = kind.open(version, wide[0], None)
    yield opened
    opened.close()


#: Spark's tests run by themselves, in one process.
MARKS = {"spark": (pytest.mark.spark, pytest.mark.slow)}
NAMES = [pytest.param(n, marks=MARKS.get(n, ())) for n in (*(kind.name for kind in engine_kinds()), "toy")]


@pytest.mark.parametrize("name", NAMES, scope="module")
class TestEveryEngine:
    @pytest.fixture(autouse=True)
    def _around(self, database, monkeypatch):
        """Each test begins with an environment without our own names."""
        for key, value in database.items():
            monkeypatch.setenv(key, value)

    @pytest.mark.parametrize("query", QUERIES, ids=str)
    def test_counts_key_sums_and_weights_are_those_of_the_records(self, engine, wide, query):
        assert as_dict(engine.aggregate(query)) == expected(wide[1], query)

    def test_measures_are_added_up_and_their_largest_values_found(self, name, kind, tmp_path):
        dataset, records = with_measures()
        opened = kind.open(kept(kind, dataset, records, tmp_path), dataset, None)
        if name == "toy":  # an engine that does not know measures
            shape = table_shape(request_from_text("firms", rows=["sex"]), dataset)
            with pytest.raises(WorkspaceUnusable, match="does not add up measures"):
                tabulate(opened, shape, measures=MEASURED[0].measures)
        else:
            for query in MEASURED:
                cells = opened.aggregate(query)
                assert measures_as_dict(cells) == expected_measures(records, query)
                assert as_dict(cells).keys() == expected_measures(records, query).keys()
        opened.close()

    def test_numbers_arrive_as_exact_integers_and_weights_if_asked_for(self, engine):
        cells = engine.aggregate(AggregateQuery(("sex", "parish"), weights=True))
        sums = (cells.counts, cells.key_sums, cells.weight_sums)
        assert [each.dtype for each in sums] == [np.int64, np.uint64, np.int64]
        assert all(np.issubdtype(codes.dtype, np.integer) for codes in cells.codes)
        assert engine.aggregate(AggregateQuery(("sex",))).weight_sums is None

    def test_where_nobody_is_there_is_no_group(self, engine, wide):
        cells = engine.aggregate(NOBODY)
        assert [codes.size for codes in cells.codes] == [0, 0]
        assert cells.counts.size == cells.key_sums.size == cells.weight_sums.size == 0
        assert expected(wide[1], NOBODY) == {}

    def test_a_version_without_records_has_no_groups(self, kind, wide, tmp_path):
        dataset, records = wide
        (tmp_path / "empty").mkdir()
        engine = kind.open(kept(kind, dataset, records.slice(0, 0), tmp_path / "empty"), dataset, None)
        assert as_dict(engine.aggregate(QUERIES[1])) == {}
        engine.close()

    def test_a_sum_of_2_31_largest_keys_is_exact(self, name, kind, wide, tmp_path):
        """Two records, each with the sum of 2^30 keys for its key: to add in 63 signed bits is just enough.

        The wrong alternative is a sum in floating point, which is another number.
        """
        if name in {"toy", "postgres"}:
            pytest.skip("the toy has no other type for keys; for PostgreSQL see test_postgres.py")
        (sex,) = [v for v in wide[0].variables if v.name == "sex"]
        dataset = Dataset("keys", "Keys", (sex,), "id")
        two = pa.table({"sex": np.zeros(2, np.uint8), RECORD_KEY: np.zeros(2, np.uint32)})
        folder = kept(kind, dataset, two, tmp_path)
        each = 2**30 * (2**32 - 1) - 1
        OVERWRITE[name](folder, each)
        engine = kind.open(folder, dataset, None)
        assert as_dict(engine.aggregate(AggregateQuery(("sex",)))) == {(0,): (2, 2 * each, 0)}
        assert int(float(2 * each)) != 2 * each < 2**63
        engine.close()

    def test_keys_at_both_ends_of_their_range_are_added_up_exactly(self, name, kind, wide, tmp_path):
        (sex,) = [v for v in wide[0].variables if v.name == "sex"]
        dataset = Dataset("ends", "Ends", (sex,), "id")
        keys = np.array([0, 2**31 - 1, 2**31, 2**32 - 1, 2**32 - 1], np.uint32)
        records = pa.table({"sex": np.array([0, 0, 0, 1, 1], np.uint8), RECORD_KEY: keys})
        engine = kind.open(kept(kind, dataset, records, tmp_path), dataset, None)
        assert as_dict(engine.aggregate(AggregateQuery(("sex",)))) == {
            (0,): (3, 2**32 - 1, 0),
            (1,): (2, 2 * (2**32 - 1), 0),
        }
        engine.close()

    def test_the_number_of_threads_changes_nothing(self, name, kind, wide, version):
        queries = QUERIES[::5] if name == "spark" else QUERIES  # its threads are the cluster's affair
        results = []
        for threads in (1, 2, 5):
            engine = kind.open(version, wide[0], threads)
            results.append([as_dict(engine.aggregate(query)) for query in queries])
            engine.close()
        assert results[0] == results[1] == results[2]

    def test_many_threads_may_ask_at_once(self, name, engine):
        with ThreadPoolExecutor(8) as pool:
            asked = range(8 if name == "spark" else 24)
            results = list(pool.map(lambda _n: as_dict(engine.aggregate(QUERIES[2])), asked))
        assert all(result == results[0] for result in results)

    def test_counting_changes_no_file(self, engine, version):
        before = {path: path.read_bytes() for path in version.rglob("*") if path.is_file()}
        engine.aggregate(QUERIES[2])
        assert {path: path.read_bytes() for path in version.rglob("*") if path.is_file()} == before

    def test_records_that_are_gone_give_no_answer(self, kind, wide, tmp_path):
        (tmp_path / "version").mkdir()
        with pytest.raises(WorkspaceUnusable):
            kind.open(tmp_path / "version", wide[0], None).aggregate(QUERIES[0])

    def test_a_geography_is_counted_at_every_level(self, kind, tmp_path):
        """Records may be sorted or rolled up by geography; no number shows it."""
        region = Variable("region", "Region", (Category("S", "South"), Category("N", "North")))
        places = tuple(Category(f"{p}{n}", "", p) for p in "NS" for n in range(3))
        listed = (region, Variable("place", "Place", places), Variable("sex", "Sex", (Category("2", ""),)))
        hierarchy = Hierarchy("geography", "Geography", ("region", "place"), geography=True)
        dataset = Dataset("land", "Land", listed, "id", hierarchies=(hierarchy,))
        place = np.random.RandomState(3).randint(0, 6, 500)
        columns = {"region": np.where(place < 3, 1, 0), "place": place, "sex": np.zeros(500)}
        table = {name: np.asarray(codes, np.uint8) for name, codes in columns.items()}
        records = pa.table({**table, RECORD_KEY: np.arange(500, dtype=np.uint32)})
        engine = kind.open(kept(kind, dataset, records, tmp_path), dataset, None)
        for names in (("region",), ("place",), ("region", "sex"), ("place", "sex")):
            query = AggregateQuery(names)
            weightless = records.append_column(WEIGHT, pa.array(np.zeros(500, np.int64)))
            assert as_dict(engine.aggregate(query)) == expected(weightless, query)
        engine.close()

    def test_categories_stand_in_the_order_of_the_description(self, name, toy, town, tmp_path):
        """A whole load: codes are declared in an order that no alphabet has, text stays text, a missing value is "9"."""
        codes = ("z", "ä", "10", "9", "Ω", "a,b")
        listed = ", ".join(f'{{ code = "{code}", label = "{code}" }}' for code in codes)
        text = 'id = "order"\nlabel = "Order"\nid_column = "id"\n'
        text += f'[[variable]]\nname = "letter"\nnot_stated = "9"\ncategories = [{listed}]\n'
        values = [code for place, code in enumerate(codes) for _ in range(place + 1)] * 7
        values = [None if code == "9" else code for code in values]
        records = pa.table({"id": range(len(values)), "letter": values})
        load_dataset(tmp_path / "w", text, records, engine=name)
        stored = Workspace(tmp_path / "w").stored("order")
        shape = table_shape(TableRequest("order", ("letter",)), stored.dataset)
        assert shape.dimensions[0].codes[:-1] == codes
        assert tabulate(stored.engine, shape).counts.tolist() == [7, 14, 21, 28, 35, 42, 147]
        stored.engine.close()

    @pytest.mark.slow
    def test_releases_are_those_of_duckdb_in_every_format_byte_for_byte(
        self, name, toy, town, town_workspace, tmp_path
    ):
        """Groups, levels, filters, an empty table: whoever reads a release cannot tell the engine."""
        workspace = town.load(tmp_path / "w", engine=name)
        here, there = workspace.stored("town"), town_workspace.stored("town")
        assert here.digest == there.digest
        for place, request in enumerate(REQUESTS):
            ours, theirs = release_table(here, request), release_table(there, request)
            for each in formats() if not place else [format_by_name("csv")]:
                assert each.write(ours) == each.write(theirs), (each.name, request)
        workspace.close()
