"""A section with a wrong key names the nearest one; what is no section says so."""

import json

import pytest

import discreet
from discreet.errors import BadDescription, BadOption, WorkspaceUnusable
from discreet.model.access import ROLES, Access, parse_access
from discreet.model.description.dataset_toml import parse_dataset
from discreet.model.description.sections import (
    About,
    FileOptions,
    Publish,
    check_section,
    parse_about,
    parse_engine,
    parse_file_options,
    parse_publish,
    refuse_unknown_keys,
    require_keys,
)
from discreet.release.dataset_registry import DatasetRegistry
from discreet.web.api.dataset_documents import dataset_document
from discreet.web.api.dcat import dcat_catalogue, schema_org
from discreet.workspace.options import read_options


def test_what_is_no_section_or_has_an_unknown_key_is_refused():
    assert check_section({}, "about", []) == {}
    with pytest.raises(BadDescription, match="before its lines"):
        check_section("Office", "about", ["publisher"])
    with pytest.raises(BadOption, match='Did you mean "kind"'):
        check_section({"kinds": "duckdb"}, "engine", ["kind"], BadOption)
    with pytest.raises(BadDescription, match="Known: a, b"):
        refuse_unknown_keys({"zzz": 1}, {"b", "a"}, "[x]")  # a set is told in order


def test_a_key_that_is_needed_must_be_there():
    require_keys({"id": "town"}, ("id",), "dataset.toml")
    with pytest.raises(BadDescription, match="lacks `label`"):
        require_keys({"id": "town"}, ("id", "label"), "dataset.toml")


ABOUT = """
[about]
publisher = "Office"
licence = "https://example.org/licence"
contact = "tables@example.org"
keywords = ["towns"]
spatial = "Nowhere"
temporal = "2026-01-01/2026-12-31"
next_update = "2027-03-01"
"""
WORDS = """label = "Sex"
description = "As stated."
universe = "everybody"
notes = "New in 2026."
source = "Register"
classification = "https://example.org/sex"
"""


@pytest.fixture(scope="module")
def text(town):
    return town.description.replace('label = "Sex"\n', WORDS, 1).replace(
        "[[variable]]", ABOUT + "[[variable]]", 1
    )


@pytest.fixture(scope="module")
def workspace(town, text, tmp_path_factory):
    opened = town.load(tmp_path_factory.mktemp("about"), text)
    yield opened
    opened.close()


def test_it_is_read_whole(text):
    dataset = parse_dataset(text)
    assert dataset.about.temporal == "2026-01-01/2026-12-31"
    assert dataset.about.keywords == ("towns",)
    assert dataset.variable("sex").universe == "everybody"
    assert About().as_json() == {}


@pytest.mark.parametrize(
    ("section", "said"),
    [
        ("x", "not a section"),
        ({"publishr": "x"}, "unknown key"),
        ({"keywords": "x"}, "`keywords`"),
        ({"contact": 5}, "`contact`"),
        ({"contact": ["x"]}, "`contact`"),
    ],
)
def test_what_is_wrong_is_said(section, said):
    with pytest.raises(BadDescription, match=said):
        parse_about(section)


def test_a_classification_is_a_web_address(text):
    with pytest.raises(BadDescription, match="no web address"):
        parse_dataset(text.replace("https://example.org/sex", "javascript:alert(1)"))


def test_programs_and_catalogues_are_told(workspace):
    door = DatasetRegistry(workspace).door("town")
    options = read_options(workspace.folder)
    found = schema_org(door, options)
    assert found["license"] == "https://example.org/licence"
    assert found["publisher"]["contactPoint"]["email"] == "tables@example.org"
    assert found["spatialCoverage"] == "Nowhere"
    sex = {"name": "Sex", "description": "As stated.", "sameAs": "https://example.org/sex"}
    assert {"@type": "PropertyValue", **sex} in found["variableMeasured"]
    (listed,) = dcat_catalogue([(door, "")], options)["dcat:dataset"]
    assert listed["dct:temporal"]["dcat:endDate"]["@value"] == "2026-12-31"
    assert listed["dcat:keyword"][0] == "towns"
    assert listed["dcat:contactPoint"]["vcard:hasEmail"] == {"@id": "mailto:tables@example.org"}
    document = dataset_document(door)
    assert document.about.next_update == "2027-03-01"
    assert next(v for v in document.variables if v.name == "sex").notes == "New in 2026."


