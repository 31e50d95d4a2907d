"""Long lists of categories stand in a file, and are part of the description all the same."""

import pytest

from discreet.errors import BadDescription, NotFound
from discreet.model.dataset_toml import parse_dataset
from discreet.workspace.code_list_files import with_code_lists

TEXT = 'id = "x"\nlabel = "X"\nid_column = "id"\n[[variable]]\nname = "area"\ncategories_file = "areas.csv"  # long\n'


def test_the_categories_of_the_file_are_those_of_the_variable(tmp_path):
    (tmp_path / "areas.csv").write_text('code,label\n01,"Nord ""A"", B"\n02,\n', "utf-8-sig")
    variable = parse_dataset(with_code_lists(TEXT, tmp_path)).variables[0]
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
        with_code_lists(TEXT, tmp_path)


def test_a_missing_file_is_named_and_a_text_without_folder_is_refused(tmp_path):
    with pytest.raises(NotFound, match="areas"):
        with_code_lists(TEXT, tmp_path)
    with pytest.raises(BadDescription, match="Give the description as a file"):
        parse_dataset(TEXT)
