"""The charts of noise tables, budgets and assessments, and the theme of all: their numbers are those of what they draw."""

import math
import re
from itertools import combinations

import numpy as np
import pytest

from discreet.assess import Subject, assess_subject, cases_of
from discreet.assess.assessment import BOXES, figure
from discreet.errors import BadRequest
from discreet.margins.margin_set import parse_margins
from discreet.margins.sensitivity import paper_table
from discreet.margins.study import METHODS, advise, study
from discreet.noise.table import NoiseRow, NoiseTable
from discreet.pictures import noise_charts as noise
from discreet.pictures.assessment_charts import log_ticks
from discreet.pictures.budget_charts import MOST_LINES, budget_over_tables, error_by_epsilon, runs_by_epsilon
from discreet.pictures.drawing import render
from discreet.pictures.library import alt
from discreet.pictures.theme import CONFIG, PALETTES, apply_theme
from discreet.privacy import delta
from discreet.web.templating import STATIC

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


def values_of(specification):
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
        for each in values_of(noise.pmf(SMALL_COUNTS).to_dict())
    }
    assert drawn[("Count 1", -1)] == 0.5
    assert drawn[("Count 2 and more", 0)] == 0.5
    assert len(drawn) == 7


def test_the_heat_map_has_every_transition_of_every_count_it_shows():
    cells = values_of(noise.transition(SMALL_COUNTS, largest=4).to_dict())
    by_count = {}
    for cell in cells:
        by_count.setdefault(cell["true"], []).append(cell["probability"])
    assert sorted(by_count) == [0, 1, 2, 3, 4]
    assert all(math.isclose(sum(distribution), 1) for distribution in by_count.values())


def test_the_curve_passes_through_the_exact_deltas_and_tells_counts_above_d_apart():
    records = [
        each for each in values_of(noise.delta_curve(SMALL_COUNTS, largest=2.0).to_dict()) if "counts" in each
    ]
    names = {each["counts"] for each in records}
    assert names == {"All counts", "Counts above D = 2"}
    middle = next(e for e in records if e["counts"] == "All counts" and e["epsilon"] == 1.0)
    assert middle["delta"] == float(delta(SMALL_COUNTS, epsilon=1.0))


def test_where_both_promises_agree_one_line_is_drawn():
    records = values_of(noise.delta_curve(ONE_ROW, largest=2.0).to_dict())
    assert {each["counts"] for each in records if "counts" in each} == {"All counts"}


def test_values_that_quantisation_lost_are_marked():
    records = values_of(noise.quantisation_error(ONE_ROW, {-2: 0.001, -1: 0.25, 0: 0.499, 1: 0.25}).to_dict())
    lost = {each["noise"]: each["lost"] for each in records if "lost" in each}
    assert lost == {-2: "lost", -1: "kept", 0: "kept", 1: "kept"}


EDWARDS = paper_table("edwards")
WANTED = parse_margins("AD,AB,BE", EDWARDS.names, EDWARDS.shape)


def records_of(specification, chart):
    """The records of one chart within a specification."""
    return specification["datasets"][chart["data"]["name"]]


@pytest.mark.slow
def test_expected_errors_are_those_of_the_advice():
    chart = error_by_epsilon(WANTED, epsilons=(0.5, 1.0))
    specification = chart.to_dict()
    records = records_of(specification, specification)
    assert {r["method"] for r in records} == set(METHODS)
    for record in records:
        assert record["error"] == advise(WANTED, record["epsilon"]).overall[record["method"]]
    assert render(chart, "svg").startswith(b"<svg")


def test_runs_are_drawn_with_the_mean_and_spread_of_the_study():
    chart = runs_by_epsilon(EDWARDS.counts, WANTED, "fourier", reps=3, seed=4, epsilons=(0.5, 1.0))
    specification = chart.to_dict()
    first = records_of(specification, specification["hconcat"][0]["layer"][0])[0]
    sizes = [run.sample_size for run in study(EDWARDS.counts, WANTED, "fourier", 0.5, reps=3, seed=4).runs]
    assert first["mean"] == pytest.approx(sum(sizes) / 3)
    assert first["low"] < first["mean"] < first["high"]
    assert "n = 70" in str(chart.to_dict()["title"])


def budget_of(tables):
    entries = [
        {"variables": [f"v{n}"] if n else [], "epsilon": 0.01 * n + 0.01, "expected_abs_error": 5.0}
        for n in range(tables)
    ]
    cap, spent = {"epsilon": 2.0, "delta": 1e-9}, {"epsilon": 0.5, "delta": 0.0}
    return {"tables": entries, "cap": cap, "spent": spent, "family": "census", "neighbours": "add-remove"}


def drawn(part):
    """The names of the tables in a picture, wherever its data stand."""
    if isinstance(part, dict):
        own = {part["table"]} if "epsilon" in part and "table" in part else set()
        return own.union(*map(drawn, part.values()))
    return set().union(*map(drawn, part)) if isinstance(part, list) else set()


