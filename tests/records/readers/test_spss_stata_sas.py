"""Labels and missing values of SPSS, Stata and SAS go into the draft."""

import numpy as np
import pandas as pd
import pyreadstat
import pytest

from discreet.model.description.dataset_toml import parse_dataset
from discreet.records.draft.describe_file import describe_file
from discreet.records.readers import spss_stata_sas as statistics
from discreet.workspace.versions.load_version import load_dataset

N = 300


@pytest.fixture(scope="module")
def frame():
    random = np.random.RandomState(4)
    return pd.DataFrame(
        {
            "id": np.arange(N),
            "sex": random.choice([1.0, 2.0, 9.0, -5.0, np.nan], N),
            "w": random.randint(4, 9, N) / 4,
        }
    )


LABELS = {"sex": {1: "Männlich", 2: "Weiblich", 3: "Divers", 9: "Keine Angabe"}}


def test_labels_and_missing_values_of_spss_are_drafted(frame, tmp_path):
    """The wrong alternative draws categories from the records: nobody is "Divers", and 9 is a sex."""
    path = tmp_path / "people.sav"
    pyreadstat.write_sav(
        frame,
        path,
        column_labels={"sex": "Geschlecht"},
        variable_value_labels=LABELS,
        missing_ranges={"sex": [9, {"lo": -9, "hi": -1}]},
    )
    draft = describe_file(path).text
    variable = parse_dataset(draft).variable("sex")
    assert variable.label == "Geschlecht"
    assert [(c.code, c.label) for c in variable.categories] == [
        ("1", "Männlich"),
        ("2", "Weiblich"),
        ("3", "Divers"),
        ("not-stated", "Not stated"),
    ]
    assert [value for value, _ in variable.missing.single] == ["9"]
    assert len(variable.missing.ranges) == 1
    load_dataset(tmp_path / "w", draft, path)


def test_letters_of_stata_are_missing_values(frame, opened, tmp_path):
    coded = frame.assign(sex=frame["sex"].map({1.0: 1, 2.0: 2}).astype(object).fillna("a"))
    path = tmp_path / "people.dta"
    pyreadstat.write_dta(
        coded,
        path,
        version=15,
        variable_value_labels={"sex": {1: "M", "a": "refused"}},
        missing_user_values={"sex": ["a"]},
    )
    source = opened(path)
    assert source.notes["sex"].missing == (".a",)
    assert source.notes["sex"].labels == {"1": "M", ".a": "refused"}
    assert {row[1] for row in source.relation.fetchall()} == {"1", "2", ".a"}


def test_a_long_file_is_read_in_parts_without_a_gap(frame, opened, tmp_path, monkeypatch):
    monkeypatch.setattr(statistics, "BATCH_VALUES", 51)
    pyreadstat.write_sav(frame, tmp_path / "x.sav")
    found = opened(tmp_path / "x.sav").relation.fetchall()
    assert [row[0] for row in found] == [str(n) for n in range(N)]


def test_the_oldest_format_of_spss_is_read(frame, opened, tmp_path):
    pyreadstat.write_por(frame, tmp_path / "x.por")
    assert len(opened(tmp_path / "x.por").relation.fetchall()) == N
