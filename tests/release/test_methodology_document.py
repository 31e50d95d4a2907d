"""The methodology of a dataset: complete, exact where it says so, and the same whatever the records are."""

import hashlib
import json
import re
from fractions import Fraction
from math import log
from pathlib import Path

import pytest
from tests.release.surveys import load as load_survey
from tests.release.surveys import survey_records

from discreet import privacy
from discreet.model.messages.sentences import RED_TEAM
from discreet.model.protection import KEY_MODES
from discreet.noise.files import content_hash, from_document
from discreet.release.dataset_registry import DatasetRegistry
from discreet.release.methodology_document import KEYS, methodology, noise_text
from discreet.web.api.dataset_documents import dataset_document
from discreet.web.pages.methodology_page import methodology_html
from discreet.workspace.measured_attacks import write_attack_result
from discreet.workspace.workspace import Workspace

#: What names a version, or says when it was loaded.
NAMES = re.compile(r"[0-9a-f]{32}|(?<=\()[0-9a-f]{8}(?=\))|(?<=version=)[0-9a-f]{8}|\d{4}-\d\d-\d\dT[\d:+]+")


def document(folder):
    registry = DatasetRegistry(Workspace(folder))
    try:
        return registry.methodology("town")
    finally:
        registry.close()


def masked(found):
    """A document without what names its version."""
    return NAMES.sub("", json.dumps(found))


@pytest.fixture(scope="module")
def found(town, town_workspace):
    return DatasetRegistry(town_workspace).methodology("town")


@pytest.mark.slow
@pytest.mark.parametrize("method", ["cellkey", "dp"])
def test_no_word_and_no_number_depends_on_a_record(town, private_town, tmp_path, method):
    description = town.description if method == "cellkey" else private_town.description
    few = town.records.slice(0, 1234)
    town.load(tmp_path / "all", description).close()
    town.load(tmp_path / "few", description, few).close()
    one, other = document(tmp_path / "all"), document(tmp_path / "few")
    assert one["dataset"]["digest"] != other["dataset"]["digest"]
    assert masked(one) == masked(other)
    # a document that told how many records there are would be found
    assert masked(one | {"records": 3000}) != masked(other | {"records": 1234})


def test_the_audit_is_that_of_the_integers_that_can_be_downloaded(found, town_workspace):
    stored = town_workspace.stored("town")
    table = from_document(json.loads(noise_text(stored)))
    exact = privacy.audit(table, epsilon=1.0)
    told = found["privacy"]
    assert told["about"] == "one count"
    assert told["audit"]["delta"] == float(exact.delta)
    assert Fraction(told["delta"]) >= exact.delta  # never below; the nearest float may be
    assert told["audit"]["worst_pair"] == list(exact.worst_pair)
    assert told["audit"]["above_D"]["delta"] == float(exact.above_D.delta)
    assert found["noise"]["sha256"] == content_hash(table)
    wrong = from_document(json.loads(noise_text(stored)) | {"rows": _swapped(stored), "content_sha256": None})
    assert content_hash(wrong) != found["noise"]["sha256"]


def _swapped(stored):
    """The rows with the distribution of the largest counts in the place of the first: another noise table."""
    rows = json.loads(noise_text(stored))["rows"]
    return [rows[0], {**rows[-1], "count": 1}, *rows[2:]]


def test_under_dp_the_claim_the_budget_and_every_table_are_told(private_town):
    registry = DatasetRegistry(Workspace(private_town.folder))
    told, text = registry.methodology("town"), registry.open("town").noise_text()
    stored = Workspace(private_town.folder).stored("town")
    claim = stored.dp.plan.claim
    assert told["privacy"]["sentences"][0] == claim.sentence
    assert told["privacy"]["epsilon"] >= claim.epsilon
    assert told["privacy"]["audit"] is None
    assert told["budget"]["spent"]["epsilon"] == pytest.approx(4, abs=0.01)
    assert "if_dropped" not in told["budget"]
    assert hashlib.sha256(text.encode()).hexdigest() == told["noise"]["sha256"]
    hashes = {distribution["content_sha256"] for distribution in json.loads(text)["noise"].values()}
    assert {each["content_sha256"] for each in told["noise"]["tables"]} == hashes
    assert told["mechanism"]["negative_counts_shown"]
    assert "shown as they are" in " ".join(told["mechanism"]["sentences"])
    assert not any("one count" in sentence for sentence in told["limits"])


def test_a_survey_states_the_guarantee_of_the_population_only_where_rates_are_public(tmp_path):
    (tmp_path / "strata").mkdir()
    (tmp_path / "weights").mkdir()
    with load_survey(tmp_path / "strata", survey_records(), "public-strata") as catalogue:
        told = catalogue.methodology("survey")["privacy"]
    assert [each["rate"] for each in told["population"]["rates"]] == ["5/63", "2/65"]
    assert told["population"]["delta"] < told["delta"] / 10
    assert set(told["population"]["conditions"]) <= set(told["sentences"])
    with load_survey(tmp_path / "weights", survey_records(related=False), "average-weight") as catalogue:
        assert "population" not in catalogue.methodology("survey")["privacy"]


def test_every_mode_of_keys_has_its_sentence():
    assert set(KEYS) == set(KEY_MODES)


def test_rules_are_told_in_sentences_with_their_codes(town, tmp_path):
    rule = '\n[[rule]]\nkind = "share-of-zeros"\nmost = 0.5\nlevel = "area"\n'
    town.load(tmp_path, town.description + rule).close()
    rules = document(tmp_path)["rules"]
    assert [(each["code"], each["declared"]) for each in rules] == [
        ("too-many-variables", False),
        ("groups-on-geography", False),
        ("too-many-cells", False),
        ("share-of-zeros", True),
    ]
    last = 'An area is withheld where more than 50% of the cells are empty at "area" or below.'
    assert rules[-1]["sentence"] == last
    assert rules[-1]["parameters"] == {"most": 0.5, "level": "area", "from_variables": 1}


