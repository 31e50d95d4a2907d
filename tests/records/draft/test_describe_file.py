"""A draft is a start that publishes no id, and it loads as it is."""

import tomllib

import pandas as pd
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.model.description.dataset_toml import parse_dataset
from discreet.model.protection import DEFAULT_NOISE, Protection
from discreet.records.draft.column_facts import ColumnFacts
from discreet.records.draft.describe_file import describe_file
from discreet.records.draft.toml_text import (
    PROTECTION,
    RULES,
    DraftCategory,
    DraftVariable,
    code_list,
    decade_values,
    left_out_lines,
    measure_lines,
    toml_string,
    variable_lines,
)
from discreet.records.source import ColumnNotes
from discreet.workspace.demo.geography import data_text
from discreet.workspace.versions.load_version import load_dataset
from discreet.workspace.workspace import Workspace


def test_a_draft_loads_as_it_is(town, tmp_path):
    path = tmp_path / "My Town 2026.parquet"
    pq.write_table(town.records, path)
    draft = describe_file(path).text
    dataset = parse_dataset(draft)
    assert dataset.id == "my-town-2026"
    assert dataset.id_column == "person"
    assert [variable.name for variable in dataset.variables] == ["region", "area", "sex", "age", "job"]
    assert dataset.variable("job").not_stated == "not-stated"
    assert dataset.hierarchies[0].levels == ("region", "area")
    load_dataset(tmp_path / "workspace", draft, path)
    assert Workspace(tmp_path / "workspace").ids() == ["my-town-2026"]


@pytest.fixture
def drafted(tmp_path):
    """The draft for a file of these columns, which is then `people.csv`."""

    def make(columns, **options):
        pd.DataFrame(columns).to_csv(tmp_path / "people.csv", index=False)
        return describe_file(tmp_path / "people.csv", **options)

    return make


def names(draft):
    return [variable.name for variable in parse_dataset(draft.text).variables]


def test_age_bands_are_ordered_as_people_count(drafted):
    draft = drafted({"id": range(80), "age": ["10-14", "5-9", "100+", "0-4"] * 20})
    assert parse_dataset(draft.text).variable("age").codes == ("0-4", "5-9", "10-14", "100+")


def test_hostile_column_names_and_values_stay_data(drafted, tmp_path):
    name = 'x"; DROP TABLE records; --'
    values = ['a"b', "=cmd()", "<script>", "\u202ebidi", "line\nbreak", "]]\n[evil]"]
    draft = drafted({"id": range(120), name: values * 20, "count": ["1", "2"] * 60})
    first, second = parse_dataset(draft.text).variables
    assert (first.column, set(first.codes)) == (name, set(values))
    assert (second.column, second.name) == ("count", "count_1")
    load_dataset(tmp_path / "workspace", draft.text, tmp_path / "people.csv")


def test_a_weight_and_a_measurement_are_not_variables(drafted):
    measured = {"income": [n + 0.5 for n in range(50)], "birth_weight_kg": [n / 10 + 0.05 for n in range(50)]}
    draft = drafted({"id": range(50), "weight": [1.5] * 50, **measured, "sex": ["1", "2"] * 25})
    dataset = parse_dataset(draft.text)
    assert dataset.weight_column == "weight"
    assert (dataset.survey.sample_size, dataset.survey.population_size) == (50, 75)
    assert names(draft) == ["sex"]


#: Columns, one of which is left out with its reason; thirty records an interviewer: numbers alone do not tell.
LEFT_OUT = {
    "age (a different value in every record)": {"id": [1, 2, 3], "sex": ["m", "f", "m"], "age": [3, 4, 5]},
    "plot (1,000 different values with fewer than 20 records each: is it an id?)": {
        "id": range(2000), "plot": [f"s{n // 2}" for n in range(2000)],
    },
    "interviewer_id (its name says that it is an id)": {"id": range(900), "interviewer_id": [n % 30 for n in range(900)]},
    "income (not whole numbers)": {"id": range(50), "income": [n + 0.5 for n in range(50)], "sex": ["1", "2"] * 25},
    "remark (most values occur in one record only)": {
        "id": range(120), "ward": [f"w{n % 6}" for n in range(120)],
        "remark": ["", "refused once"] * 40 + [f"called back at {n}" for n in range(40)],
    },
}  # fmt: skip


@pytest.mark.parametrize("line", LEFT_OUT)
def test_a_column_that_is_left_out_says_its_own_reason(line, drafted):
    text = drafted(LEFT_OUT[line]).text
    assert f"# Left out: {line}\n" in text
    assert "called back" not in text


def test_a_first_record_in_place_of_the_header_is_asked_about(tmp_path):
    path = tmp_path / "bare.csv"
    path.write_text("".join(f"{n},{'fm'[n % 2]}\n" for n in range(60)))
    assert describe_file(path).assumed[0] == "Does the first line name the columns? One of them is called 0."
    path.write_text("id,sex\n" + path.read_text())
    assert "first line" not in " ".join(describe_file(path).assumed)


