"""Discreet: protected frequency tables from microdata, with an exact account of what is promised.

import discreet

catalogue = discreet.open("workspace")
catalogue.table("census", rows=["sex"], columns=["age"]).to_pandas()

Older names still work as attributes: `discreet.mechanism` is `discreet.noise`, `discreet.accounting` is
`discreet.privacy`. In an import statement write the new names.
"""

from __future__ import annotations

import sys
from importlib import import_module
from typing import TYPE_CHECKING, Any

__version__ = "0.2.0"

if TYPE_CHECKING:
    from discreet import errors, inference, noise, privacy
    from discreet.api.catalogue import Catalogue, load
    from discreet.api.catalogue import open_workspace as open  # noqa: A004 - the name that people guess
    from discreet.api.table import Table

__all__ = ["Catalogue", "Table", "__version__", "errors", "inference", "load", "noise", "open", "privacy"]

#: Where a public name lives: a module, or what stands in it.
_HOMES = {
    "Catalogue": "api.catalogue:Catalogue",
    "Table": "api.table:Table",
    "accounting": "privacy",
    "errors": "errors",
    "inference": "inference",
    "load": "api.catalogue:load",
    "mechanism": "noise",
    "noise": "noise",
    "open": "api.catalogue:open_workspace",
    "privacy": "privacy",
}


def __getattr__(name: str) -> Any:
    """Import a public name when it is first used, so that `import discreet` is instant."""
    if name not in _HOMES:
        raise AttributeError(f"module 'discreet' has no attribute {name!r}")
    module, _, attribute = _HOMES[name].partition(":")
    found = import_module(f"discreet.{module}")
    return getattr(found, attribute) if attribute else found


def __dir__() -> list[str]:
    """The public names, and nothing else."""
    return sorted(__all__)


class _OldModules:
    """Finds modules under the paths that they had in 0.2; asked last, for names that nothing else finds."""

    @staticmethod
    def find_spec(name: str, path: object = None, target: object = None) -> Any:  # noqa: ARG004 - the protocol
        if not name.startswith("discreet."):
            return None
        from discreet.deprecated import find_old_module  # noqa: PLC0415 - `import discreet` is instant

        return find_old_module(name)


sys.meta_path.append(_OldModules)
