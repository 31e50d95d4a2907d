"""A table in Python: frames, files, notebooks, and what may be concluded from it."""

import json

import pandas as pd
import pytest

import discreet
from discreet.errors import BadRequest, VersionClosed
from discreet.inference.hypothesis_tests.independence import independence_test


def test_to_pandas_has_codes_labels_values_and_status(catalogue):
    frame = catalogue.table("town", rows=["age"], columns=["job"]).to_pandas()
    assert list(frame.columns) == ["age", "age_label", "job", "job_label", "value", "status"]
    assert frame["value"].dtype == "Int64"
    assert len(frame) == 20
    impossible = frame[(frame["age"] == "child") & (frame["job"] == "1")]
    assert impossible["value"].isna().all()
    assert impossible["status"].tolist() == ["z"]
    assert not frame[frame["status"] == ""]["value"].isna().any()


def test_to_csv_is_what_pandas_reads_back(catalogue, tmp_path):
    table = catalogue.table("town", rows=["age"], columns=["sex"])
    assert table.to_csv(tmp_path / "table.csv") is None
    frame = pd.read_csv(tmp_path / "table.csv", dtype=str, keep_default_na=False)
    assert frame["value"].tolist() == [str(value) for value in table.to_pandas()["value"]]
    assert (tmp_path / "table.csv").read_text("utf-8") == table.to_csv()
    table.save(tmp_path / "table.json")
    assert (tmp_path / "table.json").read_text("utf-8") == table.to_json_stat()


def test_a_table_tests_its_own_independence(catalogue):
    table = catalogue.table("town", rows=["sex"], columns=["age"])
    found = table.test_independence()
    assert found == independence_test(table.release)
    assert found.df == 2
    assert table.test_independence(method="bootstrap", replicates=19).method == "bootstrap"
    with pytest.raises(BadRequest, match="two variables"):
        catalogue.table("town", rows=["sex"]).test_independence()


def test_a_table_gives_the_interval_of_a_cell(catalogue):
    table = catalogue.table("town", rows=["age"], columns=["job"])
    found = table.interval("adult", "_T", level=0.9)
    assert (table.interval("child", "1").low, table.interval("child", "1").high) == (0, 0)  # cannot occur
    assert found.low <= table.release.value("adult", "_T") <= found.high
    shown = "There is no cell (0.95). Give one code each of age, job, such as 'child', '0'"
    for codes, words in ((("adult",), "one code each"), (("x", "1"), "one code"), ((0.95,), shown)):
        with pytest.raises(BadRequest) as error:
            table.interval(*codes)
        assert words in str(error.value)


def test_a_table_gives_sums_shares_differences_and_all_intervals(catalogue):
    table = catalogue.table("town", rows=["age"], columns=["job"])
    both = table.sum({"age": "adult", "job": "0"}, "age=adult,job=1")
    assert both.low <= both.estimate <= both.high
    share = table.share({"age": "adult", "job": "0"}, of=[("adult", "0"), ("adult", "1")])
    assert 0 <= share.low <= share.estimate <= share.high <= 1
    difference = table.difference("age=adult", minus="age=child")
    adults, children = (table.interval(age, "_T").estimate for age in ("adult", "child"))
    assert difference.estimate == adults - children
    frame = table.intervals(level=0.9)
    line = frame[(frame["age"] == "adult") & (frame["job"] == "_T")].iloc[0]
    found = table.interval("adult", "_T", level=0.9)
    assert (line["low"], line["high"]) == (found.low, found.high)
    assert len(frame) == table.release.cells


def test_a_view_is_the_same_asked_with_the_table_or_of_it(catalogue):
    asked = {"rows": ["area"], "columns": ["sex"]}
    table = catalogue.table("town", **asked)
    shown = catalogue.table("town", **asked, percent="row", rank=True, top=2)
    assert shown.to_csv() == table.view(percent="row", rank=True, top=2).to_csv()
    frame = shown.to_pandas()
    document = json.loads(shown.to_json_stat())["extension"]
    assert frame["percent"].tolist() == document["percent"]
    assert [None if pd.isna(r) else r for r in frame["rank"]] == document["rank"]
    assert "Percent of the row total" in shown._repr_html_()
    limits = table.percent_intervals("row")
    assert (limits["percent_low"] <= limits["percent"]).all()


@pytest.mark.slow
def test_versions_are_asked_listed_and_compared(town_versions):
    with discreet.open(town_versions) as catalogue:
        assert [facts.version for facts in catalogue.versions("town")] == ["0", "1", "2"]
        old, new = (catalogue.table("town", rows=["sex"], version=word) for word in ("1", ""))
        difference, ratio = new.difference_from(old), new.ratio_to(old)
        with pytest.raises(VersionClosed):
            catalogue.table("town", rows=["sex"], version="0")
    assert (difference["difference"] == difference["value"] - difference["other"]).all()
    assert (difference["low"] < difference["difference"]).all()
    assert ratio["ratio"].between(ratio["low"], ratio["high"]).all()


@pytest.mark.slow
def test_a_table_draws_itself_as_a_chart_and_as_files(catalogue, tmp_path):
    table = catalogue.table("town", rows="age", columns="sex")
    chart = table.plot("dots", level=0.9, theme="dark").svg
    assert 'fill="#111618"' in chart
    assert "at least 90 %" in chart
    assert 'data-chart="grouped"' in table.to_svg()
    assert 'data-chart="stacked"' in table.to_svg(chart="stacked")
    table.save(tmp_path / "x.png")
    assert (tmp_path / "x.png").read_bytes().startswith(b"\x89PNG")
    with pytest.raises(TypeError, match="takes no chart"):
        table.to_csv(chart="bars")
