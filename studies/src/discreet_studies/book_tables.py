"""The tables of the methods book: from a command's JSON to Markdown.

Each function takes the documents of one or several runs of a command and shows what a chapter is about; nothing
is computed here that a reader could not compute from the JSON.
"""

import re
from collections.abc import Callable, Iterable, Sequence
from math import exp
from typing import Any

from discreet_studies.findings_page import shown

#: What the runs of a command printed, each with the command itself.
Documents = Sequence[dict[str, Any]]

#: The protections in a reader's words.
_WORDS = {
    "cellkey": "cell key",
    "participants-and-description": "cell key, question in the key",
    "dp": "differential privacy",
}
#: How an argument of composition is called, and what it does.
_ARGUMENTS = {
    "basic": "adding up",
    "exact": "exact law of all cells",
    "pld": "privacy-loss distribution",
    "zcdp": "concentrated privacy (zCDP)",
    "gaussian": "Gaussian trade-off",
}
_SIGNS = {"<=": "≤ ", ">=": "≥ "}
_VERDICT = {True: "yes", False: "**no**", None: ""}
_TABLE_3 = re.compile(r"ε = (\S+), m = (\d+), independent, (Original|Naive|LR test): % p ≤ 0.05")


def grid(header: Sequence[str], rows: Iterable[Sequence[str]], words: int = 1) -> str:
    """A Markdown table whose first columns hold words and the others numbers.

    >>> print(grid(["a", "b"], [["x", "1"]]))
    | a | b |
    |---|--:|
    | x | 1 |
    """
    rule = ["---" if place < words else "--:" for place in range(len(header))]
    lines = [f"| {' | '.join(header)} |", f"|{'|'.join(rule)}|"]
    return "\n".join([*lines, *(f"| {' | '.join(row)} |" for row in rows)])


def percent(share: float, digits: int = 0) -> str:
    """A share for people.

    >>> percent(0.9405), percent(0.0004, 1)
    ('94 %', '0.0 %')
    """
    return f"{100 * share:.{digits}f} %"


def small(number: float) -> str:
    """A probability or an epsilon in three digits.

    >>> small(0.265941), small(2.09806e-05), small(1.0)
    ('0.266', '2.1e-05', '1')
    """
    return f"{number:.3g}"


def bob(documents: Documents) -> str:
    """Right answers by pairs of tables, one column a protection."""
    (study,) = documents
    results = [study["baseline"], *study["results"]]
    steps = [place for place, point in enumerate(results[0]["curve"]) if _power_of_two(point["pairs"])]
    header = [
        "pairs of tables",
        *(_plain(each["protection"]) for each in results),
        "what ε allows",
        "proofs under cell key",
    ]
    rows = []
    for step in steps:
        points = {each["protection"]: each["curve"][step] for each in results}
        proofs = f"{points['cellkey']['certain']:,} of {study['targets']:,}"
        shares = [percent(point["success"]) for point in points.values()]
        rows.append(
            [str(results[0]["curve"][step]["pairs"]), *shares, percent(points["dp"]["bound"]), proofs]
        )
    return grid(header, rows)


def averaging(documents: Documents) -> str:
    """The typical error of a count by ways of asking, two columns a protection."""
    (study,) = documents
    results, kinds = study["results"], list(study["results"][0]["curves"])
    header = [
        "ways of asking",
        *(f"{_plain(each['protection'])}, {kind}" for each in results for kind in kinds),
    ]
    curves = [each["curves"][kind] for each in results for kind in kinds]
    steps = [place for place, point in enumerate(curves[0]) if _power_of_two(point["ways"])]
    rows = [
        [str(curves[0][step]["ways"]), *(f"{_at(curve, step)['error']:.2f}" for curve in curves)]
        for step in steps
    ]
    return grid(header, rows)


def noise(documents: Documents) -> str:
    """How often a small true count is released as which number."""
    (design,) = documents
    rows = [_distribution(design, count) for count in range(5)]
    released = sorted({count + value for count, distribution in enumerate(rows) for value in distribution})
    header = ["true count", *(f"shown {number}" for number in released)]
    lines = (
        [
            str(count),
            *(
                percent(distribution[number - count]) if distribution.get(number - count) else ""
                for number in released
            ),
        ]
        for count, distribution in enumerate(rows)
    )
    return grid(header, lines)


def audit(documents: Documents) -> str:
    """The exact promise for all counts and for counts above D, one line a run."""
    header = ["ε", "δ, worst pair of counts", "that pair", f"δ, counts above {documents[0]['above_D']['D']}"]
    rows = (
        [
            small(each["epsilon"]),
            small(each["delta"]),
            _pair(each["worst_pair"]),
            small(each["above_D"]["delta"]),
        ]
        for each in documents
    )
    return grid(header, rows, words=0)


def composition(documents: Documents) -> str:
    """What all tables of a dataset promise together, by every argument that applies."""
    header = ["dataset", "tables", "ε of each", "noise on average", "argument", "ε together", "δ together"]
    rows = []
    for each in documents:
        smallest = min(each["tables"], key=lambda table: table["epsilon"])
        plan = [_subject(each), str(each["d"]), small(smallest["epsilon"]), _around(smallest)]
        rows += [
            [*plan, _ARGUMENTS[name], small(figure["epsilon"]), small(figure["delta"])]
            for name, figure in each["total"].items()
        ]
    return grid(header, rows)


def epsilons(documents: Documents) -> str:
    """What an epsilon allows to learn, and what its noise does to one count."""
    header = ["ε", "largest factor e^ε", "50 % sure becomes at most", "1 % sure becomes at most"]
    header += ["noise on average", "19 of 20 counts within", "exact count shown"]
    return grid(header, map(_epsilon_row, documents), words=0)


