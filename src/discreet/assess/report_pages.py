"""Self-contained HTML pages for the custodian: the report of an assessment, and the auditor's statement of a ledger.

No scripts, no external files, light and dark, for screens and print. All values are escaped. Pictures are inline SVG with
unique ids. A file is written atomically, readable by its owner only, and never replaces a file that is not such a page.

The page of a statement contains the signed document. The same document gives the same page, so a check renders the page
again and compares it: changed words are detected, as well as changed numbers.
"""

import json
import math
import re
from collections.abc import Mapping, Sequence
from html import escape
from importlib.resources import files
from pathlib import Path
from string import Template
from typing import Any

from discreet import __version__
from discreet.assess.assessment import (
    CONFIDENTIAL,
    FIGURES,
    INDEPENDENT,
    NOT_THE_KEYS,
    OUTSIDE_DP,
    Assessment,
    Outcome,
    draw,
)
from discreet.assess.risk_utility import SMALL
from discreet.errors import BadRequest, SignatureUnusable
from discreet.inference.hypothesis_tests.likelihood_ratio import p_text
from discreet.pictures.drawing import render
from discreet.workspace.sealed import replace_file

#: Marks a page as one of ours.
MARKER = "<!-- discreet: confidential -->"


def render_page(title: str, notice: str, body: str) -> str:
    """A whole page; title and notice are text, the body is HTML."""
    template, style = (
        files("discreet.assess").joinpath(f"page.{kind}").read_text("utf-8") for kind in ("html", "css")
    )
    return Template(template).substitute(
        marker=MARKER, title=escape(title), style=style, notice=escape(notice), body=body
    )


def html_table(
    caption: str, headers: list[str], lines: list[list[str]], *, words: frozenset[int] = frozenset()
) -> str:
    """A table whose first column is the row header; text is escaped, `words` are columns of sentences."""

    def cell(tag: str, place: int, text: str) -> str:
        kind = ' class="words"' if place in words else ""
        scope = ' scope="col"' if tag == "th" else ""
        return f"<{tag}{kind}{scope}>{escape(text)}</{tag}>"

    head = "".join(cell("th", place, text) for place, text in enumerate(headers))
    rows = "".join(
        f'<tr><th scope="row">{escape(line[0])}</th>'
        + "".join(cell("td", place, text) for place, text in enumerate(line[1:], start=1))
        + "</tr>"
        for line in lines
    )
    return (
        f'<div class="scroll"><table><caption>{escape(caption)}</caption>'
        f"<thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table></div>"
    )


def html_list(texts: list[str]) -> str:
    """A list of sentences."""
    return "<ul>" + "".join(f"<li>{escape(text)}</li>" for text in texts) + "</ul>"


def inline_svg(svg: bytes, label: str, number: int) -> str:
    """An SVG as a figure, with ids that are unique on the page."""
    text = svg.decode("utf-8")
    text = re.sub(r'\bid="([^"]+)"', rf'id="p{number}-\1"', text)
    text = re.sub(r"url\(#([^)]+)\)", rf"url(#p{number}-\1)", text)
    text = re.sub(r'(href=")#', rf"\1#p{number}-", text)
    text = text.replace("<svg ", f'<svg role="img" aria-label="{escape(label)}" ', 1)
    return f"<figure>{text}</figure>"


def write_page(text: str, path: Path) -> None:
    """Write a page atomically, readable by its owner only, over nothing but an earlier page."""
    if path.exists() and MARKER not in path.read_text("utf-8", errors="replace")[:400]:
        raise BadRequest(
            f"The file {str(path)!r} is there already and is no earlier assessment.", "Choose another name."
        )
    replace_file(path, text)


def summary_sentences(found: Assessment) -> list[str]:
    """The findings of the assessment, most important first."""
    some, outcomes = found.outcomes[0].expected, found.outcomes
    said = [
        f"{found.title}: {some.cells:,} cells that can occur, {some.occupied:,} with people, {some.small:,} of them "
        f"with 1 to {SMALL}."
    ]
    if found.refusal:
        said.append(f"The rules would not release this table: {found.refusal}")
    least, most = (pick(outcomes, key=lambda o: o.expected.l1.mean) for pick in (min, max))
    errors = [f"{o.expected.l1.mean / o.expected.cells:.3g} ({o.case.label})" for o in (least, most)]
    said.append(f"The mean absolute error of a cell runs from {errors[0]} to {errors[1]}.")
    shown = [o for o in outcomes if o.expected.confirmation_small is not None]
    if shown:
        worst = max(shown, key=lambda o: o.expected.confirmation_small or 0.0)
        said.append(
            f"A reader who believes a shown count from 1 to {SMALL} is right in at most "
            f"{worst.expected.confirmation_small:.0%} of such cells ({worst.case.label})."
        )
    else:
        said.append(f"No case shows a count from 1 to {SMALL}.")
    worst = max(outcomes, key=lambda o: o.expected.false_zero_share)
    said.append(
        f"At most {worst.expected.false_zero_share:.1%} of the cells with people are shown as zero "
        f"({worst.case.label})."
    )
    if found.averaging is not None and found.averaging.factor > 1:
        said.append(
            f"Averaging: over the {found.averaging.tables:,} tables that the rules by shape allow, a patient reader can "
            f"bring the variance of a cell's noise down by a factor of about {found.averaging.factor:.2f}."
        )
    unbeaten = _labels(found.unbeaten())
    said.append(f"Unbeaten on the map (no other has both less RM and less Hellinger distance): {unbeaten}.")
    return said


