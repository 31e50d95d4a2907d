"""How a selection is written: codes, wildcards and the expressions of PxWebApi 2.

    1,2   *   1?   TOP(3)   TOP(3,1)   BOTTOM(2)   RANGE(a,b)   FROM(a)   TO(b)   [a code, with a comma]

All of them look at the codes in the order of the metadata, in which the total `_T` is the last. A code that is there
is always meant itself, even if it looks like an expression. Equal ones are read once; those that are no code look at all
codes of their variable, so there may be as many of them as of a request's patterns (`model/selection.py`).

Source: PxTools, PxApiSpecs, PxAPI-2.yml.

A selection as it was sent: expressions, and names in any case.

?valuecodes[sex]=1,2&codelist[area]=...&heading=sex
{"selection": [{"variableCode": "sex", "valueCodes": ["1", "2"]}], "placement": {"heading": ["sex"]}}

Saved queries that nobody has to keep: the id is the query itself, packed.

    id = base64url(deflate(JSON of the query))

The same query has the same id, an id works on every server that has the table, and nothing grows. A query that is too
long for an address is not saved; it can be asked by POST.

The query string of PxWebApi 2: names in any case, one language, and nothing that has no meaning.
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
from discreet.web.query import read_single

_EXPRESSION = re.compile(r"(top|bottom|range|from|to)\((.*)\)\Z", re.IGNORECASE | re.DOTALL)
_CLOSES = {"(": ")", "[": "]"}


def split_list(text: str) -> list[str]:
    """Split at commas outside brackets; brackets around a whole item are taken off.

    >>> split_list("1, RANGE(a,b),[x,y]")
    ['1', 'RANGE(a,b)', 'x,y']
    """
    items, current, waiting = [], "", ""
    for character in text:
        if character == "," and not waiting:
            items.append(current)
            current = ""
            continue
        if not waiting:
            waiting = _CLOSES.get(character, "")
        elif character == waiting:
            waiting = ""
        current += character
    return [_bare(item) for item in (*items, current) if item.strip()]


def expand(name: str, expressions: Iterable[str], codes: Sequence[str]) -> tuple[str, ...]:
    """The codes that expressions select, in the order of the codes, each once.

    >>> expand("age", ["TOP(1)", "ol*"], ["child", "adult", "old", "_T"])
    ('child', 'old')

    Raises:
        UnknownCategory: A code is not there; the nearest is named.
        BadRequest: An expression cannot be read, or selects nothing; or there are too many that are no code.
    """
    known = _Codes(name, codes)
    once = dict.fromkeys(expressions)
    looked = sum(text not in known.places and text.casefold() not in known.alike for text in once)
    if looked > most_read([len(codes)]):
        raise BadRequest(
            f'The selection of "{name}" has {looked} expressions and words that are no code.',
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
    """The codes of a variable, with the place of each."""

    def __init__(self, name: str, codes: Sequence[str]) -> None:
        self.name = name
        self.places = {code: place for place, code in enumerate(codes)}
        self.alike: dict[str, list[int]] = {}
        for place, code in enumerate(codes):
            self.alike.setdefault(code.casefold(), []).append(place)

    def place(self, code: str) -> int:
        """Where a code stands; one that differs by case alone is taken, if it is the only one."""
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
    if call is not None:
        return _call_places(expression, (call[1].lower(), split_list(call[2])), known)
    if "*" in expression or "?" in expression:
        return match_form(expression, known.places)
    return [known.place(expression)]


def _call_places(expression: str, call: tuple[str, list[str]], known: _Codes) -> Sequence[int]:
    """The places of TOP, BOTTOM, RANGE, FROM or TO."""
    word, given = call
    size = len(known.places)
    if (
        word in {"top", "bottom"}
        and 1 <= len(given) <= 2
        and all(text.isascii() and text.isdigit() for text in given)
    ):
        count, offset = int(given[0][:9]), int((given[1] if given[1:] else "0")[:9])
        first = range(offset, min(offset + count, size))
        return first if word == "top" else [size - 1 - place for place in first]
    if word in {"from", "to"} and len(given) == 1:
        place = known.place(given[0])
        return range(place, size) if word == "from" else range(place + 1)
    if word == "range" and len(given) == 2:
        return range(known.place(given[0]), known.place(given[1]) + 1)
    raise BadRequest(
        f'The expression "{expression}" on "{known.name}" cannot be read.',
        "Write TOP(3), TOP(3,1), BOTTOM(3), RANGE(first,last), FROM(first) or TO(last).",
    )


def _bare(item: str) -> str:
    item = item.strip()
    return item[1:-1] if item.startswith("[") and item.endswith("]") else item


Kind = TypeVar("Kind")
_BY_VARIABLE = re.compile(r"(valuecodes|codelist)\[(.+)\]\Z", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Pick:
    """What is wanted of one variable: expressions, and the code list that they speak of."""

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
        BadRequest: It does not have the shape of a selection.
    """
    body = {} if document is None else document
    try:
        placement = _value_of(body.get("placement"), dict)  # type: ignore[attr-defined]
        picks = tuple(_pick(entry) for entry in _value_of(body.get("selection"), list))  # type: ignore[attr-defined]
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
    """A value of a kind; an empty one for null, and for [], which R also writes where it means {}."""
    if value is None or value == []:
        return kind()
    if not isinstance(value, kind):
        raise TypeError
    return value


