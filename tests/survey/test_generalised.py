"""The errors of weighted tables equal vectors of the definition, and are functions of released numbers alone."""

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.errors import BadRequest
from discreet.survey.estimates import quotient, total
from discreet.survey.generalised import (
    Axis,
    TableErrors,
    from_parts,
    pair_effect,
    round_up_two_digits,
    score_limits,
)

#: Three small surveys with their printed errors, computed by another program: see the file's own head.
ORACLE = json.loads((Path(__file__).parents[1] / "oracles" / "surveys.json").read_text("utf-8"))
SIMPLE, CLUSTERED, STRATIFIED = ORACLE["surveys"]


def axis(name, effect, margin, whole):
    """An axis with its categories and a total; `margin` and `whole` have the strata on the last axis."""
    count = len(margin)
    members = (*((place,) for place in range(count)), tuple(range(count)))
    codes = (*map(str, range(count)), "_T")
    effects = np.full(count + 1, float(effect))
    return Axis(
        name, codes, members, count, effects, effects * (count - 1), np.concatenate([margin, whole[None]])
    )


def by_average(survey, largest=None):
    """A two-way table under `average-weight`."""
    size = np.array([float(survey["n"])])
    effects = survey.get("D") or survey["published"]
    a, b = (np.array(survey["noisy_margins"][name], float) for name in "ab")
    noisy = np.block([[np.array(survey["noisy_table"], float), a[:, None]], [b[None], size[None]]])
    weight = survey["N"] / size
    return TableErrors(
        (axis("a", effects["a"], a[:, None], size), axis("b", effects["b"], b[:, None], size)),
        {},
        noisy[..., None],
        np.full(noisy.shape, survey["noise_variance"] * weight[0] ** 2),
        weight,
        size,
        per_cluster=survey.get("mean_cluster_take", 1),
        freedom=survey.get("df"),
        largest=largest or survey["w_max_over_mean"],
    )


def by_strata():
    survey = STRATIFIED
    sizes, population = (np.array(survey[name], float) for name in ("nh", "Nh"))
    weights = population / sizes
    a, b = (np.array(survey["noisy"]["one_way"][name], float) for name in "ab")
    noisy = np.zeros((3, 3, 3))
    noisy[:2, :2], noisy[:2, 2], noisy[2, :2], noisy[2, 2] = survey["noisy"]["a_by_b"], a, b, sizes
    return TableErrors(
        tuple(axis(name, survey["published"]["D"][name], own, sizes) for name, own in (("a", a), ("b", b))),
        {},
        noisy,
        (survey["noise_variance"] * weights**2).sum() * np.ones((3, 3)),
        weights,
        sizes,
        per_cluster=survey["mean_cluster_take"],
        freedom=survey["df"],
        largest=survey["w_max_over_mean"],
    )


def place_of(cell):
    if cell.get("table") == "a":
        return cell["level"], -1
    if cell.get("table") == "b":
        return -1, cell["level"]
    return cell.get("a", 0), cell.get("b", 2)


def agree(errors, cell):
    place, (low, high), found = place_of(cell), errors.limits(0.95), errors.cells()
    assert found.relative[place] == pytest.approx(10 * cell["rse_percent"])
    assert round_up_two_digits(found.standard[place]) == cell["se"]
    assert (low[place], high[place]) == pytest.approx((cell["low"], cell["high"]), rel=1e-7)
    assert found.noise_shares[place] / 1000 == pytest.approx(cell["noise_share"], abs=0.0005)


@pytest.mark.parametrize("survey", [SIMPLE, CLUSTERED], ids=["simple", "clustered"])
def test_totals_under_the_average_weight_are_those_of_the_vectors(survey):
    for cell in survey["cells"]:
        agree(by_average(survey, 4.5 if "note" in cell else None), cell)


@pytest.mark.parametrize("survey", [SIMPLE, CLUSTERED], ids=["simple", "clustered"])
def test_shares_and_ratios_are_those_of_the_vectors(survey):
    errors = by_average(survey)
    for each in survey["derived"]:
        part, base = json.loads(each["A"].replace("(", "[").replace(")", "]")), [(0, 3)]
        if each["base"] is None:
            base = json.loads(each["B"].replace("(", "[").replace(")", "]"))
        found = quotient(
            errors,
            [tuple(map(int, p)) for p in part],
            [tuple(p) for p in base],
            0.95,
            share=each["kind"] == "share",
        )
        assert found.value == pytest.approx(each["estimate"], abs=1e-6)
        assert (found.low, found.high) == pytest.approx((each["low"], each["high"]), abs=2e-6)
        assert np.ceil(found.error * 1000 - 1e-9) / 1000 <= each["se"]


def test_totals_under_public_strata_are_those_of_the_vectors():
    for cell in STRATIFIED["cells"][:4]:
        agree(by_strata(), cell)


