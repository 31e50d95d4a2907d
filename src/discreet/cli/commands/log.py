"""`discreet log`: the audit log of a server, and the alerts of its detectors."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from typer import Argument, Option

from discreet.cli.console import emit_json, messages, print_text
from discreet.cli.registry import OPERATE, Command
from discreet.cli.shared_options import WorkspaceOption, workspace_folder
from discreet.errors import BadRequest, WorkspaceUnusable

if TYPE_CHECKING:
    from discreet.web.detectors.monitor import Alert

app = typer.Typer(
    help="Verify the audit log, list alerts, unblock an account or IP address.", no_args_is_help=True
)
COMMAND = Command(app, OPERATE)
JsonOption = Annotated[bool, Option("--json", help="Print JSON.")]


@app.command()
def verify(
    as_json: JsonOption = False,
    expect: list[str] | None = Option(
        None,
        help=(
            "An end of a chain printed earlier (CHAIN:LINE:MAC) that must still be in the log; repeat for "
            "several."
        ),
    ),
    workspace: WorkspaceOption = None,
) -> None:
    """Verify that no line of the audit log was changed, moved or removed. Print the end of each chain and lost lines."""
    from discreet.web.audit.chain import has_line, verify_log
    from discreet.workspace.folder_layout import log_key

    folder, server = _folders(workspace)
    logs = server / "log"
    found = verify_log(logs, log_key(folder))
    faults = [fault for chain in found for fault in chain.faults]
    faults += [f"{words} is not in the log." for words in expect or () if not has_line(logs, words)]
    if as_json:
        emit_json([asdict(chain) for chain in found])
    else:
        for chain in found:
            state = "sound" if not chain.faults else "NOT SOUND"
            state += f", {chain.lost} lost" if chain.lost else ""
            end = f"{chain.process}:{chain.last}:{chain.mac}"
            print_text(f"chain {chain.process}  lines {chain.first} to {chain.last}  {state}  {end}")
    if faults:
        raise WorkspaceUnusable(
            " ".join(faults), "Compare the log with a backup, and check who can write to its folder."
        )
    messages.print("The log is intact" if found else "There is no log yet")


@app.command()
def alerts(
    as_json: JsonOption = False,
    again: bool = Option(False, "--again", help="Scan the whole log again with the current thresholds."),
    workspace: WorkspaceOption = None,
) -> None:
    """List alerts of the attack detectors, newest first, and who is blocked."""
    from discreet.web.auth.rate_limit import RateLimitStore
    from discreet.web.detectors.monitor import read_alerts

    folder, state = _folders(workspace)
    found = _replay_log(folder, state) if again else read_alerts(state)
    limits = state / "shared.sqlite"
    held = list(RateLimitStore(limits).holds().values()) if limits.exists() else []
    if as_json:
        emit_json({"holds": [asdict(each) for each in held], "alerts": [asdict(each) for each in found]})
        return
    for hold in held:
        print_text(f"held back: {hold.who}  {hold.action}  {hold.why}")
    for alert in found:
        about = f"{alert.dataset} {alert.variable}".strip()
        print_text(f"{alert.at}  {alert.who}  {alert.detector}  {alert.score}  {about}  {alert.action}")
    if not found and not held:
        messages.print("There are no alerts")


@app.command()
def release(
    who: str = Argument(
        help="The account or IP address as `discreet log alerts` prints it, with account: or address:."
    ),
    workspace: WorkspaceOption = None,
) -> None:
    """Unblock an account or an IP address."""
    from discreet.web.auth.rate_limit import RateLimitStore

    path = _folders(workspace)[1] / "shared.sqlite"
    if not path.exists() or not RateLimitStore(path).release(who):
        raise BadRequest(f"{who!r} is not blocked.", "See who is with `discreet log alerts`.")
    messages.print(f"{who} is no longer blocked")


def _folders(workspace: Path | None) -> tuple[Path, Path]:
    """The workspace, and the folder in which its server writes."""
    from discreet.workspace.folder_layout import state_folder

    folder = workspace_folder(workspace)
    return folder, state_folder(folder)


def _replay_log(folder: Path, state: Path) -> list[Alert]:
    from discreet.release.dataset_registry import open_registry
    from discreet.web.detectors.monitor import AlertFinder, read_request_lines, read_thresholds

    finder = AlertFinder(open_registry(folder), read_thresholds(folder))
    return [alert for line in read_request_lines(state / "log") for alert in finder.find(line)][::-1]
