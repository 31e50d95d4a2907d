"""Figures 1-3: what Laplace and normal noise of equal ε and δ do to three tables.

Each table is perturbed many times for every ε; negative counts become zero. Looked at are Cramér's V, the
p-value of Pearson's test as if the counts were exact, and the losses l1, l2 and l3.

Source: Rinott, O'Keefe, Shlomo & Skinner (2018), Table 1, section 5.6.2 and Figures 1-3.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.inference.hypothesis_tests.p_value import with_noise
from discreet.noise import laplace, normal
from discreet.noise.families import laplace as discrete_laplace
from discreet.noise.families import normal as truncated_normal
from discreet_studies.exhibit import Effort, Exhibit, Finding
from discreet_studies.measures import losses, pearson

Floats = NDArray[np.float64]

EPSILONS = (0.1, 0.5, 1.0, 1.5, 2.0, 3.0)
LAPLACE_M = 7
#: The truncations that the paper prints for normal noise of the same delta.
NORMAL_M = (8, 10, 12, 12, 13, 14)
DISTRIBUTIONS = ("Laplace", "Normal")
LEVEL = 0.05
PRINTED_RUNS = 100
#: What the paper says of the interquartile range of V: less than this.
CLOSE = 0.005
PEOPLE = 10_000
CANDIDATES = 101
#: Table 1 of the paper: age groups 15-19 to 70-74 by occupations A to K.
TABLE_1 = np.array(
    [
        [2, 2, 8, 7, 31, 0, 7, 2, 20, 0, 80],
        [55, 68, 110, 54, 134, 0, 23, 13, 138, 2, 129],
        [115, 147, 132, 78, 83, 0, 19, 15, 45, 0, 18],
        [191, 129, 127, 89, 68, 0, 18, 8, 33, 4, 10],
        [153, 113, 119, 74, 49, 1, 34, 15, 44, 4, 9],
        [102, 70, 78, 70, 43, 1, 20, 21, 24, 3, 8],
        [94, 65, 55, 72, 47, 2, 29, 16, 36, 4, 14],
        [92, 81, 75, 80, 65, 1, 43, 17, 36, 1, 8],
        [74, 51, 56, 64, 72, 2, 49, 21, 67, 2, 13],
        [63, 41, 40, 70, 53, 3, 22, 22, 56, 4, 59],
        [12, 5, 7, 3, 12, 0, 6, 4, 8, 2, 287],
        [4, 4, 1, 5, 4, 0, 2, 1, 4, 0, 307],
    ],
    dtype=np.int64,
)
_UNSAID = (
    "The paper says neither the shape of its tables nor the parameters of its Dirichlet margins: here {shape} "
    "and flat margins, and of 101 such tables the one with the median p-value. What depends on these is told "
    "as ours, with nothing printed beside it. "
)


@dataclass(frozen=True, slots=True)
class Runs:
    """Perturbations of one table under one distribution and ε: one number a run of each measure."""

    distribution: str
    epsilon: float
    measures: dict[str, Floats]


def figure_1(effort: Effort) -> Exhibit:
    """Figure 1: the paper's Table 1."""
    runs = simulate(TABLE_1, effort, 1)
    return Exhibit(
        "figure 1",
        f"Table 1 perturbed {_number(effort):,} times for each ε (the paper: 100)",
        (*matched_truncations(), *_close_v(runs), *_laplace_wins(runs), *_rejections(runs, printed=1.0)),
        picture=lambda: _picture(
            runs, TABLE_1, "Laplace noise does less harm: the paper's Table 1", p_values=False
        ),
        note="No single rule gives all six truncations; the figures use the printed ones.",
    )


def figure_2(effort: Effort) -> Exhibit:
    """Figure 2: a small independent table with large counts."""
    table = typical_table((10, 10), 1.0, np.random.default_rng([effort.seed, 2]))
    even = typical_table((10, 10), 20.0, np.random.default_rng([effort.seed, 22]))
    runs = simulate(table, effort, 2)
    note = _UNSAID.format(shape="10 x 10") + (
        "The paper finds that noise rarely changes the inference here. With flat margins, which leave small cells, "
        "this holds for Laplace noise from ε = 1 on only; with nearly even margins (Dirichlet parameters 20) for "
        "Laplace noise from ε = 0.5 and normal noise from ε = 1 on."
    )
    return Exhibit(
        "figure 2",
        "A small independent table: 10,000 people, 100 cells",
        (
            *_laplace_wins(runs),
            *_truth(table),
            *_rejections(runs),
            *_rejections(simulate(even, effort, 22), "even margins, "),
        ),
        picture=lambda: _picture(runs, table, "Laplace noise does less harm: 100 people a cell, independent"),
        note=note,
    )


def figure_3(effort: Effort) -> Exhibit:
    """Figure 3: a large independent table with small counts."""
    table = typical_table((20, 50), 1.0, np.random.default_rng([effort.seed, 3]))
    runs = simulate(table, effort, 3)
    shares = {(r.distribution, r.epsilon): _rejected(r) for r in runs}
    last = max((e for e in EPSILONS if shares["Laplace", e] >= 0.5), default=0.0)
    least = min(shares["Normal", e] for e in EPSILONS)
    return Exhibit(
        "figure 3",
        "A large independent table: 10,000 people, 1,000 cells",
        (
            Finding("Normal, smallest share rejected at any ε", 1.0, least),
            Finding("Laplace, last ε at which most tables are rejected", 2.0, last),
            *_laplace_wins(runs),
            *_truth(table),
            *_rejections(runs),
        ),
        picture=lambda: _picture(runs, table, "Laplace noise does less harm: 10 people a cell, independent"),
        note=_UNSAID.format(shape="20 x 50")
        + "A table whose own p-value happens to be small is mostly rejected at ε = 3 too.",
    )


