"""The datasets that can be asked now: one damaged version does not take the others down."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

from discreet.errors import DiscreetError, UnknownVersion

if TYPE_CHECKING:
    from discreet.answer.door import Door
    from discreet.answer.doors import Doors

log = logging.getLogger("discreet.server")


def usable(doors: Doors) -> list[Door]:
    """Every dataset that can be opened; what cannot be is told to the log.

    Raises:
        DiscreetError: There are datasets and none can be opened.
    """
    found: list[Door] = []
    failures: list[DiscreetError] = []
    for dataset_id in doors.ids():
        try:
            found.append(doors.door(dataset_id))
        except UnknownVersion as error:  # doors of a version that not every dataset has
            failures.append(error)
        except DiscreetError as error:
            log.error("The dataset %s is left out: %s", dataset_id, error)  # noqa: TRY400 - the message is complete
            failures.append(error)
    if failures and not found:
        raise failures[0]
    return found
