"""The target of a query: a dataset of a workspace, by its id, or of a server, by its URL.

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
from discreet.model.request import DEFAULT_MEASURE, TableRequest, request_from_text
from discreet.model.view import NO_VIEW, View

if TYPE_CHECKING:
    from discreet.api.remote import RemoteService
    from discreet.api.table import TableBackend
    from discreet.release.dataset_registry import DatasetService


#: The defaults of options.
_DEFAULTS = {"measure": DEFAULT_MEASURE, "totals": True}


@dataclass(frozen=True, slots=True)
class Target:
    """A dataset to query.

    Args:
        at: The service of another version.
        answers: The backend for files and intervals.
        query, view: The table and the view of a URL; empty without one.
    """

    dataset: str
    service: DatasetService | RemoteService
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
                "The URL describes a table, and so do the options.",
                "Remove everything from the question mark on, or leave the options out.",
            )
        from discreet.api.server_url import parse_table_query

        return parse_table_query(self.dataset, self.query)

    def check_view(self, request: TableRequest, view: View) -> None:
        """Refuse a view that does not fit the table, before anything is charged."""
        from discreet.api.remote import RemoteService

        if isinstance(self.service, RemoteService):
            self.service.check(request, view)
            return
        from discreet.inference.table_view import check_view

        understood = self.service.read(request)
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
    from discreet.api.server_url import is_url, parse_url, split_query

    if not is_url(dataset):
        from discreet.api.table import LOCAL_BACKEND

        registry, _ = open_workspace(workspace, threads=threads)
        at = partial(registry.open, dataset, os.environ.get(KEY_ENVIRONMENT))
        return Target(dataset, at(version), at, LOCAL_BACKEND)
    address = parse_url(dataset)
    if workspace is not None:
        raise BadRequest("A URL and --workspace cannot be combined.", "Leave --workspace out.")
    if not address.dataset:
        raise BadRequest(
            "The URL names no dataset.",
            f"Add one, as in {address.base}/datasets/census; that page lists them.",
        )
    query, view, named = split_query(address.query)
    if version and named and version != named:
        raise BadRequest(
            f'The URL names the version "{named}", but --version is "{version}".',
            "Leave one of them out.",
        )
    from discreet.api.catalogue import connect

    with warnings.catch_warnings(record=True) as cautions:
        warnings.simplefilter("always")
        server = connect(address)
    for caution in cautions:
        print_message(str(caution.message))
    at_server = partial(server.open, address.dataset, None)
    return Target(address.dataset, at_server(version or named), at_server, server, query, view)
