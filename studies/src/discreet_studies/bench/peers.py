"""The programs that ours are timed beside. They need not be installed."""

import shutil
import subprocess
import tempfile
from importlib import import_module
from pathlib import Path
from typing import Any

from discreet.errors import MissingExtra


def load_ons() -> tuple[Any, Any]:
    """The ONS package's function for a perturbed table, and the one that makes its noise table."""
    create = _load("cell_key_perturbation.create_perturbed_table", "The ONS package", "--no-ons")
    generate = _load("cell_key_perturbation.utils.generate_test_ptable", "The ONS package", "--no-ons")
    return create.create_perturbed_table, generate.generate_ptable_10_5_rule


def load_opendp() -> Any:
    """OpenDP."""
    return _load("opendp.prelude", "OpenDP", "--no-opendp")


#: Times one perturbed table of counts, with all totals, by R cellKey; its arguments are a CSV file and the variables.
_CELLKEY = """
suppressMessages({library(cellKey); library(ptable); library(sdcHierarchies)})
given <- commandArgs(trailingOnly = TRUE)
people <- data.table::fread(given[1], colClasses = "character")
people$record_key <- as.numeric(people$record_key)
names <- given[-1]
dims <- lapply(names, function(n) hier_create(root = "Total", nodes = sort(unique(people[[n]]))))
names(dims) <- names
table <- create_cnt_ptable(D = 5, V = 3, js = 2)
seconds <- system.time({
  found <- ck_setup(x = people, rkey = "record_key", dims = dims)
  found$params_cnts_set(val = ck_params_cnts(ptab = table), v = "total")
  found$perturb(v = "total")
  found$freqtab(v = "total")
})[["elapsed"]]
cat("seconds", seconds)
"""


def cellkey_seconds(frame: Any, names: list[str]) -> float | None:
    """How long R cellKey takes for a table of a frame with record keys below 256; None where R does not have it."""
    if shutil.which("Rscript") is None:
        return None
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "people.csv"
        frame.assign(record_key=frame["record_key"] / 256).to_csv(file, index=False)
        words = ["Rscript", "-e", _CELLKEY, str(file), *names]
        done = subprocess.run(words, capture_output=True, text=True, check=False)
    return float(done.stdout.split()[-1]) if done.returncode == 0 and "seconds" in done.stdout else None


def _load(module: str, name: str, option: str) -> Any:
    try:
        return import_module(module)
    except ImportError:
        raise MissingExtra(
            f"{name} is not installed.", f'Install the extra: pip install "discreet[bench]", or add {option}.'
        ) from None
