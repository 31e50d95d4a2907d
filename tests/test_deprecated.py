"""The import paths that the documentation of 0.2 named work for one more release."""

import subprocess
import sys
from importlib import import_module

import pytest

import discreet
from discreet.deprecated import MOVED

#: Every import of README, docs and notebooks of 0.2 below a package of ours.
DOCUMENTED = """
additivity.additivity:sums_of_interior additivity.axis_tree:Additive additivity.axis_tree:AxisTree
additivity.fitted:fitted answer.measures:register assess:Subject assess:assess_subject assess:cases_of
attacks.bound:error_bound attacks.bound:exact_bound attacks.bound:optimum attacks.bound:success_bound
attacks.evidence:pair_evidence attacks.versions:questions cli.registry:EXAMINE cli.registry:Command
formats:register inference:NoiseByCell inference:PickedCells inference:ProportionTest
inference:cell_interval inference:cramers_v inference:difference_interval inference:independence_test
inference:log_linear_test inference:poisson_prior inference:posterior inference:proportion_test
inference:ratio_interval inference:share_interval inference:sum_interval inference.plain_fit:fit_log_linear
margins.advice:advise margins.advice:plan_of margins.closure:MarginSet margins.closure:margin_tables
margins.closure:parse_margins margins.holistic:Holistic margins.importance:overall_error
margins.independent:independent margins.integer_noise:SeededNoise margins.laplace_optimum:laplace_optimum
margins.linear_program:fit_table margins.residual_basis:gaussian_optimum margins.sensitivity:sensitivity
margins.tables:paper_table margins.transforms:EfronSteinTransform model.cut:cut
model.dataset_toml:parse_dataset model.declared_dp:declared_dp model.terms:parse_terms
model.universe:parse_universe noise:abs_noise noise:dropadd noise:exponential noise:families noise:gaussian
noise:hellinger noise:laplace noise:maxent noise:normal noise:pram noise:rounded_normal
noise.design:least_delta noise.design:least_variance noise.families:families noise.families:register
noise.families.abs:abs_guide noise.families.abs:ideal_abs noise.families.maxent:ideal_maxent
noise.families.normal:matched_m noise.families.pram:invariant_matrix noise.families.pram:small_matrix
noise.families.pram:unbiased_estimate noise.family:Family noise.family:Parameter
noise.files:read_noise_table noise.files:write_noise_table noise.ideal:IdealTable
noise.ideal:row_from_weights noise.quantisation_report:quantisation_report noise.quantise:quantise
noise.side_by_side:compare noise.sum_law:SumLaw noise.table:NO_NOISE noise.table:NoiseRow
noise.table:NoiseTable privacy:audit privacy:delta privacy:group_bound privacy.gaussian:gaussian_delta_above
protect.plan:make_plan protect.spread:margin_advice protect.tightest:figures protect.tightest:tightest
records.engine:register rules:reading rules.reading:key rules.registry:register rules.rule:CountRule
survey.design:SurveyDesign survey.dp_weights:average_weight survey.forms:cautions survey.forms:weight_form
survey.sampling_error:declared_effects survey.sampling_error:errors_told workspace.demo:census_batches
workspace.demo:census_description workspace.demo:spudlandia_batches
"""


@pytest.mark.parametrize("old", DOCUMENTED.split())
def test_a_documented_path_works_and_an_old_one_warns(old):
    module, _, name = old.partition(":")
    found = import_module(f"discreet.{module}")
    if old not in MOVED:
        assert hasattr(found, name)
        return
    with pytest.warns(DeprecationWarning, match="next release"):
        there = getattr(found, name)
    home, _, new = MOVED[old].partition(":")
    assert there is getattr(import_module(f"discreet.{home}"), new)


def test_only_documented_paths_are_kept_and_an_unknown_module_or_name_is_refused():
    assert set(MOVED) <= set(DOCUMENTED.split())
    with pytest.raises(ModuleNotFoundError, match="no_such_module"):
        import_module("discreet.no_such_module")
    with pytest.raises(AttributeError, match="nothing"):
        _ = import_module("discreet.protect.tightest").nothing
    with pytest.raises(AttributeError, match="nothing"):
        _ = discreet.nothing


def test_an_import_statement_warns_where_it_is_written():
    program = "from discreet.margins.closure import MarginSet; print(MarginSet.__name__)"
    command = [sys.executable, "-W", "always", "-c", program]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert done.stdout == "MarginSet\n"
    assert "discreet.margins.margin_set.MarginSet now" in done.stderr
