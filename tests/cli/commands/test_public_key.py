"""`discreet public-key`: the public half of the signing key, and never the other."""

import shutil

from discreet.records.signing import SIGNING_KEY, read_public_key, signing_key


def test_it_writes_the_public_half_alone(run_here, town_versions, tmp_path):
    folder = shutil.copytree(town_versions, tmp_path / "w")
    assert run_here("public-key", "--out", tmp_path / "public.pem", "-w", folder).returncode == 0
    assert read_public_key(tmp_path / "public.pem") == signing_key(folder).public
    shown = run_here("public-key", "-w", folder)
    assert shown.stdout == (tmp_path / "public.pem").read_text()
    inside = (folder / SIGNING_KEY).read_text().splitlines()[1]
    assert inside not in shown.stdout + shown.stderr


def test_a_folder_that_is_no_workspace_gets_no_key(run_here, tmp_path):
    assert run_here("public-key", "-w", tmp_path).returncode == 4
    assert not list(tmp_path.iterdir())
