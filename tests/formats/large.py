"""A release of many cells without a record; as a program, the peak memory of each format while its pieces are taken.

`python tests/formats/large.py 100x100x100 csv json` prints peak / arrays by format, as JSON; `csv:joined` is a writer
that joins its pieces first.
"""

import ctypes
import gc
import json
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np

from discreet.formats import format_by_name
from discreet.model.description.dataset_toml import parse_dataset
from discreet.model.release import Release
from discreet.model.request import request_from_text
from discreet.model.shape import Dimension, Output
from discreet.noise import laplace
from discreet.noise.table_distribution import TableDistribution


def large_release(*lengths):
    """A table of these lengths, with every status and numbers of several digits."""
    names = [f"v{number}" for number in range(len(lengths))]
    outputs = [tuple(Output(f"c{p:04}", f"Category, {p}", (p,)) for p in range(n - 1)) for n in lengths]
    variables = "".join(
        f'[[variable]]\nname = "{name}"\nlabel = "Variable {name}"\ncategories = ['
        + ",".join(f'{{ code = "{o.code}", label = "{o.label}" }}' for o in shown)
        + "]\n"
        for name, shown in zip(names, outputs, strict=True)
    )
    rng = np.random.default_rng(1)
    noisy = rng.integers(-5, 20_000, lengths)
    return Release(
        dataset=parse_dataset(f'id = "large"\nlabel = "Large"\nid_column = "id"\n{variables}'),
        digest="0" * 64,
        request=request_from_text("large", rows=names[:1], columns=names[1:2], layers=names[2:]),
        dimensions=tuple(
            Dimension(name, f"Variable {name}", shown, tuple(range(len(shown))), tuple(o.code for o in shown))
            for name, shown in zip(names, outputs, strict=True)
        ),
        values=noisy.copy(),
        noisy=noisy,
        status=rng.choice(np.array([0] * 7 + [1, 2, 3], dtype=np.uint8), lengths),
        distribution=TableDistribution(laplace(epsilon=1.0, m=2), lengths),
        notes=("Counts were adjusted.",),
        promise=("A promise.",),
    )


def joined_first(form):
    """The wrong alternative: a writer that has the whole document before its first piece."""
    return replace(form, pieces=lambda release: [form.write(release)])


def _memory(key):
    lines = Path("/proc/self/status").read_text("utf-8").splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith(key)) * 1024


def peak_ratio(name, release):
    """The largest memory while the pieces are taken, the arrays included, as a multiple of the arrays."""
    name, _, joined = name.partition(":")
    form = joined_first(format_by_name(name)) if joined else format_by_name(name)
    form.write(large_release(3, 3, 3))  # the libraries are there already
    gc.collect()
    ctypes.CDLL(None).malloc_trim(0)  # what an earlier format left behind is no room of this one
    arrays = sum(array.nbytes for array in (release.values, release.noisy, release.status))
    before = _memory("VmRSS")
    Path("/proc/self/clear_refs").write_text("5", "utf-8")
    for _ in form.stream(release):
        pass
    return (_memory("VmHWM") - before + arrays) / arrays


if __name__ == "__main__":
    whole = large_release(*map(int, sys.argv[1].split("x")))
    print(json.dumps({name: round(peak_ratio(name, whole), 2) for name in sys.argv[2:]}))