def conclusion_sentences(found: Assessment) -> list[str]:
    """The conclusions of readers from the releases, compared with the true table."""
    truth = found.truth
    if truth.p_value is None or truth.cramers_v is None or truth.chi_square is None:
        return ["The table has one side only: there is no association to test. Its distribution moves by the total "
                "variation in the table below."]  # fmt: skip
    verdict = "they are associated" if truth.associated else "no association is seen"
    within = f", within each layer of {found.sides[2]}" if found.sides[2] else ""
    said = [
        f"True table: {found.sides[0]} against {found.sides[1]}{within}; chi-square {truth.chi_square:,.1f} on "
        f"{truth.df:,} degrees of freedom, p {p_text(truth.p_value)}, Cramér's V {truth.cramers_v:.3f}: {verdict}."
    ]
    misled = [o for o in found.outcomes if o.same_naive is not None and o.same_naive < 0.9]
    if misled:
        said.append(
            "A reader who takes the counts for exact is misled in more than one release of ten under "
            f"{_labels(misled)}."
        )
    inflated = [
        o
        for o in found.outcomes
        if "cramers_v" in o.simulated and o.simulated["cramers_v"].mean > truth.cramers_v + 0.02
    ]
    if inflated:
        said.append(
            f"The naive Cramér's V is too large by more than 0.02 on average under {_labels(inflated)}: noise makes "
            "any table look associated."
        )
    weak = [o for o in found.outcomes if o.same_aware is not None and o.same_aware < 0.9]
    if weak:
        lost = "misses the association" if truth.associated else "sees an association"
        said.append(
            f"A test that allows for the noise {lost} in more than one release of ten under {_labels(weak)}."
        )
    if not (misled or inflated or weak):
        said.append(
            "Under every case readers conclude what the true table says, in nine releases of ten or more."
        )
    return said


def _labels(outcomes: Sequence[Outcome]) -> str:
    return ", ".join(outcome.case.label for outcome in outcomes)


READING = [
    "Epsilon and delta are exact, for one count, one person added or removed; nothing is promised here about many "
    "tables together. 'Above D' leaves out counts that the largest change can reach.",
    "RM is the share of the true table's information that a release gives away (1: all but the scale); Hellinger's "
    "distance and l1, l2, l3 measure how far a release is from the truth.",
    f"Confirmation: of the cells shown with 1 to {SMALL} people, how many really have the shown number. The lower, the "
    "less a shown small count tells.",
    "± is the Monte Carlo error of a simulated mean; figures without it are exact expectations.",
]


def report(found: Assessment) -> str:
    """The report as HTML."""
    heading = f"Assessment of {found.title}"
    about = (
        f"Dataset {found.dataset}, version {found.digest[:8]}, query {found.query}; delta {found.delta:g}, "
        f"{found.reps} simulated releases of each case, seed {found.seed}."
    )
    # Each picture as HTML; empty for those that the table does not have.
    pictures = {}
    for number, name in enumerate(FIGURES):
        chart = draw(found, name)
        label = f"Picture: {name} of {found.title}"
        pictures[name] = "" if chart is None else inline_svg(render(chart, "svg"), label, number)
    parts = [
        f"<h1>{escape(heading)}</h1>",
        f'<p class="soft">{escape(about)}</p>',
        html_list(summary_sentences(found)),
        pictures["map"],
        "<h2>Risk</h2>",
        risk_table(found),
        f'<div class="pair">{pictures["confirmation"]}{pictures["zeros"]}</div>',
        "<h2>Utility</h2>",
        utility_table(found),
        pictures["boxes"],
        "<h2>What a reader would conclude</h2>",
        html_list(conclusion_sentences(found)),
        conclusion_table(found),
        pictures["conclusions"],
        "<h2>The cases, and how epsilon became noise</h2>",
        cases_table(found),
        html_list(list(found.left_out)) if found.left_out else "",
        "<h2>How to read this</h2>",
        html_list([*READING, INDEPENDENT, NOT_THE_KEYS, OUTSIDE_DP]),
    ]
    return render_page(heading, f"{CONFIDENTIAL} {OUTSIDE_DP}", "\n".join(part for part in parts if part))


