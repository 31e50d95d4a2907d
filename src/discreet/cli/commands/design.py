"""`discreet design`: a noise table with its exact guarantee, from a noise family and its parameters.

The parameters of all noise families are options of the command, made from the registry when it is parsed. Families with a
parameter of the same name share one option. `discreet design compare` compares families at one epsilon and delta.
"""

from __future__ import annotations

import inspect
import json
from dataclasses import asdict
from math import isfinite
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import typer
from rich.table import Column, Table
from typer.core import TyperCommand

from discreet.cli.console import emit_json, emit_picture, output, print_message, print_text, unframed_table
from discreet.cli.registry import PROTECT, Command
from discreet.cli.shared_options import choose_picture
from discreet.errors import BadRequest

if TYPE_CHECKING:
    from discreet.noise.design_report import Side
    from discreet.noise.family import Parameter
    from discreet.noise.ideal_distribution import IdealTable
    from discreet.noise.table import NoiseTable
    from discreet.privacy.sampling import Sampling

#: The command's own options, which also say where to audit a family that has no such parameter.
_AUDIT_OPTIONS = ("epsilon", "delta")
_PARAMETERS = "discreet.design.wishes"
COMPARE = "`compare`: all families at the same epsilon and delta."


class DesignCommand(TyperCommand):
    """The command with one option per parameter of a family."""

    def get_params(self, ctx: Any) -> list[Any]:
        """The options of the command, then those of the families; the help of the argument lists the families."""
        from discreet.noise.families import families

        own: list[Any] = super().get_params(ctx)
        family = next(each for each in own if each.name == "family")
        family.help = f"{', '.join(each.name for each in families())}; or {COMPARE}"
        return [*own, *_family_options()]


def _family_options() -> list[Any]:
    """Let Typer make the options from a function with these parameters."""
    from discreet.noise.families import families

    uses: dict[str, list[tuple[str, Parameter]]] = {}
    for family in families():
        for parameter in family.parameters:
            uses.setdefault(parameter.name, []).append((family.name, parameter))

    def parameters() -> None:
        """Carries the signature."""

    made = [_family_option(name, users) for name, users in uses.items() if name not in _AUDIT_OPTIONS]
    vars(parameters)["__signature__"] = inspect.Signature(made)
    app = typer.Typer(add_completion=False)
    app.command()(parameters)
    return list(typer.main.get_command(app).params)


def _family_option(name: str, users: list[tuple[str, Parameter]]) -> inspect.Parameter:
    kind = users[0][1].kind
    word = name.replace("_", "-")
    meanings: dict[str, list[str]] = {}
    for family, parameter in users:
        meanings.setdefault(parameter.meaning, []).append(family)
    listed = "; ".join(f"{meaning} ({', '.join(families)})" for meaning, families in meanings.items())
    option = typer.Option(
        None,
        f"--{word}/--no-{word}" if kind is bool else f"--{word}",
        help=f"{listed[0].upper()}{listed[1:]}.",
        callback=_parse_tables if kind is dict else _store,
        expose_value=False,
    )
    annotation = (str if kind is dict else kind) | None
    return inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=option, annotation=annotation)


def _store(context: typer.Context, option: typer.CallbackParam, value: Any) -> None:
    context.meta.setdefault(_PARAMETERS, {})[option.name] = value


def _parse_tables(context: typer.Context, option: typer.CallbackParam, value: str | None) -> None:
    try:
        _store(context, option, None if value is None else json.loads(value))
    except (ValueError, RecursionError):  # an integer may have too many digits
        raise BadRequest(
            f"--{option.name} is {value!r}.",
            """Write a JSON list in quotes, as in '[{"from": 0, "D": 5, "V": 3}, {"from": 1000, "D": 15, "V": 9}]'.""",
        ) from None


#: What a comparison takes beside its own options.
_COMPARED = ("epsilon", "delta", "m", "width", "D", "js", "V")


