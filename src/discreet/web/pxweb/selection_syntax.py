"""What a PxWeb client sends: query parameters, selections with expressions, and saved queries.

    ?valuecodes[sex]=1,2&codelist[area]=...&heading=sex
    {"selection": [{"variableCode": "sex", "valueCodes": ["1", "2"]}], "placement": {"heading": ["sex"]}}
    1,2   *   1?   TOP(3)   TOP(3,1)   BOTTOM(2)   RANGE(a,b)   FROM(a)   TO(b)   [a code, with a comma]

Expressions refer to the codes in the order of the metadata, with the total `_T` last. A code of the variable is always
taken literally. Each other expression scans all codes, so their number is limited as for a request's patterns
(`model/selection.py`).

A saved query is not stored: its id is base64url(deflate(JSON of the query)).

Source: PxTools, PxApiSpecs, PxAPI-2.yml.
"""

from __future__ import annotations

import base64
import binascii
import json
import re
import zlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

from starlette.datastructures import QueryParams

from discreet.errors import BadRequest, NotFound, UnknownCategory
from discreet.model.messages.text import nearest
from discreet.model.selection import match_form, most_read
from discreet.web.urls import read_single

Kind = TypeVar("Kind")
#: Query parameters by their names in lower case.
Parameters = dict[str, list[str]]
#: The only language; `EN` and `en-GB` are English, too.
LANGUAGE = "en"
#: The longest id of a saved query, and the most bytes that one may unpack to.
LONGEST_ID, LONGEST_QUERY = 4_000, 200_000
_FLAGS = {"": False, "false": False, "0": False, "true": True, "1": True}
_EXPRESSION = re.compile(r"(top|bottom|range|from|to)\((.*)\)\Z", re.IGNORECASE | re.DOTALL)
_BY_VARIABLE = re.compile(r"(valuecodes|codelist)\[(.+)\]\Z", re.DOTALL)
_CLOSES = {"(": ")", "[": "]"}


def read_parameters(query: QueryParams, known: Iterable[str] = ()) -> Parameters:
    """Parse a query string; the variable in `valuecodes[Sex]` keeps its case.

    Args:
        query: The query string.
        known: The parameters of the URL in addition to `lang`; `name[]` is given by variable.

    Raises:
        BadRequest: A parameter is unknown, or the language is not available.
    """
    allowed = ["lang", *known]
    found: Parameters = {}
    for name, text in query.multi_items():
        start, bracket, rest = name.partition("[")
        plain = start.lower() + (bracket + rest if bracket else "")
        general = f"{start.lower()}[]" if bracket and rest.endswith("]") else plain
        if general not in allowed or plain.endswith("[]"):
            raise BadRequest(f'There is no parameter "{name}" here.', nearest(plain, allowed))
        found.setdefault(plain, []).append(text)
    language = word(found, "lang").lower()
    if language and language.partition("-")[0] != LANGUAGE:
        raise BadRequest(f'There is no language "{language}".', f"Write lang={LANGUAGE}, or leave it out.")
    return found


def word(parameters: Parameters, name: str) -> str:
    """A parameter that is given at most once; empty without one."""
    return read_single(name, parameters.get(name, []))


def flag(parameters: Parameters, name: str) -> bool:
    """A parameter that is true or false."""
    text = word(parameters, name)
    if text.lower() not in _FLAGS:
        raise BadRequest(f'{name} is "{text}".', "Write true or false.")
    return _FLAGS[text.lower()]


def split_list(text: str) -> list[str]:
    """Split at commas outside brackets, and remove square brackets around an item.

    >>> split_list("1, RANGE(a,b),[x,y]")
    ['1', 'RANGE(a,b)', 'x,y']
    """
    items, closing = [""], ""
    for character in text:
        if character == "," and not closing:
            items.append("")
            continue
        if not closing:
            closing = _CLOSES.get(character, "")
        elif character == closing:
            closing = ""
        items[-1] += character
    stripped = [item.strip() for item in items if item.strip()]
    return [item[1:-1] if item.startswith("[") and item.endswith("]") else item for item in stripped]