def selection_json(wanted: RawSelection) -> dict[str, Any]:
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


#: The letters of an id, and the bytes that one may unpack to.
LONGEST_ID, LONGEST_QUERY = 4_000, 200_000


@dataclass(frozen=True, slots=True)
class SavedQuery:
    """A query: of which table and version, what of it, in which format."""

    table: str
    wanted: RawSelection
    output_format: str = ""
    parameters: tuple[str, ...] = ()
    version: str = ""

    @property
    def id(self) -> str:
        """The query, packed.

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
        BadRequest: It does not have the shape of a query.
    """
    if not isinstance(document, dict) or not isinstance(document.get("tableId"), str):
        raise BadRequest("The query names no table.", 'Send {"tableId": "census", "selection": {...}}.')
    form, version = (_text(document, name) for name in ("outputFormat", "version"))
    parameters = document.get("outputFormatParams")
    if parameters is not None and not (
        isinstance(parameters, list) and all(isinstance(p, str) for p in parameters)
    ):
        raise BadRequest("The output format cannot be read.", 'Send "outputFormatParams": ["UseCodes"].')
    wanted = selection_from_body(document.get("selection"))
    return SavedQuery(document["tableId"], wanted, form, tuple(parameters or ()), version)


def _text(document: dict[str, Any], name: str) -> str:
    given = document.get(name)
    if given is not None and not isinstance(given, str):
        raise BadRequest(f"{name} cannot be read.", f'Send "{name}" as a text, or leave it out.')
    return given or ""


def unpack(query_id: str) -> SavedQuery:
    """The query of an id.

    Raises:
        NotFound: It is none.
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


Parameters = dict[str, list[str]]
#: The only language; `EN` and `en-GB` are English, too.
LANGUAGE = "en"
_FLAGS = {"": False, "false": False, "0": False, "true": True, "1": True}


def read_parameters(query: QueryParams, known: Iterable[str] = ()) -> Parameters:
    """The parameters by their names in lower case; the variable in `valuecodes[Sex]` stays as it is written.

    Args:
        query: As it was sent.
        known: The names that the address has, beside `lang`; `name[]` is given by variable.

    Raises:
        BadRequest: A name has no meaning here, or the language is not served.
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
    """A parameter that is given at most once; empty where it is not given.

    Raises:
        BadRequest: It is given several times.
    """
    return read_single(name, parameters.get(name, []))


def flag(parameters: Parameters, name: str) -> bool:
    """A parameter that is true or false.

    Raises:
        BadRequest: It is neither.
    """
    text = word(parameters, name)
    if text.lower() not in _FLAGS:
        raise BadRequest(f'{name} is "{text}".', "Write true or false.")
    return _FLAGS[text.lower()]
