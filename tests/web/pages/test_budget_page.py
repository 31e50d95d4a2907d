"""The page of a privacy budget: every table with its labels, the most precise first, and what is left."""

from fastapi.testclient import TestClient

from discreet.release.dataset_registry import open_registry
from discreet.web.app import create_app
from discreet.workspace.options import read_options

from ..conftest import Page


def test_the_page_has_the_tables_of_the_budget_and_is_never_cached(private_folder):
    registry = open_registry(private_folder)
    client = TestClient(create_app(registry, read_options(private_folder)))
    (name,) = [each for each in registry.ids() if registry.door(each).dataset.protection.is_dp]
    found = client.get(f"/api/datasets/{name}/budget").json()
    shown = client.get(f"/datasets/{name}/budget")
    assert (shown.status_code, shown.headers["cache-control"]) == (200, "no-store")
    dataset = registry.door(name).dataset
    rows = Page(shown).texts("th", scope="row")
    labels = {" × ".join(dataset.variable(n).label for n in t["variables"]) for t in found["tables"]}
    assert {label or "Grand total" for label in labels} <= set(rows)
    assert client.get(f"/datasets/{name}/budget?x=1").status_code == 400
