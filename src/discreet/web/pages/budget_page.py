"""The page of a dataset's privacy budget: its guarantee, the price of every table, and what is left."""

from __future__ import annotations

from typing import Any

from fastapi import APIRouter, Request
from starlette.responses import Response

from discreet.release.dataset_registry import DatasetRegistry
from discreet.web.i18n.dataset_labels import translate_dataset
from discreet.web.query import refuse_unknown
from discreet.web.templating import render_page


def add_budget_page(router: APIRouter, registry: DatasetRegistry) -> None:
    """Add the route of the page."""

    @router.get("/datasets/{dataset_id}/budget")
    def budget(request: Request, dataset_id: str) -> Response:
        """The budget of a dataset under `dp`; never cached, since it changes as others spend."""
        refuse_unknown(request.query_params, ())
        service = registry.door(dataset_id)
        found, dataset = service.budget(), translate_dataset(service.dataset)

        def label(table: dict[str, Any]) -> str:
            return " × ".join(dataset.variable(name).label for name in table["variables"])

        tables = [{**table, "label": label(table)} for table in found["tables"]]
        response = render_page(
            "budget.html",
            dataset=dataset,
            found=found,
            left=service.budget_left(),
            promise=service.promise(),
            tables=sorted(tables, key=lambda each: (-each["epsilon"], len(each["variables"]), each["label"])),
            largest=max(table["epsilon"] for table in found["tables"]),
        )
        response.headers["cache-control"] = "no-store"
        return response
