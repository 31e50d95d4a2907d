"""A designed noise table as a document: what `discreet design` prints, and what its file holds.

The rows show the design's values and probabilities beside the integers that ship: one cumulative threshold
per value, the last equal to the modulus. A value that quantisation lost keeps its place and repeats the
threshold before it: no key selects it. `moments` are those of the integers of the last row.
"""

from __future__ import annotations

import math
from itertools import accumulate
from typing import TYPE_CHECKING, Any

from discreet.noise.quantisation_report import quantisation_report

if TYPE_CHECKING:
    from discreet.noise.ideal import IdealRow, IdealTable
    from discreet.noise.table import NoiseRow, NoiseTable

_ASIDE = ("notes", "quantise")


def describe(ideal: IdealTable, table: NoiseTable) -> dict[str, Any]:
    """The document of a designed table, without its privacy block.

    >>> from discreet.noise.families.laplace import ideal_laplace
    >>> from discreet.noise.quantise import quantise
    >>> design = ideal_laplace(1.0, 1)
    >>> describe(design, quantise(design, 256))["rows"][0]["thresholds"]
    [54, 202, 256]
    """
    report = quantisation_report(ideal, table)
    pairs = zip(ideal.rows, table.rows, strict=True)
    document: dict[str, Any] = {
        "family": table.family,
        "parameters": {key: value for key, value in table.parameters.items() if key not in _ASIDE},
        "modulus": table.modulus,
        "rows": [_row(count, ideal_row, row) for count, (ideal_row, row) in enumerate(pairs)],
        "repeats": table.repeats,
        "moments": _moments(table.rows[-1]),
        "quantisation": {
            "rule": table.parameters.get("quantise"),
            "bias": float(report.last.bias),
            "variance_error": report.last.variance_error,
            "lost": [list(pair) for pair in report.lost],
        },
        "notes": [*ideal.notes, *report.notes()],
    }
    if len(table.rows) == 1:
        document["quantisation"]["paper"] = {
            "epsilon": report.last.paper_epsilon if math.isfinite(report.last.paper_epsilon) else None,
            "delta": float(report.last.paper_delta),
        }
    return document


def _row(count: int, ideal: IdealRow, row: NoiseRow) -> dict[str, Any]:
    mass = dict(zip(row.values, row.masses(), strict=True))
    return {
        "count": count,
        "values": list(ideal.values),
        "probabilities": list(ideal.probabilities),
        "thresholds": list(accumulate(mass.get(value, 0) for value in ideal.values)),
    }


def _moments(row: NoiseRow) -> dict[str, float]:
    law = [float(p) for p in row.probabilities().values()]
    return {
        "bias": float(row.mean()),
        "variance": float(row.variance()),
        "entropy": -math.fsum(p * math.log(p) for p in law),
    }
