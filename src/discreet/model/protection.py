"""The protection of a dataset: the noise, its keys, additivity, and limits on tables. Parses `[protection]`."""

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from types import MappingProxyType
from typing import Any

from discreet.errors import BadDescription
from discreet.model.description.sections import check_section, check_texts, check_type, refuse_first
from discreet.model.limits import DEFAULT_MAX_CELLS, DEFAULT_MAX_VARIABLES
from discreet.model.messages.text import nearest, one_line

METHODS = ("cellkey", "dp")
#: Settings of only one of the methods.
_ONLY_CELLKEY = ("keys", "modulus", "big_n", "max_variables", "versions_apart", "zeros")
_ONLY_DP = ("universe", "budget")
#: Totals have independent noise, are sums of noisy cells, or cells are fitted to them.
ADDITIVITY = ("independent", "interior", "fitted")
#: Empty cells stay zero, or some get a small count.
ZEROS = ("kept", "perturbed")
#: How cell keys are derived; see `protect/cell_keys.py`.
KEY_MODES = ("hashed", "additive", "abs", "participants-and-description")

# A default of this module changes only with a new revision of the defaults: see `model/revision.py`.
DEFAULT_NOISE = MappingProxyType({"family": "maxent", "D": 5, "V": 3, "js": 2})
DEFAULT_MODULUS = 2**32
DEFAULT_VERSIONS_APART = 100


@dataclass(frozen=True)
class Protection:
    """The declared protection of a dataset.

    Args:
        method: `cellkey`: noise keyed by the records in the cell. `dp`: noise keyed by the cell's description, under a
            privacy budget.
        noise: The family and parameters of the noise table, or its file.
        modulus: The number of cell keys; by default that of the noise table's file, or 2^32.
        fit_to: Published tables that fitted tables agree with, as in `["area", "sex*age"]`.
        non_negative: Whether negative counts are released as zero; None for the method's default (`clips`).
        max_variables: Of crossed variables, geography excluded; `max_cells` includes totals.
        big_n: The prime of the `abs` keys (Sadeghi & Chien, eq. 36).
        versions_apart: The minimum number of records that differ between two served versions, if any differ.
        zeros: One of `ZEROS`; `perturbed` needs noise that changes zero (`made_up` and `dropped` of maxent).
        universe: For `dp`, the tables that will be answered; `model/universe.py` parses it.
        budget: For `dp`, their cost and the neighbours; `model/privacy_budget.py` parses it.
    """

    method: str = "cellkey"
    noise: Mapping[str, Any] = field(default_factory=lambda: DEFAULT_NOISE)
    keys: str = "hashed"
    modulus: int | None = None
    additivity: str = "independent"
    fit_to: tuple[str, ...] = ()
    non_negative: bool | None = None
    max_variables: int = DEFAULT_MAX_VARIABLES
    max_cells: int = DEFAULT_MAX_CELLS
    big_n: int = 4_294_967_291
    versions_apart: int = DEFAULT_VERSIONS_APART
    zeros: str = "kept"
    universe: Mapping[str, Any] = field(default_factory=dict)
    budget: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        known = {"method": METHODS, "keys": KEY_MODES, "additivity": ADDITIVITY, "zeros": ZEROS}
        for name, allowed in known.items():
            value = getattr(self, name)
            if value not in allowed:
                raise BadDescription(f'The protection\'s {name} is "{value}".', nearest(value, allowed))
        self._refuse_other_method()
        modulus = 1 if self.modulus is None else self.modulus
        refuse_first(
            (
                ("family" in self.noise) == ("file" in self.noise),
                "The noise has no family and no file, or both.",
                'Write `family = "maxent"` with its parameters, or `file = "noise.json"`, in [protection.noise].',
            ),
            (not 1 <= modulus <= 2**64, f"The key modulus is {modulus}.", "It must lie between 1 and 2^64."),
            (
                self.keys == "abs" and self.modulus not in {None, 256},
                "The `abs` keys are one byte.",
                "Set `modulus = 256`.",
            ),
            (not 2 <= self.big_n < 2**63, f"big_n is {self.big_n}.", "It must lie between 2 and 2^63."),
            (
                self.max_variables < 1 or self.max_cells < 1,
                "max_variables and max_cells must be at least 1.",
                "Raise them.",
            ),
            (self.versions_apart < 1, f"versions_apart is {self.versions_apart}.", "It must be at least 1."),
        )
        object.__setattr__(self, "fit_to", tuple(self.fit_to))
        for name in ("noise", "universe", "budget"):
            object.__setattr__(self, name, MappingProxyType(dict(getattr(self, name))))

    @property
    def is_dp(self) -> bool:
        """Whether noise is keyed by description, under a budget."""
        return self.method == "dp"

    @property
    def uses_description_keys(self) -> bool:
        """Whether the same people may have another number under another description."""
        return self.is_dp or self.keys == "participants-and-description"

    @property
    def clips(self) -> bool:
        """Whether negative counts are released as zero: as declared, by default under the cell key method only.

        Under `dp` noise lowers empty cells as often as it raises them. Clipping would raise every sum of small counts,
        and the distribution of the noise would not be that of the released number.
        """
        return not self.is_dp if self.non_negative is None else self.non_negative

    def _refuse_other_method(self) -> None:
        for name in _ONLY_CELLKEY if self.is_dp else _ONLY_DP:  # it would seem to be in force
            default = type(self).__dataclass_fields__[name]
            unset = default.default_factory() if callable(default.default_factory) else default.default
            if getattr(self, name) != unset:
                raise BadDescription(
                    f"`{name}` of [protection] means nothing under the method {self.method}.", "Take it out."
                )
        if self.is_dp and "file" in self.noise:
            raise BadDescription(
                "Under dp the noise follows from the budget and cannot be read from a file.",
                'Write `family = "laplace"` in [protection.noise].',
            )

    def __hash__(self) -> int:
        parts = (self.noise, self.universe, self.budget)
        values = (tuple(sorted((name, repr(value)) for name, value in part.items())) for part in parts)
        return hash((self.method, *values, self.keys, self.modulus, self.additivity))

    def __repr__(self) -> str:
        return one_line(self, f"{self.method}, totals {self.additivity}, at most {self.max_cells:,} cells")


