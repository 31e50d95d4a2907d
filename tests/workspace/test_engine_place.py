"""Which engine keeps a version: the first who names one wins."""

from discreet.model.dataset_toml import parse_dataset
from discreet.workspace.engine_place import engine_wanted


def test_the_first_that_names_an_engine_wins(town, tmp_path):
    plain = parse_dataset(town.description)
    named = parse_dataset(town.description + '\n[engine]\nkind = "toy"\n')
    assert engine_wanted(tmp_path, plain) == ""
    (tmp_path / "workspace.toml").write_text('[engine]\nkind = "one"\n')
    assert engine_wanted(tmp_path, plain) == "one"
    assert engine_wanted(tmp_path, named) == "toy"
    assert engine_wanted(tmp_path, named, "duckdb") == "duckdb"
