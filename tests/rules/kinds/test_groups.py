"""Groups of one's own are limited, and unions that nearly coincide are refused."""

from typing import ClassVar

from tests.rules.refusals import first_refusal


class TestFreeGroups:
    grouped: ClassVar = {"rows": ["job"], "groups": ["job=0+1,2"]}

    def test_groups_beyond_the_accounts_number_are_refused_and_nobody_keeps_the_answer(
        self, rules, ask, dataset
    ):
        counted = rules({"kind": "free-groups", "per_account": 3})
        asked = []

        def meter(variable, account):
            asked.append((variable, account))
            return 3

        refusal = first_refusal(*ask(**self.grouped), dataset, counted, meter=meter, account="ada")
        assert (refusal.code, refusal.cacheable) == ("too-many-groups", False)
        assert asked == [("job", "ada")]
        allowed = first_refusal(*ask(**self.grouped), dataset, counted, meter=lambda _v, _a: 2, account="ada")
        assert allowed is None

    def test_nobody_signed_in_has_no_groups_where_they_are_counted(self, rules, ask, dataset):
        counted = rules({"kind": "free-groups", "per_account": 3})
        refusal = first_refusal(*ask(**self.grouped), dataset, counted)
        assert (refusal.code, refusal.cacheable) == ("too-many-groups", False)

    def test_single_categories_are_no_groups(self, rules, ask, dataset):
        none = rules({"kind": "free-groups", "allowed": False})
        assert first_refusal(*ask(rows=["job"], groups=["job=0,1"]), dataset, none) is None

    def test_a_rule_without_a_list_is_about_every_variable(self, rules, ask, dataset):
        none = rules({"kind": "free-groups", "allowed": False})
        assert first_refusal(*ask(rows=["age"], groups=["age=child+old"]), dataset, none) is not None


class TestNestedGroups:
    def test_filters_count_as_unions_where_the_rule_says_so(self, rules, ask, dataset):
        section = {"kind": "nested-groups", "fewer_than": 2, "variables": ["area"]}
        with_filters = rules({**section, "filters": True})
        almost_south = {"rows": ["sex"], "filters": ["area=S1,S2"]}
        assert first_refusal(*ask(**almost_south), dataset, rules(section)) is None
        refusal = first_refusal(*ask(**almost_south), dataset, with_filters)
        assert "'S' of \"region\"" in refusal.message
        north_and_one = {"rows": ["sex"], "filters": ["area=N1,N2,S1"]}
        assert first_refusal(*ask(**north_and_one), dataset, with_filters) is not None
        all_but_one = {"rows": ["sex"], "filters": ["area=N1,N2,S1,S2"]}
        assert first_refusal(*ask(**all_but_one), dataset, with_filters) is not None
        for allowed in ("area=N1,N2", "area=N1", "area=N1,S1"):
            assert first_refusal(*ask(rows=["sex"], filters=[allowed]), dataset, with_filters) is None

    def test_without_totals_a_shown_filter_is_no_union(self, rules, ask, dataset):
        section = {"kind": "nested-groups", "fewer_than": 2, "filters": True}
        shown = {"rows": ["area"], "filters": ["area=S1,S2"]}
        assert first_refusal(*ask(**shown), dataset, rules(section)) is not None
        assert first_refusal(*ask(**shown, totals=False), dataset, rules(section)) is None

    def test_the_difference_is_counted_in_categories(self, rules, ask, dataset):
        asked = ask(rows=["job"], groups=["job=1+2"])
        assert first_refusal(*asked, dataset, rules({"kind": "nested-groups", "fewer_than": 2})) is None
        assert first_refusal(*asked, dataset, rules({"kind": "nested-groups", "fewer_than": 3})) is not None
