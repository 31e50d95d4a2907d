"""The import paths that the documentation of 0.2 named work for one more release."""

import subprocess
import sys
from importlib import import_module

import pytest

import discreet
from discreet.deprecated import MOVED

#: Every import of README, docs and notebooks of 0.2 below a package of ours.
DOCUMENTED = """
additivity.additivity: sums_of_interior
additivity.axis_tree: Additive AxisTree
additivity.fitted: fitted
answer.measures: register
assess: Subject assess_subject cases_of
attacks.bound: error_bound exact_bound optimum success_bound
attacks.evidence: pair_evidence
attacks.versions: questions
cli.registry: EXAMINE Command
formats: register
inference: NoiseByCell PickedCells ProportionTest cell_interval cramers_v difference_interval independence_test
inference: log_linear_test poisson_prior posterior proportion_test ratio_interval share_interval sum_interval
inference.plain_fit: fit_log_linear
margins.advice: advise plan_of
margins.closure: MarginSet margin_tables parse_margins
margins.holistic: Holistic
margins.importance: overall_error
margins.independent: independent
margins.integer_noise: SeededNoise
margins.laplace_optimum: laplace_optimum
margins.linear_program: fit_table
margins.residual_basis: gaussian_optimum
margins.sensitivity: sensitivity
margins.tables: paper_table
margins.transforms: EfronSteinTransform
model.cut: cut
model.dataset_toml: parse_dataset
model.declared_dp: declared_dp
model.terms: parse_terms
model.universe: parse_universe
noise: abs_noise dropadd exponential families gaussian hellinger laplace maxent normal pram rounded_normal
noise.design: least_delta least_variance
noise.families: families register
noise.families.abs: abs_guide ideal_abs
noise.families.maxent: ideal_maxent
noise.families.normal: matched_m
noise.families.pram: invariant_matrix small_matrix unbiased_estimate
noise.family: Family Parameter
noise.files: read_noise_table write_noise_table
noise.ideal: IdealTable row_from_weights
noise.quantisation_report: quantisation_report
noise.quantise: quantise
noise.side_by_side: compare
noise.sum_law: SumLaw
noise.table: NO_NOISE NoiseRow NoiseTable
privacy: audit delta group_bound
privacy.gaussian: gaussian_delta_above
protect.plan: make_plan
protect.spread: margin_advice
protect.tightest: figures tightest
records.engine: register
rules: reading
rules.reading: key
rules.registry: register
rules.rule: CountRule
survey.design: SurveyDesign
survey.dp_weights: average_weight
survey.forms: cautions weight_form
survey.sampling_error: declared_effects errors_told
workspace.demo: census_batches census_description spudlandia_batches
"""
PATHS = [
    (module, name)
    for module, _, names in (line.partition(": ") for line in DOCUMENTED.split("\n") if line)
    for name in names.split()
]


@pytest.mark.parametrize(("module", "name"), PATHS, ids=lambda each: each)
def test_a_documented_path_works_and_an_old_one_warns(module, name):
    old = f"{module}:{name}"
    found = import_module(f"discreet.{module}")
    if old not in MOVED:
        assert hasattr(found, name)
        return
    with pytest.warns(DeprecationWarning, match="next release"):
        there = getattr(found, name)
    home, _, new = MOVED[old].partition(":")
    assert there is getattr(import_module(f"discreet.{home}"), new)


def test_only_documented_paths_are_kept():
    assert set(MOVED) <= {f"{module}:{name}" for module, name in PATHS}


def test_an_unknown_module_and_an_unknown_name_are_refused():
    with pytest.raises(ModuleNotFoundError, match="no_such_module"):
        import_module("discreet.no_such_module")
    with pytest.raises(AttributeError, match="nothing"):
        _ = import_module("discreet.protect.tightest").nothing
    with pytest.raises(AttributeError, match="nothing"):
        _ = discreet.nothing


def test_an_import_statement_warns_where_it_is_written():
    program = "from discreet.margins.closure import MarginSet; print(MarginSet.__name__)"
    done = subprocess.run(
        [sys.executable, "-W", "always", "-c", program], capture_output=True, text=True, check=True
    )
    assert done.stdout == "MarginSet\n"
    assert "discreet.margins.margin_set.MarginSet now" in done.stderr
