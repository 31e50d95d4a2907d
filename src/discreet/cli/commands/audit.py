"""`discreet audit`: the exact guarantee of a noise table file, of any known format."""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import partial
from math import isfinite, sqrt
from pathlib import Path
from typing import TYPE_CHECKING, Any

from typer import Argument, Option

from discreet.cli.console import emit_json, emit_picture, output, print_text, unframed_table
from discreet.cli.registry import PROTECT, Command
from discreet.cli.shared_options import choose_picture
from discreet.errors import BadRequest
from discreet.model.messages.text import nearest

if TYPE_CHECKING:
    from rich.table import Table

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
    sampling_rate: list[str] = Option(
        [],
        help="Sampling rate of a secret sample, 0.05 or 1/20 (repeat for strata): compute the guarantee for "
        "a person of the population.",
    ),
    sampling: str | None = Option(None, help="poisson (the default), simple or stratified."),
    tables: int | None = Option(
        None,
        help='Compute the joint guarantee of this many overlapping cells under "same people, same number".',
    ),
    prior: list[float] = Option(
        [], help="A reader's prior probability that a person is counted (0.01, 0.1 and 0.5)."
    ),
    classes: int | None = Option(
        None, help="Number of classes of an ordered attribute: compute the guarantee of a policy."
    ),
    step: int = Option(1, help="Number of classes by which a value may move under the policy."),
    cumulative: bool = Option(False, "--cumulative", help='The classes are cumulative, as in "at most 17".'),
    biased: bool = Option(False, "--biased", help="Accept a table whose noise has a mean other than 0."),
    small_n: int | None = Option(None, help="The setting SmallN of the SuperSTAR server."),
    full: bool = Option(False, "--full", help="Print all figures, not one screen."),
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
    change: dict[str, Any] = {"neighbours": neighbours, "cells": cells}
    result = privacy.audit(table, epsilon=epsilon, delta=delta, population=population, group=group, **change)
    document = audit_document(result)
    if curve:
        document["curve"] = curve_document(table, result)
    wish: dict[str, Any] = {"epsilon": result.epsilon} if delta is None else {"delta": delta}
    asked = {
        "population": _population(table, sampling_rate, sampling, wish, change | {"group": group}),
        "tables": _tables(table, tables, wish),
        "policy": _policy(table, classes, step, result.epsilon, cumulative=cumulative),
        "definitions": _definitions(table, prior, result) if full or as_json or prior else None,
    }
    document |= {name: figures for name, figures in asked.items() if figures is not None}
    if plot is not None:
        noise_picture(drawn, plot, table, result.epsilon, partial(_design_of, file))
    if as_json:
        emit_json(document)
    else:
        _show(file, table, result, document, full=full)


COMMAND = Command(audit, PROTECT)


def _population(
    table: NoiseTable, rates: list[str], design: str | None, wish: dict[str, Any], change: dict[str, Any]
) -> dict[str, Any] | None:
    from discreet.privacy.sampling import Sampling, guarantee_document, population_guarantee

    if not rates:
        if design is not None:
            raise BadRequest("--sampling has no rate.", "Add --sampling-rate 0.05.")
        return None
    if change.pop("group") > 1:
        raise BadRequest("A sampling rate is that of one person.", "Leave out --group.")
    drawn = Sampling.of(rates, design or "poisson")
    return guarantee_document(drawn, population_guarantee(table, drawn, **wish, **change))


def _tables(table: NoiseTable, cells: int | None, wish: dict[str, Any]) -> dict[str, Any] | None:
    from discreet.privacy.same_people import same_people, same_people_document

    return None if cells is None else same_people_document(same_people(table, cells, **wish))


def _policy(
    table: NoiseTable, classes: int | None, step: int, epsilon: float, *, cumulative: bool
) -> dict[str, Any] | None:
    from discreet.privacy.other_definitions import Policy, policy_guarantee

    if classes is None:
        if cumulative or step != 1:
            raise BadRequest("A policy needs the number of classes.", "Add --classes 18.")
        return None
    return policy_guarantee(table, Policy(classes, step, cumulative), epsilon)


def _definitions(table: NoiseTable, priors: list[float], result: Audit) -> dict[str, Any]:
    from discreet.privacy import other_definitions as other

    found = other.definitions_document(other.other_definitions(table, priors or other.PRIORS))
    return found | {"attribute": other.attribute_guarantee(table, result.epsilon, cells=result.cells)}


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


def _show(file: Path, table: NoiseTable, result: Audit, document: dict[str, Any], *, full: bool) -> None:
    many = f" in {result.cells} overlapping cells" if result.cells > 1 else ""
    together = f"{result.group} people" if result.group > 1 else "one person"
    how = "replaced" if result.neighbours == "replace-one" else "added or removed"
    bound = "" if result.exact else " (upper bound)"
    print_text(
        f"{file.name} is ({_number(result.epsilon)}, {_number(result.delta)})-differentially private{bound} for "
        f"{together}{many} {how}.\n"
    )
    output.print(_figures(result, full=full))
    for name, sentences in _SECTIONS.items():
        if name in document:
            print_text("")
            for sentence in sentences(document[name]):
                print_text(sentence)
    if full:
        print_text(
            f"\n{len(table.rows)} rows, {table.repeats} repeating, {table.modulus:,} keys. Large counts: bias "
            f"{_number(result.bias)}, variance {_number(result.variance)}, entropy {result.entropy:.4g} nats"
        )
    for point in document.get("curve", []):
        output.print(f"  epsilon {point['epsilon']:<10.6g} delta {point['delta']:.6g}")
    for sentence in result.notes:
        print_text(f"- {sentence}")
    for problem in result.problems:
        output.print(f"[yellow]![/] {problem}", soft_wrap=True)
    if not full:
        print_text("More: --full, --curve, --json.")


