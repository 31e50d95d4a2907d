"""The page about the question language: each example means what stands beside it, each error is as printed."""

import re
from pathlib import Path

import pytest

from discreet.errors import BadRequest
from discreet.model.description.dataset_toml import parse_dataset
from discreet.model.request import canonical, request_from_text
from discreet.model.selection import LONG, LONGEST_NAME, MOST_LOOKED_AT, MOST_READ
from discreet.workspace.demo import census_description

PAGE = (Path(__file__).parents[2] / "docs" / "reference" / "question-language.md").read_text("utf-8")
SAME = re.findall(r"^\| `(filter|group|levels)` \| `(.+?)` \| `(.+?)` \|$", PAGE, flags=re.MULTILINE)
ERRORS = re.findall(r"^\| `([a-z]+!?=.+?)` \| (.+?) \|$", PAGE, flags=re.MULTILINE)


@pytest.fixture(scope="module")
def census():
    return parse_dataset(census_description(400_000))


def ask(dataset, parameter, text):
    parts = {"filter": "filters", "group": "groups", "levels": "levels"}
    rows = ["occupation"] if parameter == "filter" else [text.split("=")[0]]
    return canonical(request_from_text("census", rows=rows, **{parts[parameter]: [text]}), dataset)


def test_the_page_has_examples_of_all_that_can_be_written():
    assert {parameter for parameter, _, _ in SAME} == {"filter", "group", "levels"}
    for notation in ("..", "!=", "*", "?", "region:", "\\,", "Europe:"):
        assert any(notation in written for _, written, _ in SAME), notation
    assert len(ERRORS) == 6


@pytest.mark.parametrize(("parameter", "written", "codes"), SAME)
def test_an_example_asks_what_stands_beside_it(census, parameter, written, codes):
    asked = ask(census, parameter, written)
    assert asked == ask(census, parameter, codes)
    assert asked.filters or asked.groups or asked.names or asked.levels


@pytest.mark.parametrize(("written", "said"), ERRORS)
def test_an_error_is_as_printed(census, written, said):
    with pytest.raises(BadRequest) as refused:
        ask(census, "filter", written)
    assert str(refused.value).startswith(said)


def test_the_limits_are_those_of_the_program():
    assert f"at most {MOST_READ} ranges" in PAGE
    assert f"may look at {MOST_LOOKED_AT:,} categories" in PAGE
    assert f"more than {MOST_LOOKED_AT // MOST_READ:,} categories" in PAGE
    assert f"at most {LONGEST_NAME} characters" in PAGE
    assert f"more than {LONG} codes" in PAGE
