"""The query string of PxWebApi 2: names in any case, one language, and nothing that has no meaning."""

from __future__ import annotations

from typing import TYPE_CHECKING

from discreet.errors import BadRequest
from discreet.model.nearest import nearest
from discreet.server.query import once

if TYPE_CHECKING:
    from collections.abc import Iterable

    from starlette.datastructures import QueryParams

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
    return once(name, parameters.get(name, []))


def flag(parameters: Parameters, name: str) -> bool:
    """A parameter that is true or false.

    Raises:
        BadRequest: It is neither.
    """
    text = word(parameters, name)
    if text.lower() not in _FLAGS:
        raise BadRequest(f'{name} is "{text}".', "Write true or false.")
    return _FLAGS[text.lower()]
