"""What a PxWeb client sends (query parameters, selections with expressions, saved queries), and the table that it asks for.

    ?valuecodes[sex]=1,2&codelist[area]=...&heading=sex
    {"selection": [{"variableCode": "sex", "valueCodes": ["1", "2"]}], "placement": {"heading": ["sex"]}}
    1,2   *   1?   TOP(3)   TOP(3,1)   BOTTOM(2)   RANGE(a,b)   FROM(a)   TO(b)   [a code, with a comma]

Expressions refer to the codes in the order of the metadata, with the total `_T` last. A code of the variable is always
taken literally. Each other expression scans all codes, so their number is limited (`model/selection.py`). A saved query is
not stored: its id is base64url(deflate(JSON of the query)).

A variable that is not named, or named without a value, is eliminated. A selection takes cells of the table of its variables
and is never a filter. Without one, the first variable that is allowed alone is selected. Source: PxApiSpecs, PxAPI-2.yml.
"""

import base64
import json
import math
import re
import zlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any

from pydantic import AliasChoices, ConfigDict, Field, TypeAdapter, ValidationError, with_config
from pydantic.alias_generators import to_camel
from starlette.datastructures import QueryParams

from discreet.errors import BadRequest, DiscreetError, NotFound, UnknownCategory, UnknownVariable
from discreet.model.messages.text import nearest
from discreet.model.request import TableRequest
from discreet.model.selection import match_form, most_read
from discreet.model.shape import Dimension
from discreet.model.variable import TOTAL
from discreet.release.dataset_registry import DatasetService
from discreet.web.pxweb import metadata
from discreet.web.urls import read_single

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
    """Parse a query string with `lang` and the `known` parameters; `name[]` is given by variable, whose case stays."""
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


def read_number(parameters: Parameters, name: str, largest: int) -> int | None:
    """A parameter that is a whole number of at least 1; None without one. An empty one is no number."""
    if name.lower() not in parameters:
        return None
    text = word(parameters, name.lower())
    if not text.isascii() or not text.isdigit() or not 1 <= int(text[:12]) <= largest:
        raise BadRequest(f'{name} is "{text}".', f"Give a whole number between 1 and {largest:,}.")
    return int(text)


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
        case "top" | "bottom", [count, *offset] if len(offset) < 2 and all(
            text.isascii() and text.isdigit() for text in given
        ):
            start = int(offset[0][:9]) if offset else 0
            chosen = range(start, min(start + int(count[:9]), size))
            return chosen if function == "top" else [size - 1 - place for place in chosen]
    raise BadRequest(
        f'The expression "{expression}" on "{known.name}" cannot be read.',
        "Write TOP(3), TOP(3,1), BOTTOM(3), RANGE(first,last), FROM(first) or TO(last).",
    )


_camel = with_config(ConfigDict(alias_generator=to_camel))


@_camel
@dataclass(frozen=True, slots=True)
class PxPick:
    """What is selected of one variable: codes or expressions, and the code list that they speak of."""

    variable_code: str
    value_codes: tuple[str, ...] | None = None
    codelist: Annotated[str | None, Field(validation_alias=AliasChoices("codelist", "codeList"))] = None


@dataclass(frozen=True, slots=True)
class PxPlacement:
    """The order of the variables."""

    heading: tuple[str, ...] | None = None
    stub: tuple[str, ...] | None = None


#: What R writes where it means an empty object.
Nothing = Annotated[list[str], Field(max_length=0)]


@dataclass(frozen=True, slots=True)
class PxSelection:
    """A selection, as it is sent."""

    selection: tuple[PxPick, ...] | None = None
    placement: PxPlacement | Nothing | None = None

    @property
    def placed(self) -> PxPlacement:
        """The order of the variables; without any where none was sent."""
        return self.placement if isinstance(self.placement, PxPlacement) else PxPlacement()


@_camel
@dataclass(frozen=True, slots=True)
class PxQuery:
    """A query that has an address; `version` is the version of the dataset that answers, where it names one."""

    table_id: str
    selection: PxSelection | None = None
    language: str | None = None
    output_format: str | None = None
    output_format_params: tuple[str, ...] | None = None
    version: str | None = None
    id: str | None = None


_SELECTION, _QUERY = TypeAdapter(PxSelection | None), TypeAdapter(PxQuery)


