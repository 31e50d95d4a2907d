"""A rule is a value whose keys all have a reader.

A kind of rule is registered in one place and nowhere else: every face reads it, asks it and tells what it said.
"""

import csv
import io
import json
import sys
from dataclasses import FrozenInstanceError, dataclass, fields
from typing import ClassVar

import pytest
from fastapi.testclient import TestClient

import discreet
from discreet.errors import BadDescription, Refused
from discreet.release.dataset_registry import DatasetRegistry
from discreet.rules import reading
from discreet.rules.kinds.sparseness import ShareOfZeros
from discreet.rules.reading import key
from discreet.rules.rule import STAGES, CountRule, Rule, kinds, register, unregister
from discreet.rules.rule_set import parse_rules
from discreet.web.app import create_app
from discreet.workspace.options import read_options


def test_rules_are_values(rules):
    (rule,) = rules({"kind": "max-variables", "most": 2})
    assert (rule,) == rules({"kind": "max-variables", "most": 2})
    with pytest.raises(FrozenInstanceError):
        rule.most = 3


def test_every_key_of_every_rule_has_a_reader():
    for kind in kinds().values():
        assert all("reader" in each.metadata for each in fields(kind)), kind


SECTIONS = [
    ({"kind": "max-variables", "most": 2, "level": "area"}, {"most": 1}),
    ({"kind": "max-cells", "most": 900}, {"most": 1000}),
    ({"kind": "forbidden-combination", "variables": ("sex", "job")}, {"level": "area"}),
    ({"kind": "mandatory-variables", "variable": "job", "needs": ("sex",)}, {"needs": ("age",)}),
    ({"kind": "minimum-area-size", "variable": "area", "least": 50, "figures": (("N1", 9),)}, {"least": 60}),
    ({"kind": "free-groups", "per_account": 3}, {"allowed": False, "per_account": 2}),
    ({"kind": "nested-groups", "fewer_than": 2}, {"filters": True}),
    ({"kind": "share-of-zeros", "most": 0.5}, {"from_variables": 2}),
    ({"kind": "share-of-ones", "most": 0.5}, {"up_to": 3}),
    ({"kind": "marginal-dominance", "most": 0.5}, {"most": 0.6}),
    ({"kind": "attribute-disclosure"}, {"most": 0.2}),
    ({"kind": "mean-cell-size", "least": 2}, {"rescue": 9}),
    ({"kind": "blocked-areas", "most": 0.5}, {"level": "area"}),
]


def sentence_of(kind, **keys):
    """The sentence of a rule that nobody declares: no table is answered under it."""
    return kinds()[kind](**keys).sentence


@pytest.mark.parametrize(("section", "other"), SECTIONS, ids=lambda each: each.get("kind", ""))
def test_every_kind_is_told_in_a_sentence_that_follows_its_parameters(section, other):
    told, changed = (sentence_of(**each) for each in (section, section | other))
    assert told.endswith(".")
    assert "\n" not in told
    assert told != changed  # a fixed sentence for a kind would not tell what was declared


def test_every_kind_is_in_the_list():
    assert {section["kind"] for section, _ in SECTIONS} == set(kinds())


DECLARED = """
[[rule]]
kind = "never-alone"
variable = "job"

[[rule]]
kind = "few-people"
least = 160
"""
REFUSED = 'A table of "job" alone is refused.'
WITHHELD = [
    "In 1 of 5 areas fewer than 160 people live.",
    "2 more areas are withheld, so that totals less the areas shown do not give the others away.",
]
#: S3 has 146 people; the other areas of the south are withheld with it, since each has far fewer than ten times that.
SMALL = {"S1", "S2", "S3"}


@dataclass(frozen=True, slots=True)
class NeverAlone(Rule):
    """A variable that may not be the only one of a table."""

    kind: ClassVar[str] = "never-alone"
    variable: str = key(reading.variable)

    def refuse(self, request, shape, dataset):
        if request.variables != (self.variable,):
            return None
        return self.refusal(
            f'A table of "{self.variable}" alone is refused.', "Cross it with another variable."
        )

    def mends(self, request, dataset):
        from discreet.rules.request_edits import add_variables

        yield from add_variables(request, "sex")


@dataclass(frozen=True, slots=True, kw_only=True)
class FewPeople(CountRule):
    """Areas with few people by their noisy count."""

    kind: ClassVar[str] = "few-people"
    rescuable: ClassVar[bool] = True
    least: int = key(reading.whole(1))

    def withholds(self, slices):
        return slices.total < self.least

    @property
    def reason(self):
        return f"fewer than {self.least} people live"


