"""Exhibits computed, one after the other or in several processes, and their pictures drawn.

A process hands back an exhibit and the bytes of its picture, since what draws it cannot travel. Every exhibit
has streams of random numbers of its own, so the answer does not depend on where it was computed.
"""

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import dataclass, replace
from multiprocessing import get_context

from discreet_studies.exhibit import Effort, Exhibit
from discreet_studies.papers import PAPERS

#: Which exhibit of which paper.
Job = tuple[str, str]


@dataclass(frozen=True, slots=True)
class Done:
    """An exhibit that was computed: its findings, its picture as SVG and PNG if wanted, and its seconds."""

    paper: str
    exhibit: Exhibit
    pictures: Mapping[str, bytes]
    seconds: float

    @property
    def file(self) -> str:
        """The name of its picture's file, without the ending."""
        return f"{self.paper}-{self.exhibit.name.replace(' ', '-')}"


def compute(job: Job, effort: Effort, *, draw: bool) -> Done:
    """One exhibit."""
    paper, name = job
    began = time.perf_counter()
    exhibit = PAPERS[paper].exhibits()[name](effort)
    pictures = _drawn(exhibit) if draw else {}
    return Done(paper, replace(exhibit, picture=None), pictures, time.perf_counter() - began)


def _drawn(exhibit: Exhibit) -> dict[str, bytes]:
    if exhibit.picture is None:
        return {}
    from discreet.pictures.drawing import render  # noqa: PLC0415 - pictures are an extra

    chart = exhibit.picture()
    return {kind: render(chart, kind) for kind in ("svg", "png")}


def compute_all(
    jobs: Sequence[Job], effort: Effort, *, draw: bool, processes: int, report: Callable[[Done], None]
) -> list[Done]:
    """All exhibits, in the order of the jobs; `report` hears of each as it is done."""
    found: dict[Job, Done] = {}
    for job, done in _each(jobs, effort, draw=draw, processes=min(processes, len(jobs))):
        report(done)
        found[job] = done
    return [found[job] for job in jobs]


def _each(jobs: Sequence[Job], effort: Effort, *, draw: bool, processes: int) -> Iterator[tuple[Job, Done]]:
    if processes < 2:
        for job in jobs:
            yield job, compute(job, effort, draw=draw)
        return
    # Fresh processes: a forked one would inherit the threads' locks of whatever library was loaded before.
    with ProcessPoolExecutor(processes, mp_context=get_context("spawn")) as pool:
        waiting = {pool.submit(compute, job, effort, draw=draw): job for job in jobs}
        for future in as_completed(waiting):
            yield waiting[future], future.result()
