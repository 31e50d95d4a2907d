"""`discreet account`: named holders of API keys, for what is counted by account."""

from __future__ import annotations

from typing import Annotated

import typer

from discreet.cli.console import emit, emit_json, messages, output
from discreet.cli.options import WorkspaceOption
from discreet.cli.registry import OPERATE, Command

account = typer.Typer(help="Accounts with API keys: create, revoke, list.", no_args_is_help=True)
COMMAND = Command(account, OPERATE)


@account.command()
def create(
    name: Annotated[str, typer.Argument(help="The account's name.")],
    role: Annotated[str, typer.Option(help="reader, analyst or custodian.")] = "reader",
    workspace: WorkspaceOption = None,
) -> None:
    """Create an account and print its key, which is never shown again."""
    from discreet.workspace.ledger_place import accounts_of
    from discreet.workspace.options import workspace_folder

    key = accounts_of(workspace_folder(workspace)).create(name, role)
    messages.print(
        "The key below is shown this once. Send it as `Authorization: Bearer KEY`, or in DISCREET_KEY."
    )
    emit(key + "\n", None)


@account.command()
def revoke(
    name: Annotated[str, typer.Argument(help="The account's name.")], workspace: WorkspaceOption = None
) -> None:
    """End an account; its key is refused from now on."""
    from discreet.workspace.ledger_place import accounts_of
    from discreet.workspace.options import workspace_folder

    accounts_of(workspace_folder(workspace)).revoke(name)
    messages.print(f"Revoked {name}")


@account.command("list")
def list_accounts(
    as_json: Annotated[bool, typer.Option("--json", help="Print the accounts as JSON.")] = False,
    workspace: WorkspaceOption = None,
) -> None:
    """List the accounts; no keys are stored, so none are shown."""
    from dataclasses import asdict

    from discreet.workspace.ledger_place import accounts_of
    from discreet.workspace.options import workspace_folder

    holders = accounts_of(workspace_folder(workspace)).listing()
    if as_json:
        emit_json([asdict(holder) for holder in holders])
        return
    for holder in holders:
        output.print(
            f"{holder.account}  {holder.role}  {'revoked' if holder.revoked else 'active'}", markup=False
        )
