"""The auditor's statement of a privacy ledger as an HTML page, made from the signed document, which it contains.

The same document gives the same page, so a check renders the page again and compares it: changed words are detected, as
well as changed numbers.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from html import escape
from pathlib import Path
from typing import Any

from discreet import __version__
from discreet.assess.html_page import html_list, html_table, render_page
from discreet.errors import SignatureUnusable

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
    body = [
        "<h1>Statement of a privacy ledger</h1>",
        html_table("The statement", ["What", "Value"], facts, words=frozenset({1})),
        *(_budget(each) for each in document["budgets"]),
        html_table("Loaded without a budget", ["Dataset", "Lineage", "Method"], others) if others else "",
        "<h2>What this rests on</h2>" + html_list(document["assumptions"]),
        "<h2>What a check of this statement does not tell</h2>" + html_list(document["not_checked"]),
        f'<script type="application/json" id="statement">{_embed_json(document)}</script>',
    ]
    return render_page("Statement of a privacy ledger", NOTICE, "\n".join(body))


def read_statement(path: Path) -> tuple[dict[str, Any], str]:
    """A statement from an HTML or JSON file, and the result of checking the page; empty for JSON.

    Raises:
        SignatureUnusable: It is not a statement, or the page does not show the signed document.
    """
    try:
        text = path.read_text("utf-8")
        held = _HELD.search(text)
        document = json.loads(held[1] if held else text)
    except (OSError, ValueError):
        raise SignatureUnusable(
            f"{path.name!r} is no statement of a ledger.",
            "Give a file that `discreet ledger statement` wrote.",
        ) from None
    return document, _of_page(document, text) if held else ""


def _of_page(document: dict[str, Any], text: str) -> str:
    program = document.get("program") if isinstance(document, dict) else None
    if program != f"discreet {__version__}":
        return f"The words of the page were not compared: it was made by {program}."
    try:
        again = statement_html(document)
    except (KeyError, TypeError, AttributeError, IndexError):
        again = ""
    if again != text:
        raise SignatureUnusable(
            "The page does not show what was signed: its words or numbers were changed.",
            "Ask whoever signed it for the page or for the JSON.",
        )
    return "The page shows what was signed, word for word."


def _embed_json(document: Mapping[str, Any]) -> str:
    """The document as JSON that cannot end the script element."""
    return json.dumps(document, indent=1).replace("<", "\\u003c")


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
