"""Documents that describe datasets: everything public of them, and no number of records."""

from discreet.answer.notes import mandatory_note


def test_the_list_names_every_dataset_and_where_it_is_described(client):
    datasets = client.get("/api/datasets").json()["datasets"]
    assert [dataset["id"] for dataset in datasets] == ["hostile", "people"]
    assert datasets[1]["href"] == "/api/datasets/people"
    assert datasets[1]["unit"] == "persons"


def test_a_description_has_variables_hierarchies_and_the_protection_in_words(client, small_workspace):
    described = client.get("/api/datasets/people").json()
    assert [v["name"] for v in described["variables"]] == [
        "region",
        "district",
        "sex",
        "age",
        "job",
        "origin",
    ]
    assert described["variables"][2]["categories"][1] == {"code": "2", "label": "Female", "parent": None}
    assert described["variables"][1]["categories"][0]["parent"] == "R2"
    assert described["variables"][1]["geography"]
    assert described["hierarchies"][0]["levels"] == ["region", "district"]
    assert described["note"].startswith(mandatory_note(small_workspace.stored("people").dataset))
    assert "at most" in described["protection"]["promise"][0]
    assert described["protection"]["additivity"] == "independent"
    assert described["code_lists"] == []  # tests/api/test_remote.py compares those of another dataset
    assert (described["version"], described["reference_date"]) == ("7", "2026-01-01")


def test_a_description_tells_no_number_of_records(client):
    described = client.get("/api/datasets/people")
    text = described.text.replace(described.json()["digest"], "") + client.get("/api/datasets").text
    assert "617" not in text
