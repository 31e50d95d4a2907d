"""Rules on unions: free groups, and filters that nearly equal a declared group.

Two nested unions that differ by few categories disclose the difference. A free group is compared with the declared groups of
its variable (coarser levels, code lists, the total) and with the other groups of the request; a filter likewise, where the
rule says so, because its total is the union.

Source: Rinott et al. (2018), sections 2.2 and 8 (tables that are manipulated and differenced).
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import combinations
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from discreet.errors import BadDescription, NestedGroups, Refused, TooManyGroups
from discreet.model.dataset import Dataset
from discreet.model.hierarchy import groupings, level_groups
from discreet.model.messages.sentences import quote_names
from discreet.model.messages.text import message, plural_message
from discreet.model.request import TableRequest
from discreet.model.shape import TableShape
from discreet.rules import reading
from discreet.rules.reading import key
from discreet.rules.rule import Meter, Rule, drop_choices, drop_variables, register

_ANOTHER = message("another group of yours")
_INSTEAD = message("Use single categories, or a level or code list of the dataset.")


@register
@dataclass(frozen=True, slots=True)
class FreeGroups(Rule):
    """Whether the categories of variables may be grouped freely, and how often per account."""

    kind: ClassVar[str] = "free-groups"
    error: ClassVar[type[Refused]] = TooManyGroups
    variables: tuple[str, ...] = key(reading.variables, ())
    allowed: bool = key(reading.flag, True)
    per_account: int | None = key(reading.whole(0), None)

    def check(self, dataset: Dataset) -> None:
        """Under `dp` the rule has nothing to do."""
        if dataset.protection.is_dp:
            raise BadDescription(
                "Under dp groups are sums of released cells, and need no rule.",
                "Take out the rule free-groups.",
            )

    def refuse(self, request: TableRequest, shape: TableShape, dataset: Dataset) -> Refused | None:
        names = self._free_groups(request)
        if self.allowed or not names:
            return None
        named = quote_names(names)
        text = message("The categories of {names} cannot be merged into custom groups.", names=named)
        return self.refusal(text, _INSTEAD)

    def refuse_account(
        self, request: TableRequest, meter: Meter | None, account: str | None
    ) -> Refused | None:
        """Refuse groups beyond an account's quota; the answer changes with use, so it is not cacheable."""
        if self.per_account is None:
            return None
        groups = dict(request.groups)
        for name in self._free_groups(request):
            if meter is None or account is None:
                text = message(
                    'Your own groups of "{name}" are limited per account, and you are not signed in.',
                    name=name,
                )
                advice = message("Sign in, or use single categories, or a level or code list of the dataset.")
                return self.refusal(text, advice, cacheable=False)
            used, asked = meter(name, account), sum(len(group) > 1 for group in groups[name])
            if used + asked > self.per_account:
                text = message(
                    'Custom groups of "{name}": {asked} in this table, {used} used before; the limit per account is '
                    "{per_account}.",
                    name=name,
                    asked=asked,
                    used=used,
                    per_account=self.per_account,
                )
                return self.refusal(text, _INSTEAD, cacheable=False)
        return None

    def is_metered(self, request: TableRequest) -> bool:
        return self.per_account is not None and bool(self._free_groups(request))

    @property
    def sentence(self) -> str:
        whose = message(
            "The categories of {variables}",
            variables=quote_names(self.variables) if self.variables else message("all variables"),
        )
        if not self.allowed:
            return message("{whose} cannot be put into groups of one's own.", whose=whose)
        if self.per_account is None:
            return message("{whose} may be put into groups of one's own.", whose=whose)
        return message(
            "{whose} may be put into {per_account} groups of one's own by an account, and by nobody else.",
            whose=whose,
            per_account=self.per_account,
        )

    def mends(self, request: TableRequest, dataset: Dataset) -> Iterator[TableRequest]:
        yield from drop_choices(request, *self._free_groups(request))

    def _free_groups(self, request: TableRequest) -> list[str]:
        """The grouped variables of a request that the rule covers; single categories are no group."""
        grouped = [name for name, groups in request.groups if any(len(group) > 1 for group in groups)]
        return [name for name in grouped if not self.variables or name in self.variables]


