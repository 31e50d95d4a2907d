"""The protection that a draft and the demo start from: agency-like noise, totals on their own."""

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
