"""The layout of records in Parquet: its seal."""

import pytest

from discreet.errors import WorkspaceUnusable
from discreet.records.parquet_place import read_tag, write_seal


def test_the_tag_is_kept_and_a_folder_without_one_is_refused(tmp_path):
    write_seal(tmp_path, "a tag")
    assert read_tag(tmp_path) == "a tag"
    (tmp_path / "seal.json").write_text("[]")
    with pytest.raises(WorkspaceUnusable, match=r"seal\.json cannot be opened"):
        read_tag(tmp_path)
