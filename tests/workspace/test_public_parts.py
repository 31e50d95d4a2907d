"""What is public of a version: a dataset again on another machine, without comments, files and engines."""

from discreet.answer.doors import open_doors
from discreet.publish.packed import pack, unpack
from discreet.workspace.public_parts import PublicParts


def test_the_description_gives_the_dataset_without_what_its_records_need(town, tmp_path):
    text = town.description.replace(
        "[protection]", '# A remark of the office.\n[engine]\nkind = "duckdb"\n\n[protection]', 1
    )
    town.load(tmp_path, text).close()
    doors = open_doors(tmp_path)
    parts = doors.public_parts("town")
    assert b"remark" not in pack(parts.description)
    assert not {"engine", "file"} & parts.description.keys()
    again = PublicParts(unpack(pack(parts.description)), parts.revisions, parts.wording, {}).dataset()
    served = doors.door("town").dataset
    assert [v.codes for v in again.variables] == [v.codes for v in served.variables]
    assert (again.protection, again.lineage, again.code_lists) == (
        served.protection,
        served.lineage,
        served.code_lists,
    )
    doors.close()