def expand(name: str, expressions: Iterable[str], codes: Sequence[str]) -> tuple[str, ...]:
    """The codes that expressions select, in the order of the codes, each once.

    >>> expand("age", ["TOP(1)", "ol*"], ["child", "adult", "old", "_T"])
    ('child', 'old')

    Raises:
        UnknownCategory: There is no such code; the nearest is named.
        BadRequest: An expression cannot be parsed or selects nothing, or there are too many.
    """
    known = _Codes(name, codes)
    once = dict.fromkeys(expressions)
    scans = sum(text not in known.places and text.casefold() not in known.alike for text in once)
    if scans > most_read([len(codes)]):
        raise BadRequest(
            f'The selection of "{name}" has {scans} expressions and words that are no code.',
            f"Write at most {most_read([len(codes)])}; codes are not counted.",
        )
    places: set[int] = set()
    for expression in once:
        found = [known.places[expression]] if expression in known.places else _places(expression, known)
        if not found:
            raise BadRequest(
                f'"{expression}" selects nothing of "{name}".', "Look at the codes in the table's metadata."
            )
        places.update(found)
    return tuple(codes[place] for place in sorted(places))


class _Codes:
    """The codes of a variable with their places."""

    def __init__(self, name: str, codes: Sequence[str]) -> None:
        self.name = name
        self.places = {code: place for place, code in enumerate(codes)}
        self.alike: dict[str, list[int]] = {}
        for place, code in enumerate(codes):
            self.alike.setdefault(code.casefold(), []).append(place)

    def place(self, code: str) -> int:
        """The place of a code, ignoring case where that is unique."""
        if code in self.places:
            return self.places[code]
        alike = self.alike.get(code.casefold(), [])
        if len(alike) != 1:
            raise UnknownCategory(
                f'The variable "{self.name}" has no value "{code}".', nearest(code, self.places)
            )
        return alike[0]


def _places(expression: str, known: _Codes) -> Sequence[int]:
    call = _EXPRESSION.match(expression.strip())
    if call is None:
        pattern = "*" in expression or "?" in expression
        return match_form(expression, known.places) if pattern else [known.place(expression)]
    function, given, size = call[1].lower(), split_list(call[2]), len(known.places)
    match function, given:
        case "from", [first]:
            return range(known.place(first), size)
        case "to", [last]:
            return range(known.place(last) + 1)
        case "range", [first, last]:
            return range(known.place(first), known.place(last) + 1)
        case "top" | "bottom", [count, *offset] if len(offset) < 2 and _are_numbers(given):
            start = int(offset[0][:9]) if offset else 0
            chosen = range(start, min(start + int(count[:9]), size))
            return chosen if function == "top" else [size - 1 - place for place in chosen]
    raise BadRequest(
        f'The expression "{expression}" on "{known.name}" cannot be read.',
        "Write TOP(3), TOP(3,1), BOTTOM(3), RANGE(first,last), FROM(first) or TO(last).",
    )


def _are_numbers(texts: Iterable[str]) -> bool:
    return all(text.isascii() and text.isdigit() for text in texts)


@dataclass(frozen=True, slots=True)
class Pick:
    """The selection of one variable: expressions, and the code list that they refer to."""

    variable: str
    expressions: tuple[str, ...]
    code_list: str = ""


@dataclass(frozen=True, slots=True)
class RawSelection:
    """A selection as it was sent."""

    picks: tuple[Pick, ...] = ()
    heading: tuple[str, ...] = ()
    stub: tuple[str, ...] = ()


def selection_from_query(parameters: Mapping[str, Sequence[str]]) -> RawSelection:
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
    return RawSelection(tuple(picks), heading, stub)


def selection_from_body(document: object) -> RawSelection:
    """The selection of a JSON body.

    Raises:
        BadRequest: It is no selection.
    """
    try:
        body: Any = {} if document is None else document
        placement = _value_of(body.get("placement"), dict)
        picks = tuple(_pick(entry) for entry in _value_of(body.get("selection"), list))
        return RawSelection(picks, _texts(placement.get("heading")), _texts(placement.get("stub")))
    except (AttributeError, KeyError, TypeError):
        raise BadRequest(
            "The selection cannot be read.",
            'Send {"selection": [{"variableCode": "sex", "valueCodes": ["1", "2"]}]}.',
        ) from None


