"""Figures 1-4: the risk-utility map, and chi-square tests of perturbed weighted tables.

    Figure 1: RM against Hellinger's distance.   Figures 2-4: X² = Σ (W - E)²/E of weighted counts as they are.

Source: Shlomo, Krenzke & Li (2019), section 3.5, Figures 1-4.
"""

from collections.abc import Iterator
from typing import Any

import numpy as np

from discreet.assess.simulation import NaiveAnalysis
from discreet_studies.exhibit import Effort, Exhibit, Finding, drawn
from discreet_studies.measures import entropy_risk, hellinger_distance, pearson
from discreet_studies.monte_carlo import share_finding
from discreet_studies.shlomo2019.risk_utility import released
from discreet_studies.shlomo2019.simulation import METHODS, PRINTED_RUNS, simulation

LEVEL = 0.05
FORMS = ("DP Avg", "PRAM Avg", "PRAM Avg cell", "Q Avg", "Q Avg cell")
_WEIGHTED = (
    "X² of weighted counts, without the survey design, as in the paper: weighting inflates it as if every "
    "person represented had been asked."
)


def figure_1(effort: Effort) -> Exhibit:
    """Figure 1: risk against utility, dependent tables."""
    points = _points(effort)
    risk = {p["method"]: p["risk"] for p in points}
    distance = {p["method"]: p["distance"] for p in points}
    claims = [
        Finding(f"RM of {a} less RM of {b}", 0.0, risk[a] - risk[b], relation=">=")
        for a, b in (("DP", "PRAM"), ("PRAM", "Q"))
    ] + [
        Finding(
            f"Hellinger's distance of {b} less that of {a}", 0.0, distance[b] - distance[a], relation=">="
        )
        for a, b in (("DP", "PRAM"), ("PRAM", "Q"))
    ]
    values = [
        Finding(f"{p['method']}: {what}", None, p[what]) for p in points for what in ("risk", "distance")
    ]
    return Exhibit(
        "figure 1",
        "Risk-utility map, dependent attributes: DP top right, drop/add bottom left",
        (*claims, *values),
        picture=drawn("shlomo2019", "risk_utility_map", points),
        note="The order of the three methods; their numbers are in Tables 4 and 5.",
    )


def _points(effort: Effort) -> list[dict[str, Any]]:
    done = simulation("dependent", effort)
    return [
        {
            "method": method,
            "risk": float(entropy_risk(done.population, done.protected[method].overall).mean()),
            "distance": float(hellinger_distance(done.population, done.protected[method].overall).mean()),
        }
        for method in METHODS
    ]


def figure_2(effort: Effort) -> Exhibit:
    """Figure 2: chi-square statistics, dependent tables."""
    tests = _tests("dependent", effort)
    claims = [
        share_finding(
            f"{name}: % of tables rejected at 5 %",
            100.0,
            test.p_value <= LEVEL,
            rounding=0.0,
            printed_runs=PRINTED_RUNS,
        )
        for name, test in tests.items()
    ]
    return Exhibit(
        "figure 2",
        "Chi-square statistics of weighted tables, dependent attributes",
        (*claims, *_medians(tests)),
        picture=lambda: _boxes(tests, "pearson", "dependent"),
        note=_WEIGHTED,
    )


def figure_3(effort: Effort) -> Exhibit:
    """Figure 3: chi-square statistics, independent tables."""
    tests = _tests("independent", effort)
    medians = {name: float(np.median(test.pearson)) for name, test in tests.items()}
    pairs = (("DP Avg", "Original"), ("PRAM Avg", "DP Avg"), ("Q Avg", "DP Avg"), ("Q Avg", "PRAM Avg"))
    claims = [
        Finding(f"median X²: {high} less {low}", 0.0, medians[high] - medians[low], relation=">=")
        for high, low in pairs
    ]
    return Exhibit(
        "figure 3",
        "Chi-square statistics of weighted tables, independent attributes",
        (*claims, *_medians(tests)),
        picture=lambda: _boxes(tests, "pearson", "independent"),
        note=_WEIGHTED + " Noise raises the statistic under every method.",
    )


def figure_4(effort: Effort) -> Exhibit:
    """Figure 4: p-values, independent tables."""
    tests = _tests("independent", effort)
    findings = [
        Finding(f"{name}: {what}", None, value)
        for name, test in tests.items()
        for what, value in (
            ("median p-value", float(np.median(test.p_value))),
            ("share of tables rejected at 5 %", _rejected(test)),
        )
    ]
    return Exhibit(
        "figure 4",
        "p-values of tests of independence, independent attributes",
        tuple(findings),
        picture=lambda: _boxes(tests, "p_value", "independent"),
        note=_WEIGHTED + " The paper shows box plots only: p-values pushed towards zero, which these are.",
    )


def _tests(kind: str, effort: Effort) -> dict[str, NaiveAnalysis]:
    done = simulation(kind, effort)
    return {"Original": pearson(done.population)} | {form: pearson(released(done, form)) for form in FORMS}


def _rejected(test: NaiveAnalysis) -> float:
    return float(np.mean(test.p_value <= LEVEL))


def _medians(tests: dict[str, NaiveAnalysis]) -> Iterator[Finding]:
    for name, test in tests.items():
        yield Finding(f"{name}: median X²", None, float(np.median(test.pearson)))


def _boxes(tests: dict[str, NaiveAnalysis], what: str, kind: str) -> Any:
    from discreet_studies.pictures.shlomo2019 import chi_square_boxes  # noqa: PLC0415 - pictures are an extra

    values = {name: np.asarray(getattr(test, what))[:PRINTED_RUNS].tolist() for name, test in tests.items()}
    return chi_square_boxes(values, what, kind)
