"""A door answers as the road does, and neither prints nor keeps open what stands behind it."""

import numpy as np
import pytest

from discreet.errors import BadRequest
from discreet.model.request import TableRequest
from discreet.release.dataset_registry import DatasetRegistry
from discreet.release.dataset_service import DatasetService, unlock_service
from discreet.release.pipeline import release_table

REQUEST = TableRequest("town", ("sex",), ("age",))


@pytest.fixture(scope="module")
def doors(town_workspace):
    return DatasetRegistry(town_workspace)


def test_a_door_gives_the_release_of_the_road(doors, town_workspace):
    door = doors.door("town")
    assert doors.ids() == ["town"]
    straight = release_table(town_workspace.stored("town"), REQUEST)
    assert np.array_equal(door.release(REQUEST).values, straight.values)
    assert np.array_equal(door.answer(door.check(REQUEST)).values, straight.values)
    assert door.dry_run(REQUEST)["cells"] == straight.values.size


def test_a_door_holds_nothing_that_a_face_could_read_records_through(doors):
    door = doors.door("town")
    assert not [
        name for name in dir(door) if not name.startswith("_") and name in {"engine", "stored", "secret"}
    ]
    assert not hasattr(door, "__dict__")
    assert repr(door) == f"<DatasetService of town {door.digest[:8]}>"
    assert unlock_service(door).dataset is door.dataset


def test_a_dataset_without_a_budget_has_none_to_tell(doors):
    door = doors.door("town")
    assert door.budget_left() is None
    with pytest.raises(BadRequest, match="no privacy budget"):
        door.budget()


def test_nobody_needs_no_role_and_an_account_needs_the_one_that_is_named(doors):
    assert DatasetService(unlock_service(doors.door("town"))).require("custodian") is None
