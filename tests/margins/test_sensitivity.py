import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.errors import BadData, BadRequest, NotFound
from discreet.margins import sensitivity as change
from discreet.margins.bases import efron_stein_coefficients, fourier_coefficients
from discreet.margins.margin_set import MarginSet, margin_tables

from .conftest import margin_sets


def test_unlisted_cells_are_zero_repeated_ones_add_up_and_numbers_are_in_order():
    table = change.parse_table(["age,sex,count", "10,f,3", "9,m,1", "10,f,4", ""], "x.csv")
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
        change.parse_table(lines, "x.csv")


def test_a_file_is_read_and_a_missing_one_names_the_known_tables(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("\ufeffA,B,count\n1,1,2\n2,2,5\n", encoding="utf-8")
    assert change.read_table(path).total == 7
    with pytest.raises(NotFound, match="edwards, czech"):
        change.read_table(tmp_path / "none.csv")
    with pytest.raises(NotFound, match="czech"):
        change.paper_table("prague")
    path.write_bytes(b"\xff\xfe\x00A")
    with pytest.raises(BadData, match="UTF-8"):
        change.read_table(path)


def coefficients_of_one_person(wanted, basis):
    """One row a cell of the table: all integer coefficients of a person there."""
    rows = []
    for cell in np.ndindex(*wanted.shape):
        one = np.zeros(wanted.shape, dtype=np.int64)
        one[cell] = 1
        exact = margin_tables(one, wanted)
        if basis == "fourier":
            rows.append(np.array(list(fourier_coefficients(exact, wanted).values())))
        else:
            rows.append(np.concatenate([c.ravel() for c in efron_stein_coefficients(exact, wanted).values()]))
    return np.array(rows)


@settings(max_examples=30, deadline=None)
@given(
    margin_sets(variables=(2, 3), categories=(2, 5), cells=60), st.sampled_from(["fourier", "efron-stein"])
)
def test_sensitivities_are_the_largest_changes_of_all_persons_and_pairs(wanted, basis):
    if basis == "fourier":
        wanted = MarginSet(wanted.names, (2,) * len(wanted.shape), wanted.margins)
    rows = coefficients_of_one_person(wanted, basis)
    alone = np.abs(rows).sum(axis=1).max()
    pairs = np.abs(rows[:, None, :] - rows[None, :, :]).sum(axis=2).max()
    assert change.integer_sensitivity(wanted, basis, "add-remove") == alone
    assert change.integer_sensitivity(wanted, basis, "replace-one") == pairs


def test_unknown_neighbours_and_too_many_variables_are_refused():
    wanted = MarginSet(("A", "B"), (2, 2), ((0, 1),))
    with pytest.raises(BadRequest, match="replace-one"):
        change.sensitivity(wanted, "fourier", "replace")
    many = MarginSet(tuple(f"v{j}" for j in range(21)), (2,) * 21, ((0, 1),))
    with pytest.raises(BadRequest, match="at most 20"):
        change.sensitivity(many, "efron-stein", "replace-one")
