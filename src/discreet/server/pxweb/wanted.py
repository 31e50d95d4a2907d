"""A selection as it was sent: expressions, and names in any case.

?valuecodes[sex]=1,2&codelist[area]=...&heading=sex
{"selection": [{"variableCode": "sex", "valueCodes": ["1", "2"]}], "placement": {"heading": ["sex"]}}
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar

from discreet.errors import BadRequest
from discreet.server.pxweb.expressions import split_list

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

Kind = TypeVar("Kind")
_BY_VARIABLE = re.compile(r"(valuecodes|codelist)\[(.+)\]\Z", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Pick:
    """What is wanted of one variable: expressions, and the code list that they speak of."""

    variable: str
    expressions: tuple[str, ...]
    code_list: str = ""


@dataclass(frozen=True, slots=True)
class Wanted:
    """A selection as it was sent."""

    picks: tuple[Pick, ...] = ()
    heading: tuple[str, ...] = ()
    stub: tuple[str, ...] = ()


def wanted_from_query(parameters: Mapping[str, Sequence[str]]) -> Wanted:
    """The selection of a query string, whose names are in lower case."""
    codes: dict[str, list[str]] = {}
    lists: dict[str, str] = {}
    for name, texts in parameters.items():
        match = _BY_VARIABLE.match(name)
        if match is not None and match[1] == "codelist":
            lists[match[2]] = texts[-1]
        elif match is not None:
            codes[match[2]] = [item for text in texts for item in split_list(text)]
    picks = [Pick(name, tuple(codes.get(name, ())), lists.get(name, "")) for name in {**codes, **lists}]
    heading, stub = (
        tuple(item for text in parameters.get(name, ()) for item in split_list(text))
        for name in ("heading", "stub")
    )
    return Wanted(tuple(picks), heading, stub)


def wanted_from_body(document: object) -> Wanted:
    """The selection of a JSON body.

    Raises:
        BadRequest: It does not have the shape of a selection.
    """
    body = {} if document is None else document
    try:
        placement = _given(body.get("placement"), dict)  # type: ignore[attr-defined]
        picks = tuple(_pick(entry) for entry in _given(body.get("selection"), list))  # type: ignore[attr-defined]
        return Wanted(picks, _texts(placement.get("heading")), _texts(placement.get("stub")))
    except (AttributeError, KeyError, TypeError):
        raise BadRequest(
            "The selection cannot be read.",
            'Send {"selection": [{"variableCode": "sex", "valueCodes": ["1", "2"]}]}.',
        ) from None


def _pick(entry: Mapping[str, Any]) -> Pick:
    name, code_list = entry["variableCode"], _given(entry.get("codelist", entry.get("codeList")), str)
    if not isinstance(name, str):
        raise TypeError
    return Pick(name, _texts(entry.get("valueCodes")), code_list)


def _texts(given: object) -> tuple[str, ...]:
    texts = _given(given, list)
    if not all(isinstance(text, str) for text in texts):
        raise TypeError
    return tuple(texts)


def _given(value: object, kind: type[Kind]) -> Kind:
    """A value of a kind; an empty one for null, and for [], which R also writes where it means {}."""
    if value is None or value == []:
        return kind()
    if not isinstance(value, kind):
        raise TypeError
    return value


def wanted_document(wanted: Wanted) -> dict[str, Any]:
    """A selection as `wanted_from_body` reads it."""
    selection = [
        {
            "variableCode": pick.variable,
            **({"codelist": pick.code_list} if pick.code_list else {}),
            "valueCodes": list(pick.expressions),
        }
        for pick in wanted.picks
    ]
    placed = {"heading": list(wanted.heading), "stub": list(wanted.stub)}
    return {"selection": selection, **({"placement": placed} if any(placed.values()) else {})}
