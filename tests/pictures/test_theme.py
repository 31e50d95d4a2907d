"""Every chart has a title and the theme; colours can be told apart by everybody."""

import re
from itertools import combinations

import numpy as np
import pytest

from discreet.pictures.library import alt
from discreet.pictures.theme import CONFIG, PALETTES, apply_theme
from discreet.web.templating import STATIC


def test_a_chart_has_its_title_and_a_subtitle_only_where_there_is_one():
    plain = alt.Chart(alt.InlineData(values=[{"x": 1}])).mark_point().encode(x="x:Q")
    assert apply_theme(plain, "Title").to_dict()["title"] == {"text": "Title"}
    both = apply_theme(plain, "Title", ["one", "two"]).to_dict()
    assert both["title"] == {"text": "Title", "subtitle": ["one", "two"]}
    assert both["config"]["background"] == CONFIG["background"] == "white"


#: What full vision and the three kinds of colour blindness see of linear light (Machado et al. 2009, severity 1).
VISIONS = {
    "full": np.eye(3),
    "protanopia": [
        [0.152286, 1.052583, -0.204868],
        [0.114503, 0.786281, 0.099216],
        [-0.003882, -0.048116, 1.051998],
    ],
    "deuteranopia": [
        [0.367322, 0.860646, -0.227968],
        [0.280085, 0.672501, 0.047413],
        [-0.011820, 0.042940, 0.968881],
    ],
    "tritanopia": [
        [1.255528, -0.076749, -0.178779],
        [-0.078411, 0.930809, 0.147602],
        [0.004733, 0.691367, 0.303900],
    ],
}
TO_XYZ = np.array([[0.4124, 0.3576, 0.1805], [0.2126, 0.7152, 0.0722], [0.0193, 0.1192, 0.9505]])


def light_of(colour):
    """The linear light of a colour."""
    colour = "#FFFFFF" if colour == "white" else colour
    parts = np.array([int(colour[place : place + 2], 16) for place in (1, 3, 5)]) / 255
    return np.where(parts <= 0.04045, parts / 12.92, ((parts + 0.055) / 1.055) ** 2.4)


def contrast(one, other):
    """The contrast of WCAG 2.2."""
    low, high = sorted(float(TO_XYZ[1] @ light_of(colour)) for colour in (one, other))
    return (high + 0.05) / (low + 0.05)


def least_difference(colours):
    """The smallest difference of two colours in CIE 1976, for whoever sees them worst."""
    found = []
    for vision in VISIONS.values():
        seen = [_lab(np.clip(np.array(vision) @ light_of(colour), 0, 1)) for colour in colours]
        found += [float(np.linalg.norm(one - other)) for one, other in combinations(seen, 2)]
    return min(found)


def _lab(light):
    part = TO_XYZ @ light / (0.9505, 1, 1.089)
    root = np.where(part > 0.008856, np.cbrt(part), 7.787 * part + 16 / 116)
    return np.array([116 * root[1] - 16, 500 * (root[0] - root[1]), 200 * (root[1] - root[2])])


@pytest.mark.parametrize("look", PALETTES.values(), ids=PALETTES)
def test_everybody_can_tell_the_series_apart_and_see_them(look):
    """Wrong alternative: the colours of a well-known program, two of which are one for many men."""
    assert least_difference(look.series) >= 20
    assert min(contrast(colour, look.ground) for colour in look.series) >= 3
    assert min(contrast(colour, look.ground) for colour in (look.ink, look.soft)) >= 4.5
    assert least_difference(["#1F77B4", "#FF7F0E", "#2CA02C", "#D62728", "#9467BD", "#8C564B"]) < 20


def test_the_stylesheet_turns_every_light_colour_to_its_dark_one():
    """Wrong alternative: a colour that was changed here and not there."""
    style = (STATIC / "css" / "charts.css").read_text("utf-8")
    rule = r'\[(?:fill|stroke)="(#[0-9A-F]{6})"\] \{ \w+: light-dark\(#[0-9a-f]{6}, (#[0-9a-f]{6})\)'
    turned = dict(re.findall(rule, style))
    light, dark = PALETTES["light"], PALETTES["dark"]
    lines = ("grid", "domain", "absent")
    pairs = [*zip(light.series, dark.series, strict=True)]
    pairs += [(getattr(light, name), getattr(dark, name)) for name in lines]
    assert turned == {one: other.lower() for one, other in pairs}
    assert all(f'[fill="{colour}"]' in style for colour in (light.ink, light.soft))