def _epsilon_row(design: Any) -> list[str]:
    factor = exp(design["parameters"]["epsilon"])
    distribution = _distribution(design, 0)
    reach = next(
        k for k in range(len(distribution)) if sum(p for z, p in distribution.items() if abs(z) <= k) >= 0.95
    )
    learnt = [percent(factor * prior / (factor * prior + 1 - prior), 1) for prior in (0.5, 0.01)]
    mean = sum(abs(z) * p for z, p in distribution.items())
    return [
        small(design["parameters"]["epsilon"]),
        f"{factor:.2f}",
        *learnt,
        f"±{mean:.2f}",
        f"±{reach}",
        percent(distribution[0]),
    ]


def families(documents: Documents) -> str:
    """Distributions of noise side by side at one epsilon and delta."""
    (compared,) = documents
    header = ["noise", "δ", "variance", "noise on average", "exact count shown"]
    rows = (
        [
            each["family"],
            small(each["delta"]),
            f"{each['variance']:.2f}",
            f"±{each['absolute']:.2f}",
            percent(each["p_exact"]),
        ]
        for each in compared["families"]
    )
    return grid(header, rows)


def budget(documents: Documents) -> str:
    """The tables of a universe: their share of epsilon and their error."""
    (found,) = documents
    rows = (
        [
            " × ".join(each["variables"]) or "(grand total)",
            small(each["epsilon"]),
            _around(each),
            percent(each["p_exact"], 1),
        ]
        for each in found["tables"]
    )
    return grid(["table", "ε", "noise on average", "exact count shown"], rows)


def plans(documents: Documents) -> str:
    """Several budgets side by side: how many tables, and the error of the best and the worst."""
    rows = []
    for each in documents:
        errors = [table["expected_abs_error"] for table in each["tables"]]
        amounts = [small(each["cap"]["epsilon"]), str(each["d"])]
        rows.append([_subject(each), each["spread"], *amounts, f"±{min(errors):.1f}", f"±{max(errors):.1f}"])
    header = ["plan", "spread", "ε", "tables", "noise on average, best table", "worst table"]
    return grid(header, rows, words=2)


def promise(documents: Documents) -> str:
    """The sentence that goes with every answer of a dataset."""
    (found,) = documents
    return f"> {found['promise']}"


def margins(documents: Documents) -> str:
    """The expected error of every method, one line a table."""
    methods = list(documents[0]["expected_error"])
    header = ["table", "cells", *methods, "recommended"]
    rows = (
        [
            _subject(each),
            str(each["cells"]),
            *(_error(each["expected_error"].get(name)) for name in methods),
            each["recommended"],
        ]
        for each in documents
    )
    return grid(header, rows)


def tests(documents: Documents) -> str:
    """Shares of independent tables rejected at 5 %: ours, the print in brackets."""
    found: dict[tuple[str, str], list[str]] = {}
    for finding in documents[0]["exhibits"][0]["findings"]:
        named = _TABLE_3.fullmatch(finding["what"])
        if named:
            row = found.setdefault((named[1], named[2]), [])
            row.append(f"{finding['ours']:.1f} % ({finding['printed']:.1f} %)")
    header = ["ε", "largest noise", "on the true counts", "naive, on noisy counts", "noise-aware"]
    return grid(header, ([*setting, *row] for setting, row in found.items()), words=0)


def findings(documents: Documents) -> str:
    """Every number of the exhibits, printed beside ours."""
    rows = (
        [
            f["what"].replace("|", "\\|"),
            "" if f["printed"] is None else _SIGNS.get(f["relation"], "") + shown(f["printed"]),
            shown(f["ours"]),
            _VERDICT[f["agrees"]],
        ]
        for exhibit in documents[0]["exhibits"]
        for f in exhibit["findings"]
    )
    return grid(["number", "printed", "ours", "agrees"], rows)


def _distribution(design: Any, count: int) -> dict[int, float]:
    """The noise of a count, from the integers that are looked up."""
    rows, repeats = design["rows"], design["repeats"]
    first = len(rows) - repeats
    row = rows[count if count < len(rows) else first + (count - first) % repeats]
    ends = [0, *row["thresholds"]]
    return {
        value: (end - start) / design["modulus"]
        for value, start, end in zip(row["values"], ends, ends[1:], strict=False)
    }


def _at(curve: Sequence[Any], step: int) -> Any:
    return curve[min(step, len(curve) - 1)]


def _pair(pair: Sequence[int] | None) -> str:
    return "any" if pair is None else f"{pair[0]} and {pair[1]}"


def _around(table: dict[str, Any]) -> str:
    """The expected absolute error of a table's cells."""
    return f"±{table['expected_abs_error']:.1f}"


def _error(number: float | None) -> str:
    return "" if number is None else f"{number:.1f}"


def _plain(protection: str) -> str:
    return _WORDS.get(protection, protection)


def _subject(document: dict[str, Any]) -> str:
    """What the command was about: its first word that is no option."""
    return f"`{document['command'].split()[2]}`"


def _power_of_two(number: int) -> bool:
    return number & (number - 1) == 0


#: The tables that a marker may name.
TABLES: dict[str, Callable[[Documents], str]] = {
    each.__name__: each
    for each in (
        audit,
        averaging,
        bob,
        budget,
        composition,
        epsilons,
        families,
        findings,
        margins,
        noise,
        plans,
        promise,
        tests,
    )
}
