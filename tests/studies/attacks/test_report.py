"""What an attack found, in sentences: a failure is said as plainly as a success."""

import pytest

from discreet_studies.attacks.report import SHOWS, headlines
from discreet_studies.commands.attack import attack
from discreet_studies.pictures.attacks import PICTURES


def test_a_study_of_versions_is_told_for_each_protection_and_for_collected_corrections():
    result = {
        "protection": "keep-keys",
        "curve": [{"all_right": 0.1}, {"all_right": 0.25}],
        "error": {"one_version": 1.5, "both_versions": 1.2},
    }
    study = {"attack": "versions", "targets": 20, "results": [result], "baseline": None}
    first, second = headlines(study | {"collected": [{"removed": 2, "success": 0.4}]})
    assert first.startswith("keep-keys: all attributes of 25% of 20 people; typical error of a count 1.50")
    assert second == "keep-keys, 2 people removed a workplace: 40% of the attributes of one of them."


@pytest.mark.parametrize(("within", "ratio"), [(True, 0.97), (False, 0.42)])
def test_withheld_areas_that_come_back_are_said_to(within, ratio):
    curves = {"shares": [{"ratio": 1.0}], "fitted": [{"ratio": ratio}]}
    study = {"attack": "withheld", "limit": 0.9, "results": [{"within_limit": within, "curves": curves}]}
    (told,) = headlines(study)
    assert ("stay withheld" if within else "come back") in told
    assert f"at least {ratio:.2f} of" in told


def test_every_attack_is_told_and_drawn():
    commands = {command.name or command.callback.__name__ for command in attack.registered_commands}
    assert (
        commands == set(SHOWS) - {"withheld-rules"} == set(PICTURES)
    )  # a study of `withheld`, without a picture
