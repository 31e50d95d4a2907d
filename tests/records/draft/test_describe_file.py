"""A draft is a start that publishes no id, and it loads as it is."""

import tomllib

import numpy as np
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


def test_age_bands_are_ordered_as_people_count(tmp_path):
    path = tmp_path / "ages.csv"
    bands = ["10-14", "5-9", "100+", "0-4"]
    pd.DataFrame({"id": range(80), "age": bands * 20}).to_csv(path, index=False)
    assert parse_dataset(describe_file(path).text).variable("age").codes == ("0-4", "5-9", "10-14", "100+")


def test_hostile_column_names_and_values_stay_data(tmp_path):
    path = tmp_path / "hostile.csv"
    name = 'x"; DROP TABLE records; --'
    values = ['a"b', "=cmd()", "<script>", "‮bidi", "line\nbreak", "]]\n[evil]"]
    pd.DataFrame({"id": range(120), name: values * 20, "count": ["1", "2"] * 60}).to_csv(path, index=False)
    dataset = parse_dataset(describe_file(path).text)
    assert [variable.column for variable in dataset.variables] == [name, "count"]
    assert set(dataset.variables[0].codes) == set(values)
    assert dataset.variables[1].name == "count_1"
    load_dataset(tmp_path / "workspace", describe_file(path).text, path)


def test_a_weight_and_a_measurement_are_not_variables(tmp_path):
    path = tmp_path / "survey.csv"
    frame = pd.DataFrame(
        {
            "id": range(50),
            "weight": [1.5] * 50,
            "income": [n + 0.5 for n in range(50)],
            "birth_weight_kg": [n / 10 + 0.05 for n in range(50)],
            "sex": ["1", "2"] * 25,
        }
    )
    frame.to_csv(path, index=False)
    draft = describe_file(path).text
    dataset = parse_dataset(draft)
    assert dataset.weight_column == "weight"
    assert dataset.survey.sample_size == 50
    assert dataset.survey.population_size == 75
    assert [variable.name for variable in dataset.variables] == ["sex"]
    assert "# Left out: income (not whole numbers)\n" in draft


def test_a_column_that_is_left_out_says_its_own_reason(tmp_path):
    path = tmp_path / "tiny.csv"
    path.write_text("id,sex,age\n1,m,3\n2,f,4\n3,m,5\n")
    assert "# Left out: age (a different value in every record)\n" in describe_file(path).text
    pd.DataFrame({"id": range(2000), "plot": [f"s{n // 2}" for n in range(2000)]}).to_csv(path, index=False)
    reason = "1,000 different values, fewer than 20 records each: is it an id?"
    assert f"# Left out: plot ({reason})\n" in describe_file(path).text


def test_a_first_record_in_place_of_the_header_is_asked_about(tmp_path):
    path = tmp_path / "bare.csv"
    path.write_text("".join(f"{n},{'fm'[n % 2]}\n" for n in range(60)))
    assert describe_file(path).assumed[0] == "Does the first line name the columns? One of them is called 0."
    path.write_text("id,sex\n" + path.read_text())
    assert "first line" not in " ".join(describe_file(path).assumed)


def test_a_place_that_nests_nowhere_is_said_to_be_no_geography(tmp_path):
    path = tmp_path / "places.csv"
    frame = pd.DataFrame({"id": range(800), "ward": [f"w{n % 8}" for n in range(800)]})
    frame.to_csv(path, index=False)
    assert describe_file(path, geography=["ward"]).assumed[-1].startswith("ward is no geography")
    frame.assign(town=frame["ward"].str.contains("[0-3]").map({True: "a", False: "b"})).to_csv(
        path, index=False
    )
    assert describe_file(path, geography=["ward"]).assumed[-1] == "town, ward nest and are places."


def test_an_age_below_zero_is_a_missing_value_and_asks_to_be_checked(tmp_path):
    """EU-SILC and many others write such codes; the wrong alternative leaves the age out."""
    path = tmp_path / "ages.csv"
    pd.DataFrame({"id": range(2000), "age": [-1, -9, *range(90)] * 21 + [5] * 68}).to_csv(path, index=False)
    draft = describe_file(path).text
    (age,) = parse_dataset(draft).variables
    assert (age.not_stated, len(age.categories)) == ("not-stated", 19)
    assert "Is it right that an age below 0 is a missing value?" in draft
    load_dataset(tmp_path / "w", draft, path)


def test_remarks_that_name_people_are_left_out(tmp_path):
    path = tmp_path / "remarks.csv"
    remarks = ["", "refused once"] * 40 + [f"called back at {n}" for n in range(40)]
    wards = [f"w{n % 6}" for n in range(120)]
    pd.DataFrame({"id": range(120), "ward": wards, "remark": remarks}).to_csv(path, index=False)
    draft = describe_file(path).text
    assert "# Left out: remark (most values stand in one record only)\n" in draft
    assert "called back" not in draft
    assert [variable.name for variable in parse_dataset(draft).variables] == ["ward"]


