"""Citations, provenance, parts of refusals, and the list of attacks."""

from pathlib import Path

from discreet.model.messages.sentences import RED_TEAM, at_level, cell_count, citation, or_coarser, provenance
from discreet_studies.attacks.report import HEADLINES
from discreet_studies.commands.attack import attack


def test_the_mandatory_note_comes_first_after_the_title(town_release):
    lines = provenance(town_release)
    assert lines[:2] == [("title", town_release.title), ("note", town_release.notes[0])]
    assert ("digest", town_release.digest) in lines
    assert [text for name, text in lines if name == "promise"] == list(town_release.promise)
    assert all(text for _, text in lines)


def test_a_citation_names_version_and_address_or_query(town_release):
    cited = citation(town_release)
    version = f"A town, version 1 ({town_release.digest[:8]})"
    assert cited.startswith(f"{town_release.title}. {version}. Invented. ")
    assert cited.endswith(f"Query: {town_release.request.permalink}")
    assert citation(town_release, "https://x.example/t").endswith("Invented. https://x.example/t")


def test_a_coarser_level_is_named_and_a_number_that_cannot_be_read_is_rounded(town_release):
    assert (cell_count(10**15 - 1), cell_count(10**15)) == ("999,999,999,999,999", "about 10^15")
    assert or_coarser(town_release.dataset, None) == at_level(None) == ""
    assert 'use "region" in place of "area"' in or_coarser(town_release.dataset, "area")
    assert or_coarser(town_release.dataset, "region") == ", or leave the geography out"
    assert at_level("area") == ' at "area" or below'


METHODS = Path(__file__).parents[3] / "docs" / "methods"


def test_every_attack_is_listed_told_and_documented():
    commands = {command.name or command.callback.__name__ for command in attack.registered_commands}
    assert commands == {each.name for each in RED_TEAM} == set(HEADLINES) - {"withheld-rules"}
    assert all((METHODS / f"attack-{each.name}.md").is_file() for each in RED_TEAM)
    assert RED_TEAM[0].command == "discreet attack bob --keep"
