"""Percentages, ranks and chosen rows follow from released numbers, and from no base that may be noise.

The limits of what is drawn: of counts, of percentages, or none where no distribution is known.
"""

import io
import json
from dataclasses import replace
from itertools import product

import numpy as np
import openpyxl
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import discreet
from discreet.errors import BadRequest
from discreet.formats import format_by_name, formats
from discreet.inference.confidence_intervals.table_intervals import every_interval
from discreet.inference.table_view import (
    above_noise,
    add_picture,
    apply_view,
    bonferroni_level,
    percent_limits,
)
from discreet.model.release import NOT_APPLICABLE, WITHHELD, subset_release
from discreet.model.request import request_from_text
from discreet.model.view import Picture, View
from discreet.noise import laplace
from discreet.noise.table_distribution import DistributionWithSums, TableDistribution
from discreet.release.pipeline import release_table
from discreet.web.i18n.translation import languages

TABLE = {"rows": ["area"], "columns": ["sex"], "layers": ["age"]}
NOISE = laplace(epsilon=1.0, m=8)
NESTED = {"rows": ["area"], "columns": ["sex"], "levels": ["area=region,area"]}


def asked(workspace, **parts):
    return release_table(workspace.stored("town"), request_from_text("town", **parts))


def with_values(release, values, **more):
    """The release with other numbers, as if noise that any number can come from had made them."""
    array = np.asarray(values, dtype=np.int64).reshape(release.values.shape)
    distribution = TableDistribution(NOISE, array.shape)
    return replace(release, **{"values": array, "noisy": array, "distribution": distribution} | more)


def percent_of(release):
    (column,) = release.derived
    return np.where(column.missing, np.nan, column.values)


def german(release):
    """The last note, as a German reader has it."""
    return languages()["de"].translate(release.notes[-1])


@pytest.fixture(scope="module")
def release(town_workspace):
    return asked(town_workspace, **TABLE)


@pytest.mark.parametrize(
    ("percent", "base"),
    [
        ("row", lambda area, sex, age: (area, "_T", age)),
        ("column", lambda area, sex, age: ("_T", sex, age)),
        ("table", lambda area, sex, age: ("_T", "_T", age)),
        ("sex=1,age=old", lambda area, sex, age: ("_T", "1", "old")),
    ],
)
def test_a_percentage_is_the_quotient_of_two_released_numbers(release, percent, base):
    found = percent_of(apply_view(release, View(percent)))
    for place in product(*(range(d.length) for d in release.dimensions)):
        codes = [d.codes[at] for d, at in zip(release.dimensions, place, strict=True)]
        quotient = 100 * release.value(*codes) / release.value(*base(*codes))
        assert found[place] == round(quotient, 1)
    assert base.__code__.co_argcount == len(release.dimensions)


@pytest.mark.parametrize("kept_distribution", [False, True])
@pytest.mark.parametrize("base", [-3, 0, 1, 2, 3])
def test_a_base_within_its_noise_has_none_even_where_it_cannot_be_zero(
    town_workspace, base, kept_distribution
):
    """The cell key table keeps zeros, so a 2 is nobody's zero; it may be 1 or 5 all the same.

    The wrong alternative divides by whatever is above zero."""
    whole = asked(town_workspace, rows=["sex"], columns=["age"])
    numbers = np.array(whole.values)
    numbers[0, -1] = base
    distribution = whole.distribution if kept_distribution else TableDistribution(NOISE, numbers.shape)
    found = percent_of(apply_view(with_values(whole, numbers, distribution=distribution), View("row")))
    assert np.isnan(found[0]).all()
    assert not np.isnan(found[1:]).any()


def test_a_true_zero_becomes_a_base_with_a_chance_of_at_most_a_fortieth(town_workspace):
    """Exactly, by the distribution of the noise; `above zero` takes it in a quarter of all cases."""
    first, chances = NOISE.distributions[int(NOISE.distribution_index(np.array([0]))[0])].distribution()
    released = first + np.arange(chances.size)
    whole = asked(town_workspace, rows=["area"])
    taken = [above_noise(with_values(whole, np.full(6, number)))[0] for number in released.tolist()]
    assert 0 < chances[taken].sum() <= 0.025
    assert chances[released > 0].sum() > 0.2