def matched_truncations() -> Iterator[Finding]:
    """Section 5.6.2: the m of normal noise whose δ is closest to that of Laplace noise of m = 7."""
    why = "At m = 13 the δ of normal noise is closer (1.1e-5 against 1.7e-5; at 12 it is 2.4e-5)."
    for epsilon, printed in zip(EPSILONS, NORMAL_M, strict=True):
        target = discrete_laplace.end_probability(epsilon, LAPLACE_M)
        closest = min(range(1, 40), key=lambda m: abs(truncated_normal.end_probability(epsilon, m) - target))
        yield Finding(f"m of normal noise with the δ of Laplace, ε = {epsilon:g}", printed, closest, 0.0, why)


def independent_table(
    shape: tuple[int, int], concentration: float, rng: np.random.Generator
) -> NDArray[np.int64]:
    """10,000 people in cells of chance p(i) q(j), p and q drawn from symmetric Dirichlet distributions."""
    rows, columns = (rng.dirichlet(np.full(size, concentration)) for size in shape)
    return rng.multinomial(PEOPLE, np.outer(rows, columns).ravel()).reshape(shape)


def typical_table(
    shape: tuple[int, int], concentration: float, rng: np.random.Generator
) -> NDArray[np.int64]:
    """The independent table with the median p-value of 101: one table alone may be an odd one."""
    drawn = [independent_table(shape, concentration, rng) for _ in range(CANDIDATES)]
    p_values = [float(pearson(table[None]).p_value[0]) for table in drawn]
    return drawn[int(np.argsort(p_values)[CANDIDATES // 2])]


def simulate(table: NDArray[np.int64], effort: Effort, stream: int) -> list[Runs]:
    """The table perturbed many times under either distribution for every ε."""
    many = np.broadcast_to(table, (_number(effort), *table.shape)).copy()
    found = []
    for place, epsilon in enumerate(EPSILONS):
        rng = np.random.default_rng([effort.seed, stream, place])
        noises = (laplace(epsilon=epsilon, m=LAPLACE_M), normal(epsilon=epsilon, m=NORMAL_M[place]))
        for distribution, noise in zip(DISTRIBUTIONS, noises, strict=True):
            released = np.maximum(with_noise(many, noise, rng), 0)
            test = pearson(released)
            measures = {"p": test.p_value, "V": test.association, **losses(many, released)}
            found.append(Runs(distribution, epsilon, measures))
    return found


def _number(effort: Effort) -> int:
    return effort.of(1000, PRINTED_RUNS)


def _close_v(runs: list[Runs]) -> Iterator[Finding]:
    """The paper: under both distributions the interquartile range of V is less than 0.005."""
    for distribution in DISTRIBUTIONS:
        ranges = {
            r.epsilon: float(np.subtract(*np.percentile(r.measures["V"], (75, 25))))
            for r in runs
            if r.distribution == distribution
        }
        over = ", ".join(
            f"{width:.5f} at ε = {epsilon:g}" for epsilon, width in ranges.items() if width > CLOSE
        )
        why = f"It is {over}. A range of the paper's 100 perturbations has a standard error of some 12 % of itself."
        yield Finding(
            f"{distribution}, largest interquartile range of Cramér's V",
            CLOSE,
            max(ranges.values()),
            why=why,
            relation="<=",
        )


def _laplace_wins(runs: list[Runs]) -> Iterator[Finding]:
    """The paper: Laplace noise has less loss throughout, even for l2, which makes normal noise."""
    for loss in ("l1", "l2", "l3"):
        medians = {(r.distribution, r.epsilon): float(np.median(r.measures[loss])) for r in runs}
        least = min(medians["Normal", e] / medians["Laplace", e] for e in EPSILONS)
        what = f"{loss}: least ratio of the normal to the Laplace loss, over ε"
        yield Finding(what, 1.0, least, relation=">=")


def _truth(table: NDArray[np.int64]) -> Iterator[Finding]:
    test = pearson(table[None])
    yield Finding("the original table: p-value", None, float(test.p_value[0]))
    yield Finding("the original table: Cramér's V", None, float(test.association[0]))


def _rejections(runs: list[Runs], head: str = "", printed: float | None = None) -> Iterator[Finding]:
    for run in runs:
        what = f"{head}{run.distribution}, ε = {run.epsilon:g}: share rejected at 5 %"
        yield Finding(what, printed, _rejected(run))


def _rejected(run: Runs) -> float:
    return float(np.mean(run.measures["p"] <= LEVEL))


def _picture(runs: list[Runs], table: NDArray[np.int64], title: str, *, p_values: bool = True) -> Any:
    from discreet_studies.pictures.rinott2018 import risk_utility  # noqa: PLC0415 - pictures are an extra

    test = pearson(table[None])
    truth = {"V": float(test.association[0]), "p": float(test.p_value[0])}
    names = ("p", "V", "l1", "l2", "l3") if p_values else ("V", "l1", "l2", "l3")
    records = [
        {"law": run.distribution, "epsilon": f"{run.epsilon:g}", "measure": name, "value": float(value)}
        for run in runs
        for name in names
        for value in run.measures[name]
    ]
    return risk_utility(records, names, truth, title)
