"""`discreet relabel`: other words, the same numbers; codes are refused."""

import shutil


def test_words_and_no_codes(run_here, town, town_workspace, tmp_path):
    folder = shutil.copytree(town_workspace.folder, tmp_path / "w")
    description = tmp_path / "town.toml"
    description.write_text(town.description.replace('label = "Male"', 'label = "Men"'), "utf-8")
    assert run_here("relabel", description, "-w", folder).returncode == 0
    assert "Men" in run_here("table", "town", "--rows", "sex", "--format", "csv", "-w", folder).stdout
    description.write_text(
        town.description.replace('code = "1", label = "Male"', 'code = "M", label = "Male"'), "utf-8"
    )
    refused = run_here("relabel", description, "-w", folder)
    assert (refused.returncode, "more than words" in refused.stderr) == (2, True)