def test_a_withheld_base_has_no_percentages_and_a_withheld_cell_none(release):
    status = np.array(release.status)
    status[0, -1, 0], status[1, 0, 1] = WITHHELD, WITHHELD
    found = percent_of(apply_view(replace(release, status=status), View("row")))
    assert np.isnan(found[0, :, 0]).all()
    assert np.isnan(found[1, 0, 1])
    assert not np.isnan(found[1, 1, 1])


def test_percentages_are_of_the_signed_numbers(town_workspace):
    whole = asked(town_workspace, rows=["sex"], columns=["age"])
    signed = np.array(whole.values)
    signed[0, 0] = -30
    clipped = with_values(whole, np.maximum(signed, 0), signed=signed)
    shown = apply_view(clipped, View("row"))
    assert percent_of(shown)[0, 0] == round(-3000 / signed[0, -1], 1) < 0
    assert "signed" in shown.derived[0].meaning


def test_a_weighted_base_with_a_large_error_has_no_percentages(release):
    errors = np.full(release.values.shape, 100)
    errors[0] = 251
    weighted = replace(release, errors=errors, noise_shares=errors)
    assert not above_noise(weighted)[0].any()
    assert above_noise(weighted)[1:].all()


@pytest.mark.parametrize(
    ("parts", "percent", "said"),
    [
        ({"rows": ["sex"]}, "row", "column"),
        ({"columns": ["sex"]}, "column", "row"),
        ({"rows": ["sex"], "columns": ["age"], "totals": False}, "row", "totals"),
        ({"rows": ["sex"]}, "sex=7", "sex"),
    ],
)
def test_a_base_that_the_table_does_not_have_is_refused(town_workspace, parts, percent, said):
    with pytest.raises(BadRequest) as refused:
        apply_view(asked(town_workspace, **parts), View(percent))
    assert said in refused.value.advice + refused.value.message


def test_ranks_are_counted_within_a_column_and_equal_numbers_share_one(town_workspace):
    whole = asked(town_workspace, **NESTED)
    (column,) = apply_view(whole, View(rank=True)).derived
    leaves = [c for c in whole.dimensions[0].codes if c not in {"N", "S", "_T"}]
    places = [whole.dimensions[0].codes.index(code) for code in leaves]
    assert set(np.flatnonzero(~column.missing[:, 0]).tolist()) == set(places), "regions and totals have none"
    for j in range(whole.values.shape[1]):
        for i in places:
            assert column.values[i, j] == 1 + sum(whole.values[k, j] > whole.values[i, j] for k in places)
    tied = with_values(whole, np.full(whole.values.shape, 7))
    (column,) = apply_view(tied, View(rank=True)).derived
    assert set(column.values[~column.missing].tolist()) == {1}


def close_town(town, folder):
    """Five areas with 20, 21, 22, 23 and 24 people."""
    areas = np.repeat(["N1", "N2", "S1", "S2", "S3"], [20, 21, 22, 23, 24])
    records = pa.table(
        {
            "person": np.arange(areas.size) + 1,
            "region": [area[0] for area in areas],
            "area": areas,
            "sex": np.resize(["1", "2"], areas.size),
            "age": np.resize(["adult"], areas.size),
            "job": np.resize(["1"], areas.size),
        }
    )
    return town.load(folder, records=records)


def test_the_top_rows_are_those_of_released_numbers_and_not_of_true_counts(town, tmp_path):
    """The wrong alternative is the true order: S3, S2, S1, which would tell the order of true counts."""
    whole = asked(close_town(town, tmp_path / "w"), rows=["area"], columns=["sex"])
    shown = apply_view(whole, View(top=3))
    codes = shown.dimensions[0].codes
    numbers = {code: whole.value(code, "_T") for code in whole.dimensions[0].codes[:-1]}
    order = sorted(numbers, key=lambda code: -numbers[code])
    assert codes == (*order[:3], "_T")
    assert codes[:3] != ("S3", "S2", "S1")
    assert [shown.value(code, "1") for code in codes] == [whole.value(code, "1") for code in codes]
    assert any("noise can change which" in note for note in shown.notes)
    assert german(shown).startswith("Von „Area“ werden die 3 mit den größten gezeigten Zahlen gezeigt")
    assert shown.selection.codes == (("area", codes),)


