"""The protection that a draft and the demo start from: agency-like noise, totals on their own, and the demo's rules."""

from __future__ import annotations

PROTECTION = """\
[protection]
method = "cellkey"
keys = "hashed"
additivity = "independent"
max_variables = 3

[protection.noise]
family = "maxent"
D = 5
V = 3
js = 2
"""

#: The rules of the demo census that name no variable of it.
RULES = """\
# The rules of the demo census: see docs/reference/rules.md.
[[rule]]
kind = "nested-groups"
fewer_than = 2
filters = true

[[rule]]
kind = "share-of-zeros"
most = 0.75
from_variables = 2

[[rule]]
kind = "share-of-ones"
most = 0.65
up_to = 4
from_variables = 2

[[rule]]
kind = "marginal-dominance"
most = 0.99
from_variables = 2

[[rule]]
kind = "attribute-disclosure"
most = 0.6
from_variables = 2

[[rule]]
kind = "mean-cell-size"
least = 1
rescue = 50
from_variables = 2

[[rule]]
kind = "blocked-areas"
most = 0.5
"""


def geography_rule(level: str) -> str:
    """The demo's rule on its areas: two variables beside the finest level of a geography, and no more."""
    return f'\n[[rule]]\nkind = "max-variables"\nmost = 2\nlevel = "{level}"\n'
