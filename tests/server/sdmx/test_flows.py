"""Dataflows by name: datasets whose ids begin alike, variables that there are, and versions."""

import json

import pytest

from discreet.answer.doors import Doors
from discreet.errors import NotFound
from discreet.model.sdmx import flow_of
from discreet.server.sdmx.data import document, negotiated, read_query
from discreet.server.sdmx.flows import check_version, dataset_of, named_flow, open_flow, whole_flows
from discreet.workspace.demo import spudlandia_batches, spudlandia_description
from discreet.workspace.load import load_dataset
from discreet.workspace.workspace import Workspace


@pytest.fixture
def town_door(town_workspace):
    return Doors(town_workspace).door("town")


def test_the_longest_dataset_id_is_meant():
    """Wrong alternative: the first that fits, for which `census-dp` is a variable `dp` of `census`."""
    ids = ["census", "census-dp", "cen"]
    names = ["census", "census-sex", "census-dp", "census-dp-sex-age"]
    assert [dataset_of(ids, name) for name in names] == ["census", "census", "census-dp", "census-dp"]
    for name in ("censuses", "sex-census", "", "-", "cens"):
        with pytest.raises(NotFound):
            dataset_of(ids, name)


def test_a_table_has_its_variables_in_the_order_of_its_name(town_door):
    found = named_flow(town_door, "town-sex-age")
    assert found.flow.dimensions == ("sex", "age")
    assert not found.is_whole
    assert named_flow(town_door, "town").is_whole


@pytest.mark.parametrize(
    ("name", "said"), [("town-sexx", '"sex"'), ("town-sex-sex", "once"), ("town-sex-", "variable")]
)
def test_a_table_that_there_is_not_is_not_found(town_door, name, said):
    with pytest.raises(NotFound, match=said):
        named_flow(town_door, name)


@pytest.mark.parametrize(
    "reference", ["people-sex", "ANY,people-sex", "ANY,people-sex,7.0.0", "A,people-sex,latest"]
)
def test_a_reference_may_name_agency_and_version(small_workspace, reference):
    door, found = open_flow(Doors(small_workspace), reference)
    assert (door.dataset.id, found.flow.reference) == ("people", "DISCREET:people-sex(7.0.0)")


def test_another_version_is_not_found():
    check_version("7.0.0", "+")
    with pytest.raises(NotFound, match=r"7\.0\.0"):
        check_version("7.0.0", "6.0.0")


def test_a_survey_has_a_dataflow_for_each_measure(tmp_path):
    """Wrong alternative: counts alone, and no sampling error ever reaches a client of SDMX."""
    load_dataset(tmp_path, spudlandia_description(), spudlandia_batches())
    door = Doors(Workspace(tmp_path)).door("spudlandia")
    assert [each.flow.id for each in whole_flows(door)] == ["spudlandia", "spudlandia-weighted"]
    found = named_flow(door, "spudlandia-weighted-age")
    assert (found.flow.dimensions, found.measure.name, found.is_whole) == (("age",), "weighted", False)
    assert found.label.endswith(": Persons represented: Age in years")
    query = read_query(door, found, "all")
    release = door.answer(query.question)
    assert flow_of(release) == found.flow
    observation = json.loads(b"".join(document(release, query, negotiated(""))))["dataSets"][0][
        "observations"
    ]["0"]
    assert observation[0] == release.values[0]
    assert len(observation) == 6, "status, confidentiality, and errors in their places"
