"""Sums and means are published with their notes and numbers, and answered without records."""

import numpy as np
import pytest
from tests.release.firms import FIRMS, firm_records

from discreet.model.request import request_from_text
from discreet.publish.file_store import FolderStorage
from discreet.publish.published_registry import PublishedRegistry
from discreet.publish.publisher import publish
from discreet.records.signing import signing_key
from discreet.release.dataset_registry import open_registry
from discreet.workspace.versions.load_version import load_dataset


@pytest.fixture(scope="module")
def services(tmp_path_factory):
    home = tmp_path_factory.mktemp("publish-firms")
    load_dataset(home / "workspace", FIRMS + '\n[publish]\ntables = ["region*sector"]\n', firm_records())
    live, key = open_registry(home / "workspace"), signing_key(home / "workspace")
    publish(live, "firms", FolderStorage(home / "tables"), key)
    return live.open("firms"), PublishedRegistry(FolderStorage(home / "tables"), key.public).open("firms")


@pytest.mark.parametrize("word", ["turnover.sum", "turnover.mean", "balance.mean", "count"])
def test_a_published_table_is_the_live_one(services, word):
    request = request_from_text("firms", rows=["region"], columns=["sector"], measure=word)
    live, published = (service.release(request) for service in services)
    assert np.array_equal(live.values, published.values)
    assert np.array_equal(live.status, published.status)
    assert (live.notes, live.promise, live.title) == (published.notes, published.promise, published.title)
    assert published.measure.decimals == live.measure.decimals
