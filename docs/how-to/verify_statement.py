r"""Verify a statement of a ledger without Discreet.

    python verify_statement.py statement.json office.pem

Needs Python 3.11 and the package `cryptography` for Ed25519. Signed are the UTF-8 bytes of

    "discreet ledger statement 1", a line feed, and the document without "signature" as JSON with sorted keys,
    no white space and a \u escape for every character that is not ASCII

The signature is 64 bytes (RFC 8032), as 128 hexadecimal digits. Amounts are exact decimals.
"""

import json
import sys
from decimal import Context, Decimal, Inexact
from pathlib import Path

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.serialization import load_pem_public_key

AMOUNTS = {"basic": ("epsilon", "delta"), "zcdp": ("rho", "distance")}
EXACT = Context(prec=200, traps=[Inexact])


def signed_bytes(document: dict) -> bytes:
    unsigned = {name: value for name, value in document.items() if name != "signature"}
    text = json.dumps(unsigned, sort_keys=True, separators=(",", ":"), ensure_ascii=True)
    return f"{document['kind']} {document['schema']}\n{text}".encode()


def problems(document: dict, public_key: bytes) -> list[str]:
    found = []
    if (document["kind"], document["schema"]) != ("discreet ledger statement", 1):
        return ["This is no statement that this program knows."]
    try:
        signature = bytes.fromhex(document["signature"])
        load_pem_public_key(public_key).verify(signature, signed_bytes(document))
    except InvalidSignature:
        return ["The signature is not of this key, or the statement was changed."]
    for budget in document["budgets"]:
        for amount in AMOUNTS[budget["rule"]]:
            total = Decimal(0)
            for charge in budget["charges"]:
                total = EXACT.add(total, Decimal(charge[amount]))
            cap, spent, left = (Decimal(budget[part][amount]) for part in ("cap", "spent", "left"))
            if total != spent or EXACT.subtract(cap, spent) != left or left < 0:
                found.append(f"{budget['name']}: the charges do not add up ({amount}).")
    entries = [charge["entry"] for budget in document["budgets"] for charge in budget["charges"]]
    if len(set(entries)) != len(entries) or not all(1 <= e <= document["chain"]["entries"] for e in entries):
        found.append("Two charges have the same place in the hash chain, or one has none.")
    return found


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    statement, key = (Path(argument).read_bytes() for argument in sys.argv[1:3])
    wrong = problems(json.loads(statement), key)
    print("\n".join(wrong) or "The signature is valid, and all charges add up within their caps.")
    sys.exit(bool(wrong))
