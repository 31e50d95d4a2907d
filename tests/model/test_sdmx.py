"""SDMX's names: ids that mean the same everywhere, dataflows that hold what they say, versions of three numbers."""

import re
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.model.request import request_from_text
from discreet.model.sdmx import dataset_flow, flow_of, sdmx_id, structure_version
from discreet.release.pipeline import release_table


@given(st.lists(st.text(st.characters(exclude_categories=["Cs"]), min_size=1), unique=True, max_size=5))
def test_ids_are_allowed_by_sdmx_and_different_codes_stay_different(codes):
    """Wrong alternative: a bad character that becomes an underscore, so that `65+` and `65-` meet."""
    ids = [sdmx_id(code) for code in codes]
    assert all(re.fullmatch("[A-Za-z0-9_@$-]+", name) and name[0] != "-" for name in ids)
    assert len(set(ids)) == len(codes)


def test_an_id_gives_its_code_back():
    name = sdmx_id("=65+ é$2B")
    back = re.sub(r"(\$[0-9A-F]{2})+", lambda found: bytes.fromhex(found[0].replace("$", "")).decode(), name)
    assert name == "$3D65$2B$20$C3$A9$242B"
    assert back == "=65+ é$2B"


@pytest.mark.parametrize(
    ("given_version", "told"),
    [("1", "1.0.0"), ("2026.3", "2026.3.0"), ("01.2.3", "1.2.3"), ("r2", "1.0.0"), ("1.2.3.4", "1.0.0")],
)
def test_a_structure_has_the_version_of_its_dataset(town_release, given_version, told):
    assert structure_version(replace(town_release.dataset, version=given_version)) == told


@pytest.mark.parametrize(
    "asked",
    [{"filters": ["sex=1"]}, {"groups": ["age=adult+old"]}, {"levels": ["area=region"], "rows": ["area"]}],
)
def test_another_selection_of_people_or_categories_is_another_dataflow(town_workspace, asked):
    """Wrong alternative: one name for the table of all people and that of men."""
    stored = town_workspace.stored("town")
    flow = flow_of(release_table(stored, request_from_text("town", **{"rows": ["age"], **asked})))
    plain = dataset_flow(stored.dataset, flow.dimensions)
    assert re.fullmatch(rf"{plain.id}-\d+", flow.id)


def test_a_dataflow_is_named_by_its_dataset_and_variables(town_release):
    dataset = town_release.dataset
    assert flow_of(town_release).reference == "DISCREET:town-age-job-sex(1.0.0)"
    assert flow_of(town_release) == dataset_flow(dataset, ("age", "job", "sex"))
    assert dataset_flow(dataset).id == "town"
    assert dataset_flow(dataset).dimensions == ("region", "area", "sex", "age", "job")
