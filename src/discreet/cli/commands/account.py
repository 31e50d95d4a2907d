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

account = typer.Typer(help="Accounts with API keys: create, key, revoke, list.", no_args_is_help=True)
NameArgument = Annotated[str, Argument(help="The account's name.")]
DatasetOption = Annotated[
    list[str] | None, Option("--dataset", help="A dataset that the key is for; repeat it. Default: all.")
]
DaysOption = Annotated[int | None, Option("--days", help="The key ends after so many days.")]


@account.command()
def create(
    name: NameArgument,
    role: str = Option("reader", help="reader, analyst or custodian."),
    dataset: DatasetOption = None,
    days: DaysOption = None,
    no_key: bool = Option(False, "--no-key", help="No key: the office's own sign-in tells who it is."),
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
    role: str | None = Option(None, help="The role of the key: the account's, or a lower one."),
    dataset: DatasetOption = None,
    days: DaysOption = None,
    workspace: WorkspaceOption = None,
) -> None:
    """Make another key of an account and print it; the keys that there are remain."""
    _show(_accounts(workspace).issue(name, role, datasets=dataset or (), days=days))


@account.command()
def revoke(
    name: NameArgument,
    key_id: str | None = Option(None, "--key", help="Only this key, by its id in `discreet account list`."),
    workspace: WorkspaceOption = None,
) -> None:
    """End an account, or one of its keys: it is refused from now on."""
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
    """List the accounts and what each key may do; no keys are stored, so none are shown."""
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
            ends = f"until {key.expires}" if key.expires else "without an end"
            print_text(f"  key {key.id}  {key.role}  {state}  {scope}  {ends}")


def _show(key: str) -> None:
    messages.print(
        "The key below is shown this once. Send it as `Authorization: Bearer KEY`, or in DISCREET_KEY."
    )
    emit(key + "\n", None)


def _accounts(workspace: WorkspaceOption) -> Accounts:
    from discreet.workspace.ledger_location import open_accounts

    return open_accounts(workspace_folder(workspace))


MEANS = (
    "A new secret changes every number: each dataset must be loaded again from its file. Under the cell key method "
    "readers who kept old tables have two numbers of the same people, whose noise can be averaged. Under dp each load "
    "needs a new `version` and is charged again. Rotate when the secret may be known to others."
)
# With a callback, a group of one command stays a group.
app = typer.Typer(help="Rotate the secret of a workspace.", callback=lambda: None, no_args_is_help=True)


@app.command()
def rotate(yes: bool = Option(False, "--yes", help="Do not ask."), workspace: WorkspaceOption = None) -> None:
    """Put the secret and all that was loaded with it aside, and make a new one; nothing is answered until new loads."""
    from discreet.workspace.operate.rotate import rotate as rotate_secret

    print_message(MEANS)
    if not yes and not typer.confirm("Rotate the secret?", err=True):
        raise BadRequest("The secret stays.", "Answer yes, or add --yes.")
    done = rotate_secret(workspace_folder(workspace))
    again = ", ".join(done.datasets) or "none"
    print_message(
        f"Rotated. Load again: {again}. The old secret and versions stand in {done.retired!r} of the workspace: remove "
        "them when nothing of them is needed."
    )


COMMANDS = {"account": Command(account, OPERATE), "secret": Command(app, OPERATE)}
