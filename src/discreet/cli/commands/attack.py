"""`discreet attack`: the red team. It attacks invented people, protected in several ways, as anybody could."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from discreet.cli.console import emit_json, messages, output
from discreet.cli.registry import EXAMINE, Command
from discreet.errors import BadRequest, nearest

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

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
def weights(
    surveys: Annotated[int | None, typer.Option(help="How many invented surveys are attacked.")] = None,
    tables: Annotated[
        int | None, typer.Option(help="How many tables are asked of each, in all measures, up to 6.")
    ] = None,
    seed: SeedOption = 1,
    against: Annotated[
        str | None,
        typer.Option(
            help="Forms, comma-separated: unprotected, cell-average, overall-average, "
            "largest-weight-with-counts, average-weight, public-strata, largest-weight."
        ),
    ] = None,
    quick: QuickOption = False,
    as_json: JsonOption = False,
    out: OutOption = None,
    plot: PlotOption = None,
) -> None:
    """Counts from weights: count, weighted count and sampling error of the same cells, put together."""
    from discreet.attacks.trials.surveys import FORMS
    from discreet.attacks.trials.weights_study import WeightsStudy

    named = FORMS if against is None else tuple(word.strip() for word in against.split(","))
    study = WeightsStudy(
        2 if surveys is None and quick else 8 if surveys is None else surveys,
        1 if tables is None and quick else 4 if tables is None else tables,
        seed,
        named,
    )
    _finish(study.run(_say), as_json, out, plot, _show_weights)


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
        from discreet.pictures.attacks import PICTURES
        from discreet.pictures.save import save

        save(PICTURES[study["attack"]](study), plot)
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


def _show_weights(study: dict[str, Any]) -> None:
    results = _shown(study)
    names = [*(each["protection"] for each in results), "counts alone"]
    shares = [[point["exact"] for point in each["curve"]] for each in results]
    shares.append([point["counts_alone"] for point in results[0]["curve"]])
    columns = {
        f"{place + 1}": [f"{share:.0%}" for share in each]
        for place, each in enumerate(zip(*shares, strict=True))
    }
    title = f"Counts found exactly, by tables asked in all measures ({study['surveys']} invented surveys)"
    _print_curves(title, "tables", names, columns)
    for each in study["results"]:
        last = each["curve"][-1]
        bar = "" if not each["served"] else ", within the bar" if last["within_bar"] else ", ABOVE THE BAR"
        output.print(
            f"{each['protection']}{'' if each['served'] else ' (not served)'}: "
            f"{100 * last['gain']:+.1f} points against counts alone "
            f"({100 * last['gain_low']:+.1f} to {100 * last['gain_high']:+.1f}); "
            f"{last['certain']:,} of {last['cells']:,} counts certain, {last['certain_true']:,} of them rightly{bar}.",
            markup=False,
            soft_wrap=True,
        )


def _print_curves(title: str, what: str, steps: Sequence[object], lines: dict[str, list[str]]) -> None:
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
