"""`discreet budget`: the guarantee of a dataset under `dp`, the epsilon and error of each table, and the budget left."""

from pathlib import Path
from typing import Any

from typer import Argument, Option

from discreet.cli.console import emit_json, emit_picture, output, print_grid, print_text
from discreet.cli.registry import PROTECT, Command
from discreet.cli.shared_options import JsonFileOption, WorkspaceOption
from discreet.errors import NotFound

#: Less than this share of a cap pays for nothing that is of use.
LITTLE = 0.001


def budget(
    dataset: str = Argument(help="The dataset's id or address, or a dataset.toml that is not loaded yet."),
    as_json: bool = Option(False, "--json", help="Print the budget as JSON."),
    out: JsonFileOption = None,
    plot: Path | None = Option(
        None,
        help="Write a picture of the budget over tables, and of the error by epsilon: FILE.svg or FILE.png.",
    ),
    workspace: WorkspaceOption = None,
) -> None:
    """What a dataset's universe promises and costs, and what the budget has left.

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
        _show(found, planned=planned)


COMMAND = Command(budget, PROTECT)


def _forecast(description: Path, workspace: Path | None) -> dict[str, Any]:
    from discreet.release.budget_document import forecast_workspace_budget
    from discreet.workspace.folder_layout import name_description_in_errors, read_description
    from discreet.workspace.options import default_folder, workspace_folder

    if not description.is_file():
        raise NotFound(f"There is no file {str(description)!r}.", "Draft one with `discreet describe`.")
    folder = workspace_folder(workspace)
    with name_description_in_errors(description):
        # A draft without a named workspace is not charged to the ledger of the demo.
        return forecast_workspace_budget(
            None if folder == default_folder() else folder, read_description(description)
        )


def _show(found: dict[str, Any], *, planned: bool) -> None:
    print_text(found["promise"] or "Nothing can be promised at this delta.")
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
        f"{found['d']} residuals with noise make all tables, which agree; epsilon is that of a table by itself"
        if found["margins"] == "joint"
        else f"{tables} with noise; each person is counted in one cell of each. Any other table that they contain is a sum"
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
    """The budget left after loading a description."""
    if found["price"] is None:
        return "Nothing is charged before it is loaded."
    costs, left = f"Loading it costs {_amount(found['price'])}", found["left_after"]
    if min(left.values()) < 0:
        return f"{costs}. The budget's cap does not cover it: a load of anything new would be refused."
    loss = next(iter(left))
    if left[loss] < LITTLE * found["cap"][loss]:
        return (
            f"{costs} and leaves nothing: no second version and no further table could ever be charged, and a cap "
            "cannot be raised. Set cap_epsilon and cap_delta for the budget's whole life."
        )
    return f"{costs} and leaves {_amount(left)}."


def _amount(amount: dict[str, float]) -> str:
    return ", ".join(f"{name} {value:.6g}" for name, value in amount.items())
