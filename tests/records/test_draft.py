import pyarrow.parquet as pq
import pytest

from discreet.errors import BadData, NotFound
from discreet.model.dataset_toml import parse_dataset
from discreet.records.draft import describe_file
from discreet.workspace.load import load_dataset
from discreet.workspace.workspace import Workspace


def test_a_draft_loads_as_it_is(town, tmp_path):
    path = tmp_path / "My Town 2026.parquet"
    pq.write_table(town.records, path)
    draft = describe_file(path)
    dataset = parse_dataset(draft)
    assert dataset.id == "my-town-2026"
    assert dataset.id_column == "person"
    assert [variable.name for variable in dataset.variables] == ["region", "area", "sex", "age", "job"]
    assert dataset.variable("job").not_stated == "not-stated"
    assert dataset.hierarchies[0].levels == ("region", "area")
    load_dataset(tmp_path / "workspace", draft, path)
    assert Workspace(tmp_path / "workspace").ids() == ["my-town-2026"]


def test_age_bands_are_ordered_as_people_count(tmp_path):
    import pandas as pd

    path = tmp_path / "ages.csv"
    bands = ["10-14", "5-9", "100+", "0-4"]
    pd.DataFrame({"id": range(40), "age": bands * 10}).to_csv(path, index=False)
    assert parse_dataset(describe_file(path)).variable("age").codes == ("0-4", "5-9", "10-14", "100+")


def test_hostile_column_names_and_values_stay_data(tmp_path):
    import pandas as pd

    path = tmp_path / "hostile.csv"
    name = 'x"; DROP TABLE records; --'
    values = ['a"b', "=cmd()", "<script>", "‮bidi", "line\nbreak", "]]\n[evil]"]
    pd.DataFrame({"id": range(60), name: values * 10, "count": ["1", "2"] * 30}).to_csv(path, index=False)
    dataset = parse_dataset(describe_file(path))
    assert [variable.column for variable in dataset.variables] == [name, "count"]
    assert set(dataset.variables[0].codes) == set(values)
    assert dataset.variables[1].name == "count_1"
    load_dataset(tmp_path / "workspace", describe_file(path), path)


def test_a_weight_and_a_measurement_are_not_variables(tmp_path):
    import pandas as pd

    path = tmp_path / "survey.csv"
    frame = pd.DataFrame(
        {
            "id": range(50),
            "weight": [1.5] * 50,
            "income": [n + 0.5 for n in range(50)],
            "sex": ["1", "2"] * 25,
        }
    )
    frame.to_csv(path, index=False)
    draft = describe_file(path)
    dataset = parse_dataset(draft)
    assert dataset.weight_column == "weight"
    assert "# Weighted tables need [survey]" in draft
    assert [variable.name for variable in dataset.variables] == ["sex"]
    assert "# Left out: income (not whole numbers)\n" in draft


def test_a_column_that_is_left_out_says_its_own_reason(tmp_path):
    import pandas as pd

    path = tmp_path / "tiny.csv"
    path.write_text("id,sex,age\n1,m,3\n2,f,4\n3,m,5\n")
    assert "# Left out: age (a different value in every record)\n" in describe_file(path)
    pd.DataFrame({"id": range(2000), "street": [f"s{n // 2}" for n in range(2000)]}).to_csv(path, index=False)
    assert "# Left out: street (1,000 different values)\n" in describe_file(path)


def test_remarks_that_name_people_are_left_out(tmp_path):
    import pandas as pd

    path = tmp_path / "remarks.csv"
    remarks = ["", "refused once"] * 40 + [f"called back at {n}" for n in range(40)]
    wards = [f"w{n % 30}" for n in range(120)]
    pd.DataFrame({"id": range(120), "ward": wards, "remark": remarks}).to_csv(path, index=False)
    draft = describe_file(path)
    assert "# Left out: remark (most values stand in one record only)\n" in draft
    assert "called back" not in draft
    assert [variable.name for variable in parse_dataset(draft).variables] == ["ward"]


def test_a_few_rare_values_are_categories_all_the_same(tmp_path):
    import pandas as pd

    path = tmp_path / "rare.csv"
    pd.DataFrame({"id": range(20), "tongue": ["a"] * 17 + ["b", "c", "d"]}).to_csv(path, index=False)
    assert [variable.name for variable in parse_dataset(describe_file(path)).variables] == ["tongue"]


def test_a_file_without_an_id_says_so(tmp_path):
    import pandas as pd

    path = tmp_path / "noid.csv"
    pd.DataFrame({"sex": ["1", "2"] * 25}).to_csv(path, index=False)
    assert "add a stable id" in describe_file(path)


def test_an_unreadable_or_missing_file_is_refused(tmp_path):
    (tmp_path / "bad.parquet").write_bytes(b"nonsense")
    with pytest.raises(BadData):
        describe_file(tmp_path / "bad.parquet")
    with pytest.raises(NotFound):
        describe_file(tmp_path / "nothing.csv")
