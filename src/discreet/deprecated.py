"""Import paths that the documentation of 0.2 named: they work for one more release, with a DeprecationWarning.

The package installs a finder that serves the modules that moved. A module that stayed, and has a name that
changed, binds `__getattr__ = renamed(__name__)`.
"""

import warnings
from collections.abc import Callable
from importlib import import_module
from importlib.abc import Loader
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any

#: Old name -> new name, both below `discreet.`
MOVED = {
    "additivity.fitted:fitted": "additivity.fitting:fit_totals",
    "answer.measures:register": "release.measures:register",
    "attacks.bound:error_bound": "attacks.query_averaging:error_bound",
    "attacks.bound:exact_bound": "attacks.query_averaging:exact_bound",
    "attacks.bound:optimum": "attacks.query_averaging:optimum",
    "attacks.bound:success_bound": "attacks.query_averaging:success_bound",
    "attacks.evidence:pair_evidence": "attacks.differencing:pair_evidence",
    "attacks.versions:questions": "attacks.version_differencing:questions",
    "inference.plain_fit:fit_log_linear": "inference.hypothesis_tests.log_linear_model:fit_log_linear",
    "margins.advice:advise": "margins.study:advise",
    "margins.advice:plan_of": "margins.study:plan_of",
    "margins.closure:MarginSet": "margins.margin_set:MarginSet",
    "margins.closure:margin_tables": "margins.margin_set:margin_tables",
    "margins.closure:parse_margins": "margins.margin_set:parse_margins",
    "margins.importance:overall_error": "margins.margin_set:overall_error",
    "margins.independent:independent": "margins.least_squares:independent",
    "margins.laplace_optimum:laplace_optimum": "margins.optimum:laplace_optimum",
    "margins.residual_basis:gaussian_optimum": "margins.optimum:gaussian_optimum",
    "margins.tables:paper_table": "margins.sensitivity:paper_table",
    "margins.transforms:EfronSteinTransform": "margins.bases:EfronSteinTransform",
    "model.cut:cut": "model.release:subset_release",
    "model.dataset_toml:parse_dataset": "model.description.dataset_toml:parse_dataset",
    "model.declared_dp:declared_dp": "model.universe:dp_terms",
    "model.terms:parse_terms": "model.privacy_budget:parse_terms",
    "noise.families.normal:matched_m": "noise.families.normal:match_m",
    "noise.ideal:IdealTable": "noise.ideal_distribution:IdealTable",
    "noise.ideal:row_from_weights": "noise.ideal_distribution:row_from_weights",
    "noise.quantisation_report:quantisation_report": "noise.quantise:quantisation_report",
    "noise.side_by_side:compare": "noise.design_report:compare",
    "noise.sum_law:SumLaw": "noise.cell_distribution:SumDistribution",
    "privacy.gaussian:gaussian_delta_above": "privacy.composition:gaussian_delta_above",
    "protect.spread:margin_advice": "protect.budget_allocation:margin_advice",
    "protect.tightest:figures": "protect.best_composition:figures",
    "protect.tightest:tightest": "protect.best_composition:best_claim",
    "rules.registry:register": "rules.rule:register",
    "survey.design:SurveyDesign": "survey.weight_forms:SurveyDesign",
    "survey.forms:cautions": "survey.weight_forms:cautions",
    "survey.forms:weight_form": "survey.weight_forms:weight_form",
    "survey.sampling_error:declared_effects": "survey.sampling_error:kish_effects",
    "survey.sampling_error:errors_told": "survey.sampling_error:relative_errors",
}
_MODULES = {f"discreet.{old.partition(':')[0]}" for old in MOVED}


def renamed(module: str) -> Callable[[str], Any]:
    """The `__getattr__` of a module with old names."""

    def find(name: str) -> Any:
        new = MOVED.get(f"{module.removeprefix('discreet.')}:{name}")
        if new is None:
            raise AttributeError(f"module {module!r} has no attribute {name!r}")
        home, _, current = new.partition(":")
        warnings.warn(
            f"{module}.{name} is discreet.{home}.{current} now; the old name goes in the next release.",
            DeprecationWarning,
            stacklevel=2,
        )
        return getattr(import_module(f"discreet.{home}"), current)

    return find


def find_old_module(name: str) -> ModuleSpec | None:
    """The spec of a module that moved, or of a package that held one; None for any other."""
    held = any(module.startswith(f"{name}.") for module in _MODULES)
    if name not in _MODULES and not held:
        return None
    return ModuleSpec(name, _Forwarder(), is_package=held)


class _Forwarder(Loader):
    """Loads a module whose names are those of `MOVED`."""

    def exec_module(self, module: ModuleType) -> None:
        """Forward its names."""
        vars(module)["__getattr__"] = renamed(module.__name__)
