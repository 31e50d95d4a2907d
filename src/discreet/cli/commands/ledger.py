"""`discreet ledger`: what a budget has spent, what is left and by whom; shares for accounts."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from discreet.cli.console import emit_json, messages, output
from discreet.cli.options import WorkspaceOption, open_workspace
from discreet.cli.registry import PROTECT, Command


def ledger(
    dataset: Annotated[str, typer.Argument(help="The dataset's id; its whole budget is shown.")],
    allow: Annotated[
        str | None, typer.Option(help="Open the ledger to this account, up to --loss and --failure.")
    ] = None,
    loss: Annotated[
        str | None, typer.Option(help="The account's own cap: epsilon, or rho under the rule zcdp.")
    ] = None,
    failure: Annotated[str, typer.Option(help="The account's own cap of delta, or of distance.")] = "1e-9",
    as_json: Annotated[bool, typer.Option("--json", help="Print the ledger as JSON.")] = False,
    out: Annotated[Path | None, typer.Option("--out", "-o", help="Write the JSON to this file.")] = None,
    workspace: WorkspaceOption = None,
) -> None:
    """What a budget has spent, what is left and by whom. `--allow` opens it to an account."""
    from discreet.errors import BadRequest

    door = open_workspace(workspace)[0].door(dataset)
    if (allow is None) != (loss is None):
        raise BadRequest("A share needs an account and a cap.", "Give --allow ACCOUNT --loss 0.5.")
    if allow is not None and loss is not None:
        door.open_share(allow, (_number(loss), _number(failure)))
        messages.print(f"Opened to {allow}, up to {loss}.", markup=False)
    found = door.ledger()
    if as_json or out is not None:
        emit_json(found, out)
    elif allow is None:
        _show(found)


COMMAND = Command(ledger, PROTECT)


def _number(text: str) -> Any:
    from fractions import Fraction

    from discreet.errors import BadRequest

    try:
        return Fraction(text)
    except (ValueError, ZeroDivisionError):
        raise BadRequest(f'"{text}" is no number.', "Give a number such as 0.5.") from None


def _show(found: dict[str, Any]) -> None:
    from discreet.cli.grid import print_grid

    output.print(f'Budget "{found["family"]}", rule {found["rule"]}', markup=False)
    for name in ("cap", "spent", "left"):
        amount = ", ".join(f"{key} {value:.4g}" for key, value in found[name].items())
        output.print(f"{name:<8}{amount}", markup=False)
    output.print()
    lines = [
        [each["account"], *(f"{next(iter(each[name].values())):.4g}" for name in ("cap", "spent", "left"))]
        for each in found["accounts"]
    ]
    print_grid(output, "Accounts with a share", ["Account", "Cap", "Spent", "Left"], lines, 1)
    lines = [
        [
            each["at"][:19].replace("T", " "),
            each["account"] or "(custodian)",
            each["asked"],
            f"{each['loss']:.4g}",
        ]
        for each in found["charges"]
    ]
    print_grid(output, "Charges", ["When (UTC)", "Account", "For", "Loss"], lines, 3)
