"""Discreet: protected frequency tables from microdata, with an exact account of what is promised."""

from __future__ import annotations

__version__ = "0.1.0"
