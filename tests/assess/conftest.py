"""An assessment of a small table, and its report."""

import pytest

from discreet.assess import assess
from discreet.assess.report_pages import report
from discreet.model.request import TableRequest
from discreet.release.dataset_registry import DatasetService


@pytest.fixture(scope="session")
def found(town_workspace):
    request = TableRequest("town", rows=("sex",), columns=("job",), filters=(("area", ("N2", "S3")),))
    return assess(
        DatasetService(town_workspace.stored("town")),
        request,
        families=["laplace", "pram", "current"],
        epsilons=[0.5, 1],
        reps=10,
    )


@pytest.fixture(scope="session")
def html(found):
    return report(found)
