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

#: The rules of the demo census that name no variable of it; its rules on geography are for the custodian to add.
RULES = """\
# The rules of the demo census: see docs/reference/rules.md. Where a hierarchy is a geography, add
# [[rule]] kind = "max-variables", most = 2, level = its finest level.
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
