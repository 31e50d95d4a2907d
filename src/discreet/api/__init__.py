"""The Python face: `discreet.open(folder)` gives a catalogue, `.table(...)` a table."""

from __future__ import annotations

from discreet.api.catalogue import Catalogue, load, open_workspace
from discreet.api.table import Table

__all__ = ["Catalogue", "Table", "load", "open_workspace"]
