"""Exhibits computed here or in other processes are the same, and pictures travel as bytes."""

import pytest

from discreet_studies.compute import compute, compute_all
from discreet_studies.exhibit import Effort

QUICK = Effort(quick=True)
JOBS = [("bailie2020", "table 2"), ("shlomo2019", "table 4"), ("bailie2020", "section 4")]


@pytest.mark.slow
def test_processes_give_what_one_process_gives_in_the_order_of_the_jobs():
    heard = []
    alone = compute_all(JOBS, QUICK, draw=False, processes=1, report=heard.append)
    apart = compute_all(JOBS, QUICK, draw=False, processes=2, report=heard.append)
    assert [(d.paper, d.exhibit) for d in alone] == [(d.paper, d.exhibit) for d in apart]
    assert [(d.paper, d.exhibit.name) for d in alone] == JOBS
    assert len(heard) == 2 * len(JOBS)


def test_a_picture_is_drawn_only_when_wanted():
    assert compute(JOBS[0], QUICK, draw=False).pictures == {}
    done = compute(JOBS[0], QUICK, draw=True)
    assert done.pictures["svg"].startswith(b"<svg")
    assert done.pictures["png"].startswith(b"\x89PNG")
    assert (done.file, done.exhibit.picture) == ("bailie2020-table-2", None)


def test_an_exhibit_without_a_picture_has_none():
    assert compute(JOBS[2], QUICK, draw=True).pictures == {}
