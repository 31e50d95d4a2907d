"""Sums and means of numeric variables: from the records to the release, and what is refused."""

from collections import defaultdict
from fractions import Fraction

import numpy as np
import pyarrow as pa
import pytest
from tests.conftest import SECRET_BYTES

from discreet.errors import BadData, BadDescription, BadRecords, BadRequest
from discreet.formats import format_by_name
from discreet.inference.confidence_intervals.table_intervals import every_interval, interval_of
from discreet.inference.table_view import check_view
from discreet.model.release import WITHHELD
from discreet.model.request import request_from_query, request_from_text
from discreet.model.view import View
from discreet.records.keys import write_guarded
from discreet.release.magnitudes import magnitude_promise
from discreet.release.measures import measures_of
from discreet.release.pipeline import release_table
from discreet.workspace.versions.load_version import load_dataset
from discreet.workspace.workspace import Workspace

from .firms import FIRMS, firm_records


@pytest.fixture(scope="module")
def firms(tmp_path_factory):
    folder = tmp_path_factory.mktemp("firms")
    load_dataset(folder, FIRMS, firm_records())
    return Workspace(folder).stored("firms")


def table(stored, measure="turnover", statistic="mean", **parts):
    parts = {"rows": ["region"], "columns": ["sector"]} | parts
    return release_table(stored, request_from_text("firms", measure=measure, statistic=statistic, **parts))


def true_sums(name):
    """Contributors and sum of every cell with totals, by a loop."""
    found = defaultdict(lambda: [0, Fraction(0)])
    for record in firm_records().to_pylist():
        if record[name] not in {"", "-9"} and float(record[name]):
            for region in (record["region"], "_T"):
                for sector in (record["sector"], "_T"):
                    cell = found[region, sector]
                    cell[0] += 1
                    cell[1] += Fraction(record[name])
    return found


def test_sums_and_means_are_near_the_true_ones_and_never_equal(firms):
    means, sums = table(firms), table(firms, statistic="sum")
    unequal = 0
    for (region, sector), (contributors, total) in true_sums("turnover").items():
        mean = means.value(region, sector)
        if mean is None:
            assert contributors < 12  # noise moves a count by 5 at most
            continue
        assert mean == pytest.approx(float(total / contributors), rel=0.6)
        assert sums.value(region, sector) == pytest.approx(float(total), rel=0.6)
        unequal += mean != round(float(total / contributors), 2)
    assert unequal >= 14


def test_a_sum_is_its_mean_times_the_released_contributors(firms):
    means, sums = table(firms), table(firms, statistic="sum")
    shown = ~means.missing
    released = np.round(sums.values[shown] / means.values[shown])
    assert (np.abs(sums.values[shown] - released * means.values[shown]) <= 0.005 * (released + 1)).all()
    assert (released >= 3).all()


def test_few_contributors_are_withheld_and_an_empty_cell_has_the_sum_0(firms):
    means, sums = table(firms), table(firms, statistic="sum")
    lone = (3, 3)  # D x 4 has one firm, the rest of row D nobody
    assert means.status[lone] == WITHHELD or means.values[lone] != 123456.78
    assert sums.value("D", "1") == 0
    assert means.value("D", "1") is None
    assert (sums.values[sums.missing] == 0).all()


def test_the_same_cell_has_the_same_number_in_every_table(firms):
    whole = table(firms)
    for parts in (
        {"rows": ["sector"], "columns": ["region"]},
        {"rows": ["region"], "columns": [], "filters": ["sector=1"]},
    ):
        other = table(firms, **parts)
        for region in ("A", "B", "C"):
            codes = (region,) if other.values.ndim == 1 else ("1", region)
            assert other.value(*codes) == whole.value(region, "1")


def test_measures_have_noise_of_their_own(firms):
    """The noise of a sum is not that of the count, nor of another measure of the same people."""
    counts = release_table(firms, request_from_text("firms", rows=["region"], columns=["sector"]))
    assert counts.value("_T", "_T") in range(1195, 1206)
    key = firms.protector.measure_key
    assert key("turnover") != key("balance")


def test_negative_values_are_kept_and_not_clipped(firms):
    balances = table(firms, "balance", "sum")
    assert (balances.values < 0).any()
    assert balances.signed is None


def test_every_format_shows_the_numbers(firms):
    release = table(firms)
    text = b"".join(format_by_name("csv").stream(release)).decode()
    assert "A,A,1,1," in text
    assert f"{release.value('A', '1')!r}" in text
    assert release.title == "Turnover, mean (EUR a year) by region and sector"


