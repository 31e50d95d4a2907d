"""Attacks on released tables, as anyone could run them.

An attack is a function of an `Interface`, which answers table requests, and of `Knowledge`, the public description
with its noise distribution. It never sees a record, a key or a true count. The package discreet-studies runs the
attacks on invented people and scores them.
"""

from discreet.attacks.knowledge import PROTECTIONS, Answer, Interface, Knowledge

__all__ = ["PROTECTIONS", "Answer", "Interface", "Knowledge"]
