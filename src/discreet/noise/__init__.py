"""Noise tables, their families and their design.

The function of each family is an attribute of this package, found in the registry on access:

>>> from discreet.noise import laplace
>>> laplace(epsilon=1.5, m=7).modulus
4294967296
"""

from collections.abc import Callable

from discreet.noise import families
from discreet.noise.quantise import quantisation_report
from discreet.noise.table import NoiseRow, NoiseTable

__all__ = ["NoiseRow", "NoiseTable", "families", "quantisation_report"]


def __getattr__(name: str) -> Callable[..., NoiseTable]:
    """The function of a family: `laplace`, `maxent`; `abs_noise`, because `abs` is a builtin."""
    family = name.removesuffix("_noise").replace("_", "-")
    make = families.family(family).make if family in families.names() else None
    if make is None or make.__name__ != name:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return make


def __dir__() -> list[str]:
    return sorted([*__all__, *(each.make.__name__ for each in families.families() if each.make)])
