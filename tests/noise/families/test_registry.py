"""A noise family is added in one place: one value is all that every interface needs."""

import json
import math
import subprocess
import sys
from pathlib import Path

import pytest

import discreet
import discreet.noise
from discreet.assess.subject import case_names, cases_of
from discreet.errors import BadDescription, BadRequest
from discreet.model.description.dataset_toml import parse_dataset
from discreet.noise import families
from discreet.noise.family import EPSILON, Family, Parameter
from discreet.noise.ideal_distribution import IdealTable, row_from_weights
from discreet.noise.quantise import quantise
from discreet.pictures.assessment_charts import _family_colour
from discreet.workspace.versions.load_version import noise_for

SOURCE = Path(discreet.__file__).parent
DOCS = SOURCE.parents[1] / "docs"


def ideal_toy(epsilon, reach=3):
    """Weights that fall by e^-epsilon with each step, as whole numbers."""
    values = range(-reach, reach + 1)
    row = row_from_weights(values, [1 + round(10**9 * math.exp(-epsilon * abs(z))) for z in values])
    return IdealTable((row,), 1, "toy", {"epsilon": epsilon, "reach": reach})


TOY = Family(
    "toy",
    "Noise for a test.",
    (EPSILON, Parameter("reach", "largest change", int)),
    ideal_toy,
    page="methods/toy.md",
    currency="epsilon",
    at_epsilon=lambda epsilon, _: (quantise(ideal_toy(epsilon), 2**32), "As the test says."),
    sides=lambda epsilon, _delta, _match: {"toy, reach 9": ideal_toy(epsilon, 9)},
    alternative=lambda ideal: {"reach": ideal.parameters["reach"] + 1},
    colour="#123456",
)


@pytest.fixture
def toy(monkeypatch):
    monkeypatch.setattr(families, "_registered", {})
    families.register(TOY)
    return TOY


def test_every_module_of_the_folder_is_the_family_of_its_name():
    assert [each.name for each in map(families.family, families.names())] == list(families.names())
    assert {each.name for each in families.families()} == set(families.names())
    assert len({each.place for each in families.families()}) == len(families.names())


def test_the_function_of_every_family_stands_in_the_package():
    for each in families.families():
        assert getattr(discreet.noise, each.make.__name__) is each.make
        assert each.make.__name__ in dir(discreet.noise)
    with pytest.raises(AttributeError, match="no attribute 'abs'"):
        _ = discreet.noise.abs


def test_names_are_known_without_importing_a_family_and_no_family_needs_scipy():
    code = (
        "import sys; from discreet.noise.families import families, names; assert 'maxent' in names();"
        "assert not any(m.startswith('discreet.noise.families.') for m in sys.modules);"
        "families(); assert 'scipy' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_a_taken_name_is_refused(toy):
    with pytest.raises(BadRequest, match="already"):
        families.register(toy)
    with pytest.raises(BadRequest, match="already"):
        families.register(families.family("laplace"))


def test_a_registered_family_is_built_and_checked_by_name(toy):
    table = families.build("toy", {"epsilon": 1.0, "reach": 2})
    assert (table.family, table.largest) == ("toy", 2)
    with pytest.raises(BadRequest, match=r"needs epsilon .*docs/methods/toy.md"):
        families.build("toy", {"reach": 2})
    with pytest.raises(BadRequest, match='Did you mean "reach"'):
        families.build("toy", {"epsilon": 1.0, "reich": 2})


def test_the_command_designs_it_with_options_of_its_own(toy, run_here):
    done = run_here("design", "toy", "--epsilon", "1", "--reach", "2", "--json")
    document = json.loads(done.stdout)
    assert document["parameters"] == {"epsilon": 1.0, "reach": 2}
    assert document["rows"][0]["values"] == [-2, -1, 0, 1, 2]
    assert document["alternative"] == {"reach": 3}
    text = run_here("design", "--help", COLUMNS="200").stdout
    assert "--reach" in text
    assert "toy; or `compare`" in " ".join(text.split())
    sides = json.loads(run_here("design", "compare", "--epsilon", "1", "--m", "7", "--json").stdout)
    assert [side["family"] for side in sides["families"]] == [
        "laplace",
        "staircase",
        "normal",
        "abs",
        "abs, least variance",
        "gaussian",
        "toy, reach 9",
    ]


def test_a_plan_under_dp_scales_it_by_epsilon(toy, town):
    text = town.description[: town.description.index("[protection]")] + (
        '[protection]\nmethod = "dp"\n[protection.noise]\nfamily = "toy"\n[protection.universe]\n'
        'tables = [["sex"], ["age"]]\n[protection.budget]\nname = "t"\nepsilon = 2.0\ncap_epsilon = 2.0\ndelta = 0.9\n'
    )
    plan = noise_for(parse_dataset(text))
    assert plan.currency == "epsilon"
    assert {table.noise.family for table in plan.tables} == {"toy"}
    with pytest.raises(BadDescription, match="cannot serve"):
        noise_for(parse_dataset(text.replace('"toy"', '"pram"')))


def test_an_assessment_has_its_case_and_a_picture_its_colour(toy):
    assert "toy" in case_names()
    (case,), _ = cases_of(["toy"], [0.5], 1e-4)
    assert (case.label, case.how) == ("toy 0.5", "As the test says.")
    assert _family_colour("toy") == "#123456"
    assert _family_colour("a file") is None


@pytest.mark.parametrize("family", families.families(), ids=lambda each: each.name)
def test_every_family_has_its_page_and_its_row(family):
    assert (DOCS / family.page).is_file()
    rows = [
        line
        for line in (DOCS / "reference" / "mechanisms.md").read_text("utf-8").splitlines()
        if line.startswith(f"| [`{family.name}`](../{family.page}) |")
    ]
    assert len(rows) == 1
    for name in family.names():
        assert f"`{name}`" in rows[0], name


def test_an_unknown_family_is_refused_with_the_nearest_name():
    with pytest.raises(BadRequest, match='Did you mean "maxent"'):
        families.build("maxentt", {}, 256)


@pytest.mark.parametrize("wrong", [{"D": 5.5, "V": 3}, {"D": True, "V": 3}, {"D": 5, "V": "3"}])
def test_a_parameter_of_the_wrong_kind_is_refused(wrong):
    with pytest.raises(BadRequest, match="must be a"):
        families.build("maxent", wrong, 256)


def test_a_list_serves_row_by_row():
    ideal = families.ideal("maxent", {"D": 2, "V": 1.05, "js": 1, "monotone": [True, True, False, True]})
    assert ideal.rows[3].probabilities[0] > ideal.rows[3].probabilities[1]