def _compare_families(
    given: dict[str, Any], match: str, noise: Path | None, outputs: _Outputs, drawn: str
) -> None:
    from discreet.noise.design_report import compare

    epsilon = given.get("epsilon")
    if epsilon is None:
        raise BadRequest(
            "`compare` needs --epsilon, and --delta or --m.",
            "Give both, as in --epsilon 1 --delta 0.0001.",
        )
    if match not in {"closest", "smallest"}:
        raise BadRequest(f'--match is "{match}".', "Write closest or smallest.")
    if drawn != "frontier":
        raise BadRequest(f'A comparison has no picture "{drawn}".', "Write --picture frontier.")
    wish = {name: given[name] for name in ("delta", "m", "width") if name in given}
    common, sides = compare(epsilon, **wish, match="closest" if match == "closest" else "smallest")
    document = {"epsilon": epsilon, "delta": common, "match": match, "families": list(map(asdict, sides))}
    if noise is not None or outputs.plot is not None or {"D", "js", "V"} & given.keys():
        document["frontier"] = _frontier(epsilon, given, noise, outputs.plot)
    if outputs.out is not None:
        emit_json(document, outputs.out)
    if outputs.as_json:
        emit_json(document)
    elif outputs.out is None:
        _show_comparison(epsilon, common, sides, full=outputs.full)
        if "frontier" in document:
            _show_frontier(document["frontier"], full=outputs.full)
        if not outputs.full:
            print_text("More: --full, --json, --out FILE.")


def _frontier(epsilon: float, given: dict[str, Any], noise: Path | None, plot: Path | None) -> dict[str, Any]:
    from discreet.noise.files import read_noise_table
    from discreet.privacy import frontier as known

    defaults = {"D": known.DEFAULT_D, "js": known.DEFAULT_JS, "V": known.DEFAULT_V}
    D, js, V = (given.get(name, default) for name, default in defaults.items())
    own = {} if noise is None else {noise.name: read_noise_table(noise)}
    lines = {
        known.SMALL_COUNTS: known.frontier(epsilon, D, js),
        known.NEGATIVE: known.frontier(epsilon, D, negative=True),
    }
    tables = known.compared_tables(epsilon, D, js, V, own)
    if plot is not None:
        from discreet.pictures.noise_charts import frontier_chart

        emit_picture(frontier_chart(epsilon, lines, tables), plot)
    return {
        "D": D,
        "js": js,
        "lines": {name: list(map(asdict, line)) for name, line in lines.items()},
        "tables": list(map(asdict, tables)),
    }


def _show_frontier(found: dict[str, Any], *, full: bool) -> None:
    columns = ["delta", "largest variance", "of large counts"]
    shown = _numbers_table(f"Least variance, D = {found['D']}, js = {found['js']}", "table", columns)

    def add(name: str, each: dict[str, Any]) -> None:
        figures = ("delta", "variance", "large_count_variance")
        shown.add_row(f"{name} ({each['support']})", *(f"{each[figure]:.4g}" for figure in figures))

    for table in found["tables"]:
        add(table["name"], table)
    for line in found["lines"].values():
        for each in line if full else line[:1]:
            add("least variance", each)
    output.print(shown)


def _show_comparison(epsilon: float, delta: float, sides: tuple[Side, ...], *, full: bool) -> None:
    """The support of each family and, in full, how close to the truth it releases (Rinott's Table 2)."""
    needed = ["support", "delta", "variance", "E|noise|", "P(exact)"]
    needs = _numbers_table(f"At epsilon {epsilon:g} and delta {delta:.4g}", "family", needed)
    within = ["count", *(f"±{k}" for k in range(len(sides[0].within[0])))]
    near = _numbers_table("P(within ±k of the count), negative releases set to zero", "family", within)
    for side in sides:
        width = side.parameters.get("m", side.parameters.get("D"))
        figures = (f"{side.delta:.3g}", f"{side.variance:.4g}", f"{side.absolute:.4g}", f"{side.p_exact:.4f}")
        needs.add_row(side.family, f"±{width}", *figures)
        for count, line in enumerate(side.within):
            label = f"{count}+" if count == len(side.within) - 1 else str(count)
            near.add_row(side.family if count == 0 else "", label, *(f"{p:.2f}" for p in line))
    output.print(needs)
    if full:
        output.print(near)


def _numbers_table(title: str, label: str | None, numbers: list[str]) -> Table:
    columns = (Column(name, justify="right") for name in numbers)
    return Table(*([label] if label else []), *columns, title=title, box=None)


#: Notes that fit a screen; the JSON has all of them.
MOST_NOTES, LONGEST_NOTE = 4, 160


