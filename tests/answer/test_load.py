"""A load cautions the custodian, and the caution is said before anything is served."""

import pyarrow as pa
import pyarrow.compute as pc
import pytest

from discreet.answer.load import load_dataset
from discreet.answer.load_cautions import LEFT_OUT
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
    folder, said = tmp_path / "w", []

    def caution(sentence):
        assert not list(folder.rglob("current*"))
        said.append(sentence)

    digest = load_dataset(folder, town.description, almost_empty, caution=caution)
    assert any("'N1' of \"area\" and 'N' of \"region\" differ by 2 people" in sentence for sentence in said)
    assert Workspace(folder).stored("town").digest == digest


@pytest.mark.slow
def test_records_without_slivers_get_no_caution_and_those_under_dp_the_same_one_always(
    town, private_town, tmp_path, almost_empty
):
    said = []
    ruled = town.description + '\n[[rule]]\nkind = "nested-groups"\nfewer_than = 2\n'
    load_dataset(tmp_path / "plain", ruled, town.records, caution=said.append)
    load_dataset(tmp_path / "dp", private_town.description, almost_empty, caution=said.append)
    assert said == [LEFT_OUT]


def test_a_variable_that_looks_like_an_id_is_asked_about(town, tmp_path):
    """The household number of a survey: 600 of them for 3,000 people."""
    count = len(town.records)
    records = town.records.append_column("household", pa.array([f"h{n % 600}" for n in range(count)]))
    codes = ", ".join(f'"h{n}"' for n in range(600))
    text = town.description.replace(
        "[[hierarchy]]", f'[[variable]]\nname = "household"\ncategories = [{codes}]\n\n[[hierarchy]]', 1
    )
    said = []
    load_dataset(tmp_path / "w", text, records, caution=said.append)
    (asked,) = [sentence for sentence in said if "is it an id?" in sentence]
    assert asked.startswith("household has 600 categories for 3,000 records: is it an id?")
