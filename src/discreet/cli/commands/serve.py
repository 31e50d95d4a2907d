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
    workers: int | None = Option(None, help="Number of server processes; use one per core."),
    public_url: str | None = Option(None, help="Public URL of the server, including a path."),
    trusted_hosts: str | None = Option(None, help="Additional host names to answer for, comma-separated."),
    published: str | None = Option(
        None,
        help="Serve a publication written by `discreet publish` (a folder or bucket), without a workspace.",
    ),
    public_key: Path | None = Option(None, help="Public key of the publisher."),
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
            "--public-key requires --published, and --published cannot be combined with --workspace.",
            "Give --published FOLDER --public-key FILE, or --workspace FOLDER.",
        )
    from discreet.publish.file_store import open_storage
    from discreet.publish.published_registry import PublishedRegistry
    from discreet.records.signing import read_public_key

    key = None if public_key is None else read_public_key(public_key)
    publication = PublishedRegistry(open_storage(published), key)
    if key is None:
        print_message(
            f"The publication is complete and signed by the key {publication.signer.fingerprint}, whose owner was "
            "not verified: pass --public-key FILE."
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
        f"Anyone who can reach port {options.port} of this machine {who}, and anyone on the network path can "
        "read keys and tables: there is no TLS, and trusted_proxies names no proxy. See "
        "docs/how-to/deploy.md."
    )


COMMAND = Command(serve, OPERATE)
