"""The numbers of questions at which a curve is told: all small ones, then in steps that grow.

Comes from: the length of a study. Goes to: its curve and picture.
"""

from __future__ import annotations


def grid_up_to(most: int) -> list[int]:
    """1, 2, 3, 4, 6, 8, 12, 16, ... and the last.

    >>> grid_up_to(20)
    [1, 2, 3, 4, 6, 8, 12, 16, 20]
    """
    steps = sorted(
        {n for power in range(most.bit_length() + 1) for n in (2**power, 3 * 2**power // 2) if n <= most}
    )
    return steps if steps[-1] == most else [*steps, most]
