"""The red team: attacks that see what the public sees, through one `ask`, and what the public knows.

An attack is a pure function of an `Interface` (whom it asks) and of `Knowledge` (the published description, the
noise law, the declared universe). It never sees a record, a key or a true count; `trials` scores it.
"""

from __future__ import annotations

from discreet.attacks.knowledge import PROTECTIONS, Answer, Interface, Knowledge

__all__ = ["PROTECTIONS", "Answer", "Interface", "Knowledge"]
