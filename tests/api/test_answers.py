from discreet.api.answers import COMPUTED_HERE
from discreet.formats import formats
from discreet.inference.cell_targets import every_interval, interval_of
from discreet.inference.independence import independence_test


def test_here_every_answer_follows_from_the_release(town_release):
    release = town_release
    (csv,) = (form for form in formats() if form.name == "csv")
    assert b"".join(COMPUTED_HERE.stream(release, csv)) == csv.write(release)
    cells, of = [("adult", "1", "1")], [("adult", "1", "1"), ("adult", "2", "1")]
    assert COMPUTED_HERE.interval(release, cells, 0.9, {"of": of}) == interval_of(release, cells, of, (), 0.9)
    low, high = COMPUTED_HERE.every_interval(release, 0.9)
    assert (low == every_interval(release, 0.9)[0]).all()
    assert (high >= low).all()


def test_a_test_takes_its_options_here(town_workspace):
    import discreet

    with discreet.open(town_workspace.folder) as catalogue:
        release = catalogue.table("town", rows=["sex"], columns=["age"]).release
    options = {"method": "bootstrap", "replicates": 19, "seed": 4}
    assert COMPUTED_HERE.independence(release, options) == independence_test(release, **options)