def _pick(entry: Mapping[str, Any]) -> Pick:
    name, code_list = entry["variableCode"], _value_of(entry.get("codelist", entry.get("codeList")), str)
    if not isinstance(name, str):
        raise TypeError
    return Pick(name, _texts(entry.get("valueCodes")), code_list)


def _texts(given: object) -> tuple[str, ...]:
    texts = _value_of(given, list)
    if not all(isinstance(text, str) for text in texts):
        raise TypeError
    return tuple(texts)


def _value_of(value: object, kind: type[Kind]) -> Kind:
    """A value of a type; an empty one for null, and for [], which R also writes for an empty object."""
    if value is None or value == []:
        return kind()
    if not isinstance(value, kind):
        raise TypeError
    return value


def selection_json(selection: RawSelection) -> dict[str, Any]:
    """A selection as `selection_from_body` reads it."""
    picks = [
        {
            "variableCode": pick.variable,
            **({"codelist": pick.code_list} if pick.code_list else {}),
            "valueCodes": list(pick.expressions),
        }
        for pick in selection.picks
    ]
    placement = {"heading": list(selection.heading), "stub": list(selection.stub)}
    return {"selection": picks, **({"placement": placement} if any(placement.values()) else {})}


@dataclass(frozen=True, slots=True)
class SavedQuery:
    """A query: the table and its version, the selection, and the format."""

    table: str
    wanted: RawSelection
    output_format: str = ""
    parameters: tuple[str, ...] = ()
    version: str = ""

    @property
    def id(self) -> str:
        """The packed query.

        Raises:
            BadRequest: It is too long.
        """
        text = json.dumps(saved_query_json(self), separators=(",", ":"), sort_keys=True, ensure_ascii=False)
        packed = base64.urlsafe_b64encode(zlib.compress(text.encode(), 9)).decode().rstrip("=")
        if len(packed) > LONGEST_ID:
            raise BadRequest(
                "The query is too long to be saved as an address.",
                "Select with * or RANGE(first,last), or ask for it with POST.",
            )
        return packed


def saved_query_json(query: SavedQuery) -> dict[str, Any]:
    """A query as PxWebApi writes it."""
    return {
        "tableId": query.table,
        "language": "en",
        "selection": selection_json(query.wanted),
        **({"outputFormat": query.output_format} if query.output_format else {}),
        **({"outputFormatParams": list(query.parameters)} if query.parameters else {}),
        **({"version": query.version} if query.version else {}),
    }


def read_saved_query(document: object) -> SavedQuery:
    """A query from JSON.

    Raises:
        BadRequest: It is no query.
    """
    if not isinstance(document, dict) or not isinstance(document.get("tableId"), str):
        raise BadRequest("The query names no table.", 'Send {"tableId": "census", "selection": {...}}.')
    for name in ("outputFormat", "version"):
        if not isinstance(document.get(name), str | None):
            raise BadRequest(f"{name} cannot be read.", f'Send "{name}" as a text, or leave it out.')
    parameters = document.get("outputFormatParams")
    if parameters is not None and not (
        isinstance(parameters, list) and all(isinstance(p, str) for p in parameters)
    ):
        raise BadRequest("The output format cannot be read.", 'Send "outputFormatParams": ["UseCodes"].')
    return SavedQuery(
        document["tableId"],
        selection_from_body(document.get("selection")),
        document.get("outputFormat") or "",
        tuple(parameters or ()),
        document.get("version") or "",
    )


def unpack(query_id: str) -> SavedQuery:
    """The query of an id.

    Raises:
        NotFound: The id is invalid.
    """
    try:
        packed = base64.b64decode(
            query_id[:LONGEST_ID] + "=" * (-len(query_id) % 4), altchars=b"-_", validate=True
        )
        text = zlib.decompressobj().decompress(packed, LONGEST_QUERY)
        return read_saved_query(json.loads(text))
    except (ValueError, binascii.Error, zlib.error, BadRequest, RecursionError):
        raise NotFound(
            "There is no saved query with this id.", "Save it again with POST /savedqueries."
        ) from None
