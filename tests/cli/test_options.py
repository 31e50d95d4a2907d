"""Options that several commands share."""

from pathlib import Path

import pytest

from discreet.cli.options import chosen_picture, open_workspace
from discreet.errors import BadRequest


def test_a_picture_needs_a_file_to_be_drawn_into():
    assert chosen_picture(None, None, "law") == "law"
    assert chosen_picture("curve", Path("x.svg"), "law") == "curve"
    with pytest.raises(BadRequest, match="--plot"):
        chosen_picture("curve", None, "law")


def test_a_workspace_is_opened_with_what_the_command_was_given(town_workspace):
    doors, options = open_workspace(town_workspace.folder, port=9, threads=None)
    assert doors.ids() == ["town"]
    assert (options.port, options.host) == (9, "127.0.0.1")
    doors.close()
