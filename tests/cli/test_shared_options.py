"""Shell completion, by the protocol that the shells speak: words in, one proposal a line.

Options that several commands share.

The options of a table are declared once, and every command that asks for one has them all.
"""

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


@pytest.mark.slow
def test_datasets_and_variables_of_the_workspace_are_completed(complete, folder):
    there = {"DISCREET_WORKSPACE": str(folder)}
    assert complete("discreet table to", **there) == ["town"]
    assert complete("discreet table to", DISCREET_WORKSPACE=str(folder.parent)) == []
    assert complete("discreet table town --rows a", **there) == ["area", "age"]
    assert complete("discreet table town --rows sex,", **there) == [
        f"sex,{name}" for name in ("region", "area", "age", "job")
    ]


OPTIONS = {"--rows", "--columns", "--layers", "--filter", "--group", "--levels"}


@pytest.mark.parametrize("name", ["table", "interval", "compare", "assess"])
def test_every_command_that_asks_for_a_table_has_all_of_them(run_here, name):
    shown = run_here(name, "--help").stdout
    assert all(option in shown for option in OPTIONS)
