"""Parse a `[[rule]]`: every key of a kind has a reader.

A rule is a frozen dataclass whose fields are its keys; `key(reader)` makes a field that a function of the value and the
dataset parses. A reader raises `Unusable` with advice for an invalid value.
"""

from collections.abc import Callable, Mapping
from dataclasses import MISSING, field, fields
from typing import Any, TypeVar

from discreet.errors import BadDescription
from discreet.model.dataset import Dataset
from discreet.model.description.sections import refuse_unknown_keys, require_keys
from discreet.model.messages.text import nearest

Reader = Callable[[object, "Dataset"], object]

T = TypeVar("T")


class Unusable(ValueError):
    """An invalid value of a key; the text is the advice."""


def key(reader: Reader, default: Any = MISSING) -> Any:
    """A field of a rule that is a key of its section; required without a default."""
    return field(default=default, metadata={"reader": reader})


def read_rule(rule: type[T], entry: Mapping[str, Any], dataset: Dataset) -> T:
    """Create a rule from its section.

    Raises:
        BadDescription: A key is missing, unknown or invalid.
    """
    where = f'The rule "{entry["kind"]}"'
    keys = {each.name: each for each in fields(rule) if "reader" in each.metadata}  # type: ignore[arg-type]
    given = {name: value for name, value in entry.items() if name != "kind"}
    refuse_unknown_keys(given, set(keys), where)
    for name, value in given.items():
        try:
            given[name] = keys[name].metadata["reader"](value, dataset)
        except Unusable as advice:
            raise BadDescription(f"{where} has {name} = {value!r}.", str(advice)) from None
    require_keys(given, [name for name, each in keys.items() if each.default is MISSING], where)
    return rule(**given)


def whole(least: int) -> Reader:
    """A whole number, at least `least`."""

    def read(value: object, dataset: Dataset) -> int:
        if not isinstance(value, int) or isinstance(value, bool) or value < least:
            raise Unusable(f"Give a whole number, at least {least}.")
        return value

    return read


def share(value: object, dataset: Dataset) -> float:
    """A share between 0 and 1."""
    return _number(value, lambda given: 0 <= given <= 1, "Give a share between 0 and 1.")


def positive(value: object, dataset: Dataset) -> float:
    """A number above 0."""
    return _number(value, lambda given: 0 < given < float("inf"), "Give a number above 0.")


def _number(value: object, fits: Callable[[float], bool], advice: str) -> float:
    if not isinstance(value, int | float) or isinstance(value, bool) or not fits(value):
        raise Unusable(advice)
    return float(value)


def flag(value: object, dataset: Dataset) -> bool:
    """True or false."""
    if not isinstance(value, bool):
        raise Unusable("Write true or false.")
    return value


def variable(value: object, dataset: Dataset) -> str:
    """The name of a variable."""
    known = [each.name for each in dataset.variables]
    if not isinstance(value, str) or value not in known:
        raise Unusable(nearest(str(value), known))
    return value


def variables(value: object, dataset: Dataset) -> tuple[str, ...]:
    """Names of variables, at least one, each once."""
    if not isinstance(value, list) or not value:
        raise Unusable('List one or more variables: ["sex", "age"].')
    names = tuple(variable(each, dataset) for each in value)
    if len(set(names)) != len(names):
        raise Unusable("Name each variable once.")
    return names


def together(value: object, dataset: Dataset) -> tuple[str, ...]:
    """Names of two or more variables."""
    names = variables(value, dataset)
    if len(names) < 2:
        raise Unusable("Name two or more variables.")
    return names


def level(value: object, dataset: Dataset) -> str:
    """A level of a geography."""
    known = sorted(dataset.geography)
    if not isinstance(value, str) or value not in known:
        raise Unusable(nearest(str(value), known) if known else "The dataset has no geography: leave it out.")
    return value


def figures(value: object, dataset: Dataset) -> tuple[tuple[str, int], ...]:
    """Public figures by code."""
    if not isinstance(value, dict) or not value:
        raise Unusable("Write figures = { code = 120, other = 80 }.")
    for number in value.values():
        if not isinstance(number, int) or isinstance(number, bool) or number < 0:
            raise Unusable("Give each area a whole number of people.")
    return tuple((str(code), number) for code, number in value.items())
