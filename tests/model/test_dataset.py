from discreet.model.description.dataset_toml import parse_dataset


def test_the_description_of_the_town_is_read_whole(town):
    dataset = parse_dataset(town.description)
    assert [variable.name for variable in dataset.variables] == ["region", "area", "sex", "age", "job"]
    assert dataset.geography == {"region", "area"}
    assert dataset.finest_geography == "area"
    assert dataset.lineage == "town"
    assert dataset.variable("job").not_stated == "9"
