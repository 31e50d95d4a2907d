"""Privacy units: how many records one person has, checked against what the promise allows.

A promise for persons of at most r records holds only if no person has more. Records name their person by a hash; a load
with a person of more records is refused, and the message does not say who or how many.

Comes from: `load`. Goes to: `BadData`, for the custodian.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from discreet.errors import BadData

if TYPE_CHECKING:
    from numpy.typing import NDArray


def refuse_more_records(units: NDArray[np.uint64], most: int) -> None:
    """Refuse records of which a unit has more than `most`.

    Args:
        units: 64 bits of the hash of every record's unit; two units share them with probability below n^2 / 2^65,
            and then a load is refused that could have been accepted, never the reverse.
        most: `records_per_unit` of the terms.
    """
    ordered = np.sort(units)
    if (ordered[most:] == ordered[:-most]).any():
        raise BadData(
            f"A person has more than {most} record{'s' if most > 1 else ''}, the most that the promise allows.",
            "Raise records_per_unit in [protection.budget], or keep fewer records of each person.",
        )
