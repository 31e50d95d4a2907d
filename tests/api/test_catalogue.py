"""The names that `import discreet` gives, and the older ones that still work."""

import tomllib
from pathlib import Path

import pytest

import discreet
from discreet.errors import BadRequest, UnknownCategory


def test_a_catalogue_lists_and_describes_its_datasets(catalogue):
    assert catalogue.datasets == ["town"]
    assert "town" in repr(catalogue)
    assert catalogue.describe("town").variable("sex").codes == ("1", "2")


def test_a_table_is_the_same_from_python_as_from_the_pipeline(catalogue):
    asked = {"filters": {"job": ["0", "1"]}, "groups": {"age": [["child", "adult"], ["old"]]}}
    request = catalogue.table("town", rows=["sex"], columns="age", **asked).release.request
    assert request.permalink == "rows=sex&columns=age&filter=job=0,1&group=age=child%2Badult,old"


@pytest.mark.parametrize(
    "parts",
    [
        {"filters": {"job": ["1", "2"]}, "groups": {"age": {"Young": ["child", "adult"], "Aged": ["old"]}}},
        {"filters": {"job": "1,2"}, "groups": {"age": {"Young": "child+adult", "Aged": "old"}}},
        {"filters": {"job": "Farm..Shop"}, "groups": {"age": "Young:..adult,Aged:old"}},
        {"filters": {"job": "!=0,9"}, "groups": {"age": {"Young": "..Adult", "Aged": "o*"}}},
        {"filters": ["job=farm,shop"], "groups": ["age=Young:child+Adult,Aged:old.."]},
        {"filters": "job!=None,Not stated", "groups": "age=Young:child..adult,Aged:Old"},
        {"filters": {"job": "work:any"}, "groups": [r"age=\Young:child+adult,Aged:old"]},
    ],
)
def test_python_may_write_a_question_as_values_or_in_the_one_grammar(catalogue, parts):
    link = "rows=age&filter=job=1,2&group=age=Young%3Achild%2Badult,Aged%3Aold"
    assert catalogue.table("town", rows="age", **parts).release.request.permalink == link


@pytest.mark.parametrize(
    ("parts", "said"),
    [
        ({"rows": [1]}, "1 is no name of a variable"),
        ({"rows": 1}, "1 is no name of a variable"),
        ({"rows": ["sex"], "columns": [None]}, "None is no name"),
        ({"rows": ["sex"], "filters": {"age": 3}}, "no list: 3"),
        ({"rows": ["sex"], "filters": [1]}, "filters is"),
        ({"rows": ["age"], "groups": 7}, "groups is"),
        ({"rows": ["age"], "groups": {"age": ["child"]}}, "no list: 'child'"),
        ({"rows": ["age"], "groups": {"age": 5}}, "no list: 5"),
    ],
)
def test_what_is_no_text_or_no_list_is_refused_with_advice(catalogue, parts, said):
    with pytest.raises(BadRequest, match=said) as refused:
        catalogue.table("town", **parts)
    assert refused.value.advice.startswith("Give ")


def test_codes_given_as_one_text_are_read_as_a_line_rather_than_cut_into_letters(catalogue):
    with pytest.raises(UnknownCategory, match="no category '12'"):
        catalogue.table("town", rows=["sex"], filters={"job": "12"})


def test_load_and_open_from_python(town, tmp_path):
    (tmp_path / "dataset.toml").write_text(town.description)
    digest = discreet.load(tmp_path / "workspace", tmp_path / "dataset.toml", town.records.to_pandas())
    assert discreet.open(tmp_path / "workspace").table("town", rows=["sex"]).release.digest == digest


PUBLIC = ["Catalogue", "Table", "__version__", "errors", "inference", "load", "noise", "open", "privacy"]


def test_dir_shows_the_public_names_and_no_others():
    assert dir(discreet) == sorted(discreet.__all__) == PUBLIC


def test_older_names_still_work():
    assert discreet.mechanism is discreet.noise
    assert discreet.accounting is discreet.privacy
    assert not {"mechanism", "accounting"} & set(dir(discreet))


def test_the_version_stands_in_one_place():
    root = Path(__file__).parents[2]
    for name in ("pyproject.toml", "studies/pyproject.toml"):
        document = tomllib.loads((root / name).read_text("utf-8"))
        assert document["project"]["dynamic"] == ["version"]
        place = (root / name).parent / document["tool"]["hatch"]["version"]["path"]
        assert place.resolve() == Path(discreet.__file__).resolve()