@register
@dataclass(frozen=True, slots=True)
class NestedUnions(Rule):
    """Unions that are nested and differ by fewer than `fewer_than` categories."""

    kind: ClassVar[str] = "nested-groups"
    error: ClassVar[type[Refused]] = NestedGroups
    fewer_than: int = key(reading.whole(2))
    variables: tuple[str, ...] = key(reading.variables, ())
    filters: bool = key(reading.flag, False)

    def refuse(self, request: TableRequest, shape: TableShape, dataset: Dataset) -> Refused | None:
        for name, asked in self._unions(request, dataset).items():
            declared = _unions_of(dataset, name)
            for place, union in enumerate(asked):
                for label, other in (*declared, *((_ANOTHER, other) for other in asked[:place])):
                    if (union < other or other < union) and len(union ^ other) < self.fewer_than:
                        return self._refusal(request, name, label, len(union ^ other))
        return None

    @property
    def sentence(self) -> str:
        whose = message(" of {variables}", variables=quote_names(self.variables)) if self.variables else ""
        asked = message("A group or a filter") if self.filters else message("A group")
        return message(
            "{asked}{whose} is refused where it differs from a declared group, or from another one of "
            "the request, by fewer than {fewer_than} categories.",
            asked=asked,
            whose=whose,
            fewer_than=self.fewer_than,
        )

    def mends(self, request: TableRequest, dataset: Dataset) -> Iterator[TableRequest]:
        names = list(self._unions(request, dataset))
        yield from drop_choices(request, *names)
        if not self.filters:
            return
        if request.totals:
            yield replace(request, totals=False)
        for name in names:
            yield from drop_choices(request, name, what=("groups", "filters"))
            yield from drop_variables(request, name)

    def _unions(self, request: TableRequest, dataset: Dataset) -> dict[str, list[frozenset[int]]]:
        """By variable that the rule covers, the requested unions of two or more categories."""
        unions: dict[str, list[frozenset[int]]] = {}
        for name, groups in request.groups:
            unions[name] = [_positions(dataset, name, group) for group in groups if len(group) > 1]
        for name, codes in request.filters:
            # The total shows the union of a filter; every cell does if the variable is not shown.
            if self.filters and len(codes) > 1 and (request.totals or name not in request.variables):
                unions.setdefault(name, []).append(_positions(dataset, name, codes))
            for level in dict(request.levels).get(name, ()) if self.filters else ():
                # A filtered level shows undeclared unions: the parts of its groups that the filter keeps.
                kept = _positions(dataset, name, codes)
                parts = ((kept.intersection(g.members), g) for g in level_groups(dataset, name, level))
                cut = [left for left, group in parts if 1 < len(left) < len(group.members)]
                unions.setdefault(name, []).extend(cut)
        return {name: asked for name, asked in unions.items() if not self.variables or name in self.variables}

    def _refusal(self, request: TableRequest, name: str, label: str, apart: int) -> Refused:
        few = plural_message("one category", "{count} categories", apart)
        advice = message("Use the categories as they are, or the declared group itself.")
        if name in dict(request.filters):
            advice = message("Filter to whole groups or to single categories, or leave the filter out.")
            if name in request.variables:
                advice = message(
                    "Filter to whole groups or to single categories, leave the totals out, or leave the filter out."
                )
        return self.refusal(
            message(
                'A union of categories of "{name}" differs from {label} by {few}; the difference must be at '
                "least {fewer_than}.",
                name=name,
                label=label,
                few=few,
                fewer_than=self.fewer_than,
            ),
            advice,
        )


def _unions_of(dataset: Dataset, name: str) -> list[tuple[str, frozenset[int]]]:
    """The unions available without a free group: coarser levels, code lists, and the total."""
    unions = [
        (message('the group {code!r} of "{level}"', code=group.code, level=level), frozenset(group.members))
        for level, groups in groupings(dataset, name).items()
        for group in groups
        if len(group.members) > 1
    ]
    return [*unions, ("the total", frozenset(range(len(dataset.variable(name)))))]


def _positions(dataset: Dataset, name: str, codes: tuple[str, ...]) -> frozenset[int]:
    return frozenset(map(dataset.variable(name).position, codes))


def close_groups(
    dataset: Dataset, name: str, people: NDArray[np.int64], fewer_than: int
) -> Iterator[tuple[str, str, str, str, int]]:
    """Overlapping groups of two declared lists that differ by less than `fewer_than`: list, code, list, code, difference.

    The difference is |A| + |B| - 2 |A and B|. `people` is the size of each category, or ones where only public facts count.
    """
    codes = dataset.variable(name).codes
    # By list: the group of each category in it, and the codes of its groups.
    lists = {name: (np.arange(len(codes), dtype=np.int64), codes)}
    for level, groups in groupings(dataset, name).items():
        owner = np.full(len(codes), -1, dtype=np.int64)
        for number, group in enumerate(groups):
            owner[list(group.members)] = number
        lists[level] = owner, tuple(group.code for group in groups)
    lists["total"] = (np.zeros(len(codes), dtype=np.int64), ("everybody",))
    for one, other in combinations(lists, 2):
        (left, ours), (right, others) = lists[one], lists[other]
        both = (left >= 0) & (right >= 0) & (people > 0)
        pairs, inverse = np.unique(left[both] * len(others) + right[both], return_inverse=True)
        a, b = pairs // len(others), pairs % len(others)
        apart = _sizes(left, people, len(ours))[a] + _sizes(right, people, len(others))[b]
        apart -= 2 * _sizes(inverse, people[both], len(pairs))
        for place in np.flatnonzero((apart > 0) & (apart < fewer_than)):
            yield one, ours[a[place]], other, others[b[place]], int(apart[place])


def _sizes(owner: NDArray[np.int64], people: NDArray[np.int64], length: int) -> NDArray[np.int64]:
    sizes = np.zeros(length, dtype=np.int64)
    np.add.at(sizes, owner[owner >= 0], people[owner >= 0])
    return sizes
