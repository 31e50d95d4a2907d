"""Intervals of keys: read in the order of their lines, written in exact decimals, and never ambiguous."""

import pytest

from discreet.errors import BadNoiseTable
from discreet.noise.files.key_intervals import is_header, read_intervals, write_intervals
from discreet.noise.table import NoiseRow, NoiseTable

TABLE = NoiseTable(1000, (NoiseRow((0,), (1000,)), NoiseRow((-1, 0, 1), (250, 750, 1000))))


def text_of(rows):
    return "\n".join(["i;j;p;v;lb;ub", *(";".join(map(str, row)) for row in rows)])


def read(text):
    return read_intervals(text, biased=False, parameters={})


def test_a_table_that_is_written_and_read_has_the_same_laws():
    back = read(text_of(write_intervals(TABLE)))
    assert [row.probabilities() for row in back.rows] == [row.probabilities() for row in TABLE.rows]


def test_a_count_of_zero_without_a_line_stays_zero():
    rows = [row for row in write_intervals(TABLE) if row[0] == 1]
    assert read(text_of(rows)).rows[0].values == (0,)


def test_columns_are_known_by_their_names():
    assert is_header(("i", "v", "ub", "more"))
    assert not is_header(("0", "1", "2"))


@pytest.mark.parametrize(
    ("rows", "words"),
    [
        ([(1, 0, "0.5", -1, "0.0", "0.5"), (1, 2, "0.4", 1, "0.6", "1.0")], "leaves a gap"),
        ([(1, 0, "0.5", -1, "0.0", "0.5"), (1, 2, "0.6", 1, "0.4", "1.0")], "overlaps"),
        ([(1, 0, "0.5", -1, "0.0", "0.5")], "does not add up to 1"),
        ([(1, 1, "1.0", -1, "0.0", "1.0")], "j must be i . v"),
        ([(2, 2, "1.0", 0, "0.0", "1.0")], "no row for count 1"),
        ([(0, 0, "1.0", 0, "0.0", "1.0")], "no row for a count above 0"),
        ([(1, 1, "0.9", 0, "0.0", "1.0")], "says p = 0.9"),
    ],
)
def test_what_could_be_looked_up_in_two_ways_is_refused(rows, words):
    with pytest.raises(BadNoiseTable, match=words):
        read(text_of(rows))


def test_a_modulus_without_exact_decimals_is_not_written():
    with pytest.raises(BadNoiseTable, match="no exact decimals"):
        list(write_intervals(NoiseTable(3, (NoiseRow((0,), (3,)),))))
