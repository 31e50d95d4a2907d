"""The section `[protection]` of a description, with what it leaves out under `dp`."""

from __future__ import annotations

from dataclasses import fields
from typing import Any

from discreet.errors import BadDescription
from discreet.model.protection import Protection
from discreet.model.section import section_of


def protection_of(section: Any, survey: Any = None) -> Protection:
    """The section `[protection]`.

    Args:
        section: What stands there.
        survey: The section `[survey]`, on which defaults under `dp` depend.

    Raises:
        BadDescription: With what is wrong and what to do.
    """
    values = dict(section_of(section, "protection", {f.name for f in fields(Protection)}))
    if "modulus" in values:
        values["modulus"] = parse_modulus(values["modulus"])
    for name in ("max_variables", "max_cells", "big_n"):
        if name in values and (not isinstance(values[name], int) or isinstance(values[name], bool)):
            raise BadDescription(f"{name} of [protection] is {values[name]!r}.", "Give a whole number.")
    tables = values.get("fit_to", [])
    if not isinstance(tables, list) or not all(isinstance(each, str) for each in tables):
        raise BadDescription(
            f"fit_to of [protection] is {tables!r}.", 'Give a list, as in ["area", "sex*age"].'
        )
    for name in ("noise", "universe", "budget"):
        if not isinstance(values.get(name, {}), dict):
            raise BadDescription(
                f"[protection.{name}] is not a table.", f"Write [protection.{name}] before its lines."
            )
    if values.get("method") == "dp":
        values |= _dp_defaults(values, survey)
        by_rho = values.get("budget", {}).get("rule") == "zcdp"
        values["noise"] = {"family": "gaussian" if by_rho else "laplace", **values.get("noise", {})}
    if not isinstance(values.get("non_negative", True), bool):
        raise BadDescription("non_negative of [protection] is not true or false.", "Write true or false.")
    return Protection(**values)


def _dp_defaults(values: dict[str, Any], survey: Any) -> dict[str, Any]:
    """The universe and the budget with what they leave out: joint margins, where Gaussian noise may be and can be."""
    universe, budget = dict(values.get("universe", {})), dict(values.get("budget", {}))
    family = values.get("noise", {}).get("family", "gaussian")
    moves_n = budget.get("neighbours") == "replace-one" and not budget.get("invariants")
    steps = isinstance(survey, dict) and survey.get("form") == "largest-weight"
    apart = family != "gaussian" or budget.get("delta") == 0 or moves_n or steps
    if universe:
        universe.setdefault("margins", "own" if apart else "joint")
    if budget:
        budget.setdefault("calibrate", True)
    return {"universe": universe, "budget": budget}


def parse_modulus(value: object) -> int:
    """Read a key modulus: a whole number, or a power such as "2^64".

    >>> parse_modulus("2^64") == 2**64
    True
    """
    try:
        if isinstance(value, str):
            base, _, power = value.partition("^")
            return int(base) ** int(power) if power and int(power) <= 64 else int(value)
        if isinstance(value, int) and not isinstance(value, bool):
            return value
    except ValueError:
        pass
    raise BadDescription(f"The key modulus is {value!r}.", 'Give a whole number, or a power such as "2^64".')
