import pytest

from discreet.cli.place import Place, open_place
from discreet.errors import BadRequest


def test_a_plain_name_is_a_dataset_of_the_workspace(town_workspace):
    place = open_place("town", town_workspace.folder)
    assert place.dataset == place.door.dataset.id == "town"
    request = place.request(rows=["sex"], columns=None, totals=False, measure="count", additivity="")
    assert (request.rows, request.columns, request.totals) == (("sex",), (), False)


@pytest.mark.parametrize(
    ("dataset", "said"),
    [
        ("https://example.org", "names no dataset"),
        ("https://example.org/datasets/", "names no dataset"),
        ("https://me:1@example.org/datasets/census", "password"),
    ],
)
def test_an_address_without_a_dataset_is_refused_before_anybody_is_asked(dataset, said):
    with pytest.raises(BadRequest, match=said):
        open_place(dataset, None)


def test_an_address_and_a_workspace_are_refused(tmp_path):
    with pytest.raises(BadRequest, match="--workspace"):
        open_place("https://example.org/datasets/census", tmp_path)


def test_the_table_of_an_address_is_asked_for_and_nothing_beside_it():
    place = Place("census", None, None, "rows=sex&totals=no")
    assert place.request(rows=None, totals=True, measure="count").permalink == "rows=sex&totals=no"
    for given in ({"rows": ["age"]}, {"totals": False}, {"measure": "weighted"}):
        with pytest.raises(BadRequest, match="and so do the options"):
            place.request(**given)


def test_a_key_without_encryption_is_warned_about_on_standard_error(run_here, monkeypatch):
    from discreet.api.connection import Connection
    from discreet.errors import ServerUnusable

    def silent(self, address, headers):
        raise ServerUnusable("Nobody is there.")

    monkeypatch.setattr(Connection, "_once", silent)
    place = "http://example.org/datasets/census"
    done = run_here("table", place, "--rows", "sex", DISCREET_KEY="x1y2z3")
    assert "without encryption" in done.stderr
    assert "x1y2z3" not in done.stderr
    assert done.returncode == 70
    assert "without encryption" not in run_here("table", place, "--rows", "sex").stderr
