"""The Python interface: open a workspace or a server and query tables.

>>> catalogue = discreet.open("my-workspace")             # doctest: +SKIP
>>> catalogue = discreet.open("https://example.org")      # doctest: +SKIP
>>> catalogue.table("census", rows=["sex"], columns=["age"]).to_pandas()  # doctest: +SKIP
"""

from __future__ import annotations

import logging
import os
from collections.abc import Iterable, Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from discreet.api.server_url import ServerUrl, is_url, parse_url
from discreet.api.table import LOCAL_BACKEND, NonzeroCells, ServedCells, Table, TableBackend
from discreet.errors import BadRequest
from discreet.model.dataset import Dataset
from discreet.model.grammar import read_filters, read_groups, read_levels
from discreet.model.magnitude import join_statistic
from discreet.model.request import DEFAULT_MEASURE, TableRequest
from discreet.model.view import View
from discreet.release.dataset_registry import DatasetRegistry, DatasetService, open_registry
from discreet.workspace.folder_layout import name_description_in_errors, read_description
from discreet.workspace.options import read_options, workspace_folder

if TYPE_CHECKING:
    from discreet.api.remote import RemoteRegistry
    from discreet.workspace.versions.history import VersionFacts

#: The groups of one variable: lists of codes, groups by their names, or text.
GroupsOfOne = Iterable[Iterable[str]] | Mapping[str, Iterable[str] | str] | str

#: Ids that a catalogue shows in one line.
SHOWN_IDS = 8
#: The API key of who asks a server.
KEY_ENVIRONMENT = "DISCREET_KEY"