def test_equal_numbers_stay_in_their_declared_order_and_withheld_rows_are_not_chosen(town_workspace):
    whole = asked(town_workspace, rows=["area"], columns=["sex"])
    tied = with_values(whole, np.full(whole.values.shape, 7))
    assert apply_view(tied, View(top=2)).dimensions[0].codes == ("N1", "N2", "_T")
    status = np.array(tied.status)
    status[0] = WITHHELD
    assert apply_view(replace(tied, status=status), View(top=2)).dimensions[0].codes == ("N2", "S1", "_T")
    everything = apply_view(tied, View(top=100))
    assert everything.dimensions == tied.dimensions
    assert everything.selection is None


def test_empty_rows_are_hidden_and_withheld_or_negative_ones_are_not(town_workspace):
    whole = asked(town_workspace, rows=["area"], columns=["sex"])
    values, status = np.array(whole.values), np.array(whole.status)
    values[0] = 0
    values[1] = 0
    status[1, 0] = NOT_APPLICABLE
    values[2] = 0
    status[2, 0] = WITHHELD
    values[3] = 0
    values[3, 1] = -1
    shown = apply_view(with_values(whole, values, status=status), View(hide_empty=True))
    assert shown.dimensions[0].codes == ("S1", "S2", "S3", "_T")
    assert any("there may be people in them" in note for note in shown.notes)
    assert german(shown).startswith("Zeilen, deren gezeigte Zahlen alle 0 sind")
    assert apply_view(whole, View(hide_empty=True)).notes == whole.notes


def test_rows_are_sorted_by_released_numbers_and_parts_stay_below_their_whole(town, town_workspace, tmp_path):
    """Wrong: the true order, a part beside another whole, or numbers that move without their labels."""
    whole = asked(close_town(town, tmp_path / "w"), **NESTED)
    shown = apply_view(whole, View(sort="-sex=1"))
    (regions, codes) = (["N", "S"], shown.dimensions[0].codes)
    numbers = {code: whole.value(code, "1") for code in codes}
    slow = []
    for region in sorted(regions, key=lambda code: -numbers[code]):
        parts = [code for code in whole.dimensions[0].codes if code.startswith(region) and code != region]
        slow += [region, *sorted(parts, key=lambda code: -numbers[code])]
    assert codes == (*slow, "_T")
    assert codes != whole.dimensions[0].codes
    for code in codes:
        assert [shown.value(code, sex) for sex in ("1", "2", "_T")] == [
            whole.value(code, sex) for sex in ("1", "2", "_T")
        ]
    assert any("noise can change the order" in note for note in shown.notes)
    assert german(shown).startswith("„Area“ steht in der Reihenfolge der gezeigten Zahlen")
    assert shown.selection is None
    turned = apply_view(whole, View(sort="value")).dimensions[0].codes
    assert turned.index("N") < turned.index("S"), "ascending by the total of all other variables"


