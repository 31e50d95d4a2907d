"""The target of a command: a dataset of a workspace, by its id, or of a server, by its URL.

    discreet table census --rows sex
    discreet table https://host/datasets/census --rows sex
    discreet table "https://host/datasets/census?rows=sex"        the URL of a page: that table

A URL may also name a view and a version.
"""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from discreet.cli.console import print_message
from discreet.cli.shared_options import KEY_ENVIRONMENT, open_workspace
from discreet.errors import BadRequest
from discreet.model.measure import DEFAULT_MEASURE
from discreet.model.request import request_from_text
from discreet.model.view import NO_VIEW, View

if TYPE_CHECKING:
    from discreet.api.remote import RemoteService
    from discreet.api.server_url import ServerUrl
    from discreet.api.table import TableBackend
    from discreet.model.request import TableRequest
    from discreet.release.dataset_service import DatasetService


#: What a command passes where nothing is given.
_DEFAULTS = {"measure": DEFAULT_MEASURE, "totals": True}


@dataclass(frozen=True, slots=True)
class Target:
    """A dataset to query.

    Args:
        dataset: Its id.
        door: The dataset service.
        at: The service of another version.
        answers: The backend for files and intervals.
        query: The table that a URL names; empty without one.
        view: The view that a URL names.
    """

    dataset: str
    door: DatasetService | RemoteService
    at: Callable[[str], DatasetService | RemoteService]
    answers: TableBackend
    query: str = ""
    view: View = NO_VIEW

    def request(self, **parts: Any) -> TableRequest:
        """The table request of the options, or of the URL.

        Raises:
            BadRequest: Both name a table.
        """
        asked = given_options(parts)
        if not self.query:
            return request_from_text(self.dataset, **asked)
        if asked:
            raise BadRequest(
                "The address asks for a table, and so do the options.",
                "Give the address without what follows the question mark, or leave the options out.",
            )
        from discreet.api.server_url import request_from_query

        return request_from_query(self.dataset, self.query)

    def check_view(self, request: TableRequest, view: View) -> None:
        """Refuse a view that does not fit the table, before anything is charged."""
        from discreet.api.remote import RemoteService

        if isinstance(self.door, RemoteService):
            self.door.check(request, view)
            return
        from discreet.inference.table_view import check_view

        understood = self.door.read(request)
        check_view(view, understood.request, understood.shape.dimensions)


def given_options(parts: Mapping[str, Any]) -> dict[str, Any]:
    """The options that differ from their defaults."""
    return {name: part for name, part in parts.items() if part not in (None, [], "", _DEFAULTS.get(name))}


def open_target(
    dataset: str, workspace: Path | None, threads: int | None = None, version: str = ""
) -> Target:
    """The dataset that a command names, or a version of it.

    Raises:
        BadRequest: A URL without a dataset, a URL and a workspace at once, or two versions.
    """
    from discreet.api.server_url import is_url, parse_url

    if is_url(dataset):
        return _at_server(parse_url(dataset), workspace, version)
    from discreet.api.table import LOCAL_BACKEND

    doors, _ = open_workspace(workspace, threads=threads)
    at = partial(doors.door, dataset, os.environ.get(KEY_ENVIRONMENT))
    return Target(dataset, at(version), at, LOCAL_BACKEND)


def _at_server(address: ServerUrl, workspace: Path | None, version: str) -> Target:
    if workspace is not None:
        raise BadRequest("An address and --workspace are given at once.", "Leave --workspace out.")
    if not address.dataset:
        raise BadRequest(
            "The address names no dataset.",
            f"Add it, as in {address.base}/datasets/census; the page lists them.",
        )
    from discreet.api.catalogue import connect
    from discreet.api.server_url import split_query

    query, view, named = split_query(address.query)
    if version and named and version != named:
        raise BadRequest(
            f'The address names the version "{named}", and --version is "{version}".',
            "Leave one of them out.",
        )

    with warnings.catch_warnings(record=True) as cautions:
        warnings.simplefilter("always")
        doors = connect(address)
    for caution in cautions:
        print_message(str(caution.message))
    at = partial(doors.door, address.dataset, None)
    return Target(address.dataset, at(version or named), at, doors, query, view)
