import pandas as pd
import pytest

import discreet
from discreet.errors import BadRequest, Refused, UnknownVariable


@pytest.fixture
def catalogue(town_workspace):
    with discreet.open(town_workspace.folder) as opened:
        yield opened


def test_a_catalogue_lists_and_describes_its_datasets(catalogue):
    assert catalogue.datasets == ["town"]
    assert "town" in repr(catalogue)
    assert catalogue.describe("town").variable("sex").codes == ("1", "2")


def test_a_table_is_the_same_from_python_as_from_the_pipeline(catalogue):
    table = catalogue.table(
        "town",
        rows=["sex"],
        columns="age",
        filters={"job": ["0", "1"]},
        groups={"age": [["child", "adult"], ["old"]]},
    )
    assert (
        table.release.request.permalink == "rows=sex&columns=age&filter=job=0,1&group=age=child%2Badult,old"
    )


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


def test_a_notebook_shows_the_table_with_its_note_and_legend(catalogue):
    html = catalogue.table("town", rows=["age"], columns=["job"])._repr_html_()
    assert "randomly adjusted" in html
    assert "[z] Not applicable" in html
    assert html.count("<tr>") == 5
    assert "Persons by age and job" in html


def test_a_long_table_is_shown_in_part_and_says_so(catalogue):
    html = catalogue.table("town", rows=["area", "age", "job"])._repr_html_()
    assert "Shown in part" in html


def test_codes_given_as_one_text_are_refused_rather_than_cut_into_letters(catalogue):
    with pytest.raises(BadRequest, match=r'\["12"\]'):
        catalogue.table("town", rows=["sex"], filters={"job": "12"})


@pytest.mark.parametrize(
    ("parts", "said"),
    [
        ({"rows": [1]}, "1 is no name of a variable"),
        ({"rows": 1}, "1 is no name of a variable"),
        ({"rows": ["sex"], "columns": [None]}, "None is no name"),
        ({"rows": ["sex"], "filters": {"age": 3}}, "no list: 3"),
        ({"rows": ["sex"], "filters": ["age"]}, "filters is"),
        ({"rows": ["age"], "groups": "age"}, "groups is"),
        ({"rows": ["age"], "groups": {"age": ["child"]}}, "no list: 'child'"),
        ({"rows": ["age"], "groups": {"age": 5}}, "no list: 5"),
    ],
)
def test_what_is_no_text_or_no_list_is_refused_with_advice(catalogue, parts, said):
    with pytest.raises(BadRequest, match=said) as refused:
        catalogue.table("town", **parts)
    assert refused.value.advice.startswith("Give ")


def test_numbers_stand_for_their_codes(catalogue):
    assert catalogue.table("town", rows="age", filters={"sex": [1]}).release.request.filters == (
        ("sex", ("1",)),
    )


def test_errors_are_the_same_as_everywhere(catalogue):
    with pytest.raises(UnknownVariable):
        catalogue.table("town", rows=["sx"])
    with pytest.raises(Refused):
        catalogue.table("town", rows=["region"], groups={"region": [["N", "S"]]})


def test_a_table_tests_its_own_independence(catalogue):
    from discreet.inference import independence_test

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
    assert found.low <= table.release.value("adult", "_T") <= found.high
    for codes, words in (
        (("child", "1"), "has no value"),
        (("adult",), "one code each"),
        (("x", "1"), "one code"),
        (
            (0.95,),
            "There is no cell (0.95). Give one code each of age, job, such as table.interval('child', '0')",
        ),
    ):
        with pytest.raises(BadRequest) as error:
            table.interval(*codes)
        assert words in str(error.value)


def test_load_and_open_from_python(town, tmp_path):
    (tmp_path / "dataset.toml").write_text(town.description)
    digest = discreet.load(tmp_path / "workspace", tmp_path / "dataset.toml", town.records.to_pandas())
    assert discreet.open(tmp_path / "workspace").table("town", rows=["sex"]).release.digest == digest


def test_levels_show_regions_and_their_areas_with_one_number_for_the_same_people(catalogue):
    mixed = catalogue.table("town", rows=["area"], levels={"area": ["region", "area"]})
    plain = catalogue.table("town", rows=["region"]).release
    assert mixed.release.value("N") == plain.value("N")
    assert [line[0] for line in mixed.text_grid()[1]][:3] == ["North", "\u2003North one", "\u2003North two"]
    import json

    child = json.loads(mixed.to_json_stat())["dimension"]["area"]["category"]["child"]
    assert child == {"N": ["N1", "N2"], "S": ["S1", "S2", "S3"]}
