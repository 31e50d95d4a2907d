"""What differs between two descriptions, key by key: what a custodian compares, and what a correction may not touch.

A list of tables is compared by the names or codes of its entries (`variable.sex.categories.1.label`), and by their order.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator

_NAMES = ("name", "code", "id")
#: What stands for a key that a description does not have.
NOTHING = None


@dataclass(frozen=True, slots=True)
class Change:
    """A key that differs.

    Args:
        path: The keys from the top, as `("variable", "sex", "label")`.
        before: Its value in the first description; `NOTHING` where it is not there.
        after: Its value in the second.
    """

    path: tuple[str, ...]
    before: Any
    after: Any

    @property
    def place(self) -> str:
        """The path as people write it."""
        return ".".join(self.path)


def description_changes(before: Any, after: Any, path: tuple[str, ...] = ()) -> Iterator[Change]:
    """Every key that differs, in the order of the first description.

    >>> changes = description_changes({"variable": [{"name": "sex", "label": "Sex"}]}, {"variable": [{"name": "sex"}]})
    >>> [(change.place, change.before, change.after) for change in changes]
    [('variable.sex.label', 'Sex', None)]
    """
    first, second = _keyed(before), _keyed(after)
    if first is None or second is None:
        if before != after or type(before) is not type(after):
            yield Change(path, before, after)
        return
    for key in [*first, *(key for key in second if key not in first)]:
        if key not in first or key not in second:
            yield Change((*path, key), first.get(key, NOTHING), second.get(key, NOTHING))
        else:
            yield from description_changes(first[key], second[key], (*path, key))
    orders = [[key for key in each if key in first and key in second] for each in (first, second)]
    if isinstance(before, list) and orders[0] != orders[1]:
        yield Change((*path, "order"), orders[0], orders[1])


def _keyed(value: Any) -> dict[str, Any] | None:
    """A table by its keys, a list of tables by the names of its entries; None for anything else."""
    if isinstance(value, dict):
        return value
    if not isinstance(value, list) or not value or not all(isinstance(entry, dict) for entry in value):
        return None
    names = [
        next((str(entry[name]) for name in _NAMES if name in entry), str(n)) for n, entry in enumerate(value)
    ]
    return dict(zip(names, value, strict=True)) if len(set(names)) == len(names) else None
