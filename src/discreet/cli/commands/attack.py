"""`discreet attack`: the red team. It attacks invented people, protected in several ways, as anybody could."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from discreet.cli.console import emit_json, messages, output
from discreet.cli.registry import EXAMINE, Command
from discreet.errors import BadRequest, nearest

if TYPE_CHECKING:
    from collections.abc import Callable

attack = typer.Typer(
    help="The red team: attacks on invented people under each protection, beside the unprotected baseline.",
    no_args_is_help=True,
)
COMMAND = Command(attack, EXAMINE)

PeopleOption = Annotated[int | None, typer.Option(help="How many invented people there are.")]
TargetsOption = Annotated[int | None, typer.Option(help="How many places, each with one target.")]
EpsilonOption = Annotated[
    float, typer.Option(help="The epsilon that the dp target promises for all its tables together.")
]
SeedOption = Annotated[
    int, typer.Option(help="Seed of the people and the noise; the same seed gives the same study.")
]
AgainstOption = Annotated[
    str | None,
    typer.Option(
        help="Protections, comma-separated: unprotected, cellkey, participants-and-description, dp."
    ),
]
QuickOption = Annotated[bool, typer.Option("--quick", help="A small study in a few seconds.")]
JsonOption = Annotated[bool, typer.Option("--json", help="Print the study as JSON.")]
OutOption = Annotated[Path | None, typer.Option("--out", "-o", help="Write the JSON to this file.")]
PlotOption = Annotated[Path | None, typer.Option(help="Write a picture: FILE.svg or FILE.png.")]


@attack.command()
def bob(
    people: PeopleOption = None,
    targets: TargetsOption = None,
    pairs: Annotated[int | None, typer.Option(help="How many pairs of tables are asked, up to 34.")] = None,
    epsilon: EpsilonOption = 1.0,
    seed: SeedOption = 1,
    against: AgainstOption = None,
    quick: QuickOption = False,
    as_json: JsonOption = False,
    out: OutOption = None,
    plot: PlotOption = None,
) -> None:
    """Bob's differencing (Rinott et al. 2.2): pairs of tables that differ by one person, if he is in."""
    from discreet.attacks.trials.bob_study import BobStudy

    study = BobStudy(
        people or (4_000 if quick else 40_000),
        targets or (100 if quick else 1_000),
        pairs or (8 if quick else 32),
        epsilon,
        seed,
        _protections(against),
    )
    _finish(study.run(_say), as_json, out, plot, _show_bob)


@attack.command()
def averaging(
    people: PeopleOption = None,
    targets: TargetsOption = None,
    ways: Annotated[int | None, typer.Option(help="In how many ways each count is asked, up to 129.")] = None,
    epsilon: EpsilonOption = 1.0,
    seed: SeedOption = 1,
    against: AgainstOption = None,
    quick: QuickOption = False,
    as_json: JsonOption = False,
    out: OutOption = None,
    plot: PlotOption = None,
) -> None:
    """Averaging (Rinott et al. 2.2): one count asked in other words, and as sums of regrouped parts."""
    from discreet.attacks.trials.averaging_study import AveragingStudy

    study = AveragingStudy(
        people or (4_000 if quick else 36_000),
        targets or (100 if quick else 600),
        ways or (8 if quick else 64),
        epsilon,
        seed,
        _protections(against),
    )
    _finish(study.run(_say), as_json, out, plot, _show_averaging)


@attack.command()
def versions(
    people: PeopleOption = None,
    targets: TargetsOption = None,
    epsilon: EpsilonOption = 1.0,
    seed: SeedOption = 1,
    quick: QuickOption = False,
    as_json: JsonOption = False,
    out: OutOption = None,
    plot: PlotOption = None,
) -> None:
    """Two versions: the same tables before and after one person of every workplace was removed."""
    from discreet.attacks.trials.versions_study import VersionsStudy

    study = VersionsStudy(
        people or (1_600 if quick else 8_000),
        targets or (40 if quick else 200),
        (1, 2) if quick else (1, 2, 4, 8),
        epsilon,
        seed,
    )
    _finish(study.run(_say), as_json, out, plot, _show_versions)


@attack.command()
def withheld(
    people: PeopleOption = None,
    ways: Annotated[
        int | None, typer.Option(help="In how many ways every table is asked, 1 or more.")
    ] = None,
    variables: Annotated[int, typer.Option(help="How many variables a table crosses at most, 1 to 3.")] = 2,
    seed: SeedOption = 1,
    quick: QuickOption = False,
    as_json: JsonOption = False,
    out: OutOption = None,
    plot: PlotOption = None,
) -> None:
    """Withheld areas of the demo census: what totals less the areas shown say of them."""
    from discreet.attacks.trials.withheld_study import WithheldStudy

    study = WithheldStudy(
        people or (50_000 if quick else 1_500_000),
        (2 if quick else 8) if ways is None else ways,
        seed,
        variables,
    )
    _finish(study.run(_say), as_json, out, plot, _show_withheld)


def _protections(against: str | None) -> tuple[str, ...]:
    """The protections that are named, in their usual order; all of them by default."""
    from discreet.attacks.knowledge import PROTECTIONS

    named = PROTECTIONS if against is None else tuple(word.strip() for word in against.split(","))
    for name in named:
        if name not in PROTECTIONS:
            raise BadRequest(f'There is no protection "{name}".', nearest(name, PROTECTIONS))
    return tuple(name for name in PROTECTIONS if name in named)


def _say(protection: str) -> None:
    messages.print(f"Attacking: {protection}", markup=False)


