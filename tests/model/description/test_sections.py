"""A section with a wrong key names the nearest one; what is no section says so."""

import json

import pytest

import discreet
from discreet.errors import BadDescription, BadOption, WorkspaceUnusable
from discreet.model.dataset import ROLES, Access, parse_access
from discreet.model.description.dataset_toml import parse_dataset
from discreet.model.description.sections import (
    Publish,
    check_section,
    parse_about,
    parse_engine,
    parse_file_options,
    parse_publish,
    refuse_unknown_keys,
)
from discreet.release.dataset_registry import DatasetRegistry
from discreet.web.api.dataset_documents import dataset_document
from discreet.web.api.dcat import dcat_catalogue, schema_org
from discreet.workspace.options import read_options


def test_what_is_no_section_or_has_an_unknown_key_is_refused_by_the_error_of_its_file():
    for section, words in (("duckdb", "not a section"), ({"knid": ""}, "unknown key"), ({"kind": 1}, "is 1")):
        for error in (BadDescription, WorkspaceUnusable):
            with pytest.raises(error, match=words):
                parse_engine(section, error)
    assert check_section({}, "about", []) == {}
    with pytest.raises(BadDescription, match="before its lines"):
        check_section("Office", "about", ["publisher"])
    with pytest.raises(BadOption, match='Did you mean "kind"'):
        check_section({"kinds": "duckdb"}, "engine", ["kind"], BadOption)
    with pytest.raises(BadDescription, match="Known: a, b"):
        refuse_unknown_keys({"zzz": 1}, {"b", "a"}, "[x]")  # a set is told in order


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
def workspace(town, tmp_path_factory):
    text = town.description.replace('label = "Sex"\n', WORDS, 1)
    text = text.replace("[[variable]]", ABOUT + "[[variable]]", 1)
    with pytest.raises(BadDescription, match="no web address"):
        parse_dataset(text.replace("https://example.org/sex", "javascript:alert(1)"))
    opened = town.load(tmp_path_factory.mktemp("about"), text)
    yield opened
    opened.close()


def test_programs_and_catalogues_are_told(workspace):
    service = DatasetRegistry(workspace).open("town")
    options = read_options(workspace.folder)
    found = schema_org(service, options)
    assert found["license"] == "https://example.org/licence"
    assert found["publisher"]["contactPoint"]["email"] == "tables@example.org"
    assert found["spatialCoverage"] == "Nowhere"
    sex = {"name": "Sex", "description": "As stated.", "sameAs": "https://example.org/sex"}
    assert {"@type": "PropertyValue", **sex} in found["variableMeasured"]
    (listed,) = dcat_catalogue([(service, "")], options)["dcat:dataset"]
    assert listed["dct:temporal"]["dcat:endDate"]["@value"] == "2026-12-31"
    assert listed["dcat:keyword"][0] == "towns"
    assert listed["dcat:contactPoint"]["vcard:hasEmail"] == {"@id": "mailto:tables@example.org"}
    document = dataset_document(service)
    assert document["about"]["next_update"] == "2027-03-01"
    assert next(v for v in document["variables"] if v["name"] == "sex")["notes"] == "New in 2026."


def test_a_file_is_told_and_numbers_do_not_change(workspace, town_workspace):
    with discreet.open(workspace.folder) as told, discreet.open(town_workspace.folder) as plain:
        here, there = (json.loads(each.table("town", rows=["sex"]).to_json_stat()) for each in (told, plain))
    assert here["extension"]["about"]["publisher"] == "Office"
    assert here["dimension"]["sex"]["note"] == ["New in 2026."]
    assert here["dimension"]["sex"]["extension"]["universe"] == "everybody"
    assert here["value"] == there["value"]
    assert "about" not in there["extension"]


@pytest.mark.parametrize(
    ("parse", "section", "words"),
    [
        (parse_about, "x", "not a section"),
        (parse_about, {"publishr": "x"}, "unknown key"),
        (parse_about, {"keywords": "x"}, "`keywords`"),
        (parse_about, {"contact": 5}, "`contact`"),
        (parse_about, {"contact": ["x"]}, "`contact`"),
        (parse_file_options, {"encodng": "utf-8"}, 'Did you mean "encoding"'),
        (parse_file_options, {"encoding": "klingon"}, "There is no encoding"),
        (parse_file_options, {"delimiter": ";;"}, "is not one character"),
        (parse_file_options, {"decimal": "'"}, "decimal sign"),
        (parse_file_options, {"table": 3}, "Put it in quotes"),
        (parse_file_options, "file", "is not a section"),
        (parse_publish, [], "not a section"),
        (parse_publish, {"variable": ["a"]}, '"variable"'),
        (parse_publish, {"variables": "a"}, "variables of"),
        (parse_publish, {"variables": ["a", "a"]}, "twice"),
        (parse_publish, {"tables": ["a*a"]}, "twice"),
        (parse_publish, {"tables": ["*"]}, "none"),
        (parse_publish, {"up_to": 0}, "up_to"),
        (parse_publish, {"up_to": True}, "up_to"),
        (parse_publish, {"universe": 1}, "universe"),
        (parse_publish, {"levels": ["a"]}, "publish.levels"),
        (parse_publish, {"levels": {"a": "b"}}, "levels.a"),
        (parse_access, "public", "access"),
        (parse_access, {"who": "everybody"}, "access"),
        (parse_access, {"who": ""}, "access"),
        (parse_access, {"whom": "public"}, "access"),
        (parse_access, {"accounts": "ann"}, "access"),
        (parse_access, {"accounts": [1]}, "access"),
        (parse_access, {"who": "public", "accounts": ["ann"]}, "access"),
    ],
)
def test_a_wrong_section_is_refused_by_its_key_or_value(parse, section, words):
    with pytest.raises(BadDescription, match=words):
        parse(section)


def test_tables_of_variables_come_first_each_once():
    found = parse_publish({"variables": ["a", "b", "c"], "up_to": 2, "tables": ["b*a", "a * b * c"]})
    assert list(map("".join, found.margins())) == ["a", "b", "c", "ab", "ac", "bc", "abc"]
    assert not found.is_empty
    assert Publish().is_empty
    assert parse_publish({"variables": ["a"], "up_to": 9}).up_to == 9


def test_an_unknown_variable_is_named_with_the_nearest(town):
    for line in ('tables = ["sx*age"]', 'variables = ["sx"]', "levels = { sx = ['region'] }"):
        with pytest.raises(BadDescription, match="sex"):
            parse_dataset(f"{town.description}\n[publish]\n{line}\n")


def test_a_role_opens_to_itself_and_those_above_and_names_to_these_accounts_and_custodians():
    """To open it to everybody of the role is the wrong alternative."""
    for needed in ROLES:
        allowed = [role for role in ROLES if Access(needed).allows("ann", role)]
        assert allowed == list(ROLES[ROLES.index(needed) :])
        assert not Access(needed).allows(None, None)
    for access in (Access("reader", ("ann",)), Access("", ("ann",))):
        assert access.allows("ann", "reader")
        assert not access.allows("ben", "analyst")
        assert access.allows("carl", "custodian")
        assert not access.allows(None, None)

    assert Access().allows(None, None)  # what the description leaves open the workspace decides
    assert not Access().allows(None, None, otherwise="reader")
    assert Access("public").allows(None, None, otherwise="custodian")
