"""What travels with a table."""

from discreet.model.messages.citation import citation, provenance


def test_the_mandatory_note_comes_first_after_the_title(town_release):
    lines = provenance(town_release)
    assert lines[:2] == [("title", town_release.title), ("note", town_release.notes[0])]
    assert ("digest", town_release.digest) in lines
    assert [text for name, text in lines if name == "promise"] == list(town_release.promise)
    assert all(text for _, text in lines)


def test_a_citation_names_version_and_address_or_query(town_release):
    cited = citation(town_release)
    assert cited.startswith(
        f"{town_release.title}. A town, version 1 ({town_release.digest[:8]}). Invented. "
    )
    assert cited.endswith(f"Query: {town_release.request.permalink}")
    assert citation(town_release, "https://x.example/t").endswith("Invented. https://x.example/t")
