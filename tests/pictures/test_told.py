"""A picture in words: the largest, the smallest, the total, and what is missing."""

import numpy as np

from discreet.pictures.told import words_of


def test_the_words_name_the_largest_the_smallest_and_the_total(village, see, hidden):
    """Wrong alternative: a withheld number that is the smallest of all."""
    release = village(rows="area")
    words = words_of("Bars", see(hidden(release, 0)))
    assert words.startswith("Bars: Persons by area. 3 numbers are drawn.")
    shown = release.values[1:4]
    largest, smallest = (("SE", "NW", "NE")[int(pick(shown))] for pick in (np.argmax, np.argmin))
    assert f"The largest is {largest} side: {shown.max()}" in words
    assert f"The smallest is {smallest} side: {shown.min()}" in words
    assert f"The total is {release.values[-1]}." in words
    assert words.endswith("1 has no number.")


def test_a_reader_hears_it_in_another_language(village, see):
    from discreet.pictures.shown import Shown

    what = see(village(rows="area"))
    loud = Shown(what.release, what.axes, what.fixed, str.upper)
    assert "THE LARGEST IS" in words_of("Bars", loud)