def _finish(
    study: dict[str, Any],
    as_json: bool,
    out: Path | None,
    plot: Path | None,
    show: Callable[[dict[str, Any]], None],
) -> None:
    if plot is not None:
        from discreet.pictures import attacks
        from discreet.pictures.save import save

        pictures = {
            "bob": attacks.bob_success,
            "averaging": attacks.averaging_error,
            "versions": attacks.versions_success,
            "withheld": attacks.withheld_ratio,
        }
        save(pictures[study["attack"]](study), plot)
        messages.print(f"Written: {plot}", soft_wrap=True)
    if as_json or out is not None:
        emit_json(study, out)
    else:
        show(study)


def _shown(study: dict[str, Any]) -> list[dict[str, Any]]:
    """All protections, the baseline first."""
    return [each for each in (study["baseline"], *study["results"]) if each]


def _show_bob(study: dict[str, Any]) -> None:
    curves = [(result["protection"], result["curve"]) for result in _shown(study)]
    title = (
        f"Right about Bob's salary, by pairs of tables asked ({study['targets']:,} targets; guessing: 50%)"
    )
    lines = {name: [f"{point['success']:.0%}" for point in curve] for name, curve in curves}
    for name, curve in curves:
        if "bound" in curve[0]:
            lines[f"most possible under {name}"] = [f"{point['bound']:.0%}" for point in curve]
    _print_curves(title, "pairs", [point["pairs"] for point in curves[0][1]], lines)
    for name, curve in curves:
        last = curve[-1]
        output.print(
            f"{name}: {last['certain']:,} of {study['targets']:,} given away for certain, "
            f"{last['certain_true']:,} of them rightly; {last['queries']} tables asked.",
            markup=False,
            soft_wrap=True,
        )


def _show_averaging(study: dict[str, Any]) -> None:
    results = _shown(study)
    for kind in results[0]["curves"]:
        lines = {r["protection"]: [f"{point['error']:.2f}" for point in r["curves"][kind]] for r in results}
        lines |= {
            f"least possible under {r['protection']}": [f"{r['bound']['error']:.2f}"] * len(r["curves"][kind])
            for r in results
            if "bound" in r
        }
        ways = [point["ways"] for point in results[0]["curves"][kind]]
        title = f"Typical error of a count (root mean square), by ways of asking: {kind}"
        _print_curves(title, "ways", ways, lines)
    for result in results:
        last = {kind: curve[-1]["exact"]["share"] for kind, curve in result["curves"].items()}
        words = ", ".join(f"{share:.0%} by {kind}" for kind, share in last.items())
        output.print(
            f"{result['protection']}: exactly right in the end: {words}.", markup=False, soft_wrap=True
        )


def _show_versions(study: dict[str, Any]) -> None:
    results = _shown(study)
    lines = {r["protection"]: [f"{point['success']:.0%}" for point in r["curve"]] for r in results}
    title = (
        f"Attributes of a removed person named rightly, by pairs of tables (guessing: {study['prior']:.0%})"
    )
    _print_curves(title, "tables", [point["tables"] for point in results[0]["curve"]], lines)
    for r in results:
        last, error = r["curve"][-1], r["error"]
        output.print(
            f"{r['protection']}: all attributes of {last['all_right']:.0%} of {study['targets']:,} people; "
            f"typical error of a count {error['one_version']:.2f}, averaged over both versions "
            f"{error['both_versions']:.2f}.",
            markup=False,
            soft_wrap=True,
        )
    for each in study["collected"]:
        output.print(
            f"keep-keys, {each['removed']} people removed a workplace: {each['success']:.0%} of the attributes of one "
            f"of them.",
            markup=False,
            soft_wrap=True,
        )


def _show_withheld(study: dict[str, Any]) -> None:
    from rich import box
    from rich.table import Table

    (result,) = study["results"]
    output.print("Squared error of the attack relative to the best guess without differences", style="bold")
    shown = Table(box=box.SIMPLE_HEAD)
    shown.add_column("table")
    steps = [(start, point["ways"]) for start, curve in result["curves"].items() for point in curve]
    heads = [f"{start}\n{ways} way{'s' if ways > 1 else ''}" for start, ways in steps]
    for name in ("withheld\nby a rule", "with\nthem", *heads):
        shown.add_column(name, justify="right")
    for each in result["tables"]:
        name = f"{each['level']} by {', '.join(each['variables'])}"
        shown.add_row(name, f"{each['withheld']:,}", f"{each['complement']:,}", *_ratios(each))
    shown.add_row("all tables", "", "", *_ratios(result))
    output.print(shown)
    verdict = "Withheld areas stay withheld" if result["within_limit"] else "Withheld areas come back"
    output.print(
        f"{verdict}: the limit is {study['limit']:.2f}, for tables with ten withheld areas or more and for all "
        "tables together. At 1.00 differences say nothing.",
        markup=False,
        soft_wrap=True,
    )


def _ratios(each: dict[str, Any]) -> list[str]:
    return [f"{point['ratio']:.2f}" for curve in each["curves"].values() for point in curve]


def _print_curves(title: str, what: str, steps: list[int], lines: dict[str, list[str]]) -> None:
    """One line a number of questions, one column a protection."""
    from rich import box
    from rich.table import Table

    output.print(title, style="bold", markup=False, soft_wrap=True)
    shown = Table(box=box.SIMPLE_HEAD)
    for name in (what, *lines):
        shown.add_column(name.replace("-and-", "-and-\n"), justify="right")
    for step, figures in zip(steps, zip(*lines.values(), strict=True), strict=True):
        shown.add_row(str(step), *figures)
    output.print(shown)
