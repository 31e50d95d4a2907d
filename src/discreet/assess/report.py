"""The one-page report of an assessment: sentences, pictures, tables, and how every epsilon was understood."""

from __future__ import annotations

import math
from html import escape
from typing import TYPE_CHECKING

from discreet.assess.assessment import CONFIDENTIAL, INDEPENDENT, NOT_THE_KEYS, OUTSIDE_DP
from discreet.assess.expectation import SMALL
from discreet.assess.figures import FIGURES
from discreet.assess.page import grid, page, picture, sentences
from discreet.assess.sentences import conclusion, summary
from discreet.inference.likelihood_ratio import p_text
from discreet.pictures.save import render

if TYPE_CHECKING:
    from discreet.assess.assessment import Assessment, Outcome

READING = [
    "Epsilon and delta are exact, for one count, one person added or removed; nothing is promised here about many "
    "tables together. 'Above D' leaves out counts that the largest change can reach.",
    "RM is the share of the true table's information that a release gives away (1: all but the scale); Hellinger's "
    "distance and l1, l2, l3 measure how far a release is from the truth.",
    f"Confirmation: of the cells shown with 1 to {SMALL} people, how many really have the shown number. The lower, the "
    "less a shown small count tells.",
    "± is the Monte Carlo error of a simulated mean; figures without it are exact expectations.",
]


def report(found: Assessment) -> str:
    """The report as HTML."""
    heading = f"Assessment of {found.title}"
    about = (
        f"Dataset {found.dataset}, version {found.digest[:8]}, query {found.query}; delta {found.delta:g}, "
        f"{found.reps} simulated releases of each case, seed {found.seed}."
    )
    pictures = _pictures(found)
    parts = [
        f"<h1>{escape(heading)}</h1>",
        f'<p class="soft">{escape(about)}</p>',
        sentences(summary(found)),
        pictures["map"],
        "<h2>Risk</h2>",
        risk_table(found),
        f'<div class="pair">{pictures["confirmation"]}{pictures["zeros"]}</div>',
        "<h2>Utility</h2>",
        utility_table(found),
        pictures["boxes"],
        "<h2>What a reader would conclude</h2>",
        sentences(conclusion(found)),
        conclusion_table(found),
        pictures["conclusions"],
        "<h2>The cases, and how epsilon became noise</h2>",
        cases_table(found),
        sentences(list(found.left_out)) if found.left_out else "",
        "<h2>How to read this</h2>",
        sentences([*READING, INDEPENDENT, NOT_THE_KEYS, OUTSIDE_DP]),
    ]
    return page(heading, f"{CONFIDENTIAL} {OUTSIDE_DP}", "\n".join(part for part in parts if part))


def _pictures(found: Assessment) -> dict[str, str]:
    """Every picture that the table has; an empty text for the others."""
    drawn = {}
    for number, (name, make) in enumerate(FIGURES.items()):
        chart = make(found)
        label = f"Picture: {name} of {found.title}"
        drawn[name] = "" if chart is None else picture(render(chart, "svg"), label, number)
    return drawn


def risk_table(found: Assessment) -> str:
    """Epsilon and delta, and what a reader can learn."""
    headers = [
        "case", "delta at epsilon", "above D", f"epsilon at delta {found.delta:g}", "above D", "cells perturbed",
        "of those with people", "shown exactly", f"confirmation, 1 to {SMALL}", "RM",
    ]  # fmt: skip
    lines = [
        [
            o.case.label,
            f"{_small(o.privacy.delta)} at {o.privacy.epsilon:g}",
            _small(o.privacy.delta_above),
            _epsilon(o.privacy.epsilon_at),
            _epsilon(o.privacy.epsilon_above),
            f"{o.expected.perturbed:.1%}",
            f"{o.expected.perturbed_occupied:.1%}",
            f"{o.expected.p_exact:.1%}",
            _share(o.expected.confirmation_small),
            simulated(o, "rm"),
        ]
        for o in found.outcomes
    ]
    return grid(
        "One count, one person added or removed. An epsilon of ∞: no epsilon keeps this delta.",
        headers,
        lines,
    )


def utility_table(found: Assessment) -> str:
    """How far releases are from the truth."""
    headers = [
        "case", "l1 a cell", "l2 a cell", "l3 a cell", "Hellinger", "total variation of MLEs", "false zeros",
        "empty cells shown with people", "people truly there", "bias of the sum",
    ]  # fmt: skip
    lines = []
    for o in found.outcomes:
        cells, e = o.expected.cells, o.expected
        means = [f"{moments.mean / cells:.3g}" for moments in (e.l1, e.l2, e.l3)]
        zeros = f"{e.false_zeros:.1f} ({e.false_zero_share:.1%})"
        simulations = [simulated(o, "hellinger"), simulated(o, "total_variation")]
        lines.append(
            [
                o.case.label,
                *means,
                *simulations,
                zeros,
                f"{e.false_people:.1f}",
                _share(e.existence),
                f"{e.bias:+,.1f}",
            ]
        )
    return grid("Means over releases; the smaller, the more useful.", headers, lines)


def conclusion_table(found: Assessment) -> str:
    """Tests and association, naive and noise-aware; nothing for a table with one side."""
    truth = found.truth
    if truth.p_value is None:
        return ""
    headers = [
        "case", "chi-square", "naive p", "naive agrees", "G² shift", "Cramér's V, naive", "V, noise taken out",
        "noise-aware p", "noise-aware agrees", "releases tested",
    ]  # fmt: skip
    true_line = [
        "true table", f"{truth.chi_square:,.1f}", p_text(truth.p_value), "", "", f"{truth.cramers_v:.3f}", "", "", "", "",
    ]  # fmt: skip
    lines = [true_line, *(_conclusion_line(o, truth.likelihood_ratio or 0.0) for o in found.outcomes)]
    return grid(
        "Means over releases; 'agrees': share of releases with the true table's answer at 5 %.",
        headers,
        lines,
    )


def _conclusion_line(o: Outcome, ratio: float) -> list[str]:
    shift = o.simulated["likelihood_ratio"]
    return [
        o.case.label,
        simulated(o, "chi_square"),
        simulated(o, "p_value"),
        _share(o.same_naive),
        f"{shift.mean - ratio:+,.1f} ± {shift.error:,.1f}",
        simulated(o, "cramers_v"),
        simulated(o, "corrected_v"),
        simulated(o, "aware_p_value"),
        _share(o.same_aware),
        str(o.tested),
    ]


def cases_table(found: Assessment) -> str:
    """What every case is."""
    headers = ["case", "how", "largest change", "largest standard deviation", "empty cells"]
    lines = [
        [
            o.case.label,
            o.case.how,
            str(o.privacy.largest),
            f"{o.privacy.sd:.3g}",
            o.case.zeros,
        ]
        for o in found.outcomes
    ]
    return grid(
        f"Epsilon is meant at delta {found.delta:g}, for one count.", headers, lines, words=frozenset({1})
    )


def simulated(outcome: Outcome, name: str) -> str:
    """A simulated mean with its Monte Carlo error, as many digits as the error allows."""
    found = outcome.simulated.get(name)
    if found is None:
        return "-"
    digits = 3 if not found.error > 0 else min(6, max(0, 1 - math.floor(math.log10(found.error))))
    return f"{found.mean:,.{digits}f} ± {found.error:,.{digits}f}"


def _share(share: float | None) -> str:
    return "-" if share is None else f"{share:.0%}"


def _epsilon(epsilon: float) -> str:
    return "∞" if math.isinf(epsilon) else f"{epsilon:.3g}"


def _small(delta: float) -> str:
    return f"{delta:.2g}"