class Catalogue:
    """The datasets of a workspace or of a server: `list(catalogue)`, `catalogue["census"]`.

    `key` is the API key of an account, for a workspace; `answers` writes files and computes intervals of the tables.
    """

    def __init__(
        self,
        registry: DatasetRegistry | RemoteRegistry,
        key: str | None = None,
        answers: TableBackend = LOCAL_BACKEND,
    ) -> None:
        self._registry, self._key, self._answers = registry, key, answers

    @property
    def datasets(self) -> list[str]:
        """The ids of the datasets."""
        return self._registry.ids()

    def __iter__(self) -> Iterator[str]:
        return iter(self.datasets)

    def __len__(self) -> int:
        return len(self.datasets)

    def __bool__(self) -> bool:
        return True

    def __contains__(self, dataset: object) -> bool:
        return dataset in self.datasets

    def __getitem__(self, dataset: str) -> Dataset:
        return self.describe(dataset)

    def describe(self, dataset: str, version: str = "") -> Dataset:
        """The public description of a dataset: its variables, categories and protection."""
        return self._registry.open(dataset, version=version).dataset

    def table(
        self,
        dataset: str,
        *,
        rows: Iterable[str] | str = (),
        columns: Iterable[str] | str = (),
        layers: Iterable[str] | str = (),
        filters: Mapping[str, Iterable[str] | str] | Iterable[str] | None = None,
        groups: Mapping[str, GroupsOfOne] | Iterable[str] | None = None,
        totals: bool = True,
        levels: Mapping[str, Iterable[str] | str] | Iterable[str] | None = None,
        measure: str = DEFAULT_MEASURE,
        statistic: str = "",
        additivity: str = "",
        fit_to: Iterable[str] | str = (),
        version: str = "",
        percent: str = "",
        rank: bool = False,
        top: int = 0,
        hide_empty: bool = False,
        sort: str = "",
        ratio: str = "",
        difference: str = "",
        alone: bool = False,
    ) -> Table:
        """A protected table.

        Args:
            dataset: The dataset's id.
            rows: Variables down the side.
            columns: Variables along the top.
            layers: Variables of which each category is a separate table.
            filters: The codes to count by variable: `{"birthplace": ["2", "3"]}`; or as text of the query language,
                `{"age": "25..64", "birthplace": "!=1"}` or `["age=25..64"]`.
            groups: Groups of codes by variable: `{"age": [["15-19", "20-24"], ["25-29"]]}`; with your names,
                `{"age": {"Young": "..14", "Old": "65.."}}`.
            totals: Whether every variable has a total.
            levels: The levels to show by variable: `{"district": ["region", "district"]}` or `"*"`.
            measure: `count`; `weighted` for people represented; or a numeric variable, with a statistic.
            statistic: `sum` or `mean`, of a numeric variable.
            additivity: `independent`, `interior` or `fitted`; the dataset's default otherwise.
            fit_to: Published tables whose totals a fitted table keeps: `["area", "sex*age"]`.
            version: 8 letters or more of a version's digest, or its declared name; the newest by default.
            percent: Percentages in addition to the numbers, as `Table.view` takes them.
            rank: Ranks in addition to the numbers.
            top: How many of the largest rows are shown.
            hide_empty: Leave out rows whose numbers are all 0.
            sort: The order of rows: by `label`, `value` or a column.
            ratio: A category, "sex=1": each number over that of this category.
            difference: A category: each number less that of this category.
            alone: Show percentages, ratios and differences in place of the numbers where the table reads as a table.

        Raises:
            UnknownDataset, UnknownVariable, UnknownCategory: With the nearest match.
            Refused: A rule refuses the table; the message says why and what to do.
        """
        view = View(percent, rank, top, hide_empty, sort, ratio, difference, alone)
        request = _request(
            dataset, rows, columns, layers, filters, groups, levels, fit_to,
            totals=totals, measure=join_statistic(measure, statistic), additivity=additivity,
        )  # fmt: skip
        release = self._registry.open(dataset, self._key, version).release(request)
        return Table(self._answers.apply_view(release, view), self._answers)

    def nonzero(self, dataset: str, *, version: str = "", **parts: Any) -> NonzeroCells | ServedCells:
        """The nonzero cells of a table of any width; takes the query arguments of `table`.

        A server is queried, and may refuse, when the cells are read or saved; its `nonzero_cells` limits the width.

        Raises:
            BadRequest: The cells cannot be listed, and why: see docs/methods/wide-tables.md.
            Refused: A rule refuses the table.
        """
        service = self._registry.open(dataset, self._key, version)
        asked = _request(dataset, **parts)
        if isinstance(service, DatasetService):
            return NonzeroCells(service.nonzero(service.check_nonzero(asked)))
        return ServedCells(partial(service.nonzero, asked))

    def versions(self, dataset: str) -> list[VersionFacts]:
        """The versions of a dataset, the newest last: `digest`, `version`, `loaded`, `current`, and why it is `closed`."""
        return list(self._registry.versions(dataset))

    def budget(self, dataset: str) -> dict[str, Any]:
        """The guarantee and cost of a dataset under `dp`, and the budget left: see docs/reference/cli.md."""
        return self._registry.open(dataset).budget()

    def ledger(self, dataset: str) -> dict[str, Any]:
        """The charges to a dataset's budget by account; the workspace's folder is open to custodians only."""
        return self._registry.open(dataset).ledger()

    def methodology(self, dataset: str, *, version: str = "") -> dict[str, Any]:
        """The methods and guarantees of a dataset: see docs/reference/methodology.md."""
        return self._registry.methodology(dataset, version)

    def verify(self, dataset: str) -> str:
        """Compare all stored records with their keyed hash; returns the version's digest: see docs/reference/versions.md.

        Raises:
            SecretUnusable, WorkspaceUnusable: The version is not the one that was loaded.
        """
        return self._registry.verify(dataset)

    def dry_run(self, dataset: str, *, version: str = "", **parts: Any) -> dict[str, Any]:
        """The size of a table and the verdict of the rules, without its numbers; takes the query arguments of `table`.

        `{cells, allowed, verdict, suggestion}`: see docs/reference/rules.md.
        """
        return self._registry.open(dataset, self._key, version).dry_run(_request(dataset, **parts))

    def close(self) -> None:
        """Close the records or the connection."""
        self._registry.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_exception: object) -> None:
        self.close()

    def _repr_html_(self) -> str:
        from discreet.api.notebook import listing

        if not isinstance(self._registry, DatasetRegistry):
            lines, place = self._registry.summaries(), self._registry.place
        else:
            found = map(self.describe, self)
            lines = [(each.id, each.label, ", ".join(v.name for v in each.variables)) for each in found]
            place = self._registry.folder.name
        return listing(lines, ("Dataset", "Label", "Variables"), f"Catalogue of {place}")

    def __repr__(self) -> str:
        if not isinstance(self._registry, DatasetRegistry):  # a server is not asked for the sake of a line
            return f"<Catalogue at {self._registry.place[:150]}>"
        ids = self.datasets
        more = f" and {len(ids) - SHOWN_IDS} more" if len(ids) > SHOWN_IDS else ""
        return f"<Catalogue of {', '.join(each[:16] for each in ids[:SHOWN_IDS]) or 'no datasets'}{more}>"