def test_withheld_rows_come_last_labels_sort_as_people_count_and_percentages_sort_by_themselves(
    town_workspace,
):
    whole = asked(town_workspace, rows=["area"], columns=["sex"])
    values, status = (
        np.array([[5, 1, 6], [9, 0, 9], [7, 7, 14], [1, 2, 3], [8, 0, 8], [0, 0, 40]]),
        np.array(whole.status),
    )
    status[1] = WITHHELD
    made = with_values(whole, values, status=status)
    assert apply_view(made, View(sort="-value")).dimensions[0].codes == ("S1", "S3", "N1", "S2", "N2", "_T")
    assert apply_view(made, View(sort="value")).dimensions[0].codes == ("S2", "N1", "S3", "S1", "N2", "_T")
    by_percent = apply_view(with_values(whole, values * 1000), View("row", sort="sex=1")).dimensions[0].codes
    assert by_percent[:2] == ("S2", "S1"), "33 % and 50 %, not 1,000 and 5,000"
    for percent in ("row", "column"):
        by_total = apply_view(made, View(percent, sort="-value")).dimensions[0].codes
        assert by_total == ("S1", "S3", "N1", "S2", "N2", "_T"), "row percentages of the totals are all 100"
    outputs = tuple(
        replace(output, label=f"Area {number}")
        for output, number in zip(whole.dimensions[0].outputs, (10, 9, 100, 1, 2), strict=True)
    )
    named = replace(whole, dimensions=(replace(whole.dimensions[0], outputs=outputs), *whole.dimensions[1:]))
    assert apply_view(named, View(sort="label")).dimensions[0].codes == ("S2", "S3", "N2", "N1", "S1", "_T")
    for wrong in ("sex=9", "area=N1", "x=1"):
        with pytest.raises(BadRequest):
            apply_view(whole, View(sort=wrong))


def test_a_view_is_no_part_of_the_question(release):
    shown = apply_view(release, View("row", rank=True, top=2))
    assert shown.request.identity == release.request.identity
    assert shown.charged is release.charged
    assert apply_view(release, View()) is release
    assert "percent=row" in shown.query


def test_percentages_are_those_of_the_whole_after_a_cut(release):
    shown = apply_view(release, View("column", top=2))
    whole = apply_view(release, View("column"))
    codes = {d.name: d.codes for d in shown.dimensions}
    for code in codes["area"]:
        one, two = (subset_release(each, {"area": [code]}) for each in (shown, whole))
        assert (percent_of(one) == percent_of(two)).all()


@pytest.mark.slow
def test_every_format_has_the_percentages_and_says_of_what(release):
    shown = apply_view(release, View("row", rank=True))
    texts = {form.name: form.write(shown) for form in formats()}
    document = json.loads(texts["json"])["extension"]
    percent = np.where(shown.derived[0].missing, np.nan, shown.derived[0].values).ravel().tolist()
    expected = [None if np.isnan(x) else x for x in percent]
    assert document["percent"] == expected
    assert "Percent of the row total" in document["meaning"]["percent"]
    frame = pd.read_csv(io.BytesIO(texts["csv"]), dtype={"area": str, "sex": str})
    assert frame["percent"].tolist() == expected
    assert frame["rank"].dropna().astype(int).tolist() == [r for r in document["rank"] if r is not None]
    assert pq.read_table(io.BytesIO(texts["parquet"]))["percent"].to_pylist() == expected
    sheet = openpyxl.load_workbook(io.BytesIO(texts["xlsx"]))["data"]
    header, *lines = sheet.iter_rows(values_only=True)
    assert [line[header.index("percent")] for line in lines] == expected
    for name in ("px", "html", "sdmx-csv", "sdmx-json", "csv-excel"):
        assert b"percent" in texts[name].lower(), name
    assert b"Percent of the row total" in texts["px"]
    assert format_by_name("arrow").write(shown) == texts["arrow"]


def test_a_variable_of_the_name_of_a_column_is_not_ambiguous(release):
    dimensions = (replace(release.dimensions[0], name="rank"), *release.dimensions[1:])
    request = replace(release.request, rows=("rank",))
    with pytest.raises(BadRequest, match="ambiguous"):
        apply_view(replace(release, dimensions=dimensions, request=request), View(rank=True))


