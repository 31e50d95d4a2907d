"""Every attack can be run, told and drawn."""

from discreet.cli.commands.attack import attack
from discreet_studies.attacks.report import SHOWS, show_study
from discreet_studies.pictures.attacks import PICTURES


def test_every_attack_is_told_and_drawn():
    commands = {command.name or command.callback.__name__ for command in attack.registered_commands}
    assert (
        commands == set(SHOWS) - {"withheld-rules"} == set(PICTURES)
    )  # a study of `withheld`, without a picture


def test_a_study_is_told_in_a_table_and_sentences(capsys):
    point = {"tables": 1, "success": 0.5, "low": 0.4, "high": 0.6, "all_right": 0.25}
    result = {
        "protection": "keep-keys",
        "curve": [point],
        "error": {"one_version": 1.5, "both_versions": 1.2},
    }
    study = {"attack": "versions", "prior": 0.3, "targets": 20, "results": [result], "baseline": None}
    show_study(study | {"collected": [{"removed": 2, "success": 0.4}]})
    told = capsys.readouterr().out
    assert "50%" in told
    assert "all attributes of 25% of 20 people" in told
    assert "2 people removed a workplace: 40%" in told
