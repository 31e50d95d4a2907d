"""What is not installed is named, with the option that leaves it out."""

import sys

import pandas as pd
import pytest

from discreet.errors import MissingExtra
from discreet_studies.bench.peers import cellkey_seconds, load_ons, load_opendp


@pytest.mark.parametrize(
    ("load", "package", "option"),
    [(load_ons, "cell_key_perturbation", "--no-ons"), (load_opendp, "opendp", "--no-opendp")],
)
def test_a_missing_peer_is_named(monkeypatch, load, package, option):
    for name in [name for name in sys.modules if name.split(".")[0] == package]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(MissingExtra, match="not installed") as error:
        load()
    assert option in error.value.advice


@pytest.mark.parametrize(
    ("says", "seconds"), [("echo seconds 1.5", 1.5), ("echo no cellKey; exit 1", None), (None, None)]
)
def test_r_is_asked_and_need_not_have_it(monkeypatch, tmp_path, says, seconds):
    """A stand-in for Rscript: what is timed is R's, and an R without cellKey is left out."""
    path = tmp_path / "Rscript"
    if says is not None:
        path.write_text(f"#!/bin/sh\n{says}\n")
        path.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin" if says else str(tmp_path))
    frame = pd.DataFrame({"sex": [0, 1], "record_key": [3, 255]})
    assert cellkey_seconds(frame, ["sex"]) == seconds
