"""Noise as data: the integer noise table, its families and its design."""

from __future__ import annotations

from discreet.mechanism.maximum_entropy import maxent
from discreet.mechanism.noise_table import NoiseRow, NoiseTable

__all__ = ["NoiseRow", "NoiseTable", "maxent"]
