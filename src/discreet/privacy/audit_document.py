"""The exact audit as a document: what `discreet audit --json` prints and a dataset's methodology holds."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from discreet.noise.files.document import plain
from discreet.privacy.audit import curve, epsilon

if TYPE_CHECKING:
    from discreet.noise.table import NoiseTable
    from discreet.privacy.audit import Audit

CURVE_STEPS = 40


def audit_document(result: Audit) -> dict[str, Any]:
    """The audit as JSON: probabilities as floats, an epsilon that does not exist as null."""
    above = result.above_D
    document: dict[str, Any] = plain(
        {
            "neighbours": result.neighbours,
            "epsilon": result.epsilon,
            "delta": result.delta,
            "delta_forward": result.delta_forward,
            "delta_backward": result.delta_backward,
            "worst_pair": result.worst_pair,
            "above_D": above._asdict(),
            "bias": result.bias,
            "variance": result.variance,
            "entropy": result.entropy,
            "p_exact": result.p_exact,
            "row_sums_ok": result.row_sums_ok,
            "support": result.support,
            "cells": result.cells,
            "group": result.group,
            "exact": result.exact,
            "delta_probabilistic": result.delta_probabilistic,
            "delta_infinite": result.delta_infinite,
            "delta_exact": exact_text(result),
            "problems": result.problems,
            "notes": result.notes,
        }
    )
    return document


def exact_text(result: Audit) -> str | None:
    """Delta as a fraction of whole numbers where it is one of moderate size."""
    return str(result.delta) if result.delta.denominator <= 2**64 else None


def curve_document(table: NoiseTable, result: Audit) -> list[dict[str, Any]]:
    """Delta over epsilons from 0 to where the table can do no better."""
    names: dict[str, Any] = {"neighbours": result.neighbours, "cells": result.cells, "group": result.group}
    flat = epsilon(table, delta=result.delta_infinite, **names)
    end = max(1.0, 1.1 * flat)
    epsilons = [end * step / CURVE_STEPS for step in range(CURVE_STEPS + 1)]
    points = curve(table, epsilons, **names)
    return [plain(point._asdict()) for point in points]
