"""`discreet doctor`: the exit code says whether there is a fault."""

import json
import shutil


def test_sound_and_not_sound(run_here, town_versions, tmp_path):
    folder = shutil.copytree(town_versions, tmp_path / "w")
    folder.chmod(0o700)
    assert run_here("doctor", "--quick", "-w", folder).returncode == 0
    folder.chmod(0o755)
    done = run_here("doctor", "--json", "-w", folder)
    faults = [each for each in json.loads(done.stdout)["findings"] if each["state"] == "fault"]
    assert (done.returncode, [each["what"] for each in faults]) == (70, ["permissions"])
