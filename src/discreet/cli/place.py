"""Where a command asks: a dataset of a workspace, by its id, or one of a server, by its address.

    discreet table census --rows sex
    discreet table https://host/datasets/census --rows sex
    discreet table "https://host/datasets/census?rows=sex"        the address of a page: that table

Comes from: the command line. Goes to: the commands that ask for a table.
"""

from __future__ import annotations

import os
import warnings
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from discreet.cli.console import messages
from discreet.cli.options import KEY_ENVIRONMENT, open_workspace
from discreet.errors import BadRequest
from discreet.model.measure import DEFAULT_MEASURE
from discreet.model.request import request_from_text

if TYPE_CHECKING:
    from pathlib import Path

    from discreet.answer.door import Door
    from discreet.api.address import Address
    from discreet.api.answers import Answers
    from discreet.api.remote import RemoteDoor
    from discreet.model.request import TableRequest


#: What a command passes where nothing is given.
_DEFAULTS = {"measure": DEFAULT_MEASURE, "totals": True}


@dataclass(frozen=True, slots=True)
class Place:
    """A dataset that can be asked.

    Args:
        dataset: Its id.
        door: Who answers.
        answers: Who writes files and knows intervals.
        query: The table that an address names; empty where none is.
    """

    dataset: str
    door: Door | RemoteDoor
    answers: Answers
    query: str = ""

    def request(self, **parts: Any) -> TableRequest:
        """The table that the options ask for, or the address.

        Raises:
            BadRequest: Both ask for one.
        """
        given = {
            name: part for name, part in parts.items() if part not in (None, [], "", _DEFAULTS.get(name))
        }
        if not self.query:
            return request_from_text(self.dataset, **given)
        if given:
            raise BadRequest(
                "The address asks for a table, and so do the options.",
                "Give the address without what follows the question mark, or leave the options out.",
            )
        from discreet.api.address import request_from_query

        return request_from_query(self.dataset, self.query)


def open_place(dataset: str, workspace: Path | None, threads: int | None = None) -> Place:
    """The dataset that a command names.

    Raises:
        BadRequest: An address without a dataset, or an address and a workspace at once.
    """
    from discreet.api.address import is_address, read_address

    if is_address(dataset):
        return _at_server(read_address(dataset), workspace)
    from discreet.api.answers import COMPUTED_HERE

    doors, _ = open_workspace(workspace, threads=threads)
    return Place(dataset, doors.door(dataset, os.environ.get(KEY_ENVIRONMENT)), COMPUTED_HERE)


def _at_server(address: Address, workspace: Path | None) -> Place:
    if workspace is not None:
        raise BadRequest("An address and --workspace are given at once.", "Leave --workspace out.")
    if not address.dataset:
        raise BadRequest(
            "The address names no dataset.",
            f"Add it, as in {address.base}/datasets/census; the page lists them.",
        )
    from discreet.api.catalogue import connect

    with warnings.catch_warnings(record=True) as cautions:
        warnings.simplefilter("always")
        doors = connect(address)
    for caution in cautions:
        messages.print(str(caution.message), markup=False, soft_wrap=True)
    return Place(address.dataset, doors.door(address.dataset), doors, address.query)
