"""`discreet ledger`: the charges to a budget, shares for accounts, and an auditor's statement.

`discreet budget`: the guarantee of a dataset under `dp`, the epsilon and error of each table, and the budget left.
"""

from fractions import Fraction
from pathlib import Path
from typing import Annotated, Any

import typer
from typer import Argument, Option
from typer.core import TyperGroup

from discreet.cli import shared_options as shared
from discreet.cli.console import (
    emit,
    emit_json,
    emit_picture,
    messages,
    output,
    print_grid,
    print_message,
    print_text,
)
from discreet.cli.registry import PROTECT, Command
from discreet.errors import BadRequest, NotFound


class _ByDataset(TyperGroup):
    """Makes `show` the default: `discreet ledger DATASET`."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Parse the arguments; a first word that is no subcommand is an argument of `show`."""
        said = not args or args[0] in {*self.commands, "--help", "-h"}
        return super().parse_args(ctx, args if said else ["show", *args])


ledger = typer.Typer(
    cls=_ByDataset,
    help=(
        "Show what a budget has spent, by whom, and what is left: `discreet ledger DATASET`. Write or verify "
        "a statement."
    ),
    no_args_is_help=True,
    context_settings={"help_option_names": ["-h", "--help"]},
)


@ledger.command()
def show(
    dataset: str = Argument(help="The dataset's id; shows the whole budget it draws on."),
    allow: str | None = Option(
        None, help="Let this account spend from the budget, up to --loss and --failure."
    ),
    loss: str | None = Option(None, help="Cap of the account: epsilon, or rho under the rule zcdp."),
    failure: str = Option("1e-9", help="Cap of the account: delta, or distance."),
    as_json: bool = Option(False, "--json", help="Print the ledger as JSON."),
    out: shared.JsonFileOption = None,
    workspace: shared.WorkspaceOption = None,
) -> None:
    """Show the charges to a budget, what is left, and its accounts. `--allow` lets an account spend."""
    service = shared.open_workspace(workspace)[0].open(dataset)
    if (allow is None) != (loss is None):
        raise BadRequest(
            "--loss and --failure set the cap of an account, and none is given.",
            "Give --allow ACCOUNT --loss 0.5.",
        )
    if allow is not None and loss is not None:
        service.open_share(allow, (_parse_number(loss), _parse_number(failure)))
        messages.print(f"{allow} can now spend up to {loss}.", markup=False)
    found = service.ledger()
    if as_json or out is not None:
        emit_json(found, out)
    elif allow is None:
        _show(found)


@ledger.command()
def statement(
    out: Path = Option(..., "--out", "-o", help="Write it to FILE.html or FILE.json."),
    workspace: shared.WorkspaceOption = None,
) -> None:
    """Write a signed statement for an auditor: all budgets, their charges and promises, and the head of the hash chain."""
    from discreet.assess.report_pages import statement_html
    from discreet.workspace.operate.statement import make_statement

    if out.suffix.lower() not in {".html", ".json"}:
        raise BadRequest(
            f'The file "{out.name}" is neither HTML nor JSON.', "Name it FILE.html or FILE.json."
        )
    document = make_statement(shared.workspace_folder(workspace))
    if out.suffix.lower() == ".html":
        emit(statement_html(document), out)
    else:
        emit_json(document, out)
    print_message("Send the auditor the public key separately: `discreet public-key --out FILE`.")


@ledger.command()
def verify(
    statement: Annotated[Path, Argument(help="The statement: FILE.html or FILE.json.")],
    public_key: Path = Option(..., "--public-key", help="The public key of the workspace, as PEM."),
    earlier: Path | None = Option(
        None, "--earlier", help="An earlier statement, all of whose charges must still be there."
    ),
    as_json: shared.OutcomeOption = False,
) -> None:
    """Verify a statement: its signature, its sums, and that it continues an earlier one. Needs no workspace."""
    from discreet.assess.report_pages import read_statement
    from discreet.ledger.hash_chain import NOT_CHECKED, verify_statement
    from discreet.records.signing import read_public_key

    key = read_public_key(public_key)
    document, of_page = read_statement(statement)
    before = None if earlier is None else read_statement(earlier)[0]
    checked = [*verify_statement(document, key, before), *([of_page] if of_page else [])]
    if as_json:
        emit_json({"statement": str(statement), "checked": checked, "not_checked": list(NOT_CHECKED)})
        return
    for title, sentences in (("Checked", checked), ("Not checked", NOT_CHECKED)):
        output.print(f"{title}:", markup=False)
        for sentence in sentences:
            print_text(f"  - {sentence}")


def _parse_number(text: str) -> Fraction:
    try:
        return Fraction(text)
    except (ValueError, ZeroDivisionError):
        raise BadRequest(f'"{text}" is no number.', "Give a number such as 0.5.") from None


def _share_left(left: float, cap: float) -> str:
    """What is left of a cap, in words.

    >>> _share_left(3, 5), _share_left(1.365e-05, 4), _share_left(0, 4)
    ('60 % of the cap', 'less than 1 % of the cap', 'nothing')
    """
    if left <= 0 or cap <= 0:
        return "nothing"
    return f"{100 * left / cap:.0f} % of the cap" if left >= cap / 100 else "less than 1 % of the cap"


