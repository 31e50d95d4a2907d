"""From a request to a release, on one page: the only place where all stages meet.

    request -> canonical -> shape -> rules -> tabulate -> keys and noise -> adjust -> release

The shape rules run before a record is read. Exact counts exist between `tabulate` and `perturb` and
nowhere else. A release is a pure function of the stored records, the protection, the canonical request
and the secret.

Comes from: the faces. Goes to: the faces, as a `Release`.
"""

from __future__ import annotations

from functools import lru_cache
from math import ceil, floor, log10, sqrt
from typing import TYPE_CHECKING

import numpy as np

from discreet.accounting import audit
from discreet.adjust.non_negative import non_negative
from discreet.model.release import NOT_APPLICABLE, Release
from discreet.model.request import canonical
from discreet.model.shape import structural_zeros, table_shape
from discreet.perturb.perturb import perturb
from discreet.rules.shape_rules import refuse_by_shape
from discreet.tabulate.tabulate import tabulate

if TYPE_CHECKING:
    from fractions import Fraction

    from discreet.mechanism.noise_table import NoiseTable
    from discreet.model.protection import Protection
    from discreet.model.request import TableRequest
    from discreet.workspace.workspace import StoredDataset

PERTURBED_NOTE = (
    "Counts in this table have been randomly adjusted by small amounts to protect confidentiality. "
    "The same group of people always shows the same value. Totals are adjusted separately and may differ "
    "from the sum of their parts. Do not rely on small counts; adding cells yourself adds their uncertainty."
)


def release_table(stored: StoredDataset, request: TableRequest) -> Release:
    """Answer a request, or refuse it by its shape.

    Raises:
        BadRequest, UnknownVariable, UnknownCategory: The request cannot be read.
        Refused: A rule does not allow it; the message says which and what to do.
    """
    dataset = stored.dataset
    asked = canonical(request, dataset)
    shape = table_shape(asked, dataset)
    refuse_by_shape(asked, shape, dataset)
    noisy = perturb(tabulate(stored.engine, shape), stored.cell_keys, stored.noise)
    impossible = structural_zeros(shape, dataset)
    return Release(
        dataset=dataset,
        digest=stored.digest,
        request=asked,
        dimensions=shape.dimensions,
        values=non_negative(noisy) if dataset.protection.non_negative else noisy.copy(),
        noisy=noisy,
        status=np.where(impossible, NOT_APPLICABLE, 0).astype(np.uint8),
        noise=stored.noise,
        notes=(PERTURBED_NOTE,),
        promise=promise(stored.noise, dataset.protection),
    )


@lru_cache(maxsize=64)
def promise(noise: NoiseTable, protection: Protection) -> tuple[str, ...]:
    """What the protection does and does not promise, in sentences for the table's page."""
    spread = sqrt(max(row.variance() for row in noise.rows))
    design = ", ".join(
        f"{name} = {value}"
        for name, value in noise.parameters.items()
        if name not in {"notes", "quantise", "zeros"} and value not in {None, False}
    )
    found = audit(noise, epsilon=1.0)
    return (
        f"Cell key method: noise of the family {noise.family} ({design}), looked up by who is in the cell "
        f"({protection.keys} keys). A count changes by at most {noise.largest}; the standard deviation of "
        f"the change is at most {spread:.2f}. Counts of zero stay zero. Totals are perturbed on their own.",
        f"One count by itself is (1, {_up(found.delta)})-differentially private at worst, and "
        f"(1, {_up(found.above_D.delta)}) for counts above {noise.largest}; neighbours differ by one person "
        "added or removed.",
        "The same people show the same number in every table. Nothing is promised about what can be "
        "learned from many tables together.",
    )


def _up(delta: Fraction) -> str:
    """A delta in three figures, rounded up: a promise errs on the safe side."""
    if not delta:
        return "0"
    places = 2 - floor(log10(delta))
    return f"{ceil(delta * 10**places) / 10**places:.3g}"
