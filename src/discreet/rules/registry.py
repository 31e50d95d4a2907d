"""The one registry of kinds of rules: a kind that is registered is read, evaluated and documented by its own class.

The kinds of Discreet register themselves in the modules of `kinds/`, which are found by walking that folder.
A third party calls `register` in the same way. A kind without a stage is refused: what is accepted is evaluated.
"""

from __future__ import annotations

from functools import cache
from importlib import import_module
from pkgutil import iter_modules
from types import MappingProxyType
from typing import TYPE_CHECKING, TypeVar

from discreet.rules import kinds as home
from discreet.rules.rule import STAGES, Rule

if TYPE_CHECKING:
    from collections.abc import Mapping

_KINDS: dict[str, type[Rule]] = {}
K = TypeVar("K", bound=type[Rule])


def register(kind: K) -> K:
    """Add a kind of rule; use it as the outermost decorator of its class.

    Raises:
        TypeError: The class is no rule, has no name, or has no stage at which it would be evaluated.
        ValueError: Another kind has the same name.
    """
    _refuse_idle(kind)
    if not kind.__module__.startswith(f"{home.__name__}."):
        _discover()
    if kind.kind in _KINDS:
        raise ValueError(f'two kinds of rules are called "{kind.kind}": {_KINDS[kind.kind]} and {kind}')
    _KINDS[kind.kind] = kind
    return kind


def unregister(name: str) -> None:
    """Take a kind out again; datasets that declare it can then not be opened."""
    del _KINDS[name]


def kinds() -> Mapping[str, type[Rule]]:
    """Every kind of rule by its name in `dataset.toml`."""
    _discover()
    return MappingProxyType(_KINDS)


def _refuse_idle(kind: type[Rule]) -> None:
    if not issubclass(kind, Rule) or not kind.kind:
        raise TypeError(f"{kind} is not a `Rule` with a `kind`")
    if not any(kind.implements(stage) for stage in STAGES):
        raise TypeError(
            f'the rule "{kind.kind}" would never be evaluated: implement one of {", ".join(STAGES)}'
        )
    for stage, needed in (("withholds", "reason"), ("refuse_account", "is_metered")):
        if kind.implements(stage) and not kind.implements(needed):
            raise TypeError(f'the rule "{kind.kind}" implements `{stage}` and not `{needed}`')


@cache
def _discover() -> None:
    """Import every module of `kinds/` once: each registers its own."""
    for module in iter_modules(home.__path__, f"{home.__name__}."):
        import_module(module.name)