def _show(found: dict[str, Any]) -> None:
    output.print(f'Budget "{found["family"]}", rule {found["rule"]}', markup=False)
    for name in ("cap", "spent", "left"):
        amount = ", ".join(f"{key} {value:.4g}" for key, value in found[name].items())
        loss = next(iter(found["cap"]))
        words = f" ({loss}: {_share_left(found[name][loss], found['cap'][loss])})" if name == "left" else ""
        output.print(f"{name:<8}{amount}{words}", markup=False)
    output.print()
    lines = [
        [each["account"], *(f"{next(iter(each[name].values())):.4g}" for name in ("cap", "spent", "left"))]
        for each in found["accounts"]
    ]
    print_grid(output, "Accounts that may spend", ["Account", "Cap", "Spent", "Left"], lines, 1)
    lines = []
    for each in found["charges"]:
        at, account = each["at"][:19].replace("T", " "), each["account"] or "(custodian)"
        lines.append([at, account, each["asked"], f"{each['loss']:.4g}"])
    print_grid(output, "Charges", ["When (UTC)", "Account", "For", "Loss"], lines, 3)


#: Less than this share of a cap pays for nothing that is of use.
LITTLE = 0.001


def budget(
    dataset: str = Argument(help="The dataset's id or address, or a dataset.toml that is not loaded yet."),
    as_json: bool = Option(False, "--json", help="Print the budget as JSON."),
    out: shared.JsonFileOption = None,
    plot: Path | None = Option(
        None,
        help="Draw the budget by table, and the error by epsilon: FILE.svg or FILE.png.",
    ),
    workspace: shared.WorkspaceOption = None,
) -> None:
    """Show what a dp dataset promises and costs, and what is left of its budget.

    A dataset.toml that is not loaded yet shows its price before anything is charged.
    """
    planned = dataset.endswith(".toml")
    if planned:
        found = _forecast(Path(dataset), workspace)
    else:
        from discreet.cli.target import open_target

        found = open_target(dataset, workspace).service.budget()
    if plot is not None:
        from discreet.pictures.budget_charts import budget_over_tables

        emit_picture(budget_over_tables(found), plot)
    if as_json or out is not None:
        emit_json(found, out)
    else:
        _show_budget(found, planned=planned)


def _forecast(description: Path, workspace: Path | None) -> dict[str, Any]:
    from discreet.release.budget_document import forecast_workspace_budget
    from discreet.workspace.folder_layout import name_description_in_errors, read_description

    if not description.is_file():
        raise NotFound(f"There is no file {str(description)!r}.", "Draft one with `discreet describe`.")
    folder = shared.workspace_folder(workspace)
    with name_description_in_errors(description):
        # A draft without a named workspace is not charged to the ledger of the demo.
        return forecast_workspace_budget(
            None if folder == shared.default_folder() else folder, read_description(description)
        )


def _show_budget(found: dict[str, Any], *, planned: bool) -> None:
    print_text(found["promise"] or "No guarantee can be given at this delta.")
    output.print()
    for name in ("cap", "spent", "left"):
        output.print(f"{name:<8}{_amount(found[name])}", markup=False)
    if planned:
        print_text(_after(found))
    for caution in found["cautions"]:
        print_text(caution)
    found_by = [f"{name} {figure['epsilon']:.4g}" for name, figure in found["total"].items()]
    output.print(f"epsilon of this version by each argument: {', '.join(found_by)}", markup=False)
    output.print()
    tables = "1 table" if found["d"] == 1 else f"{found['d']} tables"
    title = (
        (
            f"{found['d']} noisy residuals determine all tables, which are consistent; epsilon is that of one "
            "table alone"
        )
        if found["margins"] == "joint"
        else (
            f"{tables} with noise; each person is in one cell of each. Tables contained in these are sums of "
            "their cells"
        )
    )
    figures = "{epsilon:.4g} {delta:.2g} {p_exact:.1%} {expected_abs_error:.2f}"
    lines = [
        [" x ".join(table["variables"]) or "(grand total)", *figures.format_map(table).split()]
        for table in found["tables"]
    ]
    print_grid(output, title, ["Table", "Epsilon", "Delta", "P(exact)", "E|error|"], lines, 1)
    for group in found["groups"]:
        group_text = "{persons} persons together: epsilon {epsilon:.4g}, delta {delta:.2g}".format_map(group)
        output.print(group_text, markup=False)
    output.print(found["standard_deviation_by_margins"]["advice"], markup=False)
    output.print()
    figures = "{d} {expected_abs_error_now:.2f} {expected_abs_error:.2f}"
    lines = [[each["variable"], *figures.format_map(each).split()] for each in found["if_dropped"]]
    title = "What the other tables would gain if a variable were left out"
    print_grid(output, title, ["Variable", "Tables left", "E|error| now", "then"], lines, 1)
    if "curve" in found:
        output.print()
        lines = [[f"{each['epsilon']:.4g}", f"{each['expected_abs_error']:.2f}"] for each in found["curve"]]
        print_grid(output, "Mean error of all declared tables by epsilon", ["Epsilon", "E|error|"], lines, 0)


def _after(found: dict[str, Any]) -> str:
    if found["price"] is None:
        return "Nothing is charged until you load it."
    costs, left = f"Loading it costs {_amount(found['price'])}", found["left_after"]
    if min(left.values()) < 0:
        return f"{costs}. The budget's cap does not cover this: loading it would be refused."
    loss = next(iter(left))
    if left[loss] < LITTLE * found["cap"][loss]:
        return (
            f"{costs} and uses up the budget: no second version and no further table could ever be charged, "
            "because a cap cannot be raised. Set cap_epsilon and cap_delta for the whole life of the budget."
        )
    return f"{costs} and leaves {_amount(left)}."


def _amount(amount: dict[str, float]) -> str:
    return ", ".join(f"{name} {value:.6g}" for name, value in amount.items())


COMMANDS = {"ledger": Command(ledger, PROTECT), "budget": Command(budget, PROTECT)}
