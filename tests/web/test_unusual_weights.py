"""Everything that a server answers of a survey is the same, wherever a person of unusual weight is among the records.

Two surveys have the same people, secret and counts; in one a person of area `a` has five mean weights, in the other one of
area `b`. The forms whose numbers have no personal weights must give the same bytes, in every interface.
"""

import os
import re
from contextlib import closing

import numpy as np
import pyarrow as pa
import pytest
from tests.web.conftest import client_of

from discreet.release.dataset_registry import open_registry
from discreet.workspace.versions.load_version import load_dataset

RECORDS = 320
API = "/api/datasets/s/table?rows=area&columns=sex&measure=weighted"
ASKED = (
    *(f"{API}&format={name}" for name in ("json", "csv", "px", "html", "sdmx-csv", "sdmx-json", "svg")),
    API.replace("/table", "/interval"),
    API.replace("/table", "/interval") + "&cell=area=a,sex=1&of=area=_T,sex=_T",
    "/api/datasets/s/methodology",
    "/datasets/s?rows=area&columns=sex&measure=weighted&show=chart",
    "/api/pxweb/v2/tables/s/data?valuecodes[area]=*&valuecodes[sex]=*&valuecodes[ContentsCode]=weighted*",
    "/api/sdmx/data/s-weighted-area-sex",
)


def description(form, design):
    """The unusual weight is 5 less what rounding takes."""
    text = 'id = "s"\nlabel = "S"\nid_column = "id"\nweight_column = "w"\nweight_decimals = 2\nunit = "persons"\n'
    for name, codes in (("area", ["a", "b", "c", "d"]), ("sex", ["1", "2"]), ("region", ["n", "m"])):
        text += f'[[variable]]\nname = "{name}"\ncategories = {codes}\n'.replace("'", '"')
    text += (
        f'[survey]\nform = "{form}"\nsample_size = {RECORDS}\npopulation_size = {100 * (RECORDS - 1) + 480}\n'
    )
    text += "largest_weight = 480\nrelative_variance = 0.044\n"
    if form == "public-strata":
        mean = (100 * (RECORDS // 2 - 1) + 480) / (RECORDS // 2)
        text += f'stratum = "region"\nstratum_weights = {{ n = {mean}, m = 100 }}\n'
    return text + design


def loaded(folder, area, form, design):
    """The survey with the unusual weight in an area, in the same region and of the same sex."""
    rng = np.random.default_rng(3)
    columns = {"area": rng.choice(["a", "b", "c", "d"], RECORDS), "sex": rng.choice(["1", "2"], RECORDS)}
    columns["region"] = np.repeat(["n", "m"], RECORDS // 2)
    inside = (columns["area"] == area) & (columns["sex"] == "1") & (columns["region"] == "n")
    weights = np.full(RECORDS, 100.0)
    weights[np.flatnonzero(inside)[0]] = 480.0
    folder.mkdir(mode=0o700)
    handle = os.open(folder / "secret", os.O_WRONLY | os.O_CREAT, 0o600)
    with os.fdopen(handle, "wb") as file:
        file.write(bytes(range(32)))
    load_dataset(
        folder, description(form, design), pa.table({"id": np.arange(RECORDS), **columns, "w": weights})
    )
    return folder


def answers(folder):
    """What a server answers, without the version and the time of the load."""
    with closing(open_registry(folder)) as registry:
        digest = registry.open("s").digest
    client = client_of(folder)
    found = {}
    for path in ASKED:
        response = client.get(path)
        assert response.status_code == 200, (path, response.text)
        text = re.sub('"\\r?\\n"', "", response.content.decode("utf-8", "replace"))  # long lines of PX
        for length in (len(digest), 16, 12, 8):
            text = text.replace(digest[:length], "VERSION")
        found[path] = re.sub(
            r"20\d\d-\d\d-\d\d[T ]\d\d:\d\d(:\d\d)?(\.\d+)?(Z|\+00:00)?|20\d{6} \d\d:\d\d", "TIME", text
        )
    return found


STRATA = 'strata = "region"\n'


@pytest.mark.slow
@pytest.mark.parametrize(
    ("form", "design"), [("average-weight", ""), ("average-weight", STRATA), ("public-strata", STRATA)]
)
def test_no_interface_says_where_a_person_of_unusual_weight_is(tmp_path, form, design):
    one, other = (answers(loaded(tmp_path / area, area, form, design)) for area in "ab")
    for path, text in one.items():
        assert text == other[path], path


@pytest.mark.slow
def test_the_errors_of_0_2_0_said_it_in_every_interface(tmp_path, errors_of_0_2_0):
    """The wrong alternative: errors that come from the weights of the people in a cell."""
    with errors_of_0_2_0():
        folders = [loaded(tmp_path / area, area, "average-weight", STRATA) for area in "ab"]
    one, other = map(answers, folders)
    assert {path for path, text in one.items() if text != other[path]} >= set(ASKED) - {
        "/api/datasets/s/methodology"
    }
