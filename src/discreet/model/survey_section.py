"""The section `[survey]` of a description: the form of weights, the sizes that are public, and the design."""

from __future__ import annotations

from dataclasses import fields
from fractions import Fraction
from typing import Any

from discreet.errors import BadDescription
from discreet.model.nearest import nearest
from discreet.model.sampling_design import KEYS, sampling_design
from discreet.model.section import need, section_of
from discreet.model.survey import FORMS, OPEN_FORMS, Survey


def survey_of(section: Any) -> Survey:
    """The section `[survey]`.

    Raises:
        BadDescription: With what is wrong and what to do.
    """
    entry = section_of(section, "survey", {f.name for f in fields(Survey)} - {"design"} | KEYS)
    need(entry, ("sample_size", "population_size", "largest_weight"), "[survey]")
    form = str(entry.get("form", FORMS[0]))
    if form in OPEN_FORMS:
        raise BadDescription(
            f'The weight form "{form}" is not served: its weighted counts undo the noise of the counts.',
            f"Use {', '.join(FORMS[:-1])}: docs/methods/survey-weights.md says which fits your weights.",
        )
    if form not in FORMS:
        raise BadDescription(f'The weight form is "{form}".', nearest(form, FORMS))
    weights = entry.get("stratum_weights", {})
    if not isinstance(weights, dict) or not isinstance(entry["sample_size"], int):
        raise BadDescription(
            "`sample_size` is no whole number, or `stratum_weights` no table.",
            "Write sample_size = 1500 and stratum_weights = { A = 900, B = 300 }.",
        )
    return Survey(
        form,
        entry["sample_size"],
        _fraction(entry["population_size"]),
        _fraction(entry["largest_weight"]),
        _fraction(entry.get("relative_variance", 0)),
        entry.get("stratum"),
        tuple((str(code), _fraction(weight)) for code, weight in weights.items()),
        sampling_design(entry),
        _fraction(entry.get("error_limit", "0.25")),
    )


def _fraction(value: object) -> Fraction:
    """A number of the description as the decimal that was written."""
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        raise BadDescription(f"[survey] has the number {value!r}.", "Give a number.")
    try:
        return Fraction(str(value))
    except ValueError:
        raise BadDescription(f"[survey] has the number {value!r}.", "Give a number.") from None