def test_attacks_are_quoted_as_they_were_measured_and_never_otherwise(town, tmp_path):
    town.load(tmp_path).close()
    before = document(tmp_path)["attacks"]["red_team"]
    assert [each["attack"] for each in before] == [attack.name for attack in RED_TEAM]
    assert all(each["measured"] is None for each in before)
    assert before[0]["advice"] == "Not measured in this workspace: run `discreet attack bob --keep`."
    write_attack_result(
        tmp_path, {"attack": "bob", "seed": 7}, ["cellkey: 3 of 9."], "discreet attack bob --seed 7"
    )
    first, *others = document(tmp_path)["attacks"]["red_team"]
    assert first["measured"]["figures"] == ["cellkey: 3 of 9."]
    assert (first["measured"]["seed"], first["advice"]) == (7, "")
    assert all(each["measured"] is None for each in others)


@pytest.mark.slow
def test_versions_and_the_policy_of_corrections_are_told(town, tmp_path):
    apart = town.description.replace("max_variables = 3", "max_variables = 3\nversions_apart = 40")
    town.load(tmp_path, apart).close()
    town.load(tmp_path, apart.replace('version = "1"', 'version = "2"'), town.records.slice(5)).close()
    told = document(tmp_path)
    assert [(each["version"], each["current"], each["answered"]) for each in told["versions"]] == [
        ("1", False, False),
        ("2", True, True),
    ]
    assert "few records" in told["versions"][0]["why_not"]
    assert told["corrections"]["versions_apart"] == 40
    assert "at least 40 records" in " ".join(told["corrections"]["sentences"])
    assert f"version 2 ({told['dataset']['digest'][:8]})" in told["citation"]


@pytest.fixture(scope="module")
def survey_folder(tmp_path_factory):
    """A survey in clusters, in the form that publishes most constants."""
    folder, frame = tmp_path_factory.mktemp("survey"), survey_records()
    load_survey(folder, frame.assign(home=frame["id"] // 9), "largest-weight", 'clusters = "home"\n').close()
    return folder / "workspace"


def test_a_survey_tells_its_weight_form_its_declared_sizes_and_its_constants(survey_folder):
    workspace = Workspace(survey_folder)
    told = methodology(workspace.stored("survey"), (), {})["survey"]
    constants = workspace.stored("survey").dataset.survey.constants
    workspace.close()
    assert (told["form"], told["errors"]) == ("largest-weight", "generalised")
    assert told["declared_sample_size"] == 900
    assert "powers of 1.25" in told["constants"].pop("rule")
    assert told["constants"] == constants.as_json()
    assert told["constants"]["degrees_of_freedom"] == 99
    assert {"state", "sex", "age"} == set(told["constants"]["effects"])
    for effect in told["constants"]["effects"].values():
        for value in (effect["cluster"], effect["spread"]):
            assert value >= 1
            assert log(value, 1.25) == pytest.approx(round(log(value, 1.25))), "a power of 1.25"


def test_a_survey_of_0_2_0_has_no_constants(tmp_path, errors_of_0_2_0):
    with errors_of_0_2_0():
        load_survey(tmp_path, survey_records(), "average-weight").close()
    told = methodology(Workspace(tmp_path / "workspace").stored("survey"), (), {})["survey"]
    assert (told["errors"], told["constants"]) == ("design-effects", None)
    assert "every record was drawn by itself" in told["design"]


def test_the_page_the_command_and_the_dataset_show_the_constants(survey_folder, run_here):
    registry = DatasetRegistry(Workspace(survey_folder))
    told, service = registry.methodology("survey"), registry.open("survey")
    constants = told["survey"]["constants"]
    assert dataset_document(service)["survey"]["constants"] == constants
    page = methodology_html(told, service.dataset)
    assert constants["rule"] in page
    shown = run_here("methodology", "survey", "-w", survey_folder).stdout
    for name, effect in constants["effects"].items():
        for figure in (effect["cluster"], effect["spread"]):
            row = re.search(rf'<th scope="row">(<bdi>)?{name}.*?</tr>', page, re.DOTALL)
            assert f"{figure:.4g}" in row[0]
            assert f"{figure:.4g}" in next(line for line in shown.splitlines() if f"  {name}: " in line)
    registry.close()


def keys_of(value):
    """Every key of a document, but those of parameters and of the documents of other commands."""
    if isinstance(value, list):
        return {key for each in value for key in keys_of(each)}
    if not isinstance(value, dict):
        return set()
    inside = (
        name
        for name in value
        if name not in {"parameters", "audit", "cap", "price", "spent", "left", "total"}
    )
    return set(value) | {key for name in inside for key in keys_of(value[name])}


def test_every_key_is_documented(found, private_town, survey_folder):
    survey = methodology(Workspace(survey_folder).stored("survey"), (), {})["survey"]
    effects = survey["constants"].pop("effects")
    found = found | {"survey": survey, "effects": list(effects.values())}
    page = (Path(__file__).parents[2] / "docs" / "reference" / "methodology.md").read_text("utf-8")
    both = keys_of(found) | keys_of(document(private_town.folder) | {"budget": None})
    assert {key for key in both if f"`{key}`" not in page} == set()
    assert "`records`" not in page  # what is not told is not documented
    assert all(f"`{key}`" in page for key in document(private_town.folder)["budget"])