def design(
    context: typer.Context,
    family: str = typer.Argument(help=f"A noise family, or {COMPARE}"),
    epsilon: float | None = typer.Option(
        None,
        help=(
            "Privacy loss of one cell. For a family without this parameter: the epsilon at which delta is "
            "computed."
        ),
    ),
    delta: float | None = typer.Option(
        None, help="Probability that the loss exceeds epsilon; determines m or D."
    ),
    match: str | None = typer.Option(
        None, help="For compare: normal noise with the closest m (the default) or the smallest."
    ),
    modulus: str = typer.Option("2^32", help="Number of keys: 2^8, 2^12, 2^16, 10^8, 2^32, 2^64 or any."),
    quantise: str | None = typer.Option(None, help="exact or ceiling; each family has a default."),
    out: Path | None = typer.Option(None, help="Write the JSON to this file."),
    as_json: bool = typer.Option(False, "--json", help="Print the JSON."),
    full: bool = typer.Option(
        False, "--full", "--all", help="Print every value of the distribution and all notes."
    ),
    sampling_rate: str | None = typer.Option(
        None,
        help="Sampling rate of a secret sample, 0.05 or 1/20: epsilon and delta are then those of a person of "
        "the population.",
    ),
    noise: Path | None = typer.Option(None, help="compare: a noise table of your own, any format."),
    plot: Path | None = typer.Option(None, help="Write a picture: FILE.svg or FILE.png."),
    picture: str | None = typer.Option(
        None,
        help="Type of picture: pmf (the default), transition, curve or quantised; for compare: frontier.",
    ),
) -> None:
    """Design a noise table and audit its exact privacy guarantee."""
    drawn = "" if family == "compare" else choose_picture(picture, plot, "pmf")
    every = {"epsilon": epsilon, "delta": delta, **context.meta.get(_PARAMETERS, {})}
    given = {name: value for name, value in every.items() if value is not None}
    if family == "compare":
        wishes = {*given, *({"sampling_rate"} if sampling_rate else ())}
        ignored = sorted(wishes - {*_COMPARED})
        if ignored:
            raise BadRequest(
                f"`compare` does not take --{ignored[0].replace('_', '-')}.",
                "Give --epsilon with --delta or --m, and --match.",
            )
        outputs = _Outputs(out, plot, as_json, full)
        _compare_families(given, match or "closest", noise, outputs, picture or "frontier")
        return
    if noise is not None:
        raise BadRequest("--noise belongs to `discreet design compare`.", "Leave it out.")
    if match is not None:
        raise BadRequest("--match belongs to `discreet design compare`.", "Leave it out.")
    found = make_design(family, given, parse_modulus(modulus), quantise, sampling_rate)
    if plot is not None:
        from discreet.cli.commands.audit import noise_picture

        values, probabilities = found.ideal.last.values, found.ideal.last.probabilities
        ideal = dict(zip(values, probabilities, strict=True))
        noise_picture(drawn, plot, found.table, found.document["privacy"]["epsilon"], lambda: ideal)
    if out is not None:
        emit_json(found.document, out)
    if as_json:
        emit_json(found.document)
    elif out is None:
        _show(found.document, full=full)


COMMAND = Command(design, PROTECT, cls=DesignCommand)


class _Outputs(NamedTuple):
    """Where a document goes."""

    out: Path | None
    plot: Path | None
    as_json: bool
    full: bool


class Designed(NamedTuple):
    """A design, its noise table, and the document of both."""

    ideal: IdealTable
    table: NoiseTable
    document: dict[str, Any]


def make_design(
    family: str, given: dict[str, Any], modulus: int, rounding: str | None, sampling_rate: str | None = None
) -> Designed:
    """The design, its integers, their exact guarantee and, where the family has one, the optimum for comparison.

    With a sampling rate, epsilon and delta are those of a person of the population; the sample's follow from them.
    """
    from discreet import __version__
    from discreet.noise import families
    from discreet.noise.design_report import design_document
    from discreet.noise.files.document import FORMAT, VERSION
    from discreet.noise.quantise import quantise
    from discreet.noise.table import content_hash

    chosen = families.family(family)
    wished, sampled = given, None
    if sampling_rate is not None:
        from discreet.privacy.sampling import Sampling

        sampled = Sampling.of([sampling_rate])
        given = _within_sample(given, sampled)
    # An epsilon or delta that the family does not have says where to audit.
    parameters = {k: v for k, v in given.items() if k in chosen.names() or k not in _AUDIT_OPTIONS}
    ideal = families.ideal(family, parameters, modulus)
    table = quantise(ideal, modulus, rounding or chosen.rounding)
    document = design_document(ideal, table)
    notes = document.pop("notes")
    document["privacy"] = _privacy(table, given.get("epsilon"), given.get("delta"))
    if sampled is not None:
        document["population"] = _population(table, sampled, wished)
    paper = document["quantisation"].get("paper")
    if paper is not None and paper["epsilon"] is not None:
        # The same ε^Q, both directions and every release: what the paper's δ^Q should have been.
        exact = _privacy(table, max(paper["epsilon"], 0.0), None)
        document["quantisation"]["exact"] = {"epsilon": exact["epsilon"], "delta": exact["delta"]}
    if chosen.alternative is not None:
        document["alternative"] = chosen.alternative(ideal)
    # Format, program and a checksum of the integers validate the file when it is parsed.
    document |= {"notes": notes, "format": FORMAT, "version": VERSION}
    document |= {"provenance": {"program": f"discreet {__version__}"}, "content_sha256": content_hash(table)}
    return Designed(ideal, table, document)


