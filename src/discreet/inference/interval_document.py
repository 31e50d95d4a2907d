"""Intervals as JSON and as words: of one number, and of all cells of a table, block by block."""

from __future__ import annotations

import json
from itertools import islice, product
from typing import TYPE_CHECKING, Any

import numpy as np

from discreet.inference.cell_targets import every_interval
from discreet.inference.intervals import DEFAULT_LEVEL
from discreet.inference.weighted_interval import WeightedInterval
from discreet.model.told import Text, told

if TYPE_CHECKING:
    from collections.abc import Iterator

    from discreet.inference.intervals import Interval
    from discreet.model.picture import Limits
    from discreet.model.release import Release

#: Of a share in percent, after the point.
_MOST_DIGITS = 6
#: Cells of a document that are lists and texts at the same time.
CELLS_AT_ONCE = 4_096


def interval_document(found: Interval) -> dict[str, Any]:
    """An interval as JSON; an end without a limit is null. Of a weighted table with its error in percent."""
    ends = {name: _number(getattr(found, name)) for name in ("estimate", "low", "high")}
    error = (
        {"relative_standard_error": found.relative_standard_error}
        if isinstance(found, WeightedInterval)
        else {}
    )
    return {**ends, "level": found.level, **error}


def interval_texts(found: Interval, *, share: bool, ratio: bool, minus: bool) -> tuple[str, str, str]:
    """The estimate and the limits as people read them; a narrow share has enough digits to show its width.

    >>> from discreet.inference.intervals import Interval
    >>> interval_texts(Interval(0.49242, 0.49237, 0.49248, 0.95), share=True, ratio=False, minus=False)
    ('49.242 %', '49.237 %', '49.248 %')
    """
    digits = 1
    while share and 0 < 100 * (found.high - found.low) < 10 ** (1 - digits) and digits < _MOST_DIGITS:
        digits += 1
    spec = f".{digits}f" if share else ",.4g" if ratio else ",.0f"
    template = f"{{x:{spec}}}" + (" {points}" if share and minus else " %" if share else "")
    one, low, high = (
        Text(template, {"x": 100 * x if share else x, "points": told("points")})
        for x in (found.estimate, found.low, found.high)
    )
    return one, low, high


def error_text(found: Interval) -> str:
    """The relative standard error of a weighted estimate in words; empty for counts."""
    if not isinstance(found, WeightedInterval):
        return ""
    error = found.relative_standard_error
    if error is None:
        return told("no relative standard error")
    return told("relative standard error {error:g} %, rounded up", error=error)


def every_document(release: Release, level: float = DEFAULT_LEVEL) -> dict[str, Any]:
    """All cells with their intervals as JSON; null where a cell is withheld."""
    return limits_document(release, every_interval(release, level), level)


def limits_document(release: Release, known: Limits, level: float) -> dict[str, Any]:
    """All cells with limits that are known, as `every_document` tells them."""
    cells = [cell for block in _blocks(release, known) for cell in block]
    return {**_limits_head(release, level), "cells": cells}


def every_piece(release: Release, level: float = DEFAULT_LEVEL) -> Iterator[bytes]:
    """`every_document` as the bytes of its JSON, block by block: a large table is never a list of its cells."""
    blocks = _blocks(release, every_interval(release, level))
    yield f'{json.dumps(_limits_head(release, level), ensure_ascii=False)[:-1]}, "cells": ['.encode()
    before = ""
    for block in blocks:
        yield f"{before}{json.dumps(block, ensure_ascii=False)[1:-1]}".encode()
        before = ", "
    yield b"]}"


def _limits_head(release: Release, level: float) -> dict[str, Any]:
    return {"dimensions": [dimension.name for dimension in release.dimensions], "level": level}


def _blocks(release: Release, known: Limits) -> Iterator[list[dict[str, Any]]]:
    """The cells in their order, some at a time."""
    codes = product(*(dimension.codes for dimension in release.dimensions))
    values, hidden, low, high = (each.ravel() for each in (release.values, release.missing, *known))
    for start in range(0, values.size, CELLS_AT_ONCE):
        here = slice(start, start + CELLS_AT_ONCE)
        numbers = (each[here].tolist() for each in (values, hidden, low, high))
        yield [
            {
                "codes": list(cell),
                "value": None if missing else value,
                "low": None if first < 0 else first,
                "high": None if last < 0 else last,
            }
            for cell, value, missing, first, last in zip(islice(codes, CELLS_AT_ONCE), *numbers, strict=True)
        ]


def _number(value: float) -> float | None:
    return value if np.isfinite(value) else None
