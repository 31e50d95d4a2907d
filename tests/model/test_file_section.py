import pytest

from discreet.errors import BadDescription
from discreet.model.file_section import FileOptions, file_options


@pytest.mark.parametrize(
    ("section", "words"),
    [
        ({"encodng": "utf-8"}, 'Did you mean "encoding"'),
        ({"encoding": "klingon"}, "There is no encoding"),
        ({"delimiter": ";;"}, "is not one character"),
        ({"decimal": "'"}, "decimal sign"),
        ({"table": 3}, "Put it in quotes"),
        ("file", "is not a section"),
    ],
)
def test_a_section_that_cannot_be_used_says_why(section, words):
    with pytest.raises(BadDescription, match=words):
        file_options(section)


def test_what_is_empty_is_not_given():
    assert FileOptions(delimiter=";").given() == {"delimiter": ";"}