@pytest.mark.parametrize("cell", STRATIFIED["form_C"]["cells"], ids=["shown", "zero"])
def test_totals_under_the_largest_weight_are_those_of_the_vectors(cell):
    size, step = np.array([500.0]), 400 / 160
    margin = np.array([[cell["margin_a"] * step]])
    spread = np.array([0.25])
    one = Axis("a", ("0",), ((0,),), 2, np.array([1.5625]), np.array([0.0]), margin, spread=spread)
    errors = TableErrors(
        (one,), {}, np.array([[cell["t"] * step]]), np.array([3.25 * 400**2]), np.array([160.0]), size,
        mean_square=215, per_cluster=8, freedom=60, largest=step,
    )  # fmt: skip
    low, high = errors.limits(0.95)
    assert (low[0], high[0]) == pytest.approx((cell["low"], cell["high"]), rel=1e-6, abs=1e-6)
    printed = errors.cells().relative[0]
    assert printed == (-1 if cell["rse_percent"] is None else 10 * cell["rse_percent"])


def strata_of_one_weight(**changes):
    """A table by strata of one weight, and the same as if there were no strata."""
    sizes = np.array([120.0, 80.0, 200.0])
    inside = np.array([[[20, 30, 50], [40, 10, 60]], [[35, 25, 30], [25, 15, 60]]], float)
    noisy = np.zeros((3, 3, 3))
    noisy[:2, :2], noisy[:2, 2], noisy[2, :2], noisy[2, 2] = (
        inside,
        inside.sum(axis=1),
        inside.sum(axis=0),
        sizes,
    )
    weights, noise = np.full(3, 50.0), np.full((3, 3), 900.0)
    axes = (axis("a", 1, noisy[:2, 2], sizes), axis("b", 1, noisy[2, :2], sizes))
    by_strata = TableErrors(axes, {}, noisy, noise, weights, sizes, **changes)
    whole = sizes.sum(keepdims=True)
    together = noisy.sum(axis=-1, keepdims=True)
    axes = (axis("a", 1, together[:2, 2], whole), axis("b", 1, together[2, :2], whole))
    return by_strata, TableErrors(axes, {}, together, noise, weights[:1], whole)


def test_strata_of_sizes_by_chance_and_one_weight_have_the_errors_of_a_sample_without_strata():
    by_strata, plain = strata_of_one_weight(strata_effect=1.0)
    fixed, _ = strata_of_one_weight()
    assert by_strata.cells().standard == pytest.approx(plain.cells().standard)
    assert (fixed.cells().standard < plain.cells().standard)[:2].all()
    part, base = [(0, 0)], [(0, 2)]
    for errors, same in ((by_strata, True), (fixed, False)):
        found = quotient(errors, part, base, 0.95, share=True).error
        assert (found == pytest.approx(quotient(plain, part, base, 0.95, share=True).error)) == same


def test_the_whole_population_by_strata_has_limits_on_both_sides():
    errors = by_strata()
    low, high = errors.limits(0.95)
    assert low[-1, -1] < errors.values[-1, -1] < high[-1, -1]


def test_the_population_is_a_limit_only_where_it_is_known():
    known = by_average(SIMPLE)
    assert known.limits(0.95)[1].max() == known.population
    by_chance = replace(known, calibration=0.01)
    assert by_chance.limits(0.95)[1][-1, -1] > 1.1 * by_chance.population
    assert total(by_chance, {(-1, 0): 1.0, (-1, 1): 1.0, (-1, 2): 1.0}, 0.95).high > by_chance.population


def test_what_the_strata_or_calibrated_margins_do_not_fix_keeps_its_variance():
    assert pair_effect(0.0, 2.5, 8) == 2.5
    assert pair_effect(0.0, 0.0, 8) == 1.0
    assert pair_effect(1.0, 2.5, 1) == 2.5
    assert pair_effect(1.0, 1.0, 1) == 1.0


def test_a_single_cell_has_the_same_error_as_an_estimate_and_in_the_table():
    errors = by_average(SIMPLE)
    low, high = errors.limits(0.9)
    found = total(errors, {(1, 2): 1.0}, 0.9)
    assert (found.low, found.high) == (low[1, 2], high[1, 2])
    assert found.error == errors.cells().standard[1, 2]


def test_the_difference_of_a_cell_and_itself_is_zero_but_for_noise():
    errors = by_average(SIMPLE)
    found = total(errors, {(0, 0): 1.0, (0, 3): -1.0, (0, 1): 1.0, (0, 2): 1.0}, 0.95)
    noise = 4 * 3 * 100.0**2
    assert found.error == pytest.approx(noise**0.5)