def test_a_few_rare_values_are_categories_all_the_same(tmp_path):
    path = tmp_path / "rare.csv"
    pd.DataFrame({"id": range(80), "tongue": ["a"] * 77 + ["b", "c", "d"]}).to_csv(path, index=False)
    assert [variable.name for variable in parse_dataset(describe_file(path).text).variables] == ["tongue"]


def test_a_file_without_an_id_says_so(tmp_path):
    path = tmp_path / "noid.csv"
    pd.DataFrame({"sex": ["1", "2"] * 25}).to_csv(path, index=False)
    draft = describe_file(path).text
    assert "Name a stable id if there is one" in draft
    assert parse_dataset(draft).id_column == "row number"
    load_dataset(tmp_path / "w", draft, path)


def eu_silc(records=1200):
    """A household survey as EU-SILC has it: households nest in regions, ids are called by codes."""
    random = np.random.RandomState(1)
    household = np.sort(random.randint(0, records // 2, records))
    return pd.DataFrame(
        {
            "db030": household + 100,
            "db040": [f"AT{h % 9}" for h in household],
            "rb030": (household + 100) * 100 + np.arange(records),
            "rb090": random.randint(1, 3, records),
            "age": random.randint(0, 40, records),
            "pl030": random.choice(["1", "2", "3", ""], records),
            "py010n": np.round(random.gamma(2, 9000, records), 2),
            "rb050": np.round(random.gamma(9, 40, records), 4),
        }
    )


def ses(records=1500):
    """A survey of earnings as SES has it: workers of establishments; hours paid are unique and no id."""
    random = np.random.RandomState(2)
    establishment = random.randint(0, 30, records)
    return pd.DataFrame(
        {
            "hoursPaid": np.arange(records) + 0.25,
            "establishmentID": establishment + 5000,
            "employeeID": random.permutation(records) + 10**6,
            "nace": np.array(list("BCDEFGHIJK"))[establishment % 10],
            "sex": random.choice(["M", "F"], records),
            "isco": random.randint(100, 350, records),
            "earnings": np.round(random.gamma(4, 700, records), 2),
        }
    )


def nhanes(records=1000):
    """An examination survey as NHANES has it: ids as floats, strata and sampling units."""
    random = np.random.RandomState(3)
    return pd.DataFrame(
        {
            "SEQN": 83732.0 + np.arange(records),
            "RIAGENDR": random.randint(1, 3, records),
            "RIDAGEYR": random.randint(0, 81, records),
            "RIDRETH3": random.randint(1, 7, records),
            "SDMVSTRA": random.randint(1, 16, records),
            "BMXBMI": np.round(random.normal(27, 6, records), 1),
            "WTMEC2YR": np.round(random.gamma(3, 9000, records), 3),
            "PHONE": random.randint(10**6, 10**6 + 300, records),
        }
    )


CORPUS = {
    "silc": (eu_silc, "rb030", {"db040", "rb090", "age", "pl030"}),
    "ses": (ses, "employeeID", {"nace", "sex"}),
    "nhanes": (nhanes, "SEQN", {"RIAGENDR", "RIDAGEYR", "RIDRETH3"}),
}


@pytest.mark.parametrize("name", CORPUS)
class TestARealFile:
    @pytest.fixture
    def path(self, name, tmp_path):
        CORPUS[name][0]().to_csv(tmp_path / f"{name}.csv", index=False)
        return tmp_path / f"{name}.csv"

    def test_no_draft_publishes_an_id(self, name, path):
        """The wrong alternative kept what nests: the household number of EU-SILC, the establishment of SES."""
        draft = describe_file(path)
        dataset = parse_dataset(draft.text)
        assert dataset.id_column == CORPUS[name][1]
        assert {variable.column for variable in dataset.variables} == CORPUS[name][2]
        for variable in dataset.variables:
            assert len(CORPUS[name][0]()) >= 20 * len(variable), variable.name
        known = {variable.column for variable in dataset.variables} | {CORPUS[name][1], dataset.weight_column}
        known |= {dataset.survey.design.strata} if dataset.survey else set()
        for column in set(CORPUS[name][0]().columns) - known:
            assert f"# Left out: {column} (" in draft.text
            assert column in dict(draft.left_out)

    @pytest.mark.slow
    def test_it_loads_unedited_with_the_rules_of_the_demo(self, name, path, tmp_path):
        load_dataset(tmp_path / "w", describe_file(path).text, path)
        kinds = [rule.kind for rule in Workspace(tmp_path / "w").stored(name).rules]
        assert kinds.count("mean-cell-size") == 1
        assert "nested-groups" in kinds


def test_an_id_that_everybody_of_a_group_shares_is_left_out_by_its_name(tmp_path):
    """Thirty records an interviewer: numbers alone do not tell."""
    path = tmp_path / "calls.csv"
    pd.DataFrame({"id": range(900), "interviewer_id": [n % 30 for n in range(900)]}).to_csv(path, index=False)
    assert "# Left out: interviewer_id (its name says that it is an id)\n" in describe_file(path).text


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
