"""What is wrong with a description names the file that was read; other errors are left as they are."""

from pathlib import Path

import pytest

from discreet.errors import BadData, BadDescription, NotFound
from discreet.workspace.description_file import description_named, read_description


@pytest.mark.parametrize("error", [BadDescription, BadData])
def test_the_file_is_named_in_message_and_advice(error):
    with pytest.raises(error) as raised, description_named(Path("far/town.toml")):
        raise error("dataset.toml lacks id.", "Add it to dataset.toml.")
    assert (raised.value.message, raised.value.advice) == ("town.toml lacks id.", "Add it to town.toml.")


def test_an_error_that_is_not_about_the_description_keeps_its_words():
    with pytest.raises(NotFound, match=r"no dataset\.toml"), description_named(Path("town.toml")):
        raise NotFound("There is no dataset.toml.", "Check the path.")


def test_a_description_may_have_a_byte_order_mark_and_must_be_utf_8(tmp_path):
    (tmp_path / "a.toml").write_bytes(b"\xef\xbb\xbfid = 'a'")
    assert read_description(tmp_path / "a.toml") == "id = 'a'"
    (tmp_path / "b.toml").write_bytes(b"\xff\xfei\x00d\x00")
    with pytest.raises(BadDescription, match=r"b\.toml is not a text file in UTF-8"):
        read_description(tmp_path / "b.toml")
    with pytest.raises(NotFound, match="There is no file"):
        read_description(tmp_path / "c.toml")