def selection_from_query(parameters: Mapping[str, Sequence[str]]) -> PxSelection:
    """The selection of a query string, whose names are in lower case."""
    codes: dict[str, list[str]] = {}
    lists: dict[str, str] = {}
    for name, texts in parameters.items():
        match = _BY_VARIABLE.match(name)
        if match is not None and match[1] == "codelist":
            lists[match[2]] = texts[-1]
        elif match is not None:
            codes[match[2]] = [item for text in texts for item in split_list(text)]
    picks = (PxPick(name, tuple(codes.get(name, ())), lists.get(name)) for name in {**codes, **lists})
    heading, stub = (
        tuple(item for text in parameters.get(name, ()) for item in split_list(text))
        for name in ("heading", "stub")
    )
    return PxSelection(tuple(picks), PxPlacement(heading, stub))


def selection_from_body(body: bytes) -> PxSelection:
    """The selection of a JSON body; an empty body selects nothing."""
    try:
        return _SELECTION.validate_json(body.strip() or b"null") or PxSelection()
    except ValidationError:
        raise BadRequest(
            "The selection cannot be read.",
            'Send {"selection": [{"variableCode": "sex", "valueCodes": ["1", "2"]}]}.',
        ) from None


def selection_json(selection: PxSelection) -> dict[str, Any]:
    """A selection as `selection_from_body` reads it."""
    picks = [
        {
            "variableCode": pick.variable_code,
            **({"codelist": pick.codelist} if pick.codelist else {}),
            "valueCodes": list(pick.value_codes or ()),
        }
        for pick in selection.selection or ()
    ]
    placed = selection.placed
    placement = {"heading": list(placed.heading or ()), "stub": list(placed.stub or ())}
    return {"selection": picks, **({"placement": placement} if any(placement.values()) else {})}


def saved_query_id(query: PxQuery) -> str:
    """The packed query, unless it is too long."""
    text = json.dumps(saved_query_json(query), separators=(",", ":"), sort_keys=True, ensure_ascii=False)
    packed = base64.urlsafe_b64encode(zlib.compress(text.encode(), 9)).decode().rstrip("=")
    if len(packed) > LONGEST_ID:
        raise BadRequest(
            "The query is too long to be saved as an address.",
            "Select with * or RANGE(first,last), or ask for it with POST.",
        )
    return packed


def saved_query_json(query: PxQuery) -> dict[str, Any]:
    """A query as PxWebApi writes it."""
    parameters = list(query.output_format_params or ())
    further = {
        "outputFormat": query.output_format,
        "outputFormatParams": parameters,
        "version": query.version,
    }
    given = {name: value for name, value in further.items() if value}
    selection = selection_json(query.selection or PxSelection())
    return {"tableId": query.table_id, "language": LANGUAGE, "selection": selection, **given}


def read_saved_query(body: bytes) -> PxQuery:
    """A query from JSON."""
    try:
        return _QUERY.validate_json(body)
    except ValidationError:
        raise BadRequest(
            "The query cannot be read.", 'Send {"tableId": "census", "selection": {...}}.'
        ) from None


def unpack(query_id: str) -> PxQuery:
    """The query of an id; NotFound for an invalid one."""
    try:
        packed = base64.b64decode(
            query_id[:LONGEST_ID] + "=" * (-len(query_id) % 4), altchars=b"-_", validate=True
        )
        return read_saved_query(zlib.decompressobj().decompress(packed, LONGEST_QUERY))
    except (ValueError, zlib.error, BadRequest):
        raise NotFound(
            "There is no saved query with this id.", "Save it again with POST /savedqueries."
        ) from None


@dataclass(frozen=True, slots=True)
class Chosen:
    """The selected values of one variable."""

    dimension: Dimension
    codes: tuple[str, ...]
    code_list: metadata.CodeList | None = None


@dataclass(frozen=True, slots=True)
class Selected:
    """A resolved selection: the variables in the order of the dataset; the contents variable is in the heading or stub."""

    chosen: tuple[Chosen, ...]
    contents: tuple[metadata.Content, ...]
    heading: tuple[str, ...]
    stub: tuple[str, ...]

    @property
    def cells(self) -> int:
        """The number of selected cells."""
        return math.prod(len(each.codes) for each in self.chosen) * len(self.contents)

    def request(self, dataset: str, measure: str) -> TableRequest:
        """The request of the whole table."""
        names = {each.dimension.name for each in self.chosen}
        levels = tuple(
            (each.dimension.name, each.code_list.levels)
            for each in self.chosen
            if each.code_list is not None and each.code_list.levels
        )
        rows, columns = (tuple(n for n in placed if n in names) for placed in (self.stub, self.heading))
        return TableRequest(dataset, rows=rows, columns=columns, levels=levels, measure=measure)


