"""`discreet attack`: run an attack on invented people under several protections, as anyone could."""

import shlex
from collections.abc import Callable
from inspect import Parameter, Signature, signature
from pathlib import Path
from typing import Annotated, Any, Protocol

import typer

from discreet.cli.console import emit_json, emit_picture, messages, print_message
from discreet.cli.registry import EXAMINE, Command
from discreet.cli.shared_options import JsonFileOption, PlotOption, WorkspaceOption
from discreet.errors import BadRequest
from discreet.model.messages.text import nearest

attack = typer.Typer(
    help="The red team: attacks on invented people under each protection, beside the unprotected baseline.",
    no_args_is_help=True,
)
COMMAND = Command(attack, EXAMINE)


class Trial(Protocol):
    """What an attack tries, with its numbers."""

    def run(self, progress: Callable[[str], None]) -> dict[str, Any]: ...


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
KeepOption = Annotated[
    bool,
    typer.Option(
        "--keep", help="Keep the result in the workspace: the methodology of its datasets quotes it."
    ),
]


def _run(
    context: typer.Context,
    trial: Trial,
    as_json: JsonOption = False,
    out: JsonFileOption = None,
    plot: PlotOption = None,
    keep: KeepOption = False,
    workspace: WorkspaceOption = None,
) -> None:
    """Run a trial and show, write, draw or keep what it found, as the options that all attacks share say."""
    from discreet_studies.attacks.report import show_study

    keeper = _keeper(context, keep, workspace)
    found = trial.run(lambda protection: messages.print(f"Attacking: {protection}", markup=False))
    keeper(found)
    if plot is not None:
        from discreet_studies.pictures.attacks import PICTURES

        emit_picture(PICTURES[found["attack"]](found), plot)
    if as_json or out is not None:
        emit_json(found, out)
    else:
        show_study(found)


#: The context, and the options that do not change a study and are no part of the command that repeats it.
_CONTEXT, _, *_SHARED = signature(_run).parameters.values()
_BESIDE = frozenset(option.name for option in _SHARED)


def _attack(make: Callable[..., Trial]) -> Callable[..., Trial]:
    """The command of an attack: the function makes its trial from its own options."""
    own = signature(make).parameters

    def command(context: typer.Context, **given: Any) -> None:
        trial = make(**{name: given[name] for name in own})
        _run(context, trial, **{name: given[name] for name in _BESIDE})

    shared = (option for option in _SHARED if option.name not in own)
    asked = [each.replace(kind=Parameter.KEYWORD_ONLY) for each in (*own.values(), *shared)]
    command.__signature__ = Signature([_CONTEXT, *asked])  # type: ignore[attr-defined]
    attack.command(make.__name__, help=make.__doc__)(command)
    return make


@_attack
def bob(
    people: PeopleOption = None,
    targets: TargetsOption = None,
    pairs: Annotated[int | None, typer.Option(help="How many pairs of tables are asked, up to 34.")] = None,
    epsilon: EpsilonOption = 1.0,
    seed: SeedOption = 1,
    against: AgainstOption = None,
    quick: QuickOption = False,
) -> Trial:
    """Bob's differencing (Rinott et al. 2.2): pairs of tables that differ by one person, if he is in."""
    from discreet_studies.attacks.bob_trial import BobTrial

    return BobTrial(
        people or (4_000 if quick else 40_000),
        targets or (100 if quick else 1_000),
        pairs or (8 if quick else 32),
        epsilon,
        seed,
        _protections(against),
    )


@_attack
def averaging(
    people: PeopleOption = None,
    targets: TargetsOption = None,
    ways: Annotated[int | None, typer.Option(help="In how many ways each count is asked, up to 129.")] = None,
    epsilon: EpsilonOption = 1.0,
    seed: SeedOption = 1,
    against: AgainstOption = None,
    quick: QuickOption = False,
) -> Trial:
    """Averaging (Rinott et al. 2.2): one count asked in other words, and as sums of regrouped parts."""
    from discreet_studies.attacks.averaging_trial import AveragingTrial

    return AveragingTrial(
        people or (4_000 if quick else 36_000),
        targets or (100 if quick else 600),
        ways or (8 if quick else 64),
        epsilon,
        seed,
        _protections(against),
    )


