"""`discreet backup`: a new folder, and what it holds is said."""


def test_a_copy_is_made_once(run_here, town_versions, tmp_path):
    done = run_here("backup", tmp_path / "copy", "-w", town_versions)
    assert "keep it as safe" in " ".join(done.stderr.split())
    again = run_here("backup", tmp_path / "copy", "-w", town_versions)
    assert (again.returncode, "exists already" in again.stderr) == (2, True)
