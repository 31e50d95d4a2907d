"""The preview of a request before anything is counted: its size, the areas shown, or why it is refused.

A refusal uses the labels of the page and offers up to three allowed tables nearby, each described by its change.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from discreet.errors import DiscreetError, Refused
from discreet.model.dataset import Dataset
from discreet.model.hierarchy import level_label
from discreet.model.messages.text import Message
from discreet.model.request import TableRequest
from discreet.release.dataset_service import DatasetService
from discreet.release.dry_run import Attempt
from discreet.web.i18n.messages import gettext, ngettext
from discreet.web.i18n.translation import translate_dataset
from discreet.web.pages.links import Link, QueryItems, page_path
from discreet.web.problems import public_error

#: The most alternatives that are offered.
MOST_REPAIRS = 3
_QUOTED = re.compile(r'"([A-Za-z][A-Za-z0-9_]*)"')
_LISTED = re.compile(r"\(([A-Za-z][A-Za-z0-9_]*(?:, [A-Za-z][A-Za-z0-9_]*)*)\)")


@dataclass(frozen=True, slots=True)
class Preview:
    """The verdict on a request.

    Args:
        cells: The size of the table in words; empty where the request cannot be parsed.
        areas: The number of areas shown in words; empty without geography.
        title: The kind of refusal; empty where the table is allowed.
        message: Why it is refused.
        advice: What helps.
        repairs: Allowed tables nearby.
    """

    cells: str = ""
    areas: str = ""
    title: str = ""
    message: str = ""
    advice: str = ""
    repairs: tuple[Link, ...] = ()


def preview_table(
    service: DatasetService,
    request: TableRequest | None,
    items: QueryItems = (),
    error: DiscreetError | None = None,
    *,
    counting: bool = False,
) -> Preview:
    """The verdict on a request.

    Args:
        service: Its dataset.
        request: The request; None where the URL cannot be parsed.
        items: The parameters that links keep.
        error: The refusal, where it is known already.
        counting: Whether records may be counted to confirm the alternatives.
    """
    try:
        found = None if request is None else service.foresee(request)
    except DiscreetError as unreadable:
        found, error = None, error or unreadable
    if error is not None and not isinstance(error, Refused):
        found = None
    refusal = error or (None if found is None else found.refusal)
    cells = areas = ""
    if found is not None:
        cells, areas = ngettext("{count} cell", "{count} cells", found.asked.shape.cells), _areas(found)
    if refusal is None:
        return Preview(cells, areas)
    shown, dataset = public_error(refusal), translate_dataset(service.dataset)
    if found is None:
        return Preview("", "", gettext(shown.title), gettext(shown.message), gettext(shown.advice))
    table = found.asked.request
    nearby = _diversify(table, service.repairs(table, counting=counting))[:MOST_REPAIRS]
    repairs = tuple(Link(describe_change(dataset, table, each), page_path(each, items)) for each in nearby)
    reason, advice = (in_labels(dataset, text) for text in (shown.message, shown.advice))
    return Preview(cells, areas, gettext(shown.title), reason, advice, repairs)


def in_labels(dataset: Dataset, text: str) -> str:
    """A sentence in the reader's language, with the labels of variables in place of their names.

    The values of a `Message` are replaced; in other text, names in quotes or listed in parentheses are.

    >>> from discreet.model.messages.text import message
    >>> from discreet.model.variable import Category, Variable
    >>> people = Dataset("people", "People", (Variable("job", "Job or trade", (Category("1", "None"),)),), "id")
    >>> in_labels(people, message("Take {names} out.", names=("job",))), in_labels(people, 'Take "job" out (job).')
    ('Take Job or trade out.', 'Take “Job or trade” out (Job or trade).')
    """
    labels = {variable.name: variable.label for variable in dataset.variables}
    labels |= {code_list.name: code_list.label for code_list in dataset.code_lists}
    if isinstance(text, Message):
        return gettext(_replace_names(text, labels))

    def in_parentheses(found: re.Match[str]) -> str:
        names = found[1].split(", ")
        return f"({', '.join(labels[n] for n in names)})" if labels.keys() >= set(names) else found[0]

    quoted = _QUOTED.sub(lambda found: f"“{labels[found[1]]}”" if found[1] in labels else found[0], text)
    return _LISTED.sub(in_parentheses, quoted)


def _replace_names(value: Any, labels: Mapping[str, str]) -> Any:
    """A value of a sentence with labels for names, also inside nested sentences and lists."""
    if isinstance(value, Message):
        values = {key: _replace_names(each, labels) for key, each in value.values.items()}
        return Message(value.template, values, value.plural, value.amount)
    if isinstance(value, tuple):
        return tuple(_replace_names(each, labels) for each in value)
    return labels.get(value, value) if isinstance(value, str) else value


def describe_change(dataset: Dataset, before: TableRequest, after: TableRequest) -> str:
    """The difference between two tables: "Region instead of District", "Leave out Job"."""
    parts = list(_changes(dataset, before, after))
    return "; ".join(parts) if parts else gettext("Show this table")


def _changes(dataset: Dataset, before: TableRequest, after: TableRequest) -> Iterator[str]:
    label = {variable.name: variable.label for variable in dataset.variables}
    gone = [label[name] for name in before.variables if name not in after.variables]
    new = [label[name] for name in after.variables if name not in before.variables]
    if gone and new:
        yield gettext("{new} instead of {gone}", new=", ".join(new), gone=", ".join(gone))
    elif gone:
        yield gettext("Leave out {gone}", gone=", ".join(gone))
    elif new:
        yield gettext("Add {new}", new=", ".join(new))
    shown = set(after.variables) & set(before.variables)
    for name in _removed(before.filters, after.filters):
        yield gettext("No filter on {variable}", variable=label[name])
    for name in _removed(before.groups, after.groups) & shown:
        yield gettext("No groups of {variable}", variable=label[name])
    for name, levels in after.levels:
        if name in shown and dict(before.levels).get(name) != levels:
            by = ", ".join(level_label(dataset, level) for level in levels)
            yield gettext("{variable} by {level}", variable=label[name], level=by)


def _removed(before: tuple[tuple[str, object], ...], after: tuple[tuple[str, object], ...]) -> set[str]:
    return {name.removesuffix("!") for name, _ in before} - {name.removesuffix("!") for name, _ in after}


def _diversify(before: TableRequest, nearby: list[TableRequest]) -> list[TableRequest]:
    """Changes of different kinds first: three variables to leave out are one idea, larger areas another."""
    seen: Counter[tuple[bool, ...]] = Counter()
    ranked = []
    for after in nearby:
        kind = (
            set(after.variables) <= set(before.variables),
            set(before.variables) <= set(after.variables),
            bool(_removed(before.filters, after.filters)),
            bool(_removed(before.groups, after.groups)),
        )
        ranked.append((seen[kind], after))
        seen[kind] += 1
    return [after for _, after in sorted(ranked, key=lambda pair: pair[0])]


def _areas(found: Attempt) -> str:
    """How many areas of the finest level are shown, as far as it is known."""
    if found.verdict is not None and found.verdict.places:
        passed, total = found.verdict.passed, found.verdict.total
    else:
        places = [each.outputs for each in found.asked.shape.dimensions if each.geography]
        deepest = [max((output.depth for output in outputs), default=0) for outputs in places]
        sizes = (sum(o.depth == d for o in outputs) for outputs, d in zip(places, deepest, strict=True))
        passed = total = max(sizes, default=0)
    if not total or not found.sure or found.refusal is not None:
        return ""
    if passed == total:
        return ngettext("the one area is available", "all {count} areas are available", total)
    return gettext("{passed:,} of {total:,} areas are available", passed=passed, total=total)