def risk_table(found: Assessment) -> str:
    """Epsilon, delta and disclosure measures of each case."""
    headers = [
        "case", "delta at epsilon", "above D", f"epsilon at delta {found.delta:g}", "above D", "cells perturbed",
        "of those with people", "shown exactly", f"confirmation, 1 to {SMALL}", "RM",
    ]  # fmt: skip
    lines = [
        [
            o.case.label,
            f"{o.privacy.delta:.2g} at {o.privacy.epsilon:g}",
            f"{o.privacy.delta_above:.2g}",
            _epsilon(o.privacy.epsilon_at),
            _epsilon(o.privacy.epsilon_above),
            f"{o.expected.perturbed:.1%}",
            f"{o.expected.perturbed_occupied:.1%}",
            f"{o.expected.p_exact:.1%}",
            _share(o.expected.confirmation_small),
            mean_with_error(o, "rm"),
        ]
        for o in found.outcomes
    ]
    return html_table(
        "One count, one person added or removed. An epsilon of ∞: no epsilon keeps this delta.",
        headers,
        lines,
    )


def utility_table(found: Assessment) -> str:
    """Distances of releases from the true table."""
    headers = [
        "case", "l1 a cell", "l2 a cell", "l3 a cell", "Hellinger", "total variation of MLEs", "false zeros",
        "empty cells shown with people", "people truly there", "bias of the sum",
    ]  # fmt: skip
    lines = []
    for o in found.outcomes:
        cells, e = o.expected.cells, o.expected
        means = [f"{moments.mean / cells:.3g}" for moments in (e.l1, e.l2, e.l3)]
        zeros = f"{e.false_zeros:.1f} ({e.false_zero_share:.1%})"
        simulations = [mean_with_error(o, "hellinger"), mean_with_error(o, "total_variation")]
        shown = [f"{e.false_people:.1f}", _share(e.existence), f"{e.bias:+,.1f}"]
        lines.append([o.case.label, *means, *simulations, zeros, *shown])
    return html_table("Means over releases; the smaller, the more useful.", headers, lines)


def conclusion_table(found: Assessment) -> str:
    """Tests and association, naive and noise-aware; empty for a table with one row or column."""
    truth = found.truth
    if truth.p_value is None:
        return ""
    headers = [
        "case", "chi-square", "naive p", "naive agrees", "G² shift", "Cramér's V, naive", "V, noise taken out",
        "noise-aware p", "noise-aware agrees", "releases tested",
    ]  # fmt: skip
    true_line = [
        "true table", f"{truth.chi_square:,.1f}", p_text(truth.p_value), "", "", f"{truth.cramers_v:.3f}", "", "", "", "",
    ]  # fmt: skip
    lines = [true_line]
    for o in found.outcomes:
        shift = o.simulated["likelihood_ratio"]
        chi_square, p_value, naive_v, corrected_v, aware = (
            mean_with_error(o, name)
            for name in ("chi_square", "p_value", "cramers_v", "corrected_v", "aware_p_value")
        )
        shifted = f"{shift.mean - (truth.likelihood_ratio or 0.0):+,.1f} ± {shift.error:,.1f}"
        same = [_share(o.same_naive), _share(o.same_aware)]
        line = [o.case.label, chi_square, p_value, same[0], shifted, naive_v, corrected_v, aware, same[1]]
        lines.append([*line, str(o.tested)])
    return html_table(
        "Means over releases; 'agrees': share of releases with the true table's answer at 5 %.",
        headers,
        lines,
    )


def cases_table(found: Assessment) -> str:
    """The definition of each case."""
    headers = ["case", "how", "largest change", "largest standard deviation", "empty cells"]
    lines = [
        [o.case.label, o.case.how, str(o.privacy.largest), f"{o.privacy.sd:.3g}", o.case.zeros]
        for o in found.outcomes
    ]
    return html_table(
        f"Epsilon is meant at delta {found.delta:g}, for one count.", headers, lines, words=frozenset({1})
    )


def mean_with_error(outcome: Outcome, name: str) -> str:
    """A simulated mean with its Monte Carlo error, to as many digits as the error allows."""
    found = outcome.simulated.get(name)
    if found is None:
        return "-"
    digits = 3 if not found.error > 0 else min(6, max(0, 1 - math.floor(math.log10(found.error))))
    return f"{found.mean:,.{digits}f} ± {found.error:,.{digits}f}"


