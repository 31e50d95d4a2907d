"""`discreet secret rotate`: it says what it means, asks, and names what must be loaded again."""

import shutil


def test_it_asks_and_names_the_datasets(run_here, town_versions, tmp_path):
    folder = shutil.copytree(town_versions, tmp_path / "w")
    secret = (folder / "secret").read_bytes()
    refused = run_here("secret", "rotate", "-w", folder)
    assert refused.returncode != 0
    assert (folder / "secret").read_bytes() == secret
    done = run_here("secret", "rotate", "--yes", "-w", folder)
    assert "Load again: town" in " ".join(done.stderr.split())
    assert secret.hex() not in done.stderr
    assert (folder / "secret").read_bytes() != secret