def _figures(result: Audit, *, full: bool) -> Table:
    above = result.above_D
    shown = unframed_table([""], ["all counts", f"counts above D = {above.D}"])
    shown.add_row("epsilon", _number(result.epsilon), _number(above.epsilon))
    shown.add_row("delta", _number(result.delta), _number(above.delta))
    if full:
        shown.add_row("  smaller | larger count", _number(result.delta_forward), _number(above.delta_forward))
        shown.add_row(
            "  larger | smaller count", _number(result.delta_backward), _number(above.delta_backward)
        )
    shown.add_row("worst pair of counts", _pair(result.worst_pair), _pair(above.worst_pair))
    if full and result.delta_probabilistic is not None:
        shown.add_row("probabilistic delta", _number(result.delta_probabilistic), "")
    shown.add_row("standard deviation", "", _number(sqrt(result.variance)))
    shown.add_row("exact count shown", "", f"{100 * float(result.p_exact):.3g} %")
    return shown


def _population_sentences(found: dict[str, Any]) -> list[str]:
    kind = "exact" if found["exact"] else "upper bound"
    rates = [
        f"Sampled at {each['rate']}: ({_number(each['epsilon'])}, {_number(each['delta'])}) for a person of the "
        f"population ({kind}; in {_number(each['delta_in'])}, out {_number(each['delta_out'])})."
        for each in found["rates"]
    ]
    return [*rates, "This holds only if:", *(f"- {condition}" for condition in found["conditions"])]


def _tables_sentences(found: dict[str, Any]) -> list[str]:
    different, worst, k = found["different_others"], found["worst"], found["cells"]

    def said(each: dict[str, Any]) -> str:
        bound = "" if each["exact"] else " at most"
        return f"({_number(each['epsilon'])}, {_number(each['delta'])}){bound}"

    sentences = [
        f"{k} cells that all count the person, each with other people: {said(different)} together.",
        f"The worst {k} cells ({worst['described']} such cells, {worst['pairs']} pairs that differ by the person alone): "
        f"{said(worst)}.",
        f"They prove whether the person is there with probability {_number(found['surely'])}: in a pair, different "
        "numbers mean different people.",
    ]
    start = found["unbounded_from"]
    if start is not None:
        sentences.append(
            f"No finite epsilon has delta {_number(found['reference_delta'])} from {start} "
            f"cell{'s' if start > 1 else ''} on."
        )
    return sentences


def _policy_sentences(found: dict[str, Any]) -> list[str]:
    def said(each: dict[str, Any]) -> str:
        return f"delta {_number(each['delta'])}, and ({_number(each['epsilon'])}, {_number(each['least_delta'])})"

    shown = "cumulative classes" if found["cumulative"] else "classes"
    return [
        f"{found['classes']} {shown}, a value moves by at most {found['step']}: {said(found['policy'])}.",
        f"A value may become any other: {said(found['any_value'])}.",
    ]


def _definitions_sentences(found: dict[str, Any]) -> list[str]:
    attribute = found["attribute"]
    renyi = ", ".join(f"{each['order']:g}: {each['divergence']:.4g}" for each in found["renyi"])
    sentences = [
        f"Total variation {_number(found['total_variation'])}; proof of the count with probability "
        f"{_number(found['proof'])}.",
        f"Gaussian dp: mu {_number(found['mu'])}; up to proof {_number(found['mu_up_to_proof'])}.",
        f"zCDP: rho {_number(found['rho'])}; up to proof {_number(found['rho_up_to_proof'])}"
        + (
            f"; {_number(found['ideal_rho'])} for the untruncated distribution, at distance "
            f"{_number(found['distance_to_ideal'])}."
            if found["ideal_rho"] is not None
            else "."
        ),
        f"Renyi divergence up to proof, by order: {renyi}.",
        f"One attribute of a person changes ({attribute['cells']} and {attribute['cells']} cells): delta "
        f"{_number(attribute['delta'])}, and ({_number(attribute['epsilon'])}, {_number(attribute['least_delta'])}).",
    ]
    sentences += [
        f"A reader with prior {each['prior']:g} comes to believe between {each['smallest']:.4g} and {each['largest']:.4g}, "
        f"and guesses right with probability {each['best_guess']:.4g} at most."
        for each in found["posteriors"]
    ]
    return sentences


_SECTIONS: dict[str, Callable[[dict[str, Any]], list[str]]] = {
    "population": _population_sentences,
    "tables": _tables_sentences,
    "policy": _policy_sentences,
    "definitions": _definitions_sentences,
}


def _pair(pair: tuple[int, int] | None) -> str:
    return f"{pair[0]} | {pair[1]}" if pair else "-"


def _number(value: Any) -> str:
    return "infinite" if value is None or not isfinite(value) else f"{float(value):.6g}"
