"""Dataflows by name: datasets whose ids begin alike, variables that there are, and versions."""

import pytest

from discreet.answer.door import Doors
from discreet.errors import NotFound
from discreet.server.sdmx.flows import check_version, dataset_of, named_flow, open_flow


def test_the_longest_dataset_id_is_meant():
    """Wrong alternative: the first that fits, for which `census-dp` is a variable `dp` of `census`."""
    ids = ["census", "census-dp", "cen"]
    names = ["census", "census-sex", "census-dp", "census-dp-sex-age"]
    assert [dataset_of(ids, name) for name in names] == ["census", "census", "census-dp", "census-dp"]
    for name in ("censuses", "sex-census", "", "-", "cens"):
        with pytest.raises(NotFound):
            dataset_of(ids, name)


def test_a_table_has_its_variables_in_the_order_of_its_name(town_release):
    found = named_flow(town_release.dataset, "town-sex-age")
    assert found.flow.dimensions == ("sex", "age")
    assert not found.is_whole
    assert named_flow(town_release.dataset, "town").is_whole


@pytest.mark.parametrize(
    ("name", "said"), [("town-sexx", '"sex"'), ("town-sex-sex", "once"), ("town-sex-", "variable")]
)
def test_a_table_that_there_is_not_is_not_found(town_release, name, said):
    with pytest.raises(NotFound, match=said):
        named_flow(town_release.dataset, name)


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
