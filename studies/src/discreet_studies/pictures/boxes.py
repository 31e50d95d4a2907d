"""Box plots from five numbers, so that a picture does not carry every run.

The box spans the quartiles, the whiskers reach the last runs within 1.5 interquartile ranges of it (Tukey).
"""

from typing import Any

import numpy as np


def five_numbers(values: list[float]) -> dict[str, float]:
    """Whiskers, quartiles and the mean.

    >>> five_numbers([1.0, 2.0, 3.0, 4.0, 100.0])
    {'low': 1.0, 'q1': 2.0, 'median': 3.0, 'q3': 4.0, 'high': 4.0, 'mean': 22.0}
    """
    runs = np.array(values)
    q1, median, q3 = (float(q) for q in np.percentile(runs, (25, 50, 75)))
    reach = 1.5 * (q3 - q1)
    inside = runs[(runs >= q1 - reach) & (runs <= q3 + reach)]
    ends = float(inside.min()), float(inside.max())
    return {"low": ends[0], "q1": q1, "median": median, "q3": q3, "high": ends[1], "mean": float(runs.mean())}


def outside(values: list[float]) -> list[float]:
    """The runs beyond the whiskers.

    >>> outside([1.0, 2.0, 3.0, 4.0, 100.0])
    [100.0]
    """
    five = five_numbers(values)
    return [value for value in values if not five["low"] <= value <= five["high"]]


def box_layers(base: Any, y: Any, size: int) -> list[Any]:
    """Whiskers, a pale box and a median line, coloured as `base` says; `y` encodes the field `low`."""
    white = {"value": "white"}
    return [
        base.mark_rule(strokeWidth=1.5).encode(y=y, y2="high:Q"),
        base.mark_bar(size=size).encode(y="q1:Q", y2="q3:Q", color=white),
        base.mark_bar(size=size, opacity=0.5).encode(y="q1:Q", y2="q3:Q"),
        base.mark_tick(thickness=2.5, size=size, opacity=1).encode(y="median:Q"),
    ]