def canonical_selection(service: DatasetService, selected: Selected) -> PxSelection:
    """The selection with every code spelt out."""
    picks = [
        PxPick(each.dimension.name, each.codes, each.code_list.id if each.code_list else None)
        for each in selected.chosen
    ]
    codes = tuple(content.code for content in selected.contents)
    contents = PxPick(metadata.contents_name(service.dataset), codes)
    return PxSelection((*picks, contents), PxPlacement(selected.heading, selected.stub))


def select(service: DatasetService, selection: PxSelection | None) -> Selected:
    """Resolve a selection; None and an empty one select the default."""
    selection = selection or PxSelection()
    contents = metadata.contents_name(service.dataset)
    known = [*(variable.name for variable in service.dataset.variables), contents]
    picks: dict[str, PxPick] = {}
    for pick in selection.selection or ():
        name = any_case(pick.variable_code, known)
        if name is None:
            raise UnknownVariable(
                f'The table has no variable "{pick.variable_code}".', nearest(pick.variable_code, known)
            )
        if name in picks:
            raise BadRequest(f'The variable "{name}" is selected twice.', "Give all its values together.")
        picks[name] = pick
    measured = picks.pop(contents, None)
    chosen = []
    for name, pick in ((name, picks[name]) for name in known if name in picks and picks[name].value_codes):
        code_list = find_code_list(service, name, pick.codelist) if pick.codelist else None
        dimension = metadata.dimension_of(service, name, code_list.levels if code_list else ())
        chosen.append(Chosen(dimension, expand(name, pick.value_codes or (), dimension.codes), code_list))
    if not chosen:
        chosen = [default_choice(service, total=bool(selection.selection))]
    offered = {content.code: content for content in metadata.contents_of(service.dataset)}
    codes = expand(contents, measured.value_codes or (), list(offered)) if measured else ()
    shown = [offered[code] for code in codes] or [next(iter(offered.values()))]
    heading, stub = _placement(selection.placed, [*(each.dimension.name for each in chosen), contents])
    return Selected(tuple(chosen), tuple(shown), heading, stub)


def any_case(name: str, known: Iterable[str]) -> str | None:
    """The known name that equals a name, or the only one that differs by case alone."""
    names = list(known)
    if name in names:
        return name
    alike = [other for other in names if other.casefold() == name.casefold()]
    return alike[0] if len(alike) == 1 else None


def find_code_list(service: DatasetService, variable: str, wanted: str) -> metadata.CodeList:
    """The code list of a variable, by its id in any case."""
    lists = {each.id: each for each in metadata.code_lists(service.dataset, variable)}
    found = any_case(wanted, lists)
    if found is None:
        advice = nearest(wanted, lists) if lists else "Leave the code list out."
        raise BadRequest(f'"{variable}" has no code list "{wanted}".', advice)
    return lists[found]


def default_choice(service: DatasetService, *, total: bool = False) -> Chosen:
    """The first variable that is allowed alone, geography last; or its total, where all variables are eliminated."""
    dataset = service.dataset
    names = [variable.name for variable in dataset.variables]
    refusals: list[DiscreetError] = []
    for name in sorted(names, key=lambda name: name in dataset.geography):
        try:
            service.check(
                TableRequest(dataset.id, rows=(name,), measure=metadata.contents_of(dataset)[0].measure)
            )
        except DiscreetError as refusal:
            refusals.append(refusal)
            continue
        dimension = metadata.dimension_of(service, name)
        return Chosen(dimension, (TOTAL,) if total else dimension.codes)
    raise refusals[0] if refusals else NotFound("The table has no variable.", "Choose another table.")


def _placement(placed: PxPlacement, order: list[str]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Heading and stub as sent, the rest in the stub; by default the last variable and the contents are the heading."""

    def known(name: str) -> str:
        found = any_case(name, order)
        if found is None:
            raise BadRequest(f'"{name}" is placed and not selected.', nearest(name, order))
        return found

    heading, stub = (list(map(known, names or ())) for names in (placed.heading, placed.stub))
    if len({*heading, *stub}) < len(heading) + len(stub):
        raise BadRequest("A variable is placed twice.", "Place each variable once.")
    rest = [name for name in order if name not in {*heading, *stub}]
    if not heading and not stub:
        return tuple(order[-2:]), tuple(order[:-2])
    if not heading:
        return tuple(rest), tuple(stub)
    return tuple(heading), (*stub, *rest)
