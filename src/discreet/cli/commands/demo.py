"""`discreet demo`: build the demo workspace on first use and serve it.

`discreet try`: from a file to the table builder, in a temporary workspace.
"""

import tempfile
from pathlib import Path

from typer import Argument, Option

from discreet.cli import shared_options as shared
from discreet.cli.commands.describe import print_draft
from discreet.cli.console import load_bars, messages, print_message
from discreet.cli.registry import MAKE_TABLES, OPERATE, Command
from discreet.cli.signals import clean_up_on_signal, leave_signals_to_server
from discreet.errors import BadData
from discreet.model.description.sections import FileOptions
from discreet.workspace.options import read_options


def demo(
    workspace: shared.WorkspaceOption = None,
    host: shared.HostOption = None,
    port: shared.PortOption = None,
    no_serve: bool = Option(False, "--no-serve", help="Only build the demo workspace."),
) -> None:
    """Build the demo datasets (a synthetic census and a survey) and serve the table builder."""
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
    file: Path = Argument(help="The records: a file of any kind that `describe` reads."),
    include: shared.IncludeOption = None,
    geography: shared.GeographyOption = None,
    encoding: shared.EncodingOption = "",
    delimiter: shared.DelimiterOption = "",
    table: shared.TableOption = "",
    port: int | None = Option(None, help="The port to listen on; by default a free one."),
    no_browser: bool = Option(False, "--no-browser", help="Do not open a browser."),
) -> None:
    """Look at a file in the table builder: draft, load, serve, and remove everything at Ctrl-C."""
    from discreet.records.draft.describe_file import describe_file
    from discreet.release.load_cautions import weigh_draft

    clean_up_on_signal()
    draft = describe_file(file, FileOptions(encoding, delimiter, table=table), include or (), geography or ())
    draft = weigh_draft(draft, file)
    print_draft(draft)
    if "\n[[variable]]" not in draft.text:
        raise BadData(
            f"{file.name} has no column with 20 records a category: there is nothing to tabulate.",
            "Name a column with --include, or draft a description with `discreet describe` and edit it.",
        )
    try:
        with tempfile.TemporaryDirectory(prefix="discreet-try-") as name:
            _serve(Path(name), draft.text, file, port, browser=not no_browser)
            messages.print("The workspace was removed, and the file is as it was.")
    except KeyboardInterrupt:
        messages.print("Stopped; the workspace was removed, and the file is as it was.")


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
        "A look for you alone: the draft above protects the tables, and nobody checked it. To publish, run "
        "`discreet describe`, check every line, and `discreet load`. Ctrl-C removes everything."
    )

    def announce(address: str) -> None:
        print_message(f"The table builder: {address}/datasets/{dataset}")
        if browser:
            webbrowser.open(f"{address}/datasets/{dataset}")

    with listen("127.0.0.1", 0) as listening:
        free: int = listening.getsockname()[1]
    options = read_options(folder, host="127.0.0.1", port=port or free)
    leave_signals_to_server()
    serve(open_registry(folder, threads=options.threads), options, announce)


COMMANDS = {"demo": Command(demo, OPERATE), "try": Command(try_file, MAKE_TABLES)}
