"""`discreet design`: from a family and its parameters to a noise table with its exact account."""

from __future__ import annotations

from pathlib import Path  # noqa: TC003 - Typer reads the annotation
from typing import TYPE_CHECKING, Any

import typer

from discreet.cli.console import emit_json, messages, output
from discreet.errors import BadRequest

if TYPE_CHECKING:
    from discreet.mechanism.noise_table import NoiseTable
    from discreet.mechanism.side_by_side import Side

_FAMILIES = "laplace, normal, hellinger, maxent, abs, pram, dropadd, gaussian"


def design(
    family: str = typer.Argument(
        help=f"{_FAMILIES}; or `compare`, which sets families side by side at one epsilon and delta."
    ),
    epsilon: float | None = typer.Option(None, help="Privacy loss of one cell; for maxent, where to audit."),
    delta: float | None = typer.Option(None, help="Probability that epsilon may fail; finds m or D."),
    m: int | None = typer.Option(None, help="Largest change (laplace, normal, pram, dropadd, gaussian)."),
    D: int | None = typer.Option(None, "--D", help="Largest change (maxent, abs)."),
    V: float | None = typer.Option(None, "--V", help="Variance (maxent, gaussian)."),
    js: int | None = typer.Option(None, help="Released counts are never 1..js (maxent)."),
    pstay: float | None = typer.Option(None, help="Least probability of no change (maxent)."),
    equality: bool = typer.Option(False, "--equality", help="Every row has variance V exactly (maxent)."),
    symmetric: bool = typer.Option(False, "--symmetric", help="One symmetric row for every count (maxent)."),
    monotone: bool = typer.Option(True, help="Probabilities rise towards no change from the left (maxent)."),
    relax_pstay: bool = typer.Option(
        False, "--relax-pstay", help="Lower pstay where V is missed, and say so (maxent)."
    ),
    largest: int | None = typer.Option(None, help="Largest count with a row of its own (hellinger)."),
    top: int | None = typer.Option(None, help="Largest released value (hellinger)."),
    percent: float | None = typer.Option(None, help="q as a share of the count (dropadd)."),
    sign: str | None = typer.Option(None, help="printed or invariant (pram)."),
    match: str = typer.Option("closest", help="compare: normal noise of the closest or the smallest m."),
    modulus: str = typer.Option("2^32", help="Number of keys: 2^8, 2^12, 2^16, 10^8, 2^32, 2^64 or any."),
    quantise: str | None = typer.Option(None, help="exact or ceiling; abs uses ceiling by default."),
    out: Path | None = typer.Option(None, help="Write the JSON to this file."),
    as_json: bool = typer.Option(False, "--json", help="Print the JSON."),
) -> None:
    """Design a noise table and audit the integers that ship."""
    if family == "compare":
        _compare(epsilon, delta, m, match, out, as_json=as_json)
        return
    wishes: dict[str, Any] = {
        "epsilon": epsilon,
        "delta": delta,
        "m": m,
        "D": D,
        "V": V,
        "js": js,
        "pstay": pstay,
        "equality": equality or None,
        "symmetric": symmetric or None,
        "monotone": None if monotone else False,
        "relax_pstay": relax_pstay or None,
        "largest": largest,
        "top": top,
        "percent": percent,
        "sign": sign,
    }
    given = {name: value for name, value in wishes.items() if value is not None}
    document = designed(family, given, read_modulus(modulus), quantise)
    if out is not None:
        emit_json(document, out)
    if as_json:
        emit_json(document)
    elif out is None:
        _show(document)


def designed(family: str, given: dict[str, Any], modulus: int, rule: str | None) -> dict[str, Any]:
    """The whole document: the design, its integers, their exact account and, for abs, the optimum."""
    from discreet.mechanism import families
    from discreet.mechanism.describe import abs_alternative, describe
    from discreet.mechanism.quantise import quantise

    chosen = families.family(family)
    # An epsilon or delta that the family does not have says where to audit.
    parameters = {k: v for k, v in given.items() if k in chosen.names() or k not in {"epsilon", "delta"}}
    ideal = families.ideal(family, parameters, modulus)
    table = quantise(ideal, modulus, rule or chosen.default_rule)
    document = describe(ideal, table)
    notes = document.pop("notes")
    document["privacy"] = privacy(table, given.get("epsilon"), given.get("delta"))
    if family == "abs":
        document["alternative"] = abs_alternative(ideal)
    return document | {"notes": notes}