def test_a_file_is_told_and_numbers_do_not_change(workspace, town_workspace):
    with discreet.open(workspace.folder) as told, discreet.open(town_workspace.folder) as plain:
        here, there = (json.loads(each.table("town", rows=["sex"]).to_json_stat()) for each in (told, plain))
    assert here["extension"]["about"]["publisher"] == "Office"
    assert here["dimension"]["sex"]["note"] == ["New in 2026."]
    assert here["dimension"]["sex"]["extension"]["universe"] == "everybody"
    assert here["value"] == there["value"]
    assert "about" not in there["extension"]


def test_a_section_without_a_kind_names_none():
    assert parse_engine({}, BadDescription) == ""
    assert parse_engine({"kind": "spark"}, BadDescription) == "spark"


@pytest.mark.parametrize("error", [BadDescription, WorkspaceUnusable])
@pytest.mark.parametrize(
    ("section", "words"),
    [
        ("duckdb", "not a section"),
        ({"knid": "duckdb"}, "unknown key"),
        ({"kind": 1}, "`kind` of .engine. is 1"),
    ],
)
def test_what_cannot_be_read_is_refused_by_the_files_own_error(section, words, error):
    with pytest.raises(error, match=words):
        parse_engine(section, error)


@pytest.mark.parametrize(
    ("section", "words"),
    [
        ({"encodng": "utf-8"}, 'Did you mean "encoding"'),
        ({"encoding": "klingon"}, "There is no encoding"),
        ({"delimiter": ";;"}, "is not one character"),
        ({"decimal": "'"}, "decimal sign"),
        ({"table": 3}, "Put it in quotes"),
        ("file", "is not a section"),
    ],
)
def test_a_section_that_cannot_be_used_says_why(section, words):
    with pytest.raises(BadDescription, match=words):
        parse_file_options(section)


def test_what_is_empty_is_not_given():
    assert FileOptions(delimiter=";").given() == {"delimiter": ";"}


def test_tables_of_variables_come_first_each_once():
    found = parse_publish({"variables": ["a", "b", "c"], "up_to": 2, "tables": ["b*a", "a * b * c"]})
    assert list(found.margins()) == [
        ("a",),
        ("b",),
        ("c",),
        ("a", "b"),
        ("a", "c"),
        ("b", "c"),
        ("a", "b", "c"),
    ]
    assert not found.is_empty
    assert Publish().is_empty
    assert parse_publish({"variables": ["a"], "up_to": 9}).up_to == 9


@pytest.mark.parametrize(
    ("section", "words"),
    [
        ([], "not a section"),
        ({"variable": ["a"]}, '"variable"'),
        ({"variables": "a"}, "variables of"),
        ({"variables": ["a", "a"]}, "twice"),
        ({"tables": ["a*a"]}, "twice"),
        ({"tables": ["*"]}, "none"),
        ({"up_to": 0}, "up_to"),
        ({"up_to": True}, "up_to"),
        ({"universe": 1}, "universe"),
        ({"levels": ["a"]}, "publish.levels"),
        ({"levels": {"a": "b"}}, "levels.a"),
    ],
)
def test_a_mistake_is_named(section, words):
    with pytest.raises(BadDescription, match=words):
        parse_publish(section)


def test_an_unknown_variable_is_named_with_the_nearest(town):
    for line in ('tables = ["sx*age"]', 'variables = ["sx"]', "levels = { sx = ['region'] }"):
        with pytest.raises(BadDescription, match="sex"):
            parse_dataset(f"{town.description}\n[publish]\n{line}\n")


def test_a_role_opens_to_itself_and_to_those_above():
    for needed in ROLES:
        allowed = [role for role in ROLES if Access(needed).allows("ann", role)]
        assert allowed == list(ROLES[ROLES.index(needed) :])
        assert not Access(needed).allows(None, None)


def test_named_accounts_alone_may_and_custodians_besides():
    """To open it to everybody of the role is the wrong alternative."""
    for access in (Access("reader", ("ann",)), Access("", ("ann",))):
        assert access.allows("ann", "reader")
        assert not access.allows("ben", "analyst")
        assert access.allows("carl", "custodian")
        assert not access.allows(None, None)


def test_what_the_description_leaves_open_the_workspace_decides():
    assert Access().allows(None, None)
    assert not Access().allows(None, None, otherwise="reader")
    assert Access("public").allows(None, None, otherwise="custodian")


@pytest.mark.parametrize(
    "section",
    [
        "public",
        {"who": "everybody"},
        {"who": ""},
        {"whom": "public"},
        {"accounts": "ann"},
        {"accounts": [1]},
        {"who": "public", "accounts": ["ann"]},
    ],
)
def test_what_cannot_be_meant_is_refused(section):
    with pytest.raises(BadDescription, match="access"):
        parse_access(section)
