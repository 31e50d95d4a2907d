"""Plugin registries: the members of the modules of a package.

A module binds its member, or a tuple of them, to the registry's word (`FORMAT`, `KIND`); the registry imports all modules of
the package, but not its sub-packages, at first use. Other packages, and tests, call `register`. Plugin modules must be cheap
to import: they import optional or slow libraries inside functions and name them in an `Extra`.
"""

import importlib
import pkgutil
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cached_property
from importlib.util import find_spec
from typing import Any, Generic, Protocol, TypeVar

from discreet.errors import DiscreetError, MissingExtra
from discreet.model.messages.text import nearest


class Named(Protocol):
    """A value with a name."""

    @property
    def name(self) -> str:
        """The name that users type."""


Member = TypeVar("Member", bound=Named)


@dataclass(frozen=True, slots=True)
class Extra:
    """The optional packages of a member, and the argument of `pip install` for them, as `discreet[spark]`."""

    install: str
    packages: tuple[str, ...]

    @property
    def missing(self) -> list[str]:
        """The packages that are not installed."""
        return [package for package in self.packages if find_spec(package) is None]

    def refuse_missing(self, who: str) -> None:
        """Refuse with the install command if a package is missing."""
        if self.missing:
            raise MissingExtra(
                f"{who} needs {' and '.join(self.missing)}.", f'Install it: pip install "{self.install}".'
            )


class Registry(Generic[Member]):
    """The members of one package, and those that were registered.

    Args:
        package: The package, as `discreet.formats`.
        word: The name that each module binds to its member or members.
        what: The kind of member in errors: `format`.
        unknown: The error for an unknown name.
        refuse: Called with a new member and the others; raises ValueError where they conflict.
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
        """All members: those of the package by module name, then those registered."""
        if not self._walked:
            for module in self._modules:
                for member in self._bound(module):
                    self._add(member)
            self._walked = True
        return tuple(self._members.values())

    def named(self, name: str) -> Member:
        """The member of a name; the error for an unknown name suggests the nearest."""
        if not self._walked and (member := self._of_module(name)):
            return member  # the other modules are not imported
        self.members()
        if name not in self._members:
            raise self._unknown(f'There is no {self._what} "{name}".', nearest(name, self._members))
        return self._members[name]

    @cached_property
    def _modules(self) -> list[str]:
        package: Any = importlib.import_module(self._package)
        return [module.name for module in pkgutil.iter_modules(package.__path__) if not module.ispkg]

    def _bound(self, module: str) -> tuple[Member, ...]:
        bound = getattr(importlib.import_module(f"{self._package}.{module}"), self._word)
        return bound if isinstance(bound, tuple) else (bound,)

    def _of_module(self, name: str) -> Member | None:
        """The member that its own module binds."""
        bound = self._bound(name) if name in self._modules else ()
        return next((member for member in bound if member.name == name), None)

    def register(self, member: Member) -> None:
        """Add a member of another package.

        Raises:
            ValueError: The name is taken, or the member conflicts with another.
        """
        self.members()
        self._add(member)

    def _add(self, member: Member) -> None:
        if self._members.get(member.name, member) is not member:
            raise ValueError(f'the {self._what} "{member.name}" is there already')
        self._refuse(member, [other for other in self._members.values() if other is not member])
        self._members[member.name] = member