def test_files_have_unit_and_decimals(firms):
    release = table(firms)
    texts = {
        name: b"".join(format_by_name(name).stream(release)).decode()
        for name in ("px", "json", "html", "sdmx-csv")
    }
    assert 'UNITS="EUR a year";' in texts["px"]
    assert "DECIMALS=2;" in texts["px"]
    assert '"value_unit":{"label":"EUR a year","decimals":2}' in texts["json"]
    assert "firms-turnover_mean-region-sector" in texts["sdmx-csv"]
    assert "Turnover, mean (EUR a year)" in texts["html"]


def test_what_is_for_counts_alone_is_refused(firms):
    release = table(firms)
    with pytest.raises(BadRequest, match="not a count with independent noise"):
        interval_of(release, ["region=A"])
    with pytest.raises(BadRequest, match="not counts with independent noise"):
        every_interval(release)
    with pytest.raises(BadRequest, match="Percentages are of counts"):
        check_view(View("row"), release.request, release.dimensions)


def test_the_notes_and_the_promise_speak_of_sums(firms):
    release = table(firms)
    assert "A sum is its mean times the adjusted number of contributors." in release.notes[0]
    assert "Values of fewer than 3 released contributors are not shown." in release.notes[0]
    assert any("No differential privacy is promised for a sum." in sentence for sentence in release.promise)
    assert not any("-differentially private at worst" in sentence for sentence in release.promise)
    assert "lies within 10 % of it with a probability of at most 0." in " ".join(release.promise)
    assert magnitude_promise(firms.dataset, firms.dataset.measures[0]) == release.promise


def test_values_that_rounding_restores_are_not_covered_by_the_statement(tmp_path):
    """Of a whole-numbered measure a value of 2 comes out exactly nearly always: the statement begins at 100 units."""
    description = FIRMS.replace("decimals = 2", "decimals = 0").replace("small = { D = 8, V = 3 }", "")
    load_dataset(tmp_path, description, firm_records().set_column(3, "turnover", pa.array(["2"] * 1_200)))
    stored = Workspace(tmp_path).stored("firms")
    shown = table(stored)
    assert (shown.values[~shown.missing] == 2).all()
    assert "a value of at least 100," in " ".join(shown.promise)


def test_an_added_person_with_the_value_0_leaves_the_mean_as_it_is(tmp_path):
    """The documented weakness of zeros that are left out; `included` hides it."""
    found = {}
    for way in ("left-out", "included"):
        description = FIRMS.replace(
            "[measure.protection]\n", f'[measure.protection]\nzero_contributors = "{way}"\n', 1
        )
        records = firm_records()
        more = (
            records.slice(2, 1)
            .set_column(0, "firm", pa.array(["new"]))
            .set_column(3, "turnover", pa.array(["0"]))
        )
        region, sector = more["region"][0].as_py(), more["sector"][0].as_py()
        for name, rows in (("before", records), ("after", pa.concat_tables([records, more]))):
            folder = tmp_path / way / name
            folder.mkdir(parents=True)
            write_guarded(folder / "secret", SECRET_BYTES)
            load_dataset(folder, description, rows)
            found[way, name] = table(Workspace(folder).stored("firms")).value(region, sector)
    assert found["left-out", "before"] == found["left-out", "after"]
    assert found["included", "before"] != found["included", "after"]


def test_a_mean_times_candidate_counts_does_not_give_the_count(firms):
    """SDC Handbook, 5.7: an exact mean times the right count is a whole sum of last decimals, times others it is not."""
    means, sums = table(firms), table(firms, statistic="sum")
    right = tried = 0
    for (region, sector), (contributors, total) in true_sums("turnover").items():
        if (mean := means.value(region, sector)) is None or not 3 <= contributors < 200:
            continue
        candidates = range(max(3, contributors - 5), contributors + 6)
        fits = [n for n in candidates if (total / contributors * n * 100).denominator == 1]
        assert contributors in fits  # an exact mean is found out
        assert len(fits) < len(candidates)
        best = min(candidates, key=lambda n: abs(mean * n - sums.value(region, sector)))
        right, tried = right + (best == contributors), tried + 1
    assert tried >= 5
    assert right < tried


def test_measures_are_offered_and_a_permalink_names_measure_and_statistic(firms):
    assert [each.name for each in measures_of(firms.dataset)] == [
        *("count", "turnover.sum", "turnover.mean", "balance.sum", "balance.mean"),
    ]
    request = table(firms).request
    assert request.permalink == "rows=region&columns=sector&measure=turnover&statistic=mean"
    parameters = defaultdict(list)
    for name, value in request.to_query():
        parameters[name].append(value)
    assert request_from_query("firms", lambda name: parameters[name]) == request


