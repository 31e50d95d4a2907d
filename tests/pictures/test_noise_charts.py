import math

import pytest

from discreet.noise.table import NoiseRow, NoiseTable
from discreet.pictures import noise_charts as noise
from discreet.pictures.drawing import render
from discreet.privacy import delta

ONE_ROW = NoiseTable(256, (NoiseRow((-1, 0, 1), (64, 192, 256)),), family="laplace", parameters={"m": 1})

EIGHTH = 2**61
SMALL_COUNTS = NoiseTable(
    2**64,
    (
        NoiseRow((0,), (2**64,)),
        NoiseRow((-1, 1), (2**63, 2**64)),
        NoiseRow((-2, -1, 0, 1, 2), tuple(times * EIGHTH for times in (1, 2, 6, 7, 8))),
    ),
    family="maxent",
    parameters={"D": 2, "V": 1.25},
)
UNCHANGED = NoiseTable(1, (NoiseRow((0,), (1,)),))
MANY_ROWS = NoiseTable(4, tuple(NoiseRow((-1, 0, 1), (1, 3, 4)) for _ in range(20)), repeats=15)
TABLES = [ONE_ROW, SMALL_COUNTS, UNCHANGED, MANY_ROWS]


def values(specification):
    """All records of a chart: Altair gathers them under one key."""
    return [record for records in specification["datasets"].values() for record in records]


@pytest.mark.slow
@pytest.mark.parametrize("table", TABLES)
def test_every_picture_of_every_kind_of_table_is_drawn(table):
    charts = [noise.pmf(table), noise.transition(table), noise.delta_curve(table, epsilon=1.0)]
    charts.append(noise.quantisation_error(table, {-1: 0.2, 0: 0.6, 1: 0.2}))
    for chart in charts:
        assert render(chart, "svg").startswith(b"<svg")
        specification = chart.to_dict()
        assert specification["config"]["background"] == "white"
        assert specification["title"]["text"]


def test_the_distribution_that_is_drawn_is_the_distribution_of_the_table():
    drawn = {
        (each["row"], each["noise"]): each["probability"]
        for each in values(noise.pmf(SMALL_COUNTS).to_dict())
    }
    assert drawn[("Count 1", -1)] == 0.5
    assert drawn[("Count 2 and more", 0)] == 0.5
    assert len(drawn) == 7


def test_the_heat_map_has_every_transition_of_every_count_it_shows():
    cells = values(noise.transition(SMALL_COUNTS, largest=4).to_dict())
    by_count = {}
    for cell in cells:
        by_count.setdefault(cell["true"], []).append(cell["probability"])
    assert sorted(by_count) == [0, 1, 2, 3, 4]
    assert all(math.isclose(sum(distribution), 1) for distribution in by_count.values())


def test_the_curve_passes_through_the_exact_deltas_and_tells_counts_above_d_apart():
    records = [
        each for each in values(noise.delta_curve(SMALL_COUNTS, largest=2.0).to_dict()) if "counts" in each
    ]
    names = {each["counts"] for each in records}
    assert names == {"All counts", "Counts above D = 2"}
    middle = next(e for e in records if e["counts"] == "All counts" and e["epsilon"] == 1.0)
    assert middle["delta"] == float(delta(SMALL_COUNTS, epsilon=1.0))


def test_where_both_promises_agree_one_line_is_drawn():
    records = values(noise.delta_curve(ONE_ROW, largest=2.0).to_dict())
    assert {each["counts"] for each in records if "counts" in each} == {"All counts"}


def test_values_that_quantisation_lost_are_marked():
    records = values(noise.quantisation_error(ONE_ROW, {-2: 0.001, -1: 0.25, 0: 0.499, 1: 0.25}).to_dict())
    lost = {each["noise"]: each["lost"] for each in records if "lost" in each}
    assert lost == {-2: "lost", -1: "kept", 0: "kept", 1: "kept"}
