"""The rules that a custodian declares: read from `[[rule]]`, asked in their order.

Rules by shape refuse before a record is read; rules on counts wait for the noisy, unfiltered table
(`verdict`). The rules of `[protection]` (`protection_rules`) come first and always hold.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from discreet.errors import BadDescription
from discreet.model.nearest import nearest
from discreet.rules.protection_rules import protection_rules
from discreet.rules.reading import read_rule
from discreet.rules.registry import kinds

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from discreet.model.dataset import Dataset
    from discreet.model.request import TableRequest
    from discreet.model.shape import TableShape
    from discreet.rules.rule import Meter, Rule


def parse_rules(entries: Iterable[Mapping[str, Any]], dataset: Dataset) -> tuple[Rule, ...]:
    """Read the `[[rule]]` sections of a dataset, in order.

    Raises:
        BadDescription: With what is wrong and what to do.
    """
    return tuple(_rule(entry, dataset) for entry in entries)


def _rule(entry: Mapping[str, Any], dataset: Dataset) -> Rule:
    kind = entry.get("kind")
    if not isinstance(kind, str) or kind not in kinds():
        raise BadDescription(f"A rule has the kind {kind!r}.", nearest(str(kind), kinds()))
    rule = read_rule(kinds()[kind], entry, dataset)
    rule.check(dataset)
    return rule


def refuse_by_rules(
    request: TableRequest,
    shape: TableShape,
    dataset: Dataset,
    rules: Iterable[Rule] = (),
    *,
    meter: Meter | None = None,
    account: str | None = None,
    most_cells: int | None = None,
) -> None:
    """Refuse by shape: by the rules of [protection], then by the declared ones in order.

    Args:
        request: In canonical form.
        shape: Its shape.
        dataset: Its dataset.
        rules: What `parse_rules` gave.
        meter: How many free groups of a variable an account has used.
        account: Who asks; None is anybody.
        most_cells: In place of `max_cells`, for a table that is not laid out.

    Raises:
        Refused: By the first rule that does not allow it.
    """
    for rule in (*protection_rules(dataset, most_cells), *rules):
        refusal = rule.refuse(request, shape, dataset) or rule.refuse_account(request, meter, account)
        if refusal is not None:
            raise refusal


def is_metered(request: TableRequest, rules: Iterable[Rule]) -> bool:
    """Whether the answer to a request depends on what an account has used."""
    return any(rule.is_metered(request) for rule in rules)
