"""`discreet serve`: the table builder and the HTTP API over a workspace."""

from pathlib import Path

from typer import Option

from discreet.cli.console import print_message
from discreet.cli.registry import OPERATE, Command
from discreet.cli.shared_options import HostOption, PortOption, ThreadsOption, WorkspaceOption, open_workspace
from discreet.cli.signals import leave_signals_to_server
from discreet.errors import BadRequest
from discreet.workspace.options import Options, options_from


def serve(
    workspace: WorkspaceOption = None,
    host: HostOption = None,
    port: PortOption = None,
    threads: ThreadsOption = None,
    workers: int | None = Option(None, help="How many processes serve; one a core is good."),
    public_url: str | None = Option(
        None, help="The address under which readers find the server, a path included."
    ),
    trusted_hosts: str | None = Option(
        None, help="Host names that it answers for beside its own, separated by commas."
    ),
    published: str | None = Option(
        None, help="Serve what `discreet publish` wrote there, a folder or a bucket, with no workspace."
    ),
    public_key: Path | None = Option(None, help="The public key of the office that published it."),
) -> None:
    """Serve the table builder and the HTTP API."""
    from discreet.web.run import serve as serve_app

    leave_signals_to_server()
    given = {"host": host, "port": port, "threads": threads, "workers": workers}
    addresses = {"public_url": public_url, "trusted_hosts": trusted_hosts}
    if published is None and public_key is None:
        registry, options = open_workspace(workspace, **given, **addresses)
        _warn_if_open(options)
        serve_app(registry, options)
        return
    if published is None or workspace is not None:
        raise BadRequest(
            "--public-key is for --published, and --published is served without a workspace.",
            "Give --published FOLDER --public-key FILE, or --workspace FOLDER.",
        )
    from discreet.publish.file_store import open_storage
    from discreet.publish.published_registry import PublishedRegistry
    from discreet.records.signing import read_public_key

    key = None if public_key is None else read_public_key(public_key)
    publication = PublishedRegistry(open_storage(published), key)
    if key is None:
        print_message(
            f"The publication is whole, and signed by the key {publication.signer.fingerprint}. Whose key this is was not "
            "checked: give --public-key FILE."
        )
    serve_app(publication, options_from(publication.options, **given, **addresses))


def _warn_if_open(options: Options) -> None:
    """Warn when the server listens beyond this machine with neither accounts nor a trusted proxy."""
    from discreet.model.dataset import PUBLIC
    from discreet.web.auth.identity import LOOPBACK, in_networks

    if in_networks(options.host, LOOPBACK) or options.host == "localhost" or options.trusted_proxies:
        return
    who = "may ask" if options.access == PUBLIC else "may try keys"
    print_message(
        f"Everybody who reaches port {options.port} of this machine {who}, and everybody on the way reads keys and answers: "
        "there is no TLS here, and no proxy is named in trusted_proxies. See docs/how-to/deploy.md."
    )


COMMAND = Command(serve, OPERATE)
