from __future__ import annotations

import pytest

from discreet import privacy
from discreet.assess.five_safes import NOTICE, five_safes
from discreet.release.dataset_registry import DatasetRegistry
from discreet.workspace.ledger_location import open_accounts
from discreet.workspace.options import read_options
from discreet.workspace.workspace import Workspace


@pytest.fixture(scope="module")
def found(town_workspace):
    return five_safes(DatasetRegistry(town_workspace), "town", read_options(town_workspace.folder))


def answer(found, question):
    (item,) = [i for safe in found.safes for i in safe.items if i.question == question]
    return item


def test_there_are_five_and_each_asks_and_knows_something(found):
    assert [safe.name.split()[1] for safe in found.safes] == [
        "projects",
        "people",
        "settings",
        "data",
        "outputs",
    ]
    for safe in found.safes:
        assert {item.status for item in safe.items} == {"known", "open"}
    assert found.open_items == sum(i.status == "open" for safe in found.safes for i in safe.items)


def test_what_the_system_knows_is_filled_in(found, town_workspace):
    noise = town_workspace.stored("town").protector.noise
    delta = float(privacy.delta(noise, epsilon=1.0))
    assert f"delta {delta:.3g} for the worst count" in answer(found, "What does one count promise?").answer
    assert "family = maxent, D = 4, V = 2, js = 1" in answer(found, "How is it protected?").answer
    assert "finest geography area (5 areas)" in answer(found, "What can be asked about?").answer
    assert "at most 3 variables" in answer(found, "Which tables are refused?").answer
    assert "this machine only, port 8000" in answer(found, "Who is served?").answer


def test_missing_protection_is_asked_for(found):
    assert answer(found, "Are small areas limited?").status == "open"


def test_rules_and_accounts_are_seen(town, tmp_path):
    small = '\n[[rule]]\nkind = "max-variables"\nmost = 2\nlevel = "area"\n'
    rules = small + '\n[[rule]]\nkind = "free-groups"\nper_account = 3\n'
    workspace = town.load(tmp_path / "w", town.description + rules)
    open_accounts(workspace.folder).create("ana", "analyst")
    found = five_safes(DatasetRegistry(workspace), "town", read_options(workspace.folder, host="0.0.0.0"))  # noqa: S104 - a case
    assert answer(found, "Are small areas limited?").status == "known"
    assert "Active accounts: 1 analyst." in answer(found, "Who may ask?").answer
    assert "counted by account" in answer(found, "Who may ask?").answer
    assert "reverse proxy" in answer(found, "Who is served?").answer


def test_an_open_workspace_is_said_to_be(town, tmp_path):
    workspace = town.load(tmp_path / "w")
    workspace.folder.chmod(0o755)
    found = five_safes(DatasetRegistry(workspace), "town", read_options(workspace.folder))
    assert "by others too (mode 755)" in answer(found, "Where are the records?").answer


def test_a_dataset_under_dp_states_its_claim_and_what_is_left(private_town):
    workspace = Workspace(private_town.folder)
    found = five_safes(DatasetRegistry(workspace), "town", read_options(workspace.folder))
    assert "differentially private" in answer(found, "What do all tables promise together?").answer
    refused = answer(found, "Which tables are refused?").answer
    assert "declared tables do not contain, unless an account with a share pays" in refused
    assert "variables beside geography" not in refused
    assert "may spend epsilon 9 in its lifetime" in answer(found, "What is left of the budget?").answer


def test_markdown_and_html_have_every_question_and_room_for_answers(found):
    markdown, html = found.as_markdown(), found.as_html()
    for safe in found.safes:
        for item in safe.items:
            assert item.question in markdown
            assert item.question in html.replace("&#x27;", "'")
    assert markdown.count("- [ ]") == markdown.count("- Answer:") == found.open_items
    assert html.count('class="answer"') == found.open_items
    assert html.count(NOTICE) == 2
    assert found.as_json()["open"] == found.open_items


def test_it_holds_no_counts(found):
    assert "3000" not in found.as_markdown()
    assert "3,000" not in found.as_markdown()
