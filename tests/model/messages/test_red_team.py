"""The list of attacks is that of the commands, the sentences and the pages: none can be forgotten."""

from pathlib import Path

from discreet.cli.commands.attack import attack
from discreet.model.messages.red_team import RED_TEAM
from discreet_studies.attacks.report import HEADLINES

METHODS = Path(__file__).parents[2] / "docs" / "methods"


def test_every_attack_is_listed_told_and_documented():
    commands = {command.name or command.callback.__name__ for command in attack.registered_commands}
    assert commands == {each.name for each in RED_TEAM} == set(HEADLINES)
    assert all((METHODS / f"attack-{each.name}.md").is_file() for each in RED_TEAM)
    assert RED_TEAM[0].command == "discreet attack bob --keep"
