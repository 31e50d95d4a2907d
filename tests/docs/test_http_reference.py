"""The page about the HTTP API names what the API has."""

import re
from pathlib import Path

import pytest

from discreet.formats import formats
from discreet.web.api.routes import API_PARAMETERS
from discreet.web.security import HEADERS, MAX_BODY_BYTES, MAX_QUERY_BYTES

PAGE = (Path(__file__).parents[2] / "docs" / "reference" / "http.md").read_text("utf-8")


@pytest.mark.parametrize("name", [*API_PARAMETERS, *(form.name for form in formats())])
def test_every_parameter_and_format_is_documented(name):
    assert f"`{name}`" in PAGE


@pytest.mark.parametrize("header", HEADERS)
def test_every_security_header_is_documented(header):
    assert header in PAGE.lower()


def test_the_limits_of_a_query_and_a_body_are_documented():
    assert f"{MAX_QUERY_BYTES:,} bytes" in PAGE
    assert f"{MAX_BODY_BYTES:,} bytes" in PAGE


def test_every_documented_code_exists_with_its_status():
    from discreet.errors import all_errors

    statuses = {kind.code: kind.http_status for kind in all_errors()}
    table = re.findall(r"^\| (\d{3}) \| (.+) \|$", PAGE, flags=re.MULTILINE)
    assert len(table) == 13
    for status, words in table:
        for code in re.findall(r"`([a-z-]+)`", words):
            assert statuses[code] == int(status)
