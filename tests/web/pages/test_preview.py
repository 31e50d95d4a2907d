"""The verdict: in labels, with repairs of several kinds that are allowed, and without counting a record."""

import pytest

from discreet.errors import OutsideUniverse, Refused
from discreet.model.request import TableRequest, canonical
from discreet.model.shape import table_shape
from discreet.model.universe import parse_universe
from discreet.protect.margin_choice import choose_margins
from discreet.release.dataset_registry import DatasetRegistry
from discreet.web.i18n.translation import in_labels
from discreet.web.pages.table_page import preview_table


def test_a_choice_is_foreseen_without_counting_a_record(watched):
    service = DatasetRegistry(watched).open("people")
    told = preview_table(service, TableRequest("people", ("district",), ("sex",)))
    assert (told.cells, told.areas, told.title) == ("147 cells", "all 48 areas are available", "")
    assert watched.engines["people"].calls == 0


def test_a_refusal_speaks_in_labels_and_its_repairs_are_allowed(small_workspace):
    service = DatasetRegistry(small_workspace).open("people")
    request = TableRequest("people", ("sex", "age"), ("job", "origin"))
    told = preview_table(service, request, [("version", "7")])
    assert "origin" not in told.message
    assert "Country of birth" in told.message
    assert [repair.label for repair in told.repairs] == [
        "Leave out Country of birth",
        "Leave out Age",
        "Leave out Job",
    ]
    assert told.repairs[0].href.endswith("rows=sex,age&columns=job&version=7")
    assert not [found for found in service.repairs(request, counting=True) if service.foresee(found).refusal]


def test_larger_areas_are_another_idea_than_one_variable_less(small_workspace):
    """Three times "leave out" would hide the repair that most readers want."""
    service = DatasetRegistry(small_workspace).open("people")
    told = preview_table(service, TableRequest("people", ("district", "sex"), ("age", "job", "origin")))
    assert told.title
    told = preview_table(service, TableRequest("people", ("district", "region"), ("age", "job", "origin")))
    assert "5,000" in told.message
    assert "Leave out District" in [repair.label for repair in told.repairs]


def test_what_no_declared_table_contains_is_told_in_labels(small_workspace):
    """A sentence that joins the names itself leaves the page nothing to say in labels."""
    dataset = DatasetRegistry(small_workspace).open("people").dataset
    universe = parse_universe({"variables": ["sex", "age", "origin"], "up_to": 1}, dataset, known_total=False)
    asked = canonical(TableRequest("people", ("sex",), ("origin",)), dataset)
    with pytest.raises(OutsideUniverse) as refused:
        choose_margins(table_shape(asked, dataset), universe, dataset, dict.fromkeys(universe.margins, 1.0))
    assert "contains origin x sex, so" in refused.value.message
    assert "contains Country of birth x Sex, so" in in_labels(dataset, refused.value.message)
    assert 'Take out "Sex" or "Country of birth", filters' in in_labels(dataset, refused.value.advice)


def test_why_there_is_no_table_may_be_known_already(small_workspace):
    service = DatasetRegistry(small_workspace).open("people")
    told = preview_table(service, TableRequest("people", ("sex",)), error=Refused("No.", "Wait."))
    assert (told.message, told.advice, told.cells) == ("No.", "Wait.", "3 cells")
