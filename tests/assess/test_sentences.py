"""Sentences say what a reader would conclude."""

from __future__ import annotations

import numpy as np
import pytest

from discreet.answer.door import Door
from discreet.assess import Subject, assess, assess_subject, cases_of
from discreet.assess.sentences import conclusion, summary
from discreet.model.request import TableRequest


@pytest.fixture(scope="module")
def found(town_workspace):
    request = TableRequest("town", rows=("sex",), columns=("job",), filters=(("area", ("N2", "S3")),))
    return assess(
        Door(town_workspace.stored("town")),
        request,
        families=["laplace", "pram", "current"],
        epsilons=[0.5, 1],
        reps=10,
    )


def test_sentences_say_what_a_reader_would_conclude():
    counts = np.random.default_rng(3).poisson(10, (1, 10, 10))
    subject = Subject(counts, np.ones(counts.shape, dtype=bool))
    cases, left_out = cases_of(["laplace", "hellinger"], [0.3, 8.0], 1e-4)
    found = assess_subject(subject, cases, reps=12, left_out=left_out)
    said = " ".join(conclusion(found))
    assert "no association is seen" in said
    assert "misled in more than one release of ten under laplace 0.3" in said
    assert "Under every case" not in said
    assert "100 cells that can occur" in " ".join(summary(found))