def privacy(table: NoiseTable, epsilon: float | None, delta: float | None) -> dict[str, Any]:
    """The exact account of the integers, at the given ε, or at the ε that a δ asks for."""
    from discreet.accounting import audit

    found = audit(table, epsilon=epsilon, delta=delta if epsilon is None else None)
    return {
        "neighbours": found.neighbours,
        "epsilon": _finite(found.epsilon),
        "delta": float(found.delta),
        "delta_forward": float(found.delta_forward),
        "delta_backward": float(found.delta_backward),
        "worst_pair": None if found.worst_pair is None else list(found.worst_pair),
    }


def _finite(number: float) -> float | None:
    """JSON has no infinity: an ε that no finite number bounds is null."""
    return float(number) if abs(number) < float("inf") else None


def read_modulus(text: str) -> int:
    """A number of keys: 4096, 2^32, 2**32 or 10^8.

    >>> read_modulus("2^16"), read_modulus("4096")
    (65536, 4096)
    """
    base, _, power = text.replace("**", "^").partition("^")
    try:
        number = int(base) ** int(power) if power and int(power) <= 64 else int(base) if not power else 0
    except ValueError:
        number = 0
    if not 1 <= number <= 2**64:
        raise BadRequest(f'The modulus "{text}" is not usable.', "Write 4096, 2^32 or 10^8; at most 2^64.")
    return number


def _show(document: dict[str, Any]) -> None:
    """The design for people: the last row, the moments, the promise and the notes."""
    from rich.table import Table

    row, modulus = document["rows"][-1], document["modulus"]
    settings = ", ".join(f"{key} = {_short(value)}" for key, value in document["parameters"].items())
    rows = len(document["rows"])
    output.print(f"[bold]{document['family']}[/bold] {settings}; {modulus} keys, {rows} row(s)")
    shown = Table(title="Noise of large counts", box=None)
    for heading in ("noise", "probability", "threshold"):
        shown.add_column(heading, justify="right")
    for value, probability, threshold in zip(
        row["values"], row["probabilities"], row["thresholds"], strict=True
    ):
        shown.add_row(f"{value:+d}", f"{probability:.9f}", str(threshold))
    output.print(shown)
    moments, promise = document["moments"], document["privacy"]
    output.print(
        f"bias {moments['bias']:.3g}, variance {moments['variance']:.6g}, entropy {moments['entropy']:.6g}"
    )
    output.print(
        f"({_short(promise['epsilon'])}, {_short(promise['delta'])})-DP for one cell, neighbours "
        f"{promise['neighbours']}; worst pair of counts {promise['worst_pair']}"
    )
    for note in document["notes"]:
        messages.print(note, soft_wrap=True)


def _short(value: Any) -> str:
    return f"{value:.6g}" if isinstance(value, float) else str(value)


def _compare(
    epsilon: float | None, delta: float | None, m: int | None, match: str, out: Path | None, *, as_json: bool
) -> None:
    """Families side by side at one ε and δ."""
    from dataclasses import asdict

    from discreet.mechanism.side_by_side import compare

    if epsilon is None:
        raise BadRequest("A comparison needs --epsilon, and --delta or --m.")
    if match not in {"closest", "smallest"}:
        raise BadRequest(f'--match is "{match}"; it must be closest or smallest.')
    common, sides = compare(epsilon, delta=delta, m=m, match="closest" if match == "closest" else "smallest")
    document = {"epsilon": epsilon, "delta": common, "match": match, "families": [asdict(s) for s in sides]}
    if out is not None:
        emit_json(document, out)
    if as_json:
        emit_json(document)
    elif out is None:
        _show_comparison(epsilon, common, sides)


def _show_comparison(epsilon: float, delta: float, sides: tuple[Side, ...]) -> None:
    """What each family needs, then how near to the truth each releases (Rinott's Table 2)."""
    from rich.table import Table

    needs = Table(title=f"At epsilon {epsilon:g} and delta {delta:.4g}", box=None)
    needs.add_column("family")
    for heading in ("support", "delta", "variance", "E|noise|", "P(exact)"):
        needs.add_column(heading, justify="right")
    near = Table(title="P(within ±k of the count), negative releases set to zero", box=None)
    near.add_column("family")
    for heading in ("count", *(f"±{k}" for k in range(len(sides[0].within[0])))):
        near.add_column(heading, justify="right")
    for side in sides:
        width = side.parameters.get("m", side.parameters.get("D"))
        figures = (f"{side.delta:.3g}", f"{side.variance:.4g}", f"{side.absolute:.4g}", f"{side.p_exact:.4f}")
        needs.add_row(side.family, f"±{width}", *figures)
        for count, line in enumerate(side.within):
            label = f"{count}+" if count == len(side.within) - 1 else str(count)
            near.add_row(side.family if count == 0 else "", label, *(f"{p:.2f}" for p in line))
    output.print(needs)
    output.print(near)