def test_the_grand_total_has_a_name_and_the_cap_is_told():
    picture = budget_over_tables(budget_of(3)).to_dict()
    assert drawn(picture) == {"(grand total)", "v1", "v2"}
    assert "3 tables" in picture["title"]["text"]
    assert "lifetime epsilon 2, spent 0.5" in picture["title"]["subtitle"]


def test_of_many_tables_the_dearest_are_shown_and_that_is_said():
    picture = budget_over_tables(budget_of(MOST_LINES + 5)).to_dict()
    assert len(drawn(picture)) == MOST_LINES
    assert "v1" not in drawn(picture)
    assert f"the {MOST_LINES} dearest are shown" in picture["title"]["text"]


COUNTS = np.array([[[2, 30, 1, 14], [0, 61, 9, 3], [7, 12, 40, 5]]])

EVERYWHERE = np.ones(COUNTS.shape, dtype=bool)


@pytest.fixture(scope="module")
def found():
    cases, _ = cases_of(["laplace", "maxent", "pram"], [0.5, 2.0], 1e-4)
    return assess_subject(Subject(COUNTS, EVERYWHERE), cases, reps=12)


def values(chart):
    return [record for records in chart.to_dict()["datasets"].values() for record in records]


@pytest.mark.parametrize(("low", "high"), [(0.3, 25), (0.001, 90), (1, 9), (2e-7, 3e4)])
def test_ticks_are_round_numbers_within_the_axis(low, high):
    ticks = log_ticks(low, high)
    assert ticks == sorted(set(ticks))
    assert all(low < tick <= high for tick in ticks)
    assert {f"{tick:e}"[0] for tick in ticks} <= {"1", "2", "5"}


@pytest.mark.slow
def test_the_boxes_are_the_quantiles_of_the_draws(found):
    records = {
        (r["measure"], r["family"], r["place"]): r for r in values(figure(found, "boxes")) if "median" in r
    }
    box = records[(BOXES["hellinger"], "laplace", "0.5")]
    drawn = found.outcomes[0].draws["hellinger"]
    assert box["median"] == pytest.approx(np.median(drawn))
    assert (box["low"], box["high"]) == pytest.approx(tuple(np.quantile(drawn, (0.05, 0.95))))
    per_cell = records[(BOXES["l1"], "laplace", "0.5")]
    assert per_cell["median"] == pytest.approx(np.median(found.outcomes[0].draws["l1"]) / 12)
    assert (BOXES["l1"], "pram", "no epsilon") in records


def test_the_map_has_every_setting_where_its_means_are(found):
    records = {(r["family"], r["place"]): r for r in values(figure(found, "map"))}
    assert len(records) == len(found.outcomes)
    outcome = found.outcomes[1]
    place = records[("laplace", "2")]
    assert place["risk"] == outcome.simulated["rm"].mean
    assert place["loss"] == outcome.simulated["hellinger"].mean
    assert {k for k, r in records.items() if r["unbeaten"]} == {
        (o.case.family, "" if o.case.epsilon is None else f"{o.case.epsilon:g}") for o in found.unbeaten()
    }


def test_bars_show_exact_expectations(found):
    shown = {r["case"]: r["share"] for r in values(figure(found, "zeros"))}
    assert shown == {o.case.label: o.expected.false_zero_share for o in found.outcomes}
    shown = {r["case"]: r["share"] for r in values(figure(found, "confirmation"))}
    assert shown == {o.case.label: o.expected.confirmation_small for o in found.outcomes}


def test_conclusions_have_both_readers(found):
    shown = {(r["case"], r["reader"]): r["share"] for r in values(figure(found, "conclusions"))}
    assert shown[("pram", "naive")] == found.outcomes[-1].same_naive
    assert shown[("pram", "noise-aware")] == found.outcomes[-1].same_aware


def test_a_table_with_one_side_has_no_conclusions_and_an_unknown_picture_is_refused(found):
    cases, _ = cases_of(["laplace"], [1.0], 1e-4)
    flat = Subject(COUNTS.reshape(1, 12, 1), EVERYWHERE.reshape(1, 12, 1))
    one_sided = assess_subject(flat, cases, reps=5)
    with pytest.raises(BadRequest, match="no picture"):
        figure(one_sided, "conclusions")
    measures = {r["measure"] for r in values(figure(one_sided, "boxes")) if "median" in r}
    assert measures == {BOXES[m] for m in ("l1", "hellinger", "total_variation")}
    with pytest.raises(BadRequest, match="no picture"):
        figure(found, "maps")


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


def test_the_stylesheet_has_the_colour_of_every_role_in_both_themes():
    """Wrong alternative: a colour that was changed here and not there."""
    style = (STATIC / "css" / "charts.css").read_text("utf-8")
    rule = r"\.c-(\w+):is\(\.f, \.k, \.e\) \{ --c: light-dark\((#\w{6}), (#\w{6})\); \}"
    turned = {role: both for role, *both in re.findall(rule, style)}
    roles = ["ground", "ink", "soft", "grid", "domain", "absent"]
    roles += [f"s{place}" for place in range(1, 7)] + [f"m{place}" for place in range(1, 6)]
    assert turned == {role: [look.colour(role).lower() for look in PALETTES.values()] for role in roles}
