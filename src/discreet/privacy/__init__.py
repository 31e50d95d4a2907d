"""The exact audit of a noise table."""

from discreet.privacy.audit import (
    Audit,
    CurvePoint,
    audit,
    curve,
    delta,
    epsilon,
    group_bound,
    probabilistic_delta,
)

__all__ = ["Audit", "CurvePoint", "audit", "curve", "delta", "epsilon", "group_bound", "probabilistic_delta"]
