"""A verdict is plain data that follows from noisy counts; a rule may spare what another withholds."""

from discreet.rules.verdict import verdict_of

#: Areas by sex (down) and age (along).
DENSE, HALF_EMPTY = [[9, 9, 9], [9, 9, 9]], [[9, 0, 0], [0, 0, 9]]


def test_the_verdict_is_plain_data(two_regions, rules, dataset):
    import json

    table, _ = two_regions
    section, sparse = {"most": 0.5}, HALF_EMPTY
    verdict = verdict_of(rules({"kind": "share-of-zeros", **section}), table(DENSE, sparse), dataset)
    assert json.loads(json.dumps(verdict.as_json())) == {
        "passed": 0,
        "blocked": 2,
        "total": 2,
        "table_error": "No area can be shown.",
        "rules": [
            {
                "code": "share-of-zeros",
                "message": "In 1 of 2 areas more than 50% of the cells are empty.",
                "advice": "Take a variable out, filters included, or use larger areas or none.",
            },
            {
                "code": "complement",
                "message": "One more area is withheld, so that totals less the areas shown do not give the others away.",
                "advice": "Take a variable out, filters included, or use larger areas or none.",
            },
        ],
    }


def test_a_large_mean_cell_rescues_from_the_rules_that_it_lists(two_regions, rules, dataset):
    table, _ = two_regions
    zeros = {"kind": "share-of-zeros", "most": 0.5}
    sparse, rich = HALF_EMPTY, [[999, 0, 0], [0, 0, 999]]
    mean = {"kind": "mean-cell-size", "least": 1, "rescue": 100}
    verdict = verdict_of(rules(zeros, mean), table(rich, sparse), dataset)
    assert verdict.by_rule[:2].tolist() == [False, True]
    unlisted = {**mean, "rescues": ["share-of-ones"]}
    assert verdict_of(rules(zeros, unlisted), table(rich, sparse), dataset).mask[:2].all()