def test_parts_put_together_again_are_the_same():
    errors = by_average(CLUSTERED)
    document, arrays = errors.parts()
    again = from_parts(json.loads(json.dumps(document)), arrays)
    assert again.names == ["a", "b"]
    for one, two in zip(errors.cells(), again.cells(), strict=True):
        assert np.array_equal(one, two)


def test_a_hidden_cell_leaves_no_count_and_has_no_interval():
    errors = by_average(SIMPLE)
    withheld = np.zeros((3, 4), dtype=bool)
    withheld[1] = True
    hidden = errors.hide(withheld, np.zeros_like(withheld))
    assert not hidden.noisy[1].any()
    assert not hidden.axes[0].margin[1].any()
    assert np.isnan(hidden.limits(0.95)[0][1]).all()
    assert not np.isnan(hidden.limits(0.95)[0][0]).any()
    assert np.isnan(total(hidden, {(0, 0): 1.0, (1, 0): 1.0}, 0.95).low)


def test_a_hidden_category_leaves_no_count_of_its_pairs():
    """In tables of three variables the counts of pairs are stored; wrong alternative: those of a withheld area, too."""
    size = np.array([100.0])
    counts = np.arange(1.0, 9.0).reshape(2, 2, 2)
    margins = [counts.sum(axis=others)[:, None] for others in ((1, 2), (0, 2), (0, 1))]
    axes = tuple(
        Axis(name, ("0", "1"), ((0,), (1,)), 2, np.full(2, 1.5), np.full(2, 1.5), margin)
        for name, margin in zip("abc", margins, strict=True)
    )
    pairs = {
        (0, 1): counts.sum(axis=2)[..., None],
        (0, 2): counts.sum(axis=1)[..., None],
        (1, 2): counts.sum(axis=0)[..., None],
    }
    errors = TableErrors(axes, pairs, counts[..., None], np.ones((2, 2, 2)), size, size, per_cluster=5.0)
    withheld = np.zeros((2, 2, 2), dtype=bool)
    withheld[1] = True
    hidden = errors.hide(withheld, np.zeros_like(withheld))
    for pair in ((0, 1), (0, 2)):
        assert (hidden.pairs[pair][1] == 0).all(), pair
        assert (hidden.pairs[pair][0] == pairs[pair][0]).all(), pair
    assert (hidden.pairs[1, 2] == pairs[1, 2]).all()
    shown, before = hidden.cells(), errors.cells()
    assert (shown.relative[0] == before.relative[0]).all()


def test_too_few_clusters_give_no_errors():
    errors = by_average({**CLUSTERED, "df": 19})
    found = errors.cells()
    assert (found.relative == -1).all()
    assert found.unreliable.all()
    assert np.isnan(errors.limits(0.95)[1]).all()


def test_a_level_whose_parts_are_not_all_shown_has_an_interval_by_itself_only():
    members = ((0, 1), (0,), (2,), (0, 1, 2, 3))
    some = Axis("a", ("x", "x1", "y", "_T"), members, 4, np.ones(4), np.ones(4), np.full((4, 1), 50.0))
    noisy = np.array([[60.0], [20.0], [40.0], [100.0]])
    errors = TableErrors((some,), {}, noisy, np.ones(4), np.array([10.0]), np.array([100.0]))
    assert total(errors, {(0,): 1.0}, 0.95).value == 600
    with pytest.raises(BadRequest, match='does not contain the parts of "x"'):
        quotient(errors, [(0,)], [(2,)], 0.95, share=False)


@given(st.floats(1, 40), st.floats(1, 40), st.floats(1.01, 500))
def test_a_pair_has_at_most_the_effect_of_either_variable(one, two, take):
    found = pair_effect(one, two, take)
    assert 1 <= found <= min(one, two)
    assert found == pair_effect(two, one, take)


@given(st.floats(0, 1e6), st.floats(0.1, 50), st.floats(0, 0.05), st.floats(0, 1e5))
def test_limits_hold_the_value_and_solve_their_equation(value, slope, bias, noise):
    low, high = (float(each) for each in score_limits(*map(np.array, (value, slope, bias, noise)), 2e6, 1.96))
    assert low <= value * (1 + 1e-9)
    assert value <= high * (1 + 1e-9)
    for end in (low, high):
        if 0 < end < 2e6:
            variance = slope * end * (1 - end / 2e6) + bias * end**2 + noise
            assert (value - end) ** 2 == pytest.approx(1.96**2 * variance, rel=1e-5, abs=1e-3)


@given(st.floats(0.01, 1e7))
def test_two_digits_are_rounded_up_by_less_than_a_tenth(value):
    found = int(round_up_two_digits(np.array(value)))
    assert value * (1 - 1e-9) <= found <= max(value * 1.1 + 1e-6, np.ceil(value))
    assert len(str(found).rstrip("0")) <= 2
