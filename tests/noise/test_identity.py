"""The name of a mechanism: its scale is part of it, and how it was written down is not."""

from discreet.noise.identity import mechanism_name
from discreet.noise.table import NoiseRow, NoiseTable


def test_the_scale_is_in_the_mechanism_even_where_the_integers_agree():
    rows = (NoiseRow((-1, 1), (2, 4)),)
    one, two = (NoiseTable(4, rows, family="file", parameters={"epsilon": e}) for e in (1.0, 2.0))
    assert mechanism_name(one) != mechanism_name(two)
    assert mechanism_name(one) == mechanism_name(NoiseTable(4, rows, 1, "file", {"epsilon": 1.0}))
