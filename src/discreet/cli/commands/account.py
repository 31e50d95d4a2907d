"""`discreet account`: people and programs with roles and API keys.

`discreet secret`: the secret of a workspace.
"""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated

import typer
from typer import Argument, Option

from discreet.cli.console import emit, emit_json, messages, print_message, print_text
from discreet.cli.registry import OPERATE, Command
from discreet.cli.shared_options import WorkspaceOption, workspace_folder
from discreet.errors import BadRequest

if TYPE_CHECKING:
    from discreet.ledger.accounts import Accounts

account = typer.Typer(
    help="Manage accounts and their API keys: create, key, revoke, list.", no_args_is_help=True
)
NameArgument = Annotated[str, Argument(help="Name of the account.")]
DatasetOption = Annotated[
    list[str] | None,
    Option("--dataset", help="A dataset the key gives access to; repeat for several. Default: all."),
]
DaysOption = Annotated[int | None, Option("--days", help="Number of days until the key expires.")]


@account.command()
def create(
    name: NameArgument,
    role: str = Option("reader", help="reader, analyst or custodian."),
    dataset: DatasetOption = None,
    days: DaysOption = None,
    no_key: bool = Option(
        False, "--no-key", help="Create no key: the account signs in through the office's identity provider."
    ),
    workspace: WorkspaceOption = None,
) -> None:
    """Create an account and print its API key, which is shown only once."""
    accounts = _accounts(workspace)
    if no_key:
        accounts.register_name(name, role)
        messages.print(f"Created {name}, without a key")
        return
    _show(accounts.create(name, role, datasets=dataset or (), days=days))


@account.command()
def key(
    name: NameArgument,
    role: str | None = Option(None, help="Role of the key: that of the account, or a lower one."),
    dataset: DatasetOption = None,
    days: DaysOption = None,
    workspace: WorkspaceOption = None,
) -> None:
    """Create another key for an account and print it; existing keys stay valid."""
    _show(_accounts(workspace).issue(name, role, datasets=dataset or (), days=days))


@account.command()
def revoke(
    name: NameArgument,
    key_id: str | None = Option(
        None, "--key", help="Revoke only this key, named by its id in `discreet account list`."
    ),
    workspace: WorkspaceOption = None,
) -> None:
    """Revoke an account, or one of its keys."""
    if key_id is None:
        _accounts(workspace).revoke(name)
        messages.print(f"Revoked {name}")
    else:
        _accounts(workspace).revoke_key(name, key_id)
        messages.print(f"Revoked the key {key_id} of {name}")


@account.command("list")
def list_accounts(
    as_json: bool = Option(False, "--json", help="Print the accounts as JSON."),
    workspace: WorkspaceOption = None,
) -> None:
    """List the accounts and what each key may do. Keys are stored as hashes and cannot be shown."""
    accounts = _accounts(workspace)
    listed = accounts.keys()
    holders = [
        (holder, [each for each in listed if each.account == holder.account]) for holder in accounts.listing()
    ]
    if as_json:
        emit_json([{**asdict(holder), "keys": list(map(asdict, keys))} for holder, keys in holders])
        return
    if not holders:
        print_message("There are no accounts. `discreet account create NAME` creates one and prints its key.")
    for holder, keys in holders:
        print_text(f"{holder.account}  {holder.role}  {'revoked' if holder.revoked else 'active'}")
        for key in keys:
            state = "revoked" if key.revoked else "active" if key.is_valid() else "ended"
            scope = "all datasets" if key.datasets is None else ", ".join(key.datasets)
            ends = f"until {key.expires}" if key.expires else "no expiry"
            print_text(f"  key {key.id}  {key.role}  {state}  {scope}  {ends}")


def _show(key: str) -> None:
    messages.print(
        "The key below is shown only once. Send it as `Authorization: Bearer KEY`, or in DISCREET_KEY."
    )
    emit(key + "\n", None)


def _accounts(workspace: WorkspaceOption) -> Accounts:
    from discreet.workspace.ledger_location import open_accounts

    return open_accounts(workspace_folder(workspace))


MEANS = (
    "A new secret changes every number, and each dataset must be loaded again from its file. With cell "
    "keys, readers who kept old tables have two noisy numbers for the same people and can average them. "
    "Under dp each load needs a new `version` and is charged again. Rotate only if others may know the "
    "secret."
)
# With a callback, a group of one command stays a group.
app = typer.Typer(help="Rotate the secret of a workspace.", callback=lambda: None, no_args_is_help=True)


@app.command()
def rotate(
    yes: bool = Option(False, "--yes", help="Skip the confirmation."), workspace: WorkspaceOption = None
) -> None:
    """Create a new secret and retire the old one with all its versions; load every dataset again."""
    from discreet.workspace.operate.rotate import rotate as rotate_secret

    print_message(MEANS)
    if not yes and not typer.confirm("Rotate the secret?", err=True):
        raise BadRequest("The secret was not rotated.", "Answer yes, or add --yes.")
    done = rotate_secret(workspace_folder(workspace))
    again = ", ".join(done.datasets) or "none"
    print_message(
        f"Rotated. Load again: {again}. The old secret and versions are in {done.retired!r} in the workspace; "
        "delete them when you no longer need them."
    )


COMMANDS = {"account": Command(account, OPERATE), "secret": Command(app, OPERATE)}
