"""Sentences say what a reader would conclude."""

from __future__ import annotations

import numpy as np

from discreet.assess import Subject, assess_subject, cases_of
from discreet.assess.sentences import conclusion, summary


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
