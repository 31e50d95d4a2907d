"""A load cautions the custodian before anything is served: what may be wrong, what readers lose, and groups almost alike."""

from dataclasses import replace

import pyarrow as pa
import pyarrow.compute as pc
import pytest

from discreet.model.description.dataset_toml import parse_dataset
from discreet.model.variable import CodeList
from discreet.release import load_cautions
from discreet.workspace.versions.load_version import LoadJob, load
from discreet.workspace.workspace import Workspace


@pytest.fixture
def almost_empty(town):
    """Records in which the area N2 has two people."""
    two = town.records.filter(pc.equal(town.records["area"], "N2")).slice(0, 2)
    rest = town.records.filter(pc.not_equal(town.records["area"], "N2"))
    return pa.concat_tables([rest, two])


def test_groups_that_differ_by_two_people_are_named_before_the_version_is_served(
    town, tmp_path, almost_empty
):
    folder = tmp_path / "w"

    def inspect(dataset, engine):
        assert not list(folder.rglob("current*"))
        return load_cautions.sliver_cautions(dataset, engine)

    report = load(LoadJob(folder, town.description, almost_empty, inspect=inspect))
    assert any(
        "'N1' of \"area\" and 'N' of \"region\" differ by 2 people" in sentence
        for sentence in report.cautions
    )
    assert Workspace(folder).stored("town").digest == report.digest


@pytest.mark.slow
def test_records_without_slivers_get_no_caution_and_those_under_dp_the_same_one_always(
    town, private_town, tmp_path, almost_empty
):
    ruled = town.description + '\n[[rule]]\nkind = "nested-groups"\nfewer_than = 2\n'
    assert load_cautions.load_with_cautions(LoadJob(tmp_path / "plain", ruled, town.records)).cautions == ()
    job = LoadJob(tmp_path / "dp", private_town.description, almost_empty)
    assert load_cautions.load_with_cautions(job).cautions == (load_cautions.LEFT_OUT,)


def test_a_variable_that_looks_like_an_id_is_asked_about(town, tmp_path):
    """The household number of a survey: 600 of them for 3,000 people."""
    count = len(town.records)
    records = town.records.append_column("household", pa.array([f"h{n % 600}" for n in range(count)]))
    codes = ", ".join(f'"h{n}"' for n in range(600))
    text = town.description.replace(
        "[[hierarchy]]", f'[[variable]]\nname = "household"\ncategories = [{codes}]\n\n[[hierarchy]]', 1
    )
    said = load_cautions.load_with_cautions(LoadJob(tmp_path / "w", text, records)).cautions
    (asked,) = [sentence for sentence in said if "is it an id?" in sentence]
    assert asked.startswith("household has 600 categories for 3,000 records: is it an id?")


def test_what_looks_wrong_is_asked(dataset):
    told = " ".join(load_cautions.description_cautions(replace(dataset, id_column="row number"), 2))
    assert "no [[rule]]" in told
    assert "position in the file" in told
    assert "The file has 2 records" in told
    ruled = replace(dataset, rules=({"kind": "nested-groups"},))
    assert list(load_cautions.description_cautions(ruled, 3000)) == []
    forty = tuple(replace(dataset.variables[2], name=f"v{n}") for n in range(40))
    many = replace(ruled, variables=forty, hierarchies=(), structural_zeros=(), code_lists=())
    assert "40 variables make 10,700 tables" in " ".join(load_cautions.description_cautions(many, 3000))


def test_what_disappears_is_named(town, dataset):
    before = replace(dataset, rules=({"kind": "nested-groups"}, {"kind": "x"}))
    fewer = town.description.replace('{ code = "old", label = "Old" }', "").replace(
        '"adult", "old"', '"adult"'
    )
    fewer = fewer.replace('name = "sex"', 'name = "gender"')
    after = replace(parse_dataset(fewer), rules=({"kind": "x"},))
    told = list(load_cautions.disappearing(before, after))
    assert told[0].startswith("Readers lose 1 variable: sex.")
    assert "age loses 1 category: old." in told
    assert told[-1] == "Rules of the previous version are missing: nested-groups."
    assert list(load_cautions.disappearing(before, before)) == []


PLANNING = CodeList(
    "planning", "Planning regions", "area", (("P", "Plan", ("N1", "N2", "S1")), ("Q", "Rest", ("S2", "S3")))
)

ALMOST_PLANNED = {"area": {"N1": 500, "N2": 400, "S1": 7, "S2": 300, "S3": 300}}
BROAD = CodeList("broad", "Broad", "job", (("W", "Work", ("1", "2")),))


def test_the_counts_that_it_needs_are_those_of_the_finest_levels_and_of_code_lists(dataset):
    assert load_cautions.variables_to_count(replace(dataset, code_lists=())) == ("area",)
    listed = replace(dataset, code_lists=(BROAD,))
    assert load_cautions.variables_to_count(listed) == ("area", "job")
    assert not load_cautions.find_slivers(listed, {})


@pytest.mark.parametrize(
    ("lists", "counts", "limit", "found"),
    [
        (
            (),
            {"area": {"N1": 500, "N2": 1, "S1": 300, "S2": 300, "S3": 300}},
            10,
            [("N1", "N", "one person")],
        ),
        ((), {"area": {"N1": 500, "N2": 400, "S2": 3}}, 10, [("N", "Everybody", "3 people")]),
        ((), {"area": {"N1": 500, "S1": 400, "S2": 300}}, 10, []),  # the same people are no sliver
        ((PLANNING,), ALMOST_PLANNED, 8, [("N", "P", "7 people"), ("S", "Q", "7 people")]),
        ((PLANNING,), ALMOST_PLANNED, 7, []),
        # Those in no group of a code list are in none.
        ((BROAD,), {"job": {"0": 100, "1": 50, "2": 3}}, 10, [("1", "W", "3 people")]),
    ],
)
def test_groups_that_are_almost_the_same_people_are_named(dataset, lists, counts, limit, found):
    named = load_cautions.find_slivers(replace(dataset, code_lists=lists), counts, limit)
    for sentence, (one, other, apart) in zip(named, found, strict=True):
        assert all(word in sentence for word in (one, other, f"differ by {apart} (fewer than {limit})"))