@pytest.fixture(scope="module")
def toys():
    """Two kinds that nothing else lists, gone again afterwards."""
    before = set(kinds())
    for kind in (NeverAlone, FewPeople):
        register(kind)
    yield
    for kind in (NeverAlone, FewPeople):
        unregister(kind.kind)
    assert set(kinds()) == before


@pytest.fixture(scope="module")
def workspace(toys, town, tmp_path_factory):
    return town.load(tmp_path_factory.mktemp("toys"), town.description + DECLARED)


@pytest.fixture(scope="module")
def catalogue(workspace):
    return discreet.open(workspace.folder)


@pytest.fixture(scope="module")
def client(workspace):
    return TestClient(create_app(DatasetRegistry(workspace), read_options(workspace.folder)))


def withheld_areas(rows):
    return {row["area"] for row in rows if row["status"] == "c"}


class TestARuleByShape:
    """It refuses with its own sentence and code, and its advice can be followed."""

    def test_on_the_command_line(self, workspace, run_here):
        done = run_here("table", "town", "--rows", "job", "-w", workspace.folder)
        assert (done.returncode, done.stdout) == (Refused.exit_code, "")
        assert f"{REFUSED}\nCross it with another variable." in done.stderr

    def test_in_python(self, catalogue):
        with pytest.raises(Refused, match="alone") as raised:
            catalogue.table("town", rows=["job"])
        assert (raised.value.code, raised.value.message) == ("never-alone", REFUSED)
        assert catalogue.table("town", rows=["job"], columns=["sex"]).to_pandas().value.notna().any()

    def test_over_http(self, client):
        response = client.get("/api/datasets/town/table", params={"rows": "job"})
        problem = response.json()
        assert (response.status_code, problem["code"], problem["detail"]) == (403, "never-alone", REFUSED)
        assert problem["type"] == "/errors/never-alone"

    def test_on_the_page(self, client):
        response = client.get("/datasets/town", params={"rows": "job"})
        assert response.status_code == 403
        assert "A table of “Job” alone is refused." in response.text
        assert "/datasets/town?rows=job&amp;columns=sex" in response.text  # ask this instead
        explained = client.get("/errors/never-alone")
        assert explained.status_code == 200
        assert NeverAlone.__doc__ in explained.text
        assert "/errors/never-alone" in client.get("/errors").text

    def test_in_the_dry_run(self, catalogue, client, workspace, run_here):
        told = [
            catalogue.dry_run("town", rows=["job"]),
            client.get("/api/datasets/town/table", params={"rows": "job", "dry_run": "1"}).json(),
            json.loads(
                run_here("table", "town", "--rows", "job", "--dry-run", "-w", workspace.folder).stdout
            ),
        ]
        for each in told:
            assert not each["allowed"]
            assert each["verdict"]["table_error"] == REFUSED
            assert [rule["code"] for rule in each["verdict"]["rules"]] == ["never-alone"]
            assert each["suggestion"] == "rows=job&columns=sex"


class TestARuleOnCounts:
    """It withholds areas, and the verdict gives its reason."""

    command: ClassVar = ("table", "town", "--rows", "area", "--columns", "sex")

    def test_on_the_command_line(self, workspace, run_here):
        done = run_here(*self.command, "--format", "csv", "-w", workspace.folder)
        assert withheld_areas(csv.DictReader(io.StringIO(done.stdout))) == SMALL

    def test_in_python(self, catalogue):
        table = catalogue.table("town", rows=["area"], columns=["sex"])
        assert withheld_areas(table.to_pandas().to_dict("records")) == SMALL

    def test_over_http(self, client):
        asked = {"rows": "area", "columns": "sex"}
        told = client.get("/api/datasets/town/table", params={**asked, "format": "csv"})
        assert withheld_areas(csv.DictReader(io.StringIO(told.text))) == SMALL
        verdict = client.get("/api/datasets/town/table", params=asked).json()["extension"]["confidentiality"][
            "verdict"
        ]
        assert (verdict["blocked"], verdict["rules"][0]["code"]) == (3, "few-people")

    def test_on_the_page(self, client):
        response = client.get("/datasets/town", params={"rows": "area", "columns": "sex"})
        assert response.status_code == 200
        # Three areas by two sexes and their total.
        assert response.text.count("[c]</td>") == 9

    def test_in_the_dry_run(self, catalogue, client, workspace, run_here):
        command = run_here(*self.command, "--dry-run", "-w", workspace.folder)
        told = [
            catalogue.dry_run("town", rows=["area"], columns=["sex"]),
            client.get(
                "/api/datasets/town/table", params={"rows": "area", "columns": "sex", "dry_run": "1"}
            ).json(),
            json.loads(command.stdout),
        ]
        for each in told:
            assert each["allowed"]
            assert (each["verdict"]["blocked"], each["verdict"]["total"]) == (3, 5)
            assert [rule["message"] for rule in each["verdict"]["rules"]] == WITHHELD

    def test_a_filter_to_a_small_area_is_refused(self, catalogue):
        with pytest.raises(Refused, match="None of the areas") as raised:
            catalogue.table("town", rows=["sex"], filters={"area": ["S3"]})
        assert raised.value.code == "table-not-released"

    def test_another_rule_may_spare_its_areas(self, toys, ask, noisy, dataset):
        from discreet.rules.verdict import verdict_of

        request, _ = ask(rows=["area"], columns=["sex"])
        few = {"kind": "few-people", "least": 400}
        mean = {"kind": "mean-cell-size", "least": 1, "rescue": 1, "rescues": ["few-people"]}
        for sections, withheld in (((few,), 5), ((few, mean), 0)):
            assert verdict_of(parse_rules(sections, dataset), noisy(request, 3), dataset).withheld == withheld


