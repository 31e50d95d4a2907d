"""The benchmark runs and reports what it promises; no time is asserted."""

import pytest

from discreet_studies.bench.tables import LOAD, WORK, timings


@pytest.mark.slow
def test_a_small_run_reports_every_piece_of_work(tmp_path):
    found = list(timings(20_000, tmp_path, repeats=1))
    assert [timing.work for timing in found] == [LOAD, *WORK]
    for timing in found[1:]:
        assert timing.ratio_duckdb == pytest.approx(timing.ours_s / timing.duckdb_s, rel=0.05)
        assert timing.ratio_ons == pytest.approx(timing.ons_s / timing.ours_s, rel=0.05)
        assert timing.peak_mb > 0
    keys = {"work", "rows", "ours_s", "duckdb_s", "ons_s", "ratio_duckdb", "ratio_ons", "peak_mb"}
    assert set(found[1].as_json()) == keys
