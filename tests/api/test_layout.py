import numpy as np

from discreet.api.layout import layout_of, shown_errors


def test_layers_stand_outside_rows_and_columns_along_the_top(town_release):
    layout = layout_of(town_release)
    assert [d.name for d in layout.side] == ["sex", "age"]
    assert [d.name for d in layout.top] == ["job"]
    lines = layout.spread(town_release.values)
    assert lines.shape == (layout.height, 5)
    for line, (sex, age) in enumerate(np.ndindex(3, 4)):
        assert lines[line].tolist() == town_release.values[age, :, sex].tolist()


def test_a_table_of_counts_has_no_errors(town_release):
    assert shown_errors(town_release) == {}