def _share(share: float | None) -> str:
    return "-" if share is None else f"{share:.0%}"


def _epsilon(epsilon: float) -> str:
    return "∞" if math.isinf(epsilon) else f"{epsilon:.3g}"


NOTICE = "Statement of a privacy ledger for its auditor. It is signed: check it with discreet ledger verify."
_HELD = re.compile(r'<script type="application/json" id="statement">(.*?)</script>', re.DOTALL)
_CHARGES = ["Entry", "When (UTC)", "For", "Records a person", "Exact", "Paid by"]


def statement_html(document: Mapping[str, Any]) -> str:
    """The page of a statement, with the document inside."""
    chain = document["chain"]
    facts = [
        ["made", document["made"]],
        ["program", document["program"]],
        [
            "chain",
            f"{chain['entries']} entries since {chain['begun'][:19]}, {chain['taken_as_found']} taken as found",
        ],
        ["head of the chain", chain["head"]],
        ["public key", "".join(document["public_key"].split("-----")[2].split())],
        ["signature", " ".join(re.findall(".{1,32}", document["signature"]))],
    ]
    others = [list(each.values()) for each in document["without_a_budget"]]
    held = json.dumps(document, indent=1).replace("<", "\\u003c")  # cannot end the script element
    body = [
        "<h1>Statement of a privacy ledger</h1>",
        html_table("The statement", ["What", "Value"], facts, words=frozenset({1})),
        *(_budget(each) for each in document["budgets"]),
        html_table("Loaded without a budget", ["Dataset", "Lineage", "Method"], others) if others else "",
        "<h2>What this rests on</h2>" + html_list(document["assumptions"]),
        "<h2>What a check of this statement does not tell</h2>" + html_list(document["not_checked"]),
        f'<script type="application/json" id="statement">{held}</script>',
    ]
    return render_page("Statement of a privacy ledger", NOTICE, "\n".join(body))


def read_statement(path: Path) -> tuple[dict[str, Any], str]:
    """A statement from an HTML or JSON file, and the result of checking the page; empty for JSON."""
    try:
        text = path.read_text("utf-8")
        held = _HELD.search(text)
        document = json.loads(held[1] if held else text)
    except (OSError, ValueError):
        raise SignatureUnusable(
            f"{path.name!r} is no statement of a ledger.",
            "Give a file that `discreet ledger statement` wrote.",
        ) from None
    if not held:
        return document, ""
    program = document.get("program") if isinstance(document, dict) else None
    if program != f"discreet {__version__}":
        return document, f"The words of the page were not compared: it was made by {program}."
    try:
        again = statement_html(document)
    except (KeyError, TypeError, AttributeError, IndexError):
        again = ""
    if again != text:
        raise SignatureUnusable(
            "The page does not show what was signed: its words or numbers were changed.",
            "Ask whoever signed it for the page or for the JSON.",
        )
    return document, "The page shows what was signed, word for word."


def _budget(budget: Mapping[str, Any]) -> str:
    amounts = list(budget["cap"])
    lines = [[name, *(budget[name][amount] for amount in amounts)] for name in ("cap", "spent", "left")]
    charges = [
        [
            str(each["entry"]),
            each["at"][:19].replace("T", " "),
            f"{_charge_purpose(each)} of {each['dataset']}, version {each['version']}",
            str(each["records_per_unit"] or "unknown"),
            ", ".join(each["invariants"]) or "nothing",
            each["paid_by"],
            *(each[amount] for amount in amounts),
        ]
        for each in budget["charges"]
    ]
    named = ", ".join(f"{each['dataset']} ({each['lineage']})" for each in budget["lineages"])
    versions = ", ".join(f"{each['dataset']} {each['version']}" for each in budget["versions"])
    return "\n".join(
        [
            f"<h2>Budget {escape(budget['name'])}</h2><p>{escape(budget['promise'])}</p>",
            f"<p>Rule of composition: {escape(budget['rule'])}. Neighbours: {escape(budget['neighbours'])}. "
            f"Datasets (lineages): {escape(named or 'none')}. Versions: {escape(versions or 'none')}.</p>",
            html_table("Cap and spent", ["", *amounts], lines),
            html_table("Charges", [*_CHARGES, *amounts], charges, words=frozenset({2})),
        ]
    )


def _charge_purpose(charge: Mapping[str, Any]) -> str:
    if charge["for"] == "universe":
        return "everything declared"
    return ", ".join(" x ".join(margin) or "the total" for margin in charge["margins"])
