"""`discreet audit`: the exact guarantee of a noise table file, of any known format."""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from typer import Argument, Option

from discreet.cli.console import emit_json, emit_picture, output, print_text, unframed_table
from discreet.cli.registry import PROTECT, Command
from discreet.cli.shared_options import choose_picture
from discreet.errors import BadRequest
from discreet.model.messages.text import nearest

if TYPE_CHECKING:
    from discreet.noise.table import NoiseTable
    from discreet.privacy import Audit


def audit(
    file: Path = Argument(
        ...,
        help="A noise table in Discreet's JSON or in the format of ONS, tau-Argus, SAS, cellKey or SuperSTAR.",
    ),
    epsilon: float | None = Option(None, "--epsilon", help="Compute delta at this epsilon."),
    delta: float | None = Option(None, "--delta", help="Compute the smallest epsilon for this delta."),
    curve: bool = Option(False, "--curve", help="Compute delta over a range of epsilons."),
    neighbours: str = Option("add-remove", help='"add-remove" or "replace-one".'),
    cells: int = Option(1, help="Number of overlapping cells that count the same person."),
    group: int = Option(1, help="Group size: number of people protected together."),
    population: int | None = Option(None, help="Population size N; warn if delta exceeds 1/N."),
    biased: bool = Option(False, "--biased", help="Accept a table whose noise has a mean other than 0."),
    small_n: int | None = Option(None, help="The setting SmallN of the SuperSTAR server."),
    as_json: bool = Option(False, "--json", help="Print JSON alone on standard output."),
    plot: Path | None = Option(None, help="Write a picture: FILE.svg or FILE.png."),
    picture: str | None = Option(
        None,
        help=(
            "Type of picture: curve (the default), pmf, transition, or quantised (next to the design; Discreet's "
            "JSON only)."
        ),
    ),
) -> None:
    """Audit a noise table exactly: its (epsilon, delta), for all counts and for counts above D."""
    from discreet import privacy
    from discreet.noise.files import read_noise_table
    from discreet.privacy.audit import audit_document, curve_document

    drawn = choose_picture(picture, plot, "curve")
    table = read_noise_table(file, biased=biased or None, small_n=small_n)
    result = privacy.audit(
        table,
        epsilon=epsilon,
        delta=delta,
        population=population,
        neighbours=neighbours,
        cells=cells,
        group=group,
    )
    document = audit_document(result)
    if curve:
        document["curve"] = curve_document(table, result)
    if plot is not None:
        noise_picture(drawn, plot, table, result.epsilon, partial(_design_of, file))
    if as_json:
        emit_json(document)
    else:
        _show(file, table, result, document.get("curve", []))


COMMAND = Command(audit, PROTECT)


def noise_picture(
    picture: str, path: Path, table: NoiseTable, epsilon: float | None, design: Callable[[], dict[int, float]]
) -> None:
    """Draw a noise table; `design` returns the probabilities that `quantised` compares it with."""
    from discreet.pictures import noise_charts as noise

    charts = {
        "curve": lambda: noise.delta_curve(table, epsilon=epsilon),
        "pmf": lambda: noise.pmf(table),
        "transition": lambda: noise.transition(table),
        "quantised": lambda: noise.quantisation_error(table, design()),
    }
    if picture not in charts:
        raise BadRequest(f'There is no picture "{picture}".', nearest(picture, charts))
    emit_picture(charts[picture](), path)


def _design_of(file: Path) -> dict[int, float]:
    from discreet.noise.files.document import design_probabilities

    text = file.read_text(encoding="utf-8-sig")
    if not text.lstrip().startswith("{"):
        raise BadRequest(
            f'"{file.name}" has no design to compare with.',
            "Only Discreet's JSON keeps the designed probabilities.",
        )
    return design_probabilities(json.loads(text))[-1]


def _show(file: Path, table: NoiseTable, result: Audit, points: list[dict[str, Any]]) -> None:
    output.print(
        f"[bold]{file.name}[/]  {len(table.rows)} rows, {table.repeats} repeating, {table.modulus:,} keys"
    )
    many = f", {result.cells} overlapping cells" if result.cells > 1 else ""
    together = f", groups of {result.group}" if result.group > 1 else ""
    bound = "" if result.exact else " (upper bound)"
    query = f"One counting query, {result.neighbours} neighbours{many}{together}{bound}\n"
    output.print(query, highlight=False)
    above = result.above_D
    shown = unframed_table([""], ["all counts", f"counts above D = {above.D}"])
    shown.add_row("epsilon", _number(result.epsilon), _number(above.epsilon))
    shown.add_row("delta", _number(result.delta), _number(above.delta))
    shown.add_row("  smaller | larger count", _number(result.delta_forward), _number(above.delta_forward))
    shown.add_row("  larger | smaller count", _number(result.delta_backward), _number(above.delta_backward))
    shown.add_row("worst pair of counts", _pair(result.worst_pair), _pair(above.worst_pair))
    if result.delta_probabilistic is not None:
        shown.add_row("probabilistic delta", _number(result.delta_probabilistic), "")
    output.print(shown)
    print_text(
        f"\nLarge counts: bias {_number(result.bias)}, variance {_number(result.variance)}, "
        f"entropy {result.entropy:.4g} nats, exact with probability {_number(result.p_exact)}"
    )
    for point in points:
        output.print(f"  epsilon {point['epsilon']:<10.6g} delta {point['delta']:.6g}")
    for sentence in result.notes:
        print_text(f"- {sentence}")
    for problem in result.problems:
        output.print(f"[yellow]![/] {problem}", soft_wrap=True)


def _pair(pair: tuple[int, int] | None) -> str:
    return f"{pair[0]} | {pair[1]}" if pair else "-"


def _number(value: Any) -> str:
    return f"{float(value):.6g}"
