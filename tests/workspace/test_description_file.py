"""What is wrong with a description names the file that was read; other errors are left as they are.

Long lists of categories stand in a file, and are part of the description all the same.
"""

from pathlib import Path

import pytest

from discreet.errors import BadData, BadDescription, NotFound
from discreet.model.description.dataset_toml import parse_dataset
from discreet.workspace.description_file import (
    insert_code_lists,
    name_description_in_errors,
    read_description,
)


@pytest.mark.parametrize("error", [BadDescription, BadData])
def test_the_file_is_named_in_message_and_advice(error):
    with pytest.raises(error) as raised, name_description_in_errors(Path("far/town.toml")):
        raise error("dataset.toml lacks id.", "Add it to dataset.toml.")
    assert (raised.value.message, raised.value.advice) == ("town.toml lacks id.", "Add it to town.toml.")


def test_an_error_that_is_not_about_the_description_keeps_its_words():
    with pytest.raises(NotFound, match=r"no dataset\.toml"), name_description_in_errors(Path("town.toml")):
        raise NotFound("There is no dataset.toml.", "Check the path.")


def test_a_description_may_have_a_byte_order_mark_and_must_be_utf_8(tmp_path):
    (tmp_path / "a.toml").write_bytes(b"\xef\xbb\xbfid = 'a'")
    assert read_description(tmp_path / "a.toml") == "id = 'a'"
    (tmp_path / "b.toml").write_bytes(b"\xff\xfei\x00d\x00")
    with pytest.raises(BadDescription, match=r"b\.toml is not a text file in UTF-8"):
        read_description(tmp_path / "b.toml")
    with pytest.raises(NotFound, match="There is no file"):
        read_description(tmp_path / "c.toml")


TEXT = 'id = "x"\nlabel = "X"\nid_column = "id"\n[[variable]]\nname = "area"\ncategories_file = "areas.csv"  # long\n'


def test_the_categories_of_the_file_are_those_of_the_variable(tmp_path):
    (tmp_path / "areas.csv").write_text('code,label\n01,"Nord ""A"", B"\n02,\n', "utf-8-sig")
    variable = parse_dataset(insert_code_lists(TEXT, tmp_path)).variables[0]
    assert [(c.code, c.label) for c in variable.categories] == [("01", 'Nord "A", B'), ("02", "02")]


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"id,name\n1,x\n", "has the columns id, name"),
        (b"code,label\n1\n", "Line 2"),
        (b"code\n\xff\n", "no CSV file"),
    ],
)
def test_a_file_that_is_no_list_is_refused(content, words, tmp_path):
    (tmp_path / "areas.csv").write_bytes(content)
    with pytest.raises(BadDescription, match=words):
        insert_code_lists(TEXT, tmp_path)


def test_a_missing_file_is_named_and_a_text_without_folder_is_refused(tmp_path):
    with pytest.raises(NotFound, match="areas"):
        insert_code_lists(TEXT, tmp_path)
    with pytest.raises(BadDescription, match="Give the description as a file"):
        parse_dataset(TEXT)
