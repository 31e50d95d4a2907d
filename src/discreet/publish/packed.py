"""Public values as JSON and back, without loss: sentences keep how they were made, so that pages can translate them.

    pack(("a", told("{n} cells", n=3)))  ->  {"$": "tuple", "of": ["a", {"$": "text", ...}]}

Only the kinds that are named here can be packed; whatever else is handed in is refused, and leaves in no other way.
"""

from __future__ import annotations

import json
import math
from decimal import Decimal
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np

from discreet.model.told import Count, Label, Text

if TYPE_CHECKING:
    from collections.abc import Callable

_KIND = "$"


def pack(value: Any) -> bytes:
    """A value as JSON text, always the same for the same value."""
    document = json.dumps(_pack(value), ensure_ascii=True, allow_nan=False, separators=(",", ":"))
    return document.encode("ascii")


def unpack(content: bytes) -> Any:
    """The value of such a text.

    Raises:
        ValueError, KeyError, TypeError: It is none.
    """
    return _unpack(json.loads(content))


def _pack(value: Any) -> Any:
    if value is None or isinstance(value, bool):
        return value
    for kind, name, pack in _KINDS:
        if isinstance(value, kind):
            return {_KIND: name, "of": pack(value)} if name else pack(value)
    raise TypeError(f"a {type(value).__name__} is not published")


def _pack_keys(value: dict[Any, Any]) -> dict[str, Any]:
    if not all(isinstance(key, str) and key != _KIND for key in value):
        raise TypeError("only words are keys of what is published")
    return {key: _pack(each) for key, each in value.items()}


def _pack_text(value: Text) -> list[Any]:
    return [value.template, _pack_keys(dict(value.values)), value.plural, value.amount]


def _pack_number(value: float) -> Any:
    plain = float(value)
    return plain if math.isfinite(plain) else {_KIND: "float", "of": str(plain)}


#: What can be packed: its type, its name where JSON has no such type, and what JSON gets. A subclass stands first.
_KINDS: tuple[tuple[type | tuple[type, ...], str, Callable[[Any], Any]], ...] = (
    (Text, "text", _pack_text),
    (Label, "label", lambda value: [str.__str__(value), dict(value.others)]),
    (Count, "count", int),
    (str, "", str.__str__),
    ((int, np.integer), "", int),
    ((float, np.floating), "", _pack_number),
    (Fraction, "fraction", str),
    (Decimal, "decimal", str),
    (tuple, "tuple", lambda value: [_pack(each) for each in value]),
    (list, "", lambda value: [_pack(each) for each in value]),
    (dict, "", _pack_keys),
)
_PLAIN: dict[str, Callable[[Any], Any]] = {
    "text": lambda of: Text(of[0], _unpack(of[1]), *of[2:]),
    "label": lambda of: Label(*of),
    "count": Count,
    "float": float,
    "fraction": Fraction,
    "decimal": Decimal,
    "tuple": lambda of: tuple(_unpack(each) for each in of),
}


def _unpack(value: Any) -> Any:
    if isinstance(value, list):
        return [_unpack(each) for each in value]
    if not isinstance(value, dict):
        return value
    if _KIND in value:
        return _PLAIN[value[_KIND]](value["of"])
    return {key: _unpack(each) for key, each in value.items()}
