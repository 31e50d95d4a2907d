"""PX: keywords in order, the mandatory note, and text that PX cannot hold."""

import re

import pytest
from pyaxis import pyaxis

from discreet.formats import format_by_name
from discreet.formats.writers.px import unique_texts

from .readers import px_keywords
from .test_formats import decorated


def keywords_of(release):
    return px_keywords(format_by_name("px").write(release).decode())


def test_the_mandatory_keywords_stand_in_their_order(release):
    found = [key for key, _ in keywords_of(release)]
    mandatory = ["DECIMALS", "MATRIX", "SUBJECT-CODE", "SUBJECT-AREA", "TITLE", "CONTENTS", "UNITS", "STUB"]
    mandatory += ["HEADING", 'VALUES("Age")', 'CODES("Age")', "NOTEX", "DATA"]
    places = [found.index(key) for key in mandatory]
    assert places == sorted(places)
    assert found[-1] == "DATA"
    assert len(set(found)) == len(found)


def test_the_note_is_mandatory_and_sums_are_not_allowed(release):
    """Wrong alternative: NOTE, which programs may leave out."""
    told = dict(keywords_of(release))
    assert told["NOTEX"] == [re.sub(r"\s+", " ", release.notes[0]).replace('"', "'")]
    assert told["AGGREGALLOWED"] == "NO"
    assert release.digest in told["NOTE"][0]
    assert told['CODES("Job")'] == ["0", "1", "2", "9", "_T"]


def test_withheld_and_impossible_cells_have_symbols_of_their_own(release):
    data = dict(keywords_of(decorated(release)))["DATA"].split("\n")
    assert set(data[1].split()) == {'"."'}
    assert set(data[2].split()) == {'".."'}
    assert data[3].split()[-1] == "1", "the cell is unreliable"


def test_no_line_is_longer_than_the_format_allows(release, hostile):
    for each in (release, hostile):
        assert max(map(len, format_by_name("px").write(each).decode().split("\n"))) <= 256


@pytest.mark.parametrize("texts", [['a"', "a'"], ["x\ny", "x y"], ["b", "b", "b (2)"]])
def test_texts_that_become_alike_stay_apart(texts):
    assert len(set(unique_texts(texts))) == len(texts)


def test_pyaxis_reads_it(release, tmp_path):
    """A reader of another house: labels by variable, and NaN where a symbol stands for a number."""
    file = tmp_path / "table.px"
    file.write_bytes(format_by_name("px").write(release))
    frame = pyaxis.parse(uri=str(file), encoding="utf-8")["DATA"]
    assert frame["DATA"].isna().tolist() == release.missing.ravel().tolist()
    assert frame["DATA"].dropna().astype(int).tolist() == release.values[~release.missing].tolist()
    assert frame["Sex"].tolist()[:3] == list(release.dimensions[2].labels)
