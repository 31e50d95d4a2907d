"""Data: the question of a key, the format that a client wants, and advice where a rule refuses."""

import csv
import io

import pytest

from discreet.answer.doors import Doors
from discreet.errors import TooManyVariables
from discreet.server.sdmx.data import document, negotiated, read_query
from discreet.server.sdmx.flows import open_flow


@pytest.mark.parametrize(
    ("accept", "name"),
    [
        ("", "sdmx-json"),
        ("*/*", "sdmx-json"),
        ("application/vnd.sdmx.data+csv;version=2.0.0", "sdmx-csv"),
        ("text/csv", "sdmx-csv"),
        ("application/json;q=0.5, text/csv;q=0.4", "sdmx-json"),
        ("application/json;q=0.5, text/csv", "sdmx-csv"),
        ("text/csv;q=0, */*;q=0.1", "sdmx-json"),
        ("application/vnd.sdmx.structurespecificdata+xml;version=2.1", "sdmx-json"),
        ("text/csv;q=high", "sdmx-csv"),
    ],
)
def test_accept_chooses_the_format(accept, name):
    assert negotiated(accept).name == name


def test_a_key_shows_cells_of_the_whole_table(small_workspace):
    """Wrong alternative: a filter on sex, whose total counts men only."""
    doors = Doors(small_workspace)
    door, flow = open_flow(doors, "people-sex-age")
    query = read_query(door, flow, "1+_T.")
    whole = door.answer(query.question)
    rows = list(
        csv.DictReader(io.StringIO(b"".join(document(whole, query, negotiated("text/csv"))).decode()))
    )
    assert {row["sex"] for row in rows} == {"1", "_T"}
    ages = {"65$2B": "65+"}
    for row in rows:
        assert int(row["OBS_VALUE"]) == whole.value(row["sex"], ages.get(row["age"], row["age"]))
    total = next(row for row in rows if row["sex"] == row["age"] == "_T")
    assert int(total["OBS_VALUE"]) > 500, "everybody, not men"


def test_a_refusal_says_what_to_write_in_sdmx(small_workspace):
    door, flow = open_flow(Doors(small_workspace), "people")
    with pytest.raises(TooManyVariables) as refused:
        read_query(door, flow, "..1...")
    assert "Write _T in the key" in refused.value.advice
    assert '"people-sex-age"' in refused.value.advice
