"""Noise by size: every row unbiased, steps that are spread and audited, and what cannot be made refused."""

import pytest

from discreet.errors import BadRequest, InfeasibleDesign
from discreet.noise import maxent
from discreet.noise.by_size import STEP
from discreet.noise.table import NoiseTable
from discreet.privacy import audit

SMALL = {"from": 0, "D": 5, "V": 3, "js": 2}
LARGE = {"from": 100, "D": 15, "V": 9}
TABLE = maxent(classes=[SMALL, LARGE])
#: The audit's epsilon.
AT = 1.0


def test_small_counts_have_the_first_class_and_large_ones_the_last():
    assert TABLE.rows[:9] == maxent(D=5, V=3, js=2).rows
    assert {TABLE.row(count).values[-1] for count in (100, 101, 10**9)} == {15}
    assert float(TABLE.row(100).variance()) == pytest.approx(9)


def test_every_row_is_unbiased_and_a_step_changes_d_by_one_and_v_by_a_tenth():
    assert {row.mean() for row in TABLE.rows} == {0}
    for low, high in zip(TABLE.rows[8:], TABLE.rows[9:], strict=False):
        assert abs(high.values[-1] - low.values[-1]) <= 1
        assert float(high.variance() / low.variance()) <= STEP + 1e-6


def test_the_steps_are_in_the_audit_and_a_sudden_one_is_found_out():
    """Wrong alternative: the wider law from one count to the next."""
    sudden = NoiseTable(TABLE.modulus, (*TABLE.rows[:88], *[TABLE.rows[30]] * 12, TABLE.rows[-1]))
    spread, at_once = (audit(table, epsilon=AT).above_D for table in (TABLE, sudden))
    without = audit(maxent(D=5, V=3, js=2), epsilon=AT).above_D
    assert spread.worst_pair == (88, 89)
    assert without.delta < spread.delta < 1.25 * without.delta
    assert at_once.worst_pair == (99, 100)
    assert at_once.delta > 3 * spread.delta


def test_a_class_may_be_narrower_and_there_may_be_several():
    table = maxent(classes=[SMALL, LARGE, {"from": 1000, "D": 8, "V": 4}])
    assert [table.row(count).values[-1] for count in (50, 100, 1000)] == [5, 15, 8]
    assert {row.mean() for row in table.rows} == {0}


@pytest.mark.parametrize(
    ("classes", "said"),
    [
        ([SMALL, {**LARGE, "from": 20}], "begin at 29 or above"),
        ([SMALL, {**LARGE, "from": 10_001}], "10,000 or below"),
        ([SMALL, LARGE, {**LARGE, "from": 100}], "Classes ascend"),
        ([SMALL, {**LARGE, "js": 1}], "has `from`, `D` and `V`"),
        ([{**SMALL, "from": 5}], "smallest counts"),
        ([{"from": 0, "D": 5}], "`from`, `D`, `V`"),
        ([], "smallest counts"),
    ],
)
def test_what_cannot_be_is_refused_with_what_to_do(classes, said):
    with pytest.raises(InfeasibleDesign) as refused:
        maxent(classes=classes)
    assert said in f"{refused.value.message} {refused.value.advice}"


def test_classes_are_tables_and_stand_alone():
    with pytest.raises(BadRequest, match="a list of tables"):
        maxent(classes=[5])
    with pytest.raises(InfeasibleDesign, match="smallest counts"):
        maxent(classes=[SMALL, LARGE], D=5, V=3)
    with pytest.raises(BadRequest, match="symmetric form"):
        maxent(classes=[SMALL], symmetric=True, D=5, V=3)
    with pytest.raises(BadRequest, match="needs D"):
        maxent(js=2)
