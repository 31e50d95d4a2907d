import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.errors import BadData
from discreet.records.units import refuse_more_records


@given(st.lists(st.integers(0, 6), max_size=30), st.integers(1, 5))
def test_a_load_is_refused_exactly_when_some_unit_has_too_many_records(units, most):
    records = np.array(units, dtype=np.uint64)
    if any(units.count(unit) > most for unit in units):
        with pytest.raises(BadData, match=f"more than {most}"):
            refuse_more_records(records, most)
    else:
        refuse_more_records(records, most)
