"""A release of the town, and one whose labels are hostile, for every format."""

import json

import pytest

from discreet.model.request import request_from_text
from discreet.release.pipeline import release_table
from discreet.workspace.versions.load_version import load_dataset
from discreet.workspace.workspace import Workspace

HOSTILE = {
    "quote": 'say "hi", then',
    "script": "<script>alert(1)</script>",
    "formula": "=cmd|' /C calc'!A0",
    "plus": "+1+1",
    "at": "@SUM(A1)",
    "nul": "nul\0nul",
    "bidi": "‮evil‬",
    "newline": "two\nlines",
    "sql": "'; DROP TABLE records; --",
    "empty-like": "NULL",
}


@pytest.fixture(scope="module")
def release(town_release):
    return town_release


@pytest.fixture(scope="module")
def hostile(tmp_path_factory):
    """A table whose codes and labels attack whatever shows them."""
    folder = tmp_path_factory.mktemp("hostile")
    listed = ",".join(
        f"{{ code = {json.dumps(code)}, label = {json.dumps(code)} }}" for code in HOSTILE.values()
    )
    top = 'id = "hostile"\nlabel = "Hostile"\nid_column = "id"\n'
    text = f'{top}[[variable]]\nname = "word"\nlabel = "=W<b>"\ncategories = [{listed}]\n'
    import pandas as pd

    records = pd.DataFrame({"id": range(100), "word": list(HOSTILE.values()) * 10})
    load_dataset(folder, text, records)
    return release_table(Workspace(folder).stored("hostile"), request_from_text("hostile", rows=["word"]))
