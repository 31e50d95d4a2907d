"""Measures as the contents variable."""

from dataclasses import replace

from discreet.model.variable import Category, Variable
from discreet.server.pxweb.contents import contents_name, contents_of


def test_a_survey_has_its_measures_and_their_errors(px_doors):
    codes = [content.code for content in contents_of(px_doors.door("survey").dataset)]
    assert codes == ["count", "weighted", "weighted_relative_standard_error", "weighted_noise_share"]
    assert [content.code for content in contents_of(px_doors.door("town").dataset)] == ["count"]


def test_the_name_is_no_variable_of_the_dataset(px_doors):
    dataset = px_doors.door("town").dataset
    own = Variable("contentscode", "Contents", (Category("1", "One"),))
    assert contents_name(dataset) == "ContentsCode"
    assert contents_name(replace(dataset, variables=(*dataset.variables, own))) == "ContentsCode_"


def test_errors_are_the_numbers_that_our_own_json_has(px, px_app):
    """Wrong alternative: the values once more, under the name of their errors."""
    data = px("/tables/survey/data?valuecodes[sex]=*&valuecodes[ContentsCode]=weighted*")
    own = px.client.get("/api/datasets/survey/table?rows=sex&measure=weighted").json()
    assert data["size"] == [3, 3]
    assert data["value"][0::3] == own["value"]
    assert data["value"][1::3] == own["extension"]["relative_standard_error"]
    assert data["value"][2::3] == own["extension"]["noise_share"]