def test_the_limits_of_percentages_hold_the_true_ones(town, release):
    """All 108 of this town; with limits at 95 % each some would be missed in the long run, with none at all nearly all."""
    low, high = percent_limits(
        apply_view(release, View("row")), every_interval(release, bonferroni_level(0.95))
    )
    frame = town.records.to_pandas()
    missed = 0
    for place in product(*(range(d.length) for d in release.dimensions)):
        area, sex, age = (d.codes[at] for d, at in zip(release.dimensions, place, strict=True))
        base = frame[((frame.area == area) | (area == "_T")) & ((frame.age == age) | (age == "_T"))]
        true = 100 * ((base.sex == sex) | (sex == "_T")).mean()
        missed += not low[place] <= true <= high[place]
    assert missed <= 5
    estimate = percent_of(apply_view(release, View("row")))
    assert (low <= estimate + 0.05).all()
    assert (estimate <= high + 0.05).all()
    with pytest.raises(BadRequest, match="level"):
        bonferroni_level(1.5)


def test_a_sum_of_areas_must_be_above_the_noise_of_all_of_them(town_workspace):
    """The wrong alternative takes the noise of one cell for that of the sum."""
    whole = asked(town_workspace, rows=["area"], columns=["sex"], filters=["area=N1,S1,S2,S3"])
    added = np.zeros(whole.values.shape, dtype=np.bool_)
    added[-1] = True  # as under a rule about areas
    whole = replace(whole, distribution=DistributionWithSums(whole.distribution, added))
    assert above_noise(whole).all()
    one = max(each.half_width(0.975) for each in whole.distribution.distributions[0].distributions)
    small = np.full(whole.values.shape, one + 1)
    found = above_noise(replace(whole, values=small, noisy=small))
    assert found[:-1].all()
    assert not found[-1].any()


@pytest.fixture(scope="module")
def ask(town_workspace):
    with discreet.open(town_workspace.folder) as catalogue:
        yield lambda **asked: catalogue.table("town", rows="age", columns="sex", **asked).release


def same(found, expected):
    return all(
        np.array_equal(mine, theirs, equal_nan=True) for mine, theirs in zip(found, expected, strict=True)
    )


def test_counts_have_the_limits_of_their_cells_at_the_level_and_percentages_their_own(ask):
    """Wrong alternative: the limits of the counts, beside percentages."""
    release = ask()
    found = add_picture(release, Picture(level=0.8)).picture.limits
    assert same(found, every_interval(release, 0.8))
    assert not same(found, every_interval(release, 0.99))
    assert add_picture(ask(additivity="fitted"), Picture()).picture.limits is None
    with pytest.raises(BadRequest, match="The level is 1"):
        add_picture(release, Picture(level=1))
    shares = apply_view(release, View(percent="row"))
    found = add_picture(shares, Picture()).picture.limits
    assert same(found, percent_limits(shares, every_interval(shares, bonferroni_level(0.95))))
    assert not same(found, every_interval(shares))


def test_ratios_and_differences_are_to_one_category_all_else_equal(release):
    """Wrong alternative: the category of the totals, one number for all rows."""
    name = release.request.columns[0]
    axis = [d.name for d in release.dimensions].index(name)
    code = release.dimensions[axis].codes[0]
    shown = apply_view(release, View(ratio=f"{name}={code}", difference=f"{name}={code}"))
    ratio, difference = shown.derived
    for place in np.ndindex(*release.values.shape):
        base = (*place[:axis], 0, *place[axis + 1 :])
        x, b = (float(release.before_clipping[at]) for at in (place, base))
        if not ratio.missing[place]:
            assert b > 0
            assert ratio.values[place] == pytest.approx(x / b, abs=0.0005)
        if not difference.missing[place]:
            assert difference.values[place] == x - b
        assert difference.missing[place] == (release.missing[place] or release.missing[base])
    assert ratio.missing.sum() >= difference.missing.sum()
    assert not ratio.missing.all()
    assert shown.request.identity == release.request.identity


@pytest.mark.parametrize(
    ("wrong", "why"),
    [
        ("sex", 'ratio is "sex"'),
        ("nothing=1", "does not show"),
        ("sex=1,2", "is no category"),
        ("sex=9", "does not show"),
    ],
)
def test_a_ratio_to_no_category_is_refused(town_workspace, wrong, why):
    whole = asked(town_workspace, rows=["area"], columns=["sex"])
    with pytest.raises(BadRequest, match=why):
        apply_view(whole, View(ratio=wrong))
