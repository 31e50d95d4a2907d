"""A village with numbered ages, two sexes, an impossible combination, and four areas of which the shapes are known."""

import json
import re
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

import discreet
from discreet.inference.table_view import add_picture
from discreet.model.view import Picture
from discreet.pictures.chart_data import chart_data
from discreet.pictures.charts import draw
from discreet.workspace.versions.load_version import load_dataset

AGES = ["0-4", "5-9", "10-14", "15-19", "20+"]
#: West to east, then from south to north.
AREAS = ["SW", "SE", "NW", "NE"]
HOSTILE = ["<script>alert(1)</script>", "nul \0 bell \a", "\u202eturned", "]]>&quot;"]
WORDS = ", ".join(f'{{ code = "{n}", label = {json.dumps(text)} }}' for n, text in enumerate(HOSTILE))

VILLAGE = f"""
id = "village"
label = "Village"
source = "Nobody"
unit = "persons"
id_column = "person"
[[variable]]
name = "age"
label = "Age"
categories = {json.dumps(AGES)}
[[variable]]
name = "sex"
label = "Sex"
categories = [{{ code = "1", label = "Male" }}, {{ code = "2", label = "Female" }}]
[[variable]]
name = "job"
label = "Job"
categories = ["none", "farm", "office"]
[[variable]]
name = "region"
label = "Region"
categories = ["S", "N"]
[[variable]]
name = "area"
label = "Area"
boundaries = "area.geojson"
categories = [{", ".join(f'{{ code = "{a}", label = "{a} side", parent = "{a[0]}" }}' for a in AREAS)}]
[[variable]]
name = "word"
label = "<b>Word</b>"
categories = [{WORDS}]
[[hierarchy]]
name = "place"
levels = ["region", "area"]
geography = true
[[structural_zero]]
label = "Small children do not work"
where = {{ age = ["0-4"], job = ["farm", "office"] }}
"""


def square(x, y):
    """A square of half a degree."""
    return [[x, y], [x + 0.5, y], [x + 0.5, y + 0.5], [x, y + 0.5], [x, y]]


def squares():
    """The boundaries of the areas."""
    places = {"SW": (0, 50), "SE": (0.5, 50), "NW": (0, 50.5), "NE": (0.5, 50.5)}
    features = [
        {
            "type": "Feature",
            "properties": {"code": code},
            "geometry": {"type": "Polygon", "coordinates": [square(*at)]},
        }
        for code, at in places.items()
    ]
    return {"type": "FeatureCollection", "features": features}


def villagers(count=900):
    random = np.random.default_rng(11)
    age = random.choice(AGES, count, p=[0.15, 0.2, 0.25, 0.3, 0.1])
    area = random.choice(AREAS, count, p=[0.1, 0.2, 0.3, 0.4])
    return pd.DataFrame(
        {
            "person": np.arange(count),
            "age": age,
            "sex": random.choice(["1", "2"], count, p=[0.4, 0.6]),
            "job": np.where(age == "0-4", "none", random.choice(["none", "farm", "office"], count)),
            "region": [each[0] for each in area],
            "area": area,
            "word": random.choice(list(map(str, range(len(HOSTILE)))), count),
        }
    )


@pytest.fixture(scope="session")
def village(tmp_path_factory):
    """The village's tables: `village(rows=...)` is a release."""
    folder = tmp_path_factory.mktemp("village")
    (folder / "area.geojson").write_text(json.dumps(squares()), "utf-8")
    load_dataset(folder / "w", VILLAGE, villagers(), beside=folder)
    with discreet.open(folder / "w") as catalogue:
        yield lambda **asked: catalogue.table("village", **asked).release


@pytest.fixture(scope="session")
def see():
    """A release as a chart sees it."""
    return lambda release, chart="", **how: chart_data(add_picture(release, Picture(chart, **how)))


@pytest.fixture(scope="session")
def svg(see):
    """The picture of a release."""
    return lambda release, chart="", **how: draw(see(release, chart, **how))


@pytest.fixture(scope="session")
def hidden():
    """A release in which one cell is withheld."""

    def without(release, *place):
        status = release.status.copy()
        status[place] = 1
        return replace(release, status=status)

    return without


@pytest.fixture(scope="session")
def widths():
    """The length of every bar of a picture, by its cell: bars are drawn as paths "Mx,yhWIDTH..."."""

    def read(picture):
        bars = re.findall(r'<path [^>]*data-cell="([^"]+)"[^>]* d="M([-\d.]+),[-\d.]+h([-\d.]+)', picture)
        return {cell: float(width) for cell, _, width in bars}

    return read
