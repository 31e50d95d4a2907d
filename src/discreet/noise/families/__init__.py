"""The registry of noise families: from a name and parameters to a design and a noise table.

Each module of this folder is one family and defines `FAMILY`. Modules are found by name and imported on first use. Other
programs add families with `register`.
"""

from __future__ import annotations

import pkgutil
from collections.abc import Mapping
from functools import lru_cache
from importlib import import_module
from typing import TYPE_CHECKING, Any

from discreet.errors import BadRequest
from discreet.model.messages.text import nearest
from discreet.noise.quantise import quantise

if TYPE_CHECKING:
    from discreet.noise.family import Family
    from discreet.noise.ideal_distribution import IdealDistribution, IdealTable
    from discreet.noise.table import NoiseTable


DEFAULT_MODULUS = 2**32

_registered: dict[str, Family] = {}


def names() -> tuple[str, ...]:
    """The names of all families, without importing them."""
    return (*_own_names(), *_registered)


@lru_cache(maxsize=1)
def _own_names() -> tuple[str, ...]:
    return tuple(module.name.replace("_", "-") for module in pkgutil.iter_modules(__path__))


def family(name: str) -> Family:
    """The family of a name."""
    if name in _registered:
        return _registered[name]
    if name not in _own_names():
        raise BadRequest(f'There is no noise family "{name}".', nearest(name, names()))
    found: Family = import_module(f"{__name__}.{name.replace('-', '_')}").FAMILY
    return found


def families() -> tuple[Family, ...]:
    """All families, in the order of the documentation."""
    return tuple(sorted(map(family, names()), key=lambda each: (each.place, each.name)))


def register(new: Family) -> None:
    """Add a family from another package.

    Raises:
        BadRequest: The name is taken; the meaning of a name never changes.
    """
    if new.name in names():
        raise BadRequest(f'There is a noise family "{new.name}" already.', "Choose another name.")
    _registered[new.name] = new


def ideal(name: str, parameters: Mapping[str, Any], modulus: int = DEFAULT_MODULUS) -> IdealTable:
    """The design of a family before quantisation; parameters are checked by name and kind.

    The modulus matters only for families that are truncated at the last key.
    """
    return family(name).design(parameters, modulus)


def build(
    name: str, parameters: Mapping[str, Any], modulus: int = DEFAULT_MODULUS, rounding: str | None = None
) -> NoiseTable:
    """The noise table of a family, quantised to a key modulus.

    >>> build("maxent", {"D": 5, "V": 3, "js": 2}, 2**32).row(2).values
    (-2, 1, 2, 3, 4, 5)
    """
    return quantise(ideal(name, parameters, modulus), modulus, rounding or family(name).rounding)


def ideal_distribution(table: NoiseTable) -> IdealDistribution | None:
    """The distribution on all integers that a table approximates; None if its family has none or is unknown."""
    return family(table.family).distribution if table.family in names() else None
