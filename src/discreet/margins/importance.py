"""How much each margin counts when the error of many is made one number.

    overall error = Σ_α weight_α · (mean absolute error of a cell of α),  Σ weights = 1.

"cells": every cell counts the same, so weight ∝ cells of the margin; "tables": every margin counts the
same; or the custodian's own numbers.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Protocol

import numpy as np

from discreet.errors import BadRequest
from discreet.margins.closure import parse_margins

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from discreet.margins.closure import Axes, MarginSet


class MarginMethod(Protocol):
    """Any method at a budget, as far as its error is concerned."""

    @property
    def wanted(self) -> MarginSet:
        """The margins that it releases."""

    def expected_error(self, margin: Axes) -> float:
        """E|released - true| of a cell of a margin."""


def margin_weights(wanted: MarginSet, weights: str | Mapping[Axes, float] = "cells") -> NDArray[np.float64]:
    """One weight for each wanted margin, adding up to one.

    >>> from discreet.margins.closure import MarginSet
    >>> wanted = MarginSet(("A", "B", "C"), (2, 3, 3), ((0, 1), (1, 2)))
    >>> margin_weights(wanted).tolist(), margin_weights(wanted, {(0, 1): 3, (1, 2): 1}).tolist()
    ([0.4, 0.6], [0.75, 0.25])
    """
    if weights == "cells":
        raw = [float(wanted.cells(margin)) for margin in wanted.margins]
    elif weights == "tables":
        raw = [1.0] * len(wanted.margins)
    elif isinstance(weights, str):
        raise BadRequest(f'Weights "{weights}" are not known.', 'Take "cells", "tables" or numbers.')
    else:
        raw = [float(weights.get(margin, math.nan)) for margin in wanted.margins]
        if not all(value > 0 and math.isfinite(value) for value in raw):
            raise BadRequest("Every wanted margin needs an importance above zero.")
    return np.array(raw) / math.fsum(raw)


def parse_weights(text: str, wanted: MarginSet) -> str | dict[Axes, float]:
    """Read weights as people write them: "cells", "tables", or an importance of each margin, "AB=5,BC=1".

    >>> from discreet.margins.closure import MarginSet
    >>> parse_weights("AB=3,BC=1", MarginSet(("A", "B", "C"), (2, 3, 3), ((0, 1), (1, 2))))
    {(0, 1): 3.0, (1, 2): 1.0}
    """
    if "=" not in text:
        return text
    found: dict[Axes, float] = {}
    for word in text.split(","):
        name, _, number = word.partition("=")
        (margin,) = parse_margins(name, wanted.names, wanted.shape).margins
        try:
            found[margin] = float(number)
        except ValueError:
            raise BadRequest(f'The importance of "{name}" is "{number}".', "Give a number.") from None
        if margin not in wanted.margins:
            raise BadRequest(
                f'"{name.strip()}" is not among the margins.', "Weigh the margins that are asked for."
            )
    return found


def overall_error(plan: MarginMethod, weights: str | Mapping[Axes, float] = "cells") -> float:
    """The weighted mean absolute error of a plan."""
    shares = margin_weights(plan.wanted, weights)
    errors = (plan.expected_error(margin) for margin in plan.wanted.margins)
    return math.fsum(float(w) * e for w, e in zip(shares, errors, strict=True))
