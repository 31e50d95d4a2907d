from __future__ import annotations

import numpy as np
import pytest

from discreet.errors import BadData, NotFound
from discreet.margins.contingency_table import ContingencyTable, paper_table, parse_table, read_table


def test_the_papers_tables_have_their_totals_and_zeros(papers, figures):
    tables = {name: table for name, (table, _) in papers.items()}
    assert tables["edwards"].total == figures["data.edwards.total_corrected"]
    assert (tables["edwards"].counts == 0).sum() == figures["data.edwards.zeros"]
    assert tables["czech"].total == figures["data.czech.total"]
    small = tables["czech"].counts
    assert ((small >= 1) & (small <= 5)).sum() == figures["data.czech.cells_1to5"]
    assert tables["rochdale"].total == figures["data.rochdale.total"]
    assert (tables["rochdale"].counts == 0).sum() == figures["data.rochdale.zeros"]
    assert tables["journey"].total == figures["data.journey.total"]
    assert (tables["journey"].counts == 0).sum() == figures["data.journey.zeros"]
    assert tables["edwards"].counts[0, 1, 1, 1, 1, 1] == 11


def test_unlisted_cells_are_zero_repeated_ones_add_up_and_numbers_are_in_order():
    table = parse_table(["age,sex,count", "10,f,3", "9,m,1", "10,f,4", ""], "x.csv")
    assert table.names == ("age", "sex")
    assert table.categories == (("9", "10"), ("f", "m"))
    assert table.counts.tolist() == [[0, 1], [7, 0]]


@pytest.mark.parametrize(
    "lines",
    [
        [],
        ["A,B", "1,2"],
        ["count", "3"],
        ["A,count", "1,2,3"],
        ["A,count", "1,x", "2,3"],
        ["A,count", "1,-2", "2,3"],
        ["A,count", "1,2"],
        ["A,A,count", "1,1,2", "2,2,3"],
        [",count", "1,2", "2,3"],
    ],
)
def test_files_that_are_not_tidy_are_refused(lines):
    with pytest.raises(BadData):
        parse_table(lines, "x.csv")


def test_a_file_is_read_and_a_missing_one_names_the_known_tables(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("\ufeffA,B,count\n1,1,2\n2,2,5\n", encoding="utf-8")
    assert read_table(path).total == 7
    with pytest.raises(NotFound, match="edwards, czech"):
        read_table(tmp_path / "none.csv")
    with pytest.raises(NotFound, match="czech"):
        paper_table("prague")
    path.write_bytes(b"\xff\xfe\x00A")
    with pytest.raises(BadData, match="UTF-8"):
        read_table(path)


def test_counts_must_fit_their_variables_and_not_be_negative():
    with pytest.raises(BadData):
        ContingencyTable(("A",), (("1", "2"),), np.array([1, 2, 3]))
    with pytest.raises(BadData):
        ContingencyTable(("A",), (("1", "2"),), np.array([1, -2]))