def open_workspace(
    folder: str | Path | None = None, *, threads: int | None = None, key: str | None = None
) -> Catalogue:
    """Open a workspace or a server; by default the workspace of DISCREET_WORKSPACE, or the demo.

    Args:
        folder: The folder of a workspace, or the URL of a server, as `https://example.org`.
        threads: Threads for one aggregate in a workspace; all cores by default.
        key: The API key of an account; for a server, DISCREET_KEY by default.

    Raises:
        BadRequest: The URL of a page, or of no server.
        ServerUnusable: No Discreet server answers there.
    """
    if isinstance(folder, str) and is_url(folder):
        address = parse_url(folder)
        if address.dataset or address.query:
            raise BadRequest(
                f'"{folder}" is the address of a page.',
                f'Open the server, "{address.base}", and ask it for the table "{address.dataset}".',
            )
        remote = connect(address, key)
        remote.ids()  # a wrong URL fails now
        return Catalogue(remote, answers=remote)
    chosen = workspace_folder(None if folder is None else Path(folder))
    options = read_options(chosen, threads=threads)
    return Catalogue(open_registry(chosen, threads=options.threads), key)


def connect(address: ServerUrl, key: str | None = None) -> RemoteRegistry:
    """The remote registry of a server, for an account's key or that of DISCREET_KEY."""
    from discreet.api.connection import Connection
    from discreet.api.remote import RemoteRegistry

    return RemoteRegistry(Connection(address.base, key or os.environ.get(KEY_ENVIRONMENT)))


def load(
    folder: str | Path,
    description: str | Path,
    records: object,
    *,
    engine: str | None = None,
    corrections: str = "keep-keys",
    serve_beside: bool = False,
) -> str:
    """Load records into a workspace, creating it if need be.

    Args:
        folder: The workspace.
        description: The path of the `dataset.toml`.
        records: A CSV, Parquet or Arrow file, an Arrow table, or a pandas or Polars frame.
        engine: The engine that keeps the records; by default the one that `[engine]` names, or DuckDB.
        corrections: Where records differ from those that are served: `keep-keys` serves them, `collect` compares them
            and serves nothing yet, `new-lineage` serves them with other keys: all numbers change.
        serve_beside: Whether earlier versions are answered beside this one, however few records differ.

    Returns:
        The digest that names the version that is served. Cautions for the custodian go to the log `discreet.load`.
    """
    from discreet.release.load_cautions import LoadJob, load_with_cautions

    path = Path(description)
    with name_description_in_errors(path):
        job = LoadJob(
            Path(folder),
            read_description(path),
            records,
            beside=path.parent,
            engine=engine,
            corrections=corrections,
            serve_beside=serve_beside,
        )
        report = load_with_cautions(job)
    for caution in report.cautions:
        logging.getLogger("discreet.load").warning(caution)
    return report.digest


def _request(
    dataset: str,
    rows: Iterable[str] | str = (),
    columns: Iterable[str] | str = (),
    layers: Iterable[str] | str = (),
    filters: Mapping[str, Iterable[str] | str] | Iterable[str] | None = None,
    groups: Mapping[str, GroupsOfOne] | Iterable[str] | None = None,
    levels: Mapping[str, Iterable[str] | str] | Iterable[str] | None = None,
    fit_to: Iterable[str] | str = (),
    **plain: Any,
) -> TableRequest:
    grouped, names = read_groups(groups)
    return TableRequest(
        dataset, _names(rows), _names(columns), _names(layers), read_filters(filters), grouped,
        levels=read_levels(levels), fit_to=_names(fit_to), names=names, **plain,
    )  # fmt: skip


def _names(names: Iterable[str] | str) -> tuple[str, ...]:
    given = (names,) if isinstance(names, str) or not isinstance(names, Iterable) else tuple(names)
    for name in given:
        if not isinstance(name, str):
            raise BadRequest(
                f"{name!r} is no name of a variable.",
                'Give names as text: rows=["sex"]; describe() lists them.',
            )
    return given
