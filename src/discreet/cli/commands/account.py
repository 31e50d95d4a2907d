"""`discreet account`: people and programs with roles and API keys."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from discreet.cli.console import emit, emit_json, messages, print_message, print_text
from discreet.cli.registry import OPERATE, Command
from discreet.cli.shared_options import WorkspaceOption

if TYPE_CHECKING:
    from discreet.ledger.accounts import Accounts, KeyFacts

account = typer.Typer(help="Accounts with API keys: create, key, revoke, list.", no_args_is_help=True)
COMMAND = Command(account, OPERATE)
NameArgument = Annotated[str, typer.Argument(help="The account's name.")]
DatasetOption = Annotated[
    list[str] | None,
    typer.Option("--dataset", help="A dataset that the key is for; repeat it. Default: all."),
]
DaysOption = Annotated[int | None, typer.Option("--days", help="The key ends after so many days.")]


@account.command()
def create(
    name: NameArgument,
    role: Annotated[str, typer.Option(help="reader, analyst or custodian.")] = "reader",
    dataset: DatasetOption = None,
    days: DaysOption = None,
    no_key: Annotated[
        bool, typer.Option("--no-key", help="No key: the office's own sign-in tells who it is.")
    ] = False,
    workspace: WorkspaceOption = None,
) -> None:
    """Create an account and print its key, which is never shown again."""
    accounts = _accounts(workspace)
    if no_key:
        accounts.register_name(name, role)
        messages.print(f"Created {name}, without a key")
        return
    _show(accounts.create(name, role, datasets=dataset or (), days=days))


@account.command()
def key(
    name: NameArgument,
    role: Annotated[
        str | None, typer.Option(help="The role of the key: the account's, or a lower one.")
    ] = None,
    dataset: DatasetOption = None,
    days: DaysOption = None,
    workspace: WorkspaceOption = None,
) -> None:
    """Make another key of an account and print it; the keys that there are remain."""
    _show(_accounts(workspace).issue(name, role, datasets=dataset or (), days=days))


@account.command()
def revoke(
    name: NameArgument,
    key_id: Annotated[
        str | None, typer.Option("--key", help="Only this key, by its id in `discreet account list`.")
    ] = None,
    workspace: WorkspaceOption = None,
) -> None:
    """End an account, or one of its keys; what is revoked is refused from now on."""
    if key_id is None:
        _accounts(workspace).revoke(name)
        messages.print(f"Revoked {name}")
    else:
        _accounts(workspace).revoke_key(name, key_id)
        messages.print(f"Revoked the key {key_id} of {name}")


@account.command("list")
def list_accounts(
    as_json: Annotated[bool, typer.Option("--json", help="Print the accounts as JSON.")] = False,
    workspace: WorkspaceOption = None,
) -> None:
    """List the accounts and what each key may do; no keys are stored, so none are shown."""
    from dataclasses import asdict

    accounts = _accounts(workspace)
    holders, keys = accounts.listing(), accounts.keys()
    if as_json:
        emit_json(
            [
                {**asdict(holder), "keys": [asdict(each) for each in keys if each.account == holder.account]}
                for holder in holders
            ]
        )
        return
    if not holders:
        print_message("There are no accounts. `discreet account create NAME` creates one and prints its key.")
    for holder in holders:
        state = "revoked" if holder.revoked else "active"
        print_text(f"{holder.account}  {holder.role}  {state}")
        for each in keys:
            if each.account == holder.account:
                print_text(f"  {_line(each)}")


def _line(key: KeyFacts) -> str:
    state = "revoked" if key.revoked else "active" if key.is_valid() else "ended"
    scope = "all datasets" if key.datasets is None else ", ".join(key.datasets)
    ends = f"until {key.expires}" if key.expires else "without an end"
    return f"key {key.id}  {key.role}  {state}  {scope}  {ends}"


def _show(key: str) -> None:
    messages.print(
        "The key below is shown this once. Send it as `Authorization: Bearer KEY`, or in DISCREET_KEY."
    )
    emit(key + "\n", None)


def _accounts(workspace: WorkspaceOption) -> Accounts:
    from discreet.workspace.ledger_location import open_accounts
    from discreet.workspace.options import workspace_folder

    return open_accounts(workspace_folder(workspace))
