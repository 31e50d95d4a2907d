"""The forms of a weighted table, each with what it promises and what it does not.

All but `largest-weight` are functions of noisy counts and public weights: they tell nothing that the noisy counts do
not tell. They are differentially private where these are (`dp`). Claims treat a record's weight as a fixed attribute
of the record.

Source: Shlomo, Krenzke & Li (2019), section 2; Bailie (2020), section 4.1.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING

from discreet.errors import BadOption
from discreet.model.nearest import nearest
from discreet.model.told import told

if TYPE_CHECKING:
    from discreet.survey.design import SurveyDesign

#: Above this relative variance the average weight stands poorly for a record's own (Shlomo, section 2.1).
VARIANCE_LIMIT = Fraction(1, 10)


@dataclass(frozen=True, slots=True)
class WeightForm:
    """One way to a weighted table.

    Args:
        name: The name of the form in `dataset.toml`.
        formula: What is released for cell k.
        promise: What it promises, in sentences for the table's page.
        by_average: Whether it stands on the overall average weight.
    """

    name: str
    formula: str
    promise: str
    by_average: bool = False


FORMS = {
    form.name: form
    for form in (
        WeightForm(
            "average-weight",
            told("noisy n_k · w̄"),
            told(
                "The perturbed sample count times the overall average weight, which is public: "
                "post-processing of noisy counts, with the promise of these. Differences between people's "
                "weights are ignored."
            ),
            by_average=True,
        ),
        WeightForm(
            "public-strata",
            told("Σ_h w_h · noisy n_kh"),
            told(
                "Sample counts are perturbed in each stratum and multiplied by the stratum's public weight: "
                "post-processing of noisy counts, with the promise of these."
            ),
        ),
        WeightForm(
            "largest-weight",
            told("w_max · (W_k / w_max rounded, with noise)"),
            told(
                "The sum of the weights in a cell is rounded to steps of the largest weight, and the number "
                "of steps gets its noise as a count does: one person, of whatever weight, changes it by one "
                "step at most. The dataset tells no counts of records: they would be a second look at the "
                "same people."
            ),
        ),
        WeightForm(
            "invariant",
            told("noisy n_k · N / n, the sample size n being public"),
            told(
                "The sample size is published exactly and held fixed: neighbours are samples of the same "
                "size in which one person is replaced. The sensitivity is N/n for one cell and 2N/n for a "
                "table."
            ),
            by_average=True,
        ),
    )
}


def weight_form(name: str) -> WeightForm:
    """The form of a name.

    Raises:
        BadOption: There is none; the message names the nearest.
    """
    try:
        return FORMS[name]
    except KeyError:
        raise BadOption(f'The weight form "{name}" is not known.', nearest(name, FORMS)) from None


def cautions(form: WeightForm, design: SurveyDesign) -> tuple[str, ...]:
    """What the custodian must be told before choosing a form for a survey.

    >>> from discreet.survey.design import SurveyDesign
    >>> design = SurveyDesign(1500, 10_000_000_000, 4, 30_000_000, Fraction(1, 5))
    >>> [caution[:50] for caution in cautions(FORMS["average-weight"], design)]
    ['The relative variance of the weights is 20.0 %, ab']
    """
    if not form.by_average or design.relative_variance <= VARIANCE_LIMIT:
        return ()
    share, limit = 100 * float(design.relative_variance), 100 * float(VARIANCE_LIMIT)
    caution = told(
        "The relative variance of the weights is {share:.1f} %, above {limit:.0f} %: the overall "
        "average weight does not stand for a person's own, and estimates lean towards groups with "
        'small weights. Prefer "public-strata" where weights differ by stratum, or "largest-weight".',
        share=share,
        limit=limit,
    )
    return (caution,)