@pytest.mark.parametrize(
    ("measure", "statistic", "more", "words"),
    [
        ("turnover", "", {}, 'The measure "turnover" needs a statistic'),
        ("turnover", "median", {}, 'has no statistic "median"'),
        ("turnover", "sum,mean", {}, 'The statistic is "sum,mean"'),
        ("count", "mean", {}, "count.mean"),
        ("turnovr", "mean", {}, "turnovr.mean"),
        ("turnover", "sum", {"additivity": "interior"}, "adjusted cell by cell"),
    ],
)
def test_other_requests_are_refused_before_a_record_is_read(firms, measure, statistic, more, words):
    with pytest.raises(BadRequest, match=words):
        table(firms, measure, statistic, **more)


def records_with(**columns):
    base = {
        "firm": ["a", "b"],
        "region": ["A", "B"],
        "sector": ["1", "2"],
        "turnover": ["1", "2"],
        "balance": ["0", "0"],
    }
    return pa.table(base | columns)


@pytest.mark.parametrize(
    ("value", "words"),
    [
        ("NaN", "The value 'NaN' of \"turnover\" is no number"),
        ("inf", "The value 'inf' of \"turnover\" is no number"),
        ("-inf", "is no number"),
        ("12,5", "is no number"),
        ("1e300", "is no number"),
        ("-0.01", "lies outside its bounds, 0 and 50,000,000"),
        ("50000000.01", "lies outside its bounds"),
    ],
)
def test_values_that_are_no_numbers_or_out_of_bounds_are_refused_with_their_lines(tmp_path, value, words):
    with pytest.raises(BadRecords, match=words) as caught:
        load_dataset(tmp_path, FIRMS, records_with(turnover=["1", value]))
    assert caught.value.problems[0]["record"] == 2


@pytest.mark.parametrize("values", [[1.0, float("nan")], [1.0, float("inf")]])
def test_nan_and_infinity_of_a_numeric_column_are_refused(tmp_path, values):
    with pytest.raises(BadRecords, match="is no number"):
        load_dataset(tmp_path, FIRMS, records_with(turnover=values))


def test_a_value_at_its_bound_a_rounded_one_and_a_missing_one_are_loaded(tmp_path):
    load_dataset(tmp_path, FIRMS, records_with(turnover=["50000000.00", "-9"], balance=["-100000", "0.04"]))
    stored = Workspace(tmp_path).stored("firms")
    assert (
        table(stored, statistic="sum").missing.sum() + (table(stored, statistic="sum").values == 0).sum() > 0
    )


def test_one_firm_with_many_records_counts_once_for_each(tmp_path):
    """Contributors are records: who has many of them is as many contributors, and the noise sees the largest records."""
    ids = [f"r{place}" for place in range(40)]
    records = pa.table(
        {
            "firm": ids,
            "region": ["A"] * 40,
            "sector": ["1"] * 40,
            "turnover": ["1000"] * 40,
            "balance": ["1"] * 40,
        }
    )
    load_dataset(tmp_path, FIRMS, records)
    release = table(Workspace(tmp_path).stored("firms"))
    assert release.value("A", "1") == pytest.approx(1_000, rel=0.1)


def test_sums_that_could_overflow_are_refused_at_load(tmp_path):
    """1,200 values up to 9 * 10^15 units reach 2^62; up to 3 * 10^15 they do not."""
    load_dataset(tmp_path, FIRMS.replace("50_000_000", "30_000_000_000_000"), firm_records())
    with pytest.raises(BadData, match=r"could add up to more than 2\^62"):
        load_dataset(tmp_path, FIRMS.replace("50_000_000", "90_000_000_000_000"), firm_records())
    with pytest.raises(BadDescription, match="exceed"):
        load_dataset(tmp_path, FIRMS.replace("50_000_000", "900_000_000_000_000"), firm_records())


def test_a_version_keeps_the_integers_of_its_noise(tmp_path, monkeypatch):
    """Designs use floats: another machine that designs other integers serves the stored ones."""
    from discreet.noise import magnitude

    load_dataset(tmp_path, FIRMS, firm_records())
    before = table(Workspace(tmp_path).stored("firms")).values
    magnitude._noise_of.cache_clear()
    monkeypatch.setattr(magnitude, "maxent", lambda **_wishes: pytest.fail("designed again"))
    assert (table(Workspace(tmp_path).stored("firms")).values == before).all()
    (version,) = [path for path in (tmp_path / "datasets/firms").iterdir() if path.is_dir()]
    stored = (version / "measures.json").read_text()
    (version / "measures.json").write_text(stored.replace("4294967296", "4294967297", 1))
    with pytest.raises(Exception, match="changed after it was loaded"):
        Workspace(tmp_path).stored("firms")
