"""An assessment in plain sentences: what it shows, what a reader would conclude, how to read it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from discreet.assess.expectation import SMALL
from discreet.inference.likelihood_ratio import p_text

if TYPE_CHECKING:
    from discreet.assess.assessment import Assessment, Outcome


def summary(found: Assessment) -> list[str]:
    """What the assessment shows, most important first."""
    some = found.outcomes[0].expected
    said = [
        f"{found.title}: {some.cells:,} cells that can occur, {some.occupied:,} with people, {some.small:,} of them "
        f"with 1 to {SMALL}."
    ]
    if found.refusal:
        said.append(f"The rules would not release this table: {found.refusal}")
    said += [_spread(found), _small(found), _zeros(found)]
    if found.averaging is not None and found.averaging.factor > 1:
        said.append(
            f"Averaging: over the {found.averaging.tables:,} tables that the rules by shape allow, a patient reader can "
            f"bring the variance of a cell's noise down by a factor of about {found.averaging.factor:.2f}."
        )
    kept = ", ".join(outcome.case.label for outcome in found.unbeaten())
    said.append(f"Unbeaten on the map (no other has both less RM and less Hellinger distance): {kept}.")
    return said


def _spread(found: Assessment) -> str:
    least, most = (pick(found.outcomes, key=lambda o: o.expected.l1.mean) for pick in (min, max))
    return (
        f"The mean absolute error of a cell runs from {_per_cell(least)} ({least.case.label}) to "
        f"{_per_cell(most)} ({most.case.label})."
    )


def _per_cell(outcome: Outcome) -> str:
    return f"{outcome.expected.l1.mean / outcome.expected.cells:.3g}"


def _small(found: Assessment) -> str:
    shown = [o for o in found.outcomes if o.expected.confirmation_small is not None]
    if not shown:
        return f"No case shows a count from 1 to {SMALL}."
    worst = max(shown, key=lambda o: o.expected.confirmation_small or 0.0)
    return (
        f"A reader who believes a shown count from 1 to {SMALL} is right in at most "
        f"{worst.expected.confirmation_small:.0%} of such cells ({worst.case.label})."
    )


def _zeros(found: Assessment) -> str:
    worst = max(found.outcomes, key=lambda o: o.expected.false_zero_share)
    return (
        f"At most {worst.expected.false_zero_share:.1%} of the cells with people are shown as zero "
        f"({worst.case.label})."
    )


def conclusion(found: Assessment) -> list[str]:
    """What a reader would conclude from the releases, against what the true table says."""
    truth = found.truth
    if truth.p_value is None or truth.cramers_v is None or truth.chi_square is None:
        return ["The table has one side only: there is no association to test. Its distribution moves by the total "
                "variation in the table below."]  # fmt: skip
    verdict = "they are associated" if truth.associated else "no association is seen"
    within = f", within each layer of {found.sides[2]}" if found.sides[2] else ""
    said = [
        f"True table: {found.sides[0]} against {found.sides[1]}{within}; chi-square {truth.chi_square:,.1f} on "
        f"{truth.df:,} degrees of freedom, p {p_text(truth.p_value)}, Cramér's V {truth.cramers_v:.3f}: {verdict}."
    ]
    misled = [o for o in found.outcomes if o.same_naive is not None and o.same_naive < 0.9]
    if misled:
        said.append(
            "A reader who takes the counts for exact is misled in more than one release of ten under "
            f"{_labels(misled)}."
        )
    inflated = [
        o
        for o in found.outcomes
        if "cramers_v" in o.simulated and o.simulated["cramers_v"].mean > truth.cramers_v + 0.02
    ]
    if inflated:
        said.append(
            f"The naive Cramér's V is too large by more than 0.02 on average under {_labels(inflated)}: noise makes "
            "any table look associated."
        )
    weak = [o for o in found.outcomes if o.same_aware is not None and o.same_aware < 0.9]
    if weak:
        lost = "misses the association" if truth.associated else "sees an association"
        said.append(
            f"A test that allows for the noise {lost} in more than one release of ten under {_labels(weak)}."
        )
    if not (misled or inflated or weak):
        said.append(
            "Under every case readers conclude what the true table says, in nine releases of ten or more."
        )
    return said


def _labels(outcomes: list[Outcome]) -> str:
    return ", ".join(outcome.case.label for outcome in outcomes)