def parse_protection(section: Any, survey: Any = None) -> Protection:
    """Parse `[protection]`; under `dp` some defaults depend on `[survey]`."""
    values = dict(check_section(section, "protection", {f.name for f in fields(Protection)}))
    if "modulus" in values:
        values["modulus"] = parse_modulus(values["modulus"])
    for name in ("max_variables", "max_cells", "big_n"):
        if name in values:
            check_type(values[name], int, f"{name} of [protection]")
    advice = 'Give a list, as in ["area", "sex*age"].'
    check_texts(values.get("fit_to", []), "fit_to of [protection]", advice)
    for name in ("noise", "universe", "budget"):
        if not isinstance(values.get(name, {}), dict):
            raise BadDescription(
                f"[protection.{name}] is not a table.", f"Write [protection.{name}] before its lines."
            )
    if values.get("method") == "dp":
        values |= _dp_defaults(values, survey)
        by_rho = values.get("budget", {}).get("rule") == "zcdp"
        values["noise"] = {"family": "gaussian" if by_rho else "laplace", **values.get("noise", {})}
    check_type(values.get("non_negative", True), bool, "non_negative of [protection]")
    return Protection(**values)


def _dp_defaults(values: dict[str, Any], survey: Any) -> dict[str, Any]:
    """The universe and the budget with their defaults: joint margins wherever Gaussian noise is possible."""
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
    """A key modulus: a whole number, or a power such as "2^64"."""
    try:
        if isinstance(value, str):
            base, _, power = value.partition("^")
            return int(base) ** int(power) if power and int(power) <= 64 else int(value)
        if isinstance(value, int) and not isinstance(value, bool):
            return value
    except ValueError:
        pass
    raise BadDescription(f"The key modulus is {value!r}.", 'Give a whole number, or a power such as "2^64".')
