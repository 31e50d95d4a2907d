"""Every chart has a title and the house look; colours can be told apart by everybody."""

from itertools import pairwise

from discreet.pictures.library import alt
from discreet.pictures.theme import BLUE, CONFIG, GREEN, ORANGE, SKY, themed


def test_a_chart_has_its_title_and_a_subtitle_only_where_there_is_one():
    plain = alt.Chart(alt.InlineData(values=[{"x": 1}])).mark_point().encode(x="x:Q")
    assert themed(plain, "Title").to_dict()["title"] == {"text": "Title"}
    both = themed(plain, "Title", ["one", "two"]).to_dict()
    assert both["title"] == {"text": "Title", "subtitle": ["one", "two"]}
    assert both["config"]["background"] == CONFIG["background"] == "white"


def test_colours_differ_in_lightness_too():
    def lightness(colour):
        red, green, blue = (int(colour[place : place + 2], 16) for place in (1, 3, 5))
        return 0.299 * red + 0.587 * green + 0.114 * blue

    shades = sorted(map(lightness, (BLUE, ORANGE, GREEN, SKY)))
    assert all(darker + 2 < lighter for darker, lighter in pairwise(shades))
