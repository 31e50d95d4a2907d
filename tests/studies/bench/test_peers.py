"""What is not installed is named, with the option that leaves it out."""

import sys

import pytest

from discreet.errors import MissingExtra
from discreet_studies.bench.peers import load_ons, load_opendp


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
