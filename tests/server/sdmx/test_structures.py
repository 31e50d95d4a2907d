"""Structures: what a query gets with each word of `references` and `detail`."""

import pytest

from discreet.answer.doors import Doors
from discreet.errors import BadRequest, NotFound
from discreet.server.sdmx.structures import CodeListOf, Query, find_structures


@pytest.fixture
def found(small_workspace):
    def find(*parts, **words):
        return find_structures(Doors(small_workspace), Query(*parts, **words))

    return find


def numbers(structures):
    return tuple(
        len(each)
        for each in (
            structures.dataflows,
            structures.datastructures,
            structures.conceptschemes,
            structures.codelists,
        )
    )


@pytest.mark.parametrize(
    ("parts", "references", "told"),
    [
        (("dataflow",), "none", (2, 0, 0, 0)),
        (("dataflow", "people-sex-age"), "children", (1, 1, 0, 0)),
        (("dataflow", "people-sex-age"), "descendants", (1, 1, 1, 4)),
        (("dataflow", "people-sex-age"), "all", (1, 1, 1, 4)),
        (("dataflow", "people"), "parents", (1, 0, 0, 0)),
        (("datastructure", "people"), "parents", (1, 1, 0, 0)),
        (("datastructure", "people"), "children", (0, 1, 1, 8)),
        (("datastructure", "people"), "codelist", (0, 1, 0, 8)),
        (("codelist", "CL_people_sex"), "none", (0, 0, 0, 1)),
        (("codelist", "CL_people_sex"), "parents", (0, 1, 0, 1)),
        (("codelist", "CL_people_sex"), "parentsandsiblings", (0, 1, 1, 8)),
        (("codelist", "CL_OBS_STATUS"), "none", (0, 0, 0, 1)),
        (("conceptscheme", "CS_people"), "all", (0, 1, 1, 8)),
        (("codelist", "all"), "none", (0, 0, 0, 10)),
    ],
)
def test_references_lead_up_down_and_aside(found, parts, references, told):
    assert numbers(found(*parts, references=references)) == told


def test_detail_says_what_is_told_by_name_only(found):
    assert found("dataflow", "people", detail="allstubs").stubs == {
        "dataflow",
        "datastructure",
        "conceptscheme",
        "codelist",
    }
    assert "dataflow" not in found("dataflow", "people", detail="referencestubs").stubs
    assert not found("dataflow", "people").stubs


@pytest.mark.parametrize(
    ("parts", "error"),
    [
        (("categoryscheme",), NotFound),
        (("dataflow", "peeple"), NotFound),
        (("datastructure", "people-sexx"), NotFound),
        (("codelist", "CL_people_sexx"), NotFound),
        (("codelist", "people"), NotFound),
        (("conceptscheme", "CS_peeple"), NotFound),
        (("dataflow", "people", "6.0"), NotFound),
        (("dataflow", "people", "latest", "everything"), BadRequest),
        (("dataflow", "people", "latest", "all", "half"), BadRequest),
    ],
)
def test_what_there_is_not_is_refused(found, parts, error):
    with pytest.raises(error):
        found(*parts)


def test_a_code_list_has_all_codes_and_the_total(small_workspace):
    ages = CodeListOf(small_workspace.stored("people").dataset, "age")
    assert list(ages.codes()) == [
        ("0-14", "0-14 years"),
        ("15-64", "15-64 years"),
        ("65$2B", "65+ years"),
        ("_T", "Total"),
    ]
