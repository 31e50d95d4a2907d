"""What is wrong with a description names the file that was read; other errors are left as they are."""

from pathlib import Path

import pytest

from discreet.errors import BadData, BadDescription, NotFound
from discreet.workspace.description_file import description_named


@pytest.mark.parametrize("error", [BadDescription, BadData])
def test_the_file_is_named_in_message_and_advice(error):
    with pytest.raises(error) as raised, description_named(Path("far/town.toml")):
        raise error("dataset.toml lacks id.", "Add it to dataset.toml.")
    assert (raised.value.message, raised.value.advice) == ("town.toml lacks id.", "Add it to town.toml.")


def test_an_error_that_is_not_about_the_description_keeps_its_words():
    with pytest.raises(NotFound, match=r"no dataset\.toml"), description_named(Path("town.toml")):
        raise NotFound("There is no dataset.toml.", "Check the path.")
