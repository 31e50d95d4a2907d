"""A registry: the members of one kind, each in a module of its own in one package.

A module of the package binds its member to the registry's word (`FORMAT`, `KIND`); the registry walks the
package when it is first asked and finds it. Other packages, and tests, call `register`. No other list exists.

    one module = one member

Modules are imported when the first member is asked for, so they must be cheap to import: a module imports
an optional or slow library inside the function that uses it, and names it in an `Extra`.
"""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from importlib.util import find_spec
from typing import Any, Generic, Protocol, TypeVar

from discreet.errors import DiscreetError, MissingExtra
from discreet.model.messages.text import nearest


class Named(Protocol):
    """What can be registered: a value with a name."""

    @property
    def name(self) -> str:
        """The name that people type."""


Member = TypeVar("Member", bound=Named)


@dataclass(frozen=True, slots=True)
class Extra:
    """What a member needs beyond the plain installation.

    Args:
        install: What `pip install` takes, as `discreet[spark]`.
        packages: The packages that must then be importable.
    """

    install: str
    packages: tuple[str, ...]

    @property
    def missing(self) -> list[str]:
        """The packages that are not installed."""
        return [package for package in self.packages if find_spec(package) is None]

    def refuse_missing(self, who: str) -> None:
        """Say what to install, where something is missing.

        >>> Extra("discreet[spark]", ("no_such_spark",)).refuse_missing('The engine "spark"')
        Traceback (most recent call last):
        discreet.errors.MissingExtra: The engine "spark" needs no_such_spark. Install it: pip install "discreet[spark]".
        """
        if self.missing:
            raise MissingExtra(
                f"{who} needs {' and '.join(self.missing)}.", f'Install it: pip install "{self.install}".'
            )


class Registry(Generic[Member]):
    """The members that one package holds, and those that were registered beside them.

    Args:
        package: The package that is walked, as `discreet.formats`.
        word: The name that each module of it binds to its member.
        what: What a member is, in errors: `format`.
        unknown: The error of an unknown name.
        refuse: Looks at a new member beside the others; raises ValueError where they cannot stand together.
    """

    def __init__(
        self,
        package: str,
        word: str,
        what: str,
        unknown: type[DiscreetError],
        refuse: Callable[[Member, Iterable[Member]], None] = lambda _new, _others: None,
    ) -> None:
        self._package, self._word = package, word
        self._what, self._unknown, self._refuse = what, unknown, refuse
        self._members: dict[str, Member] = {}
        self._walked = False

    def members(self) -> tuple[Member, ...]:
        """All members: those of the package by the names of their modules, then those registered."""
        if not self._walked:
            self._walk()
        return tuple(self._members.values())

    def named(self, name: str) -> Member:
        """The member of a name; an unknown name is an error that names the nearest."""
        self.members()
        if name not in self._members:
            raise self._unknown(f'There is no {self._what} "{name}".', nearest(name, self._members))
        return self._members[name]

    def register(self, member: Member) -> None:
        """Add a member of another package.

        Raises:
            ValueError: The name is taken, or the member cannot stand beside another.
        """
        self.members()
        self._add(member)

    def _walk(self) -> None:
        package: Any = importlib.import_module(self._package)
        for module in pkgutil.iter_modules(package.__path__, f"{self._package}."):
            self._add(getattr(importlib.import_module(module.name), self._word))
        self._walked = True

    def _add(self, member: Member) -> None:
        if self._members.get(member.name, member) is not member:
            raise ValueError(f'the {self._what} "{member.name}" is there already')
        self._refuse(member, [other for other in self._members.values() if other is not member])
        self._members[member.name] = member
