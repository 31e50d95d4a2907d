"""The lines of a draft are TOML that says what was meant.

The protection that a draft writes down is the one that a description without any gets.
"""

import tomllib

from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.model.description.dataset_toml import parse_dataset
from discreet.model.protection import DEFAULT_NOISE, Protection
from discreet.records.draft.column_facts import ColumnFacts
from discreet.records.draft.toml_text import (
    PROTECTION,
    RULES,
    DraftCategory,
    DraftVariable,
    code_list,
    decade_values,
    left_out_lines,
    toml_string,
    usable_names,
    variable_lines,
)
from discreet.records.source import ColumnNotes
from discreet.workspace.demo.geography import data_text


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


def test_names_are_readable_and_different():
    names = usable_names(["Âge", "age", "AGE", "value", "Ölçü"])
    assert list(names.values()) == ["age", "age_2", "age_3", "value_1", "olcu"]


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
