"""Discreet: protected frequency tables from microdata, with an exact account of what is promised.

import discreet

catalogue = discreet.open("workspace")
catalogue.table("census", rows=["sex"], columns=["age"]).to_pandas()
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

if TYPE_CHECKING:
    from discreet import inference
    from discreet import noise as mechanism
    from discreet import privacy as accounting
    from discreet.api import Catalogue, Table, load
    from discreet.api import open_workspace as open  # noqa: A004 - discreet.open is the name that people guess

__all__ = ["Catalogue", "Table", "accounting", "inference", "load", "mechanism", "open"]

_HOMES = {
    "Catalogue": ("discreet.api", "Catalogue"),
    "Table": ("discreet.api", "Table"),
    "load": ("discreet.api", "load"),
    "open": ("discreet.api", "open_workspace"),
}


def __getattr__(name: str) -> Any:
    """Import a public name when it is first used, so that `import discreet` is instant."""
    if name in _HOMES:
        module, attribute = _HOMES[name]
        return getattr(import_module(module), attribute)
    if name in {"accounting", "inference", "mechanism"}:
        return import_module(f"discreet.{name}")
    raise AttributeError(f"module 'discreet' has no attribute {name!r}")
