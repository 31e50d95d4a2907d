import pytest

from discreet.inference import quotient
from discreet.inference.noise_sum import noise_sum
from discreet.inference.quotient import least_share
from discreet.noise import laplace, maxent

NOISE = maxent(D=5, V=3, js=2)


def test_the_first_kept_pair_gives_the_share():
    """1 of 13: tests/statistics/test_interval_widths.py goes through all pairs."""
    found = least_share(noise_sum([4], NOISE), noise_sum([7], NOISE), 0.025)
    assert found == pytest.approx(1 / 13)


def test_a_part_of_the_whole_is_no_more_than_the_whole():
    part, whole = noise_sum([6], NOISE), noise_sum([5], NOISE)
    free, inside = (1 - least_share(whole, part, 0.025, inside=sign) for sign in (0, -1))
    assert inside == 0.5
    assert free > inside


def test_a_search_that_stops_early_gives_a_wider_interval(monkeypatch):
    part, rest = noise_sum([4], NOISE), noise_sum([7], NOISE)
    whole = least_share(part, rest, 0.025)
    monkeypatch.setattr(quotient, "_MOST_NUMBERS", 0)
    stopped = least_share(part, rest, 0.025)
    monkeypatch.setattr(quotient, "_MOST_PAIRS", 0)
    assert least_share(part, rest, 0.025) <= stopped <= whole
    assert least_share(part, rest, 0.025) < whole


def test_leaving_out_rare_sums_costs_hardly_any_width(monkeypatch):
    noise = laplace(epsilon=0.5, m=7)
    part, rest = noise_sum([12, 9], noise), noise_sum([30, 22], noise)
    all_sums = least_share(part, rest, 0.025)
    monkeypatch.setattr(quotient, "_MANY_PAIRS", 0)
    assert least_share(part, rest, 0.025) == pytest.approx(all_sums, rel=0.02)
