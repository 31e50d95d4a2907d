"""`discreet demo`: build the demo workspace on first use and serve it.

`discreet try`: from a file to the table builder, in a temporary workspace.
"""

from __future__ import annotations

import tempfile
from contextlib import suppress
from itertools import combinations
from pathlib import Path
from typing import TYPE_CHECKING

from typer import Argument, Option

from discreet.cli import shared_options as shared
from discreet.cli.commands.describe import print_draft
from discreet.cli.console import load_bars, messages, print_message
from discreet.cli.registry import MAKE_TABLES, OPERATE, Command
from discreet.cli.signals import clean_up_on_signal, leave_signals_to_server
from discreet.errors import BadData, DiscreetError
from discreet.model.description.sections import FileOptions
from discreet.workspace.options import read_options

if TYPE_CHECKING:
    from discreet.model.request import TableRequest
    from discreet.release.dataset_registry import DatasetService

#: How many tables of each kind are tried in search of one that is released.
MOST_TRIED = 30


def demo(
    workspace: shared.WorkspaceOption = None,
    host: shared.HostOption = None,
    port: shared.PortOption = None,
    no_serve: bool = Option(False, "--no-serve", help="Build the demo workspace and exit."),
) -> None:
    """Build the demo datasets (a synthetic census and a survey) and open the table builder."""
    from discreet.release.dataset_registry import open_registry
    from discreet.workspace.demo import make_demo

    folder = shared.workspace_folder(workspace)
    with load_bars() as progress_for:
        built = make_demo(folder, progress_for)
    print_message(f"{'Built' if built else 'Found'} the demo workspace: {folder}")
    if no_serve:
        return
    from discreet.web.run import serve

    options = read_options(folder, host=host, port=port)
    leave_signals_to_server()
    serve(open_registry(folder, threads=options.threads), options)


def try_file(
    file: Path = Argument(help="File of records, of any type that `describe` reads."),
    include: shared.IncludeOption = None,
    geography: shared.GeographyOption = None,
    encoding: shared.EncodingOption = "",
    delimiter: shared.DelimiterOption = "",
    table: shared.TableOption = "",
    port: int | None = Option(None, help="Port to listen on; by default a free one."),
    no_browser: bool = Option(False, "--no-browser", help="Do not open a browser."),
) -> None:
    """Preview a file in the table builder: draft a description, load, serve; Ctrl-C removes everything."""
    from discreet.records.draft.describe_file import describe_file
    from discreet.release.load_cautions import weigh_draft

    clean_up_on_signal()
    draft = describe_file(file, FileOptions(encoding, delimiter, table=table), include or (), geography or ())
    draft = weigh_draft(draft, file)
    print_draft(draft)
    if "\n[[variable]]" not in draft.text:
        raise BadData(
            f"{file.name} has no column with at least 20 records per category, so there is nothing to tabulate.",
            "Include a column with --include, or draft a description with `discreet describe` and edit it.",
        )
    try:
        with tempfile.TemporaryDirectory(prefix="discreet-try-") as name:
            _serve(Path(name), draft.text, file, port, browser=not no_browser)
            messages.print("The temporary workspace was removed; your file was not changed.")
    except KeyboardInterrupt:
        messages.print("Stopped. The temporary workspace was removed; your file was not changed.")


def _serve(folder: Path, description: str, file: Path, port: int | None, *, browser: bool) -> None:
    import webbrowser

    from discreet.model.description.dataset_toml import parse_names_only
    from discreet.release.dataset_registry import open_registry
    from discreet.release.load_cautions import LoadJob, load_with_cautions
    from discreet.web.run import listen, serve

    dataset = parse_names_only(description).id
    with load_bars() as progress_for:
        load_with_cautions(LoadJob(folder, description, file, progress_for(dataset, None)))
    print_message(
        "A preview for you alone: the draft above sets the protection, and no one has checked it. To "
        "publish, run `discreet describe`, check every line, then run `discreet load`. Ctrl-C removes "
        "everything."
    )

    def announce(address: str) -> None:
        page = f"{address}/datasets/{dataset}{query}"
        print_message(f"The table builder: {page}")
        if browser:
            webbrowser.open(page)

    with listen("127.0.0.1", 0) as listening:
        free: int = listening.getsockname()[1]
    options = read_options(folder, host="127.0.0.1", port=port or free)
    registry = open_registry(folder, threads=options.threads)
    first = first_released_table(registry.open(dataset))
    query = "" if first is None else f"?{first.permalink}"
    if first is None:
        print_message(
            "The draft's rules release none of the tables that were tried: there are too few records."
        )
    leave_signals_to_server()
    serve(registry, options, announce)


def first_released_table(service: DatasetService) -> TableRequest | None:
    """The first table that the rules release: the one that the page opens, other pairs, then single variables."""
    from discreet.model.request import TableRequest
    from discreet.release.measures import default_measure
    from discreet.web.pages.builder import default_axes

    dataset = service.dataset
    names = [v.name for v in dataset.variables]
    pairs = [((one,), (other,)) for one, other in combinations(names, 2)]
    alone: list[tuple[tuple[str, ...], tuple[str, ...]]] = [((name,), ()) for name in names]
    for rows, columns in [default_axes(dataset), *pairs[:MOST_TRIED], *alone[:MOST_TRIED]]:
        with suppress(DiscreetError):
            return service.release(
                TableRequest(dataset.id, rows, columns, measure=default_measure(dataset))
            ).request
    return None


COMMANDS = {"demo": Command(demo, OPERATE), "try": Command(try_file, MAKE_TABLES)}
