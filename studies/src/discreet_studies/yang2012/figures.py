"""Figures 1-6 of the paper: what the mechanism does to its four tables, run again.

Each figure reads one number of every run and shows its mean and one standard deviation against ε, twice: with
the published scale, and with the scale that is needed (add-remove neighbours). The figures' values are not
printed, so most findings have ours only; the distances that the text gives beside figure 4 are compared.

Source: Yang, Fienberg & Rinaldo (2012), section 4.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from discreet.margins.sensitivity import PAPER_TABLES
from discreet_studies.exhibit import Effort, Exhibit, Finding
from discreet_studies.yang2012.runs import INFEASIBLE, LARGEST, NAMED, clouds, dataset, grid, without_noise

if TYPE_CHECKING:
    import altair as alt

    from discreet_studies.yang2012.runs import Cloud, Outcome


Scale = Literal["log", "symlog", "linear"]
PUBLISHED, CORRECTED = "as published", "scale that is needed"
_SECOND_STAGE = (
    "The statistic says little about the noise. The program knows the margins only; many tables solve it (remark "
    "3), the paper's is whichever its solver found and ours the one nearest to the noisy table. Ours is shifted "
    "even without noise (dashed), and other solutions by other amounts, so the print cannot be reproduced."
)
#: The L1 distance between estimate and uniform distribution, as printed in the text.
_TO_UNIFORM = {"edwards": 0.83, "czech": 0.86, "rochdale": 1.43, "journey": 1.43}


@dataclass(frozen=True, slots=True)
class Measure:
    """What a figure shows of a run.

    Args:
        words: For findings: "mean sample size".
        scale: Of the axis: "log", "symlog" (which has a zero) or "linear".
        spread: Whether one standard deviation is shown; of shares it says nothing.
        reference: A level of each table drawn for comparison, with its words.
    """

    words: str
    axis: str
    of: Callable[[Outcome], float]
    scale: Scale = "log"
    spread: bool = True
    reference: tuple[str, Callable[[str], float]] | None = None


def _scales() -> str:
    """What the published scale really promises, table by table."""
    said = ", ".join(
        f"{dataset(name).title} {dataset(name).true_epsilon(1.0):.3g} ε (replace-one "
        f"{dataset(name).true_epsilon(1.0, 'replace-one'):.3g} ε)"
        for name in PAPER_TABLES
    )
    return (
        f"What the published scale really gives for add-remove neighbours: {said}; above 1 it is not ε-DP. "
    )


def _total(name: str) -> float:
    return float(dataset(name).table.total)


def _shift_without_noise(name: str) -> float:
    return without_noise(name).statistic_shift


def _to_uniform(name: str) -> float:
    found = dataset(name).fit.probabilities
    return float(np.abs(found - 1 / found.size).sum())


def figure_1(effort: Effort) -> Exhibit:
    """Sample sizes."""
    measure = Measure(
        "mean sample size", "Sample size", lambda run: run.sample_size, reference=("true n", _total)
    )
    times = ", ".join(
        f"{dataset(name).title} {_mean(_at(name, NAMED[0], effort), measure) / _total(name):.0f}"
        for name in PAPER_TABLES
    )
    note = f'"Orders of magnitude larger" at the smallest ε: mean sample size over n, {times}. '
    return _figure("figure 1", "Sample size of the released table", measure, effort, note=note)


def figure_2(effort: Effort) -> Exhibit:
    """Largest L1 distance between true and released margins."""
    measure = Measure(
        "mean of the largest L1 distance of a margin",
        "Largest L1 distance of a margin",
        lambda run: run.largest_l1,
        reference=("true n", _total),
    )
    findings = tuple(_exceeds(name, measure, effort) for name in PAPER_TABLES)
    return _figure(
        "figure 2", "Largest L1 distance between true and released margins", measure, effort, findings
    )


def figure_3(effort: Effort) -> Exhibit:
    """Shift of the likelihood ratio statistic."""
    measure = Measure(
        "mean |shift| of the likelihood ratio",
        "Shift of the likelihood ratio",
        lambda run: run.statistic_shift,
        reference=("without noise", _shift_without_noise),
    )
    findings = tuple(
        Finding(f"{dataset(name).title}: shift without any noise", None, _shift_without_noise(name))
        for name in PAPER_TABLES
    )
    title = "Shift of the likelihood ratio statistic"
    return _figure("figure 3", title, measure, effort, findings, f"{_SECOND_STAGE} ")


def figure_4(effort: Effort) -> Exhibit:
    """L1 distance between estimates, and between estimate and uniform distribution."""
    measure = Measure(
        "mean L1 distance of the estimates",
        "L1 distance of the estimates",
        lambda run: run.mle_l1,
        scale="linear",
        reference=("uniform", _to_uniform),
    )
    findings = tuple(_uniform_finding(name) for name in PAPER_TABLES)
    note = "The distance is twice the total variation (2 for disjoint supports). "
    title = "Distance between the estimates from the true and the released table"
    return _figure("figure 4", title, measure, effort, findings, note)


def figure_5(effort: Effort) -> Exhibit:
    """How often the linear program is infeasible."""
    words = "share of runs with b > 0"
    measure = Measure(
        words, words.capitalize(), lambda run: float(run.b > INFEASIBLE), scale="linear", spread=False
    )
    note = "The paper shows the fungus table only; the other three are beside it. "
    return _figure("figure 5", "How often no table has the noisy margins", measure, effort, note=note)


def figure_6(effort: Effort) -> Exhibit:
    """The optimum b of the linear program."""
    measure = Measure("mean b", "Optimum b of the program", lambda run: run.b, scale="symlog")
    note = "The paper shows the fungus table only; the other three are beside it. "
    return _figure(
        "figure 6", "How far the nearest table is from the noisy margins", measure, effort, note=note
    )


def _figure(
    name: str,
    title: str,
    measure: Measure,
    effort: Effort,
    findings: tuple[Finding, ...] = (),
    note: str = "",
) -> Exhibit:
    everything = [cloud for table in PAPER_TABLES for cloud in clouds(table, effort)]
    records = [record for cloud in everything for record in _records(cloud, measure)]
    named = tuple(_named(cloud, measure) for cloud in everything if cloud.epsilon in NAMED)
    reps = len(everything[0].runs)
    runs = f"{reps} runs at each of {len(grid(effort))} values of ε (the paper: 50 at 200). "
    return Exhibit(
        name,
        title,
        (*findings, *named),
        picture=partial(_picture, records, title, measure, reps),
        note=f"{note}{_scales()}{runs}The paper prints no values of this figure; ours have two Monte Carlo standard errors.",
        extra={"curves": records},
    )


def _picture(records: list[dict[str, Any]], title: str, measure: Measure, reps: int) -> alt.TopLevelMixin:
    from discreet_studies.pictures.yang2012 import runs_by_epsilon  # noqa: PLC0415  pictures are an extra

    levels = {}
    if measure.reference is not None:
        words, level = measure.reference
        levels = {dataset(name).title: (words, level(name)) for name in PAPER_TABLES}
    promises = {dataset(name).title: _promise(name) for name in PAPER_TABLES}
    chart: alt.TopLevelMixin = runs_by_epsilon(
        records, title, measure.axis, promises, levels, reps=reps, scale=measure.scale, spread=measure.spread
    )
    return chart


def _promise(name: str) -> str:
    """What the published scale really is, in a few words."""
    true = dataset(name).true_epsilon(1.0)
    return f"as published: really {true:.3g} ε{', so not ε-DP' if true > 1 else ''}"


def _values(cloud: Cloud, measure: Measure) -> list[float]:
    """The measure of every run that has one: an empty released table has no likelihood."""
    found = [measure.of(run) for run in cloud.runs]
    return [value for value in found if not math.isnan(value)]


def _mean(cloud: Cloud, measure: Measure) -> float:
    return float(np.mean(_values(cloud, measure)))


def _records(cloud: Cloud, measure: Measure) -> list[dict[str, Any]]:
    """The point of each curve that these runs are: their ε as published, and their true one."""
    values = _values(cloud, measure)
    mean, spread = float(np.mean(values)), float(np.std(values))
    own = {"table": dataset(cloud.dataset).title, "mean": mean, "sd": spread, "runs": len(values)}
    places = ((PUBLISHED, cloud.epsilon), (CORRECTED, cloud.true_epsilon))
    return [{**own, "scale": scale, "epsilon": epsilon} for scale, epsilon in places]


def _named(cloud: Cloud, measure: Measure) -> Finding:
    values = _values(cloud, measure)
    error = float(np.std(values)) / math.sqrt(len(values))
    what = f"{dataset(cloud.dataset).title}, ε = {cloud.epsilon:g} as published: {measure.words}"
    return Finding(what, None, float(np.mean(values)), tolerance=2 * error)


def _at(name: str, epsilon: float, effort: Effort) -> Cloud:
    return next(cloud for cloud in clouds(name, effort) if cloud.epsilon == epsilon)


def _exceeds(name: str, measure: Measure, effort: Effort) -> Finding:
    """Up to which ε the mean distance is larger than the number of people."""
    over = [
        c.epsilon for c in clouds(name, effort) if c.epsilon <= LARGEST and _mean(c, measure) > _total(name)
    ]
    what = (
        f"{dataset(name).title}, as published: largest ε whose mean distance exceeds n = {_total(name):,.0f}"
    )
    return Finding(what, None, max(over, default=0.0))


def _uniform_finding(name: str) -> Finding:
    known = dataset(name)
    share = known.table.counts / known.table.total
    observed = float(np.abs(share - 1 / share.size).sum())
    why = f"Not reproduced: the estimate is {_to_uniform(name):.4f} from uniform, the observed table {observed:.4f}"
    if abs(observed - _TO_UNIFORM[name]) <= 0.005:
        why += ", which rounds to the print"
    return Finding(
        f"{known.title}: L1 distance between estimate and uniform",
        _TO_UNIFORM[name],
        _to_uniform(name),
        0.005,
        f"{why}.",
    )