def _within_sample(given: dict[str, Any], sampled: Sampling) -> dict[str, Any]:
    from discreet.privacy.sampling import sample_terms

    if "epsilon" not in given:
        raise BadRequest(
            "A sampling rate needs a wish for the population.", "Add --epsilon, and --delta if any."
        )
    epsilon, delta = sample_terms(given["epsilon"], given.get("delta", 0.0), sampled.largest)
    return given | {"epsilon": epsilon} | ({"delta": delta} if "delta" in given else {})


def _population(table: NoiseTable, sampled: Sampling, wished: dict[str, Any]) -> dict[str, Any]:
    from discreet.privacy.sampling import guarantee_document, population_guarantee

    return guarantee_document(sampled, population_guarantee(table, sampled, epsilon=wished["epsilon"]))


def _privacy(table: NoiseTable, epsilon: float | None, delta: float | None) -> dict[str, Any]:
    from discreet.privacy import audit

    found = audit(table, epsilon=epsilon, delta=delta if epsilon is None else None)
    return {
        "neighbours": found.neighbours,
        # JSON has no infinity: an unbounded epsilon is null.
        "epsilon": float(found.epsilon) if isfinite(found.epsilon) else None,
        "delta": float(found.delta),
        "delta_forward": float(found.delta_forward),
        "delta_backward": float(found.delta_backward),
        "worst_pair": None if found.worst_pair is None else list(found.worst_pair),
    }


def parse_modulus(text: str) -> int:
    """Parse a number of keys: 4096, 2^32, 2**32 or 10^8.

    >>> parse_modulus("2^16"), parse_modulus("4096")
    (65536, 4096)
    """
    base, _, power = text.replace("**", "^").partition("^")
    try:
        number = int(base) ** int(power) if power and int(power) <= 64 else int(base) if not power else 0
    except ValueError:
        number = 0
    if not 1 <= number <= 2**64:
        raise BadRequest(f'"{text}" is not a valid modulus.', "Write 4096, 2^32 or 10^8; at most 2^64.")
    return number


def _show(document: dict[str, Any], *, full: bool) -> None:
    row, moments, promise = document["rows"][-1], document["moments"], document["privacy"]
    parameters = ", ".join(f"{key} = {_short(value)}" for key, value in document["parameters"].items())
    exact = dict(zip(row["values"], row["probabilities"], strict=True)).get(0, 0.0)
    print_text(
        f"{document['family']} ({parameters}) is ({_short(promise['epsilon'])}, {_short(promise['delta'])})-differentially "
        "private for one cell, one person added or removed."
    )
    if "population" in document:
        found = document["population"]
        print_text(
            f"Sampled at {found['rate']} in secret: ({_short(found['epsilon'])}, {_short(found['delta'])}) for a person of "
            "the population; `discreet audit --sampling-rate` states the conditions."
        )
    figures = unframed_table([""], ["large counts"])
    figures.add_row("noise", f"{row['values'][0]:+,d} to {row['values'][-1]:+,d}")
    figures.add_row("standard deviation", _short(moments["variance"] ** 0.5))
    figures.add_row("bias", f"{moments['bias']:.3g}")
    figures.add_row("exact count shown", f"{100 * exact:.3g} %")
    figures.add_row("worst pair of counts", str(promise["worst_pair"]))
    output.print(figures)
    if full:
        shown = _numbers_table("Noise of large counts", None, ["noise", "probability", "threshold"])
        for value, probability, threshold in zip(*_columns(row), strict=True):
            shown.add_row(f"{value:+d}", f"{probability:.9f}", str(threshold))
        output.print(shown)
        print_text(
            f"variance {moments['variance']:.6g}, entropy {moments['entropy']:.6g}; {document['modulus']} keys, "
            f"{len(document['rows'])} row(s)"
        )
    notes = document["notes"]
    for note in notes if full else notes[:MOST_NOTES]:
        print_message(
            note if full or len(note) <= LONGEST_NOTE else f"{note[:LONGEST_NOTE].rsplit(' ', 1)[0]} ..."
        )
    if not full:
        print_text("More: --full, --json, --out FILE.")


def _columns(row: dict[str, Any]) -> tuple[list[Any], ...]:
    return row["values"], row["probabilities"], row["thresholds"]


def _short(value: Any) -> str:
    return "infinite" if value is None else f"{value:.6g}" if isinstance(value, float) else str(value)