@_attack
def versions(
    people: PeopleOption = None,
    targets: TargetsOption = None,
    epsilon: EpsilonOption = 1.0,
    seed: SeedOption = 1,
    quick: QuickOption = False,
) -> Trial:
    """Two versions: the same tables before and after one person of every workplace was removed."""
    from discreet_studies.attacks.versions_trial import VersionsTrial

    return VersionsTrial(
        people or (1_600 if quick else 8_000),
        targets or (40 if quick else 200),
        (1, 2) if quick else (1, 2, 4, 8),
        epsilon,
        seed,
    )


@_attack
def withheld(
    people: PeopleOption = None,
    ways: Annotated[
        int | None, typer.Option(help="In how many ways every table is asked, 1 or more.")
    ] = None,
    variables: Annotated[
        int | None, typer.Option(help="How many variables a table crosses at most, 1 to 3; 2 by default.")
    ] = None,
    rules: Annotated[
        bool,
        typer.Option(
            "--rules", help="Attack every rule set of the demo and of the tests, on invented counties."
        ),
    ] = False,
    seed: SeedOption = 1,
    quick: QuickOption = False,
    plot: PlotOption = None,
) -> Trial:
    """Withheld areas of the demo census: what totals less the areas shown say of them."""
    from discreet_studies.attacks.rule_sets_trial import RuleSetsTrial
    from discreet_studies.attacks.withheld_trial import WithheldTrial

    if rules and (people, variables, plot) != (None, None, None):
        raise BadRequest(
            "--people, --variables and --plot are about the demo census, and not about --rules.",
            "Leave them out, or leave --rules out.",
        )
    return (
        RuleSetsTrial(2 if quick else 20, 1 if ways is None else ways, seed, in_turn=quick)
        if rules
        else WithheldTrial(
            people or (50_000 if quick else 1_500_000),
            (2 if quick else 8) if ways is None else ways,
            seed,
            2 if variables is None else variables,
        )
    )


@_attack
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
    errors: Annotated[
        str,
        typer.Option(
            help="The definition of the printed errors: generalised, or design-effects of version 0.2.0."
        ),
    ] = "generalised",
    outlying: Annotated[
        int | None,
        typer.Option(help="How many surveys are searched for people of unusual weight; 0 for none."),
    ] = None,
    constants: Annotated[
        int | None, typer.Option(help="How many surveys measure what published constants tell; 0 for none.")
    ] = None,
    quick: QuickOption = False,
) -> Trial:
    """Weighted tables: counts from weights and errors, people of unusual weight, and published constants."""
    from discreet_studies.attacks.surveys import FORMS
    from discreet_studies.attacks.weights_trial import WeightsTrial

    named = FORMS if against is None else tuple(word.strip() for word in against.split(","))
    return WeightsTrial(
        2 if surveys is None and quick else 8 if surveys is None else surveys,
        1 if tables is None and quick else 4 if tables is None else tables,
        seed,
        named,
        errors,
        outlying if outlying is not None else 2 if quick else 10,
        20 if quick else 100,
        constants=constants if constants is not None else 3 if quick else 60,
    )


def _protections(against: str | None) -> tuple[str, ...]:
    from discreet.attacks.knowledge import PROTECTIONS

    named = PROTECTIONS if against is None else tuple(word.strip() for word in against.split(","))
    for name in named:
        if name not in PROTECTIONS:
            raise BadRequest(f'There is no protection "{name}".', nearest(name, PROTECTIONS))
    return tuple(name for name in PROTECTIONS if name in named)


def _keeper(context: typer.Context, keep: bool, workspace: Path | None) -> Callable[[dict[str, Any]], None]:
    """What keeps a study in its workspace, or nothing; refused before a long study rather than after it."""
    if not keep:
        if workspace is not None:
            raise BadRequest("An attack opens no workspace.", "Add --keep to keep its result there.")
        return lambda _study: None
    from discreet.workspace.folder_layout import refuse_no_workspace
    from discreet.workspace.measured_attacks import write_attack_result
    from discreet.workspace.options import workspace_folder
    from discreet_studies.attacks.report import headlines

    folder = workspace_folder(workspace)
    refuse_no_workspace(folder)

    def kept(study: dict[str, Any]) -> None:
        path = write_attack_result(folder, study, headlines(study), _command(context))
        print_message(f"Kept: {path}")

    return kept


def _command(context: typer.Context) -> str:
    """The command that repeats the trial, with the options that change it."""
    words = ["discreet", "attack", str(context.info_name)]
    for option in context.command.params:
        value = context.params.get(str(option.name))
        if option.name in _BESIDE or value is None or value is False or value == option.default:
            continue
        words += [option.opts[0], *([] if value is True else [str(value)])]
    return shlex.join(words)
