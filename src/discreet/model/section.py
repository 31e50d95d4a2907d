"""A section of a TOML file, checked: it is one, its keys are known, and those that are needed are there."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from discreet.errors import BadDescription
from discreet.model.nearest import nearest

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping

    from discreet.errors import DiscreetError


def section_of(
    value: Any, name: str, known: Collection[str], error: type[DiscreetError] = BadDescription
) -> dict[str, Any]:
    """A value that must be the section `[name]`, with known keys only.

    >>> section_of({"publisher": "Office"}, "about", ["publisher"])
    {'publisher': 'Office'}
    """
    if not isinstance(value, dict):
        raise error(f"`{name}` is not a section.", f"Write [{name}] before its lines.")
    only(value, known, f"[{name}]", error)
    return value


def only(
    entry: Iterable[str], known: Collection[str], where: str, error: type[DiscreetError] = BadDescription
) -> None:
    """Refuse a key that is not known."""
    for key in entry:
        if key not in known:
            listed = sorted(known) if isinstance(known, set) else known
            raise error(f'{where} has the unknown key "{key}".', nearest(key, listed))


def need(entry: Mapping[str, Any], keys: Iterable[str], where: str) -> None:
    """Refuse an entry that lacks a key."""
    for key in keys:
        if key not in entry:
            raise BadDescription(f"{where} lacks `{key}`.", "Add it.")
