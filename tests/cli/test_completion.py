"""Shell completion, by the protocol that the shells speak: words in, one proposal a line."""

import pytest


@pytest.fixture
def complete(run_process):
    """What bash is offered for the last word of a line."""

    def offered(line, **environment):
        words = line.split(" ")
        protocol = {
            "_DISCREET_COMPLETE": "complete_bash",
            "COMP_WORDS": line,
            "COMP_CWORD": str(len(words) - 1),
        }
        done = run_process(**protocol, **environment)
        assert done.stderr == ""
        return done.stdout.split()

    return offered


@pytest.mark.slow
def test_commands_are_completed(complete):
    assert complete("discreet t") == ["table", "try", "test"]
    assert complete("discreet att") == ["attack"]
    assert complete("discreet attack b") == ["bob"]


def test_options_are_completed(complete):
    assert complete("discreet table --co") == ["--columns"]
    assert complete("discreet --ver") == ["--version"]


@pytest.mark.slow
def test_datasets_and_variables_of_the_workspace_are_completed(complete, folder):
    there = {"DISCREET_WORKSPACE": str(folder)}
    assert complete("discreet table to", **there) == ["town"]
    assert complete("discreet table town --rows a", **there) == ["area", "age"]
    assert complete("discreet table town --rows sex,", **there) == [
        f"sex,{name}" for name in ("region", "area", "age", "job")
    ]


def test_without_a_workspace_nothing_is_offered_and_nothing_is_said(complete, tmp_path):
    assert complete("discreet table to", DISCREET_WORKSPACE=str(tmp_path)) == []
    assert complete("discreet table town --rows a", DISCREET_WORKSPACE=str(tmp_path)) == []


def test_the_script_for_a_shell_is_shown(run_process):
    done = run_process("--show-completion", "bash", _TYPER_COMPLETE_TEST_DISABLE_SHELL_DETECTION="1")
    assert done.returncode == 0
    assert "_DISCREET_COMPLETE=complete_bash" in done.stdout
