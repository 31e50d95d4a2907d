"""A paper's reproduction as documents: JSON, and a Markdown page with its tables and pictures."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from discreet_studies.compute import Done
from discreet_studies.exhibit import Effort, Exhibit, Finding, Reading
from discreet_studies.papers import Paper

_VERDICT = {True: "yes", False: "**no**", None: ""}


def document(paper: Paper, done: Sequence[Done], effort: Effort) -> dict[str, Any]:
    """The reproduction as JSON."""
    return {
        "paper": paper.name,
        "title": paper.title,
        "reference": paper.reference,
        "quick": effort.quick,
        "seed": effort.seed,
        "exhibits": [each.exhibit.document() for each in done],
    }


def write(paper: Paper, done: Sequence[Done], effort: Effort, folder: Path) -> list[Path]:
    """Write the JSON, the page and every picture as SVG and PNG; what was written is returned."""
    folder.mkdir(parents=True, exist_ok=True)
    text = json.dumps(document(paper, done, effort), indent=2, ensure_ascii=False, allow_nan=False) + "\n"
    files = {f"{paper.name}.json": text.encode(), f"{paper.name}.md": markdown(paper, done, effort).encode()}
    files |= {f"{each.file}.{kind}": data for each in done for kind, data in each.pictures.items()}
    for name, data in files.items():
        (folder / name).write_bytes(data)
    return [folder / name for name in files]


def markdown(paper: Paper, done: Sequence[Done], effort: Effort) -> str:
    """The page of a paper."""
    agree, differ, _ = (sum(counts) for counts in zip(*(d.exhibit.verdict for d in done), strict=True))
    how = "quick run" if effort.quick else "full run"
    head = [
        f"# {paper.title}",
        f"{paper.reference}. Recomputed by `discreet reproduce {paper.name}` ({how}, seed {effort.seed}): "
        f"{agree + differ:,} printed numbers, {agree:,} agree and {differ:,} do not.",
    ]
    return "\n\n".join([*head, *(section(each) for each in done)]) + "\n"


def section(done: Done) -> str:
    """One exhibit: its picture, what to know, its numbers, and those of other readings."""
    exhibit = done.exhibit
    parts = [f"## {exhibit.name.capitalize()}: {exhibit.title}"]
    if done.pictures:
        parts.append(f"![{exhibit.title}]({done.file}.svg)")
    if exhibit.note:
        parts.append(exhibit.note)
    others = (part for reading in exhibit.readings for part in _reading(reading))
    return "\n\n".join([*parts, table(exhibit), *reasons(exhibit), *others])


def _reading(reading: Reading) -> tuple[str, ...]:
    return f"### {reading.summary}", reading.note, table(reading), *reasons(reading)


def table(exhibit: Exhibit | Reading) -> str:
    """The findings as a Markdown table."""
    lines = ["| number | printed | ours | tolerance | agrees |", "|---|--:|--:|--:|---|"]
    lines += [
        f"| {_cell(f.what)} | {shown_print(f)} | {shown(f.ours)} | {shown(f.tolerance) if f.tolerance else ''} "
        f"| {_VERDICT[f.agrees]} |"
        for f in exhibit.findings
    ]
    return "\n".join(lines)


def reasons(exhibit: Exhibit | Reading) -> list[str]:
    """Why numbers differ, each reason once, with how many numbers it is about."""
    found: dict[str, list[str]] = {}
    for finding in exhibit.findings:
        if finding.agrees is False and finding.why:
            found.setdefault(finding.why, []).append(finding.what)
    return [
        f"- **{whats[0] if len(whats) == 1 else f'{len(whats)} numbers'}**: {why}"
        for why, whats in found.items()
    ]


def shown(number: float) -> str:
    """A number for people: six digits, whole numbers whole.

    >>> shown(35403.218), shown(6.332875385e-07), shown(1500.0), shown(-2030297.09)
    ('35,403.2', '6.33288e-07', '1,500', '-2,030,297')
    """
    if abs(number) >= 1e5:
        return f"{number:,.0f}"
    return f"{number:,.1f}".removesuffix(".0") if abs(number) >= 1e4 else f"{number:,.6g}"


def shown_print(finding: Finding) -> str:
    """The printed number, with the relation that the paper claims."""
    if finding.printed is None:
        return ""
    sign = {"<=": "≤ ", ">=": "≥ "}.get(finding.relation, "")
    return f"{sign}{shown(finding.printed)}"


def _cell(text: str) -> str:
    return text.replace("|", "\\|")
