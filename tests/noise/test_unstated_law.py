"""A release without a stated law: nothing may be concluded from it as if it had no noise."""

from dataclasses import replace

import pytest

from discreet.answer.pipeline import release_table
from discreet.errors import BadRequest
from discreet.formats.json_stat import json_stat
from discreet.inference import picked
from discreet.inference.observed import observed
from discreet.model.request import TableRequest
from discreet.noise.unstated_law import UnstatedLaw
from discreet.server.certainty import certainty


@pytest.fixture
def release(town_workspace):
    found = release_table(town_workspace.stored("town"), TableRequest("town", ("sex",), ("age",)))
    return replace(found, law=UnstatedLaw(found.values.shape))


def test_who_asks_for_the_law_of_a_cell_is_refused(release):
    for ask in (
        lambda: release.law.at(0, 0),
        release.law.variance,
        lambda: observed(release),
        lambda: picked(release, ("1", "adult")),
    ):
        with pytest.raises(BadRequest, match="not stated"):
            ask()


def test_pages_and_documents_say_nothing_about_it(release):
    assert certainty(release) is None
    assert not {"noise", "largest_change"} & json_stat(release)["extension"]["confidentiality"].keys()
    assert not release.law.impossible.any()
    assert release.law.source(0, 0) == release.law.source(1, 1)