class TestRegistration:
    """What is registered is evaluated."""

    def test_a_kind_without_a_stage_is_refused(self):
        @dataclass(frozen=True, slots=True)
        class Idle(Rule):
            kind: ClassVar[str] = "idle"
            most: int = key(reading.whole(1))

        with pytest.raises(TypeError, match="would never be evaluated"):
            register(Idle)
        assert "idle" not in kinds()

    @pytest.mark.parametrize(("stage", "needed"), [("withholds", "reason"), ("refuse_account", "is_metered")])
    def test_a_stage_comes_with_what_it_needs(self, stage, needed):
        half = type("Half", (Rule,), {"kind": "half", stage: lambda *_: None, "__slots__": ()})
        with pytest.raises(TypeError, match=needed):
            register(half)

    def test_a_module_in_the_folder_of_kinds_is_found_by_itself(self, tmp_path, monkeypatch, dataset):
        from discreet.rules import kinds as home
        from discreet.rules import rule as registry

        (tmp_path / "dropped.py").write_text(
            "from discreet.rules.rule import register\n"
            "from discreet.rules.rule import Rule\n\n\n"
            "@register\n"
            "class Nothing(Rule):\n"
            '    kind = "nothing-at-all"\n\n'
            "    def refuse(self, request, shape, dataset):\n"
            '        return self.refusal("Nothing is released.", "Ask elsewhere.")\n'
        )
        monkeypatch.setattr(home, "__path__", [*home.__path__, str(tmp_path)])
        registry._discover.cache_clear()
        try:
            (rule,) = parse_rules([{"kind": "nothing-at-all"}], dataset)
            assert rule.refuse(None, None, dataset).code == "nothing-at-all"
        finally:
            unregister("nothing-at-all")
            sys.modules.pop("discreet.rules.kinds.dropped")

    def test_what_is_no_rule_is_refused(self):
        for wrong in (int, type("Nameless", (Rule,), {"refuse": lambda *_: None, "__slots__": ()})):
            with pytest.raises(TypeError, match="is not a `Rule`"):
                register(wrong)

    def test_a_name_is_given_once(self):
        copy = type("Copy", (ShareOfZeros,), {"__slots__": ()})
        with pytest.raises(ValueError, match="share-of-zeros"):
            register(copy)
        assert kinds()["share-of-zeros"] is ShareOfZeros

    def test_a_kind_that_is_not_registered_is_not_read(self, dataset):
        with pytest.raises(BadDescription, match="unheard-of"):
            parse_rules([{"kind": "unheard-of"}], dataset)

    @pytest.mark.parametrize("kind", kinds().values(), ids=lambda k: k.kind)
    def test_every_kind_is_a_value_with_a_stage_in_a_module_of_kinds(self, kind):
        assert any(kind.implements(stage) for stage in STAGES)
        assert kind.__module__.startswith("discreet.rules.kinds.")
        assert "__slots__" in vars(kind)
        assert kind.__dataclass_params__.frozen
        assert kind.__doc__


def test_no_module_beside_kinds_names_a_declared_kind():
    """`rule_set` uses two of them with the limits of [protection]; nothing else knows any."""
    from pathlib import Path

    import discreet.rules

    home = Path(discreet.rules.__file__).parent
    names = [kind.__name__ for kind in kinds().values()]
    for path in home.glob("*.py"):
        text = path.read_text("utf-8")
        found = {name for name in names if name in text} | {kind for kind in kinds() if f'"{kind}"' in text}
        assert found == ({"MaxCells", "MaxVariables"} if path.name == "rule_set.py" else set()), path
