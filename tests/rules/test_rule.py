"""A rule is a value whose keys all have a reader.

A kind of rule is registered in one place and nowhere else: every face reads it, asks it and tells what it said.
"""

import sys
from dataclasses import dataclass, fields
from typing import ClassVar

import pytest

import discreet
from discreet.errors import Refused
from discreet.rules import reading
from discreet.rules.kinds.sparseness import ShareOfZeros
from discreet.rules.reading import key
from discreet.rules.rule import STAGES, CountRule, Rule, kinds, register, unregister
from discreet.rules.rule_set import parse_rules
from discreet.rules.verdict import verdict_of

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


@pytest.mark.parametrize(("section", "other"), SECTIONS, ids=lambda each: each.get("kind", ""))
def test_every_kind_is_told_in_a_sentence_that_follows_its_parameters(section, other):
    kind, declared = section["kind"], {name: value for name, value in section.items() if name != "kind"}
    told, changed = (kinds()[kind](**each).sentence for each in (declared, declared | other))
    assert told.endswith(".")
    assert "\n" not in told
    assert told != changed  # a fixed sentence for a kind would not tell what was declared
    assert {section["kind"] for section, _ in SECTIONS} == set(kinds())


DECLARED = """
[[rule]]
kind = "few-people"
least = 160
"""
#: S3 has 146 people; the other areas of the south are withheld with it, since each has far fewer than ten times that.
SMALL = {"S1", "S2", "S3"}


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
    """A kind that nothing else lists, gone again afterwards."""
    register(FewPeople)
    yield
    unregister("few-people")
    assert "few-people" not in kinds()


@pytest.fixture(scope="module")
def catalogue(toys, town, tmp_path_factory):
    return discreet.open(town.load(tmp_path_factory.mktemp("toys"), town.description + DECLARED).folder)


def test_a_rule_on_counts_withholds_areas_with_its_reason_unless_another_spares_them(
    toys, catalogue, ask, noisy, dataset
):
    table = catalogue.table("town", rows=["area"], columns=["sex"])
    frame = table.to_pandas()
    assert set(frame[frame.status == "c"].area) == SMALL
    told = catalogue.dry_run("town", rows=["area"], columns=["sex"])["verdict"]
    assert (told["blocked"], told["total"], told["rules"][0]["code"]) == (3, 5, "few-people")
    assert told["rules"][0]["message"] == "In 1 of 5 areas fewer than 160 people live."
    with pytest.raises(Refused, match="None of the areas") as raised:
        catalogue.table("town", rows=["sex"], filters={"area": ["S3"]})
    assert raised.value.code == "table-not-released"
    request, _ = ask(rows=["area"], columns=["sex"])
    few = {"kind": "few-people", "least": 400}
    mean = {"kind": "mean-cell-size", "least": 1, "rescue": 1, "rescues": ["few-people"]}
    for sections, withheld in (((few,), 5), ((few, mean), 0)):
        assert verdict_of(parse_rules(sections, dataset), noisy(request, 3), dataset).withheld == withheld


def made(name="Half", base=Rule, **members):
    return type(name, (base,), {**members, "__slots__": ()})


def nothing(*_):
    """A stage that lets everything pass."""


class TestRegistration:
    """What is registered is evaluated."""

    @pytest.mark.parametrize(
        ("wrong", "error", "said"),
        [
            (made(kind="idle"), TypeError, "would never be evaluated"),
            (made(kind="half", withholds=nothing), TypeError, "reason"),
            (made(kind="half", refuse_account=nothing), TypeError, "is_metered"),
            (int, TypeError, "is not a `Rule`"),
            (made("Nameless", refuse=nothing), TypeError, "is not a `Rule`"),
            (made("Copy", ShareOfZeros), ValueError, "share-of-zeros"),
        ],
    )
    def test_what_is_no_rule_or_has_a_taken_name_is_refused(self, wrong, error, said):
        before = dict(kinds())
        with pytest.raises(error, match=said):
            register(wrong)
        assert kinds() == before

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

    @pytest.mark.parametrize("kind", kinds().values(), ids=lambda k: k.kind)
    def test_every_kind_is_a_value_with_a_stage_in_a_module_of_kinds(self, kind):
        assert any(kind.implements(stage) for stage in STAGES)
        assert all("reader" in each.metadata for each in fields(kind))
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
