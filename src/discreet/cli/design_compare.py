"""`discreet design compare`: families side by side at one epsilon and delta."""

from __future__ import annotations

from typing import TYPE_CHECKING

from discreet.cli.console import emit_json, output
from discreet.errors import BadRequest

if TYPE_CHECKING:
    from pathlib import Path

    from discreet.noise.side_by_side import Side


def compare_families(
    epsilon: float | None, delta: float | None, m: int | None, match: str, out: Path | None, *, as_json: bool
) -> None:
    """Families side by side at one ε and δ."""
    from dataclasses import asdict

    from discreet.noise.side_by_side import compare

    if epsilon is None:
        raise BadRequest(
            "A comparison needs --epsilon, and --delta or --m.",
            "Give both, as in --epsilon 1 --delta 0.0001.",
        )
    if match not in {"closest", "smallest"}:
        raise BadRequest(f'--match is "{match}".', "Write closest or smallest.")
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