def test_a_place_that_nests_nowhere_is_said_to_be_no_geography(drafted):
    columns = {"id": range(800), "ward": [f"w{n % 8}" for n in range(800)]}
    assert (
        drafted(columns, geography=["ward"]).assumed[-1].startswith("ward is treated as an ordinary variable")
    )
    columns["town"] = ["ab"[n % 8 > 3] for n in range(800)]
    assert drafted(columns, geography=["ward"]).assumed[-1] == "town, ward nest and are places."


def test_an_age_below_zero_is_a_missing_value_and_asks_to_be_checked(drafted, tmp_path):
    """EU-SILC and many others write such codes; the wrong alternative leaves the age out."""
    draft = drafted({"id": range(2000), "age": [-1, -9, *range(90)] * 21 + [5] * 68})
    (age,) = parse_dataset(draft.text).variables
    assert (age.not_stated, len(age.categories)) == ("not-stated", 19)
    assert "Is it right that an age below 0 is a missing value?" in draft.text
    load_dataset(tmp_path / "w", draft.text, tmp_path / "people.csv")


def test_a_few_rare_values_are_categories_all_the_same(drafted):
    assert names(drafted({"id": range(80), "tongue": ["a"] * 77 + ["b", "c", "d"]})) == ["tongue"]


def test_a_file_without_an_id_says_so(drafted, tmp_path):
    draft = drafted({"sex": ["1", "2"] * 25}).text
    assert "Name a stable id if there is one" in draft
    assert parse_dataset(draft).id_column == "row number"
    load_dataset(tmp_path / "w", draft, tmp_path / "people.csv")


@settings(max_examples=150, deadline=None)
@given(text=st.text(st.characters(exclude_categories=["Cs"]), max_size=20))
def test_every_string_comes_back_from_toml_as_it_was(text):
    assert tomllib.loads(f"text = {toml_string(text)}") == {"text": text}


def test_a_variable_is_toml_whatever_its_names_are():
    notes = ColumnNotes('Größe "in cm"', {}, ("-9",))
    column = ColumnFacts("größe\n", 100, 90, 2, missing=("-9",), notes=notes)
    lines = variable_lines(
        DraftVariable(column, "grosse", [DraftCategory("a]\n", "=1"), DraftCategory("b", "b", "p")])
    )
    (found,) = tomllib.loads("\n".join(lines))["variable"]
    assert found["column"] == "größe\n"
    assert found["label"] == 'Größe "in cm"'
    assert found["missing"] == ["-9"]
    assert found["categories"] == [
        {"code": "a]\n", "label": "=1"},
        {"code": "b", "label": "b", "parent": "p"},
    ]


def test_what_is_left_out_is_a_comment_until_somebody_uncomments_it():
    column = ColumnFacts("pay\n[evil]", 100, 100, 90)
    lines = left_out_lines(column, "pay", "amounts", {"..<10": "low", "10..": "high"})
    assert tomllib.loads("\n".join(lines)) == {}
    (found,) = tomllib.loads("\n".join(line.removeprefix("# ") for line in lines[1:]))["variable"]
    assert found["values"] == {"..<10": "low", "10..": "high"}


def test_a_measure_is_proposed_without_bounds():
    """Bounds read off the records would tell the largest value."""
    column = ColumnFacts(
        "PAY", 100, 100, 90, numeric=True, low=1.25, high=98_765.5, decimals=2, missing=("-9",)
    )
    lines = measure_lines(column, "PAY")
    assert tomllib.loads("\n".join(lines)) == {}
    text = "\n".join(line.removeprefix("# ") for line in lines[1:])
    assert "98" not in text
    (found,) = tomllib.loads(text.replace("lowest =", "lowest = 0").replace("largest =", "largest = 9"))[
        "measure"
    ]
    assert (found["name"], found["column"], found["decimals"], found["missing"]) == ("pay", "PAY", 2, ["-9"])


def test_a_code_list_has_parents_only_where_there_are_some():
    assert code_list([DraftCategory("a", "A, B")]) == 'code,label\na,"A, B"\n'
    assert code_list([DraftCategory("a", "A", "N")]) == "code,label,parent\na,A,N\n"


def test_decades_of_dates():
    assert decade_values(1994, 2003, dates=True) == {
        "1990-01-01..1999-12-31": "1990-1999",
        "2000-01-01..2009-12-31": "2000-2009",
    }


def test_the_text_states_the_defaults():
    variable = '[[variable]]\nname = "v"\ncategories = ["a", "b"]\n'
    dataset = parse_dataset(f'id = "d"\nlabel = "D"\nid_column = "id"\n{variable}{PROTECTION}')
    assert dataset.protection == Protection()
    assert dict(dataset.protection.noise) == dict(DEFAULT_NOISE)


def test_a_draft_has_the_rules_of_the_demo_that_name_none_of_its_variables():
    demo = tomllib.loads(data_text("census_rules.toml"))["rule"]
    nested = [{"kind": "nested-groups", "fewer_than": 2, "filters": True}]
    general = [rule for rule in demo if not {"level", "variables"} & rule.keys()]
    assert tomllib.loads(RULES)["rule"] == nested + general
