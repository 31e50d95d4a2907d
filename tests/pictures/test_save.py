"""A picture is saved as what its name says."""

from __future__ import annotations

import pytest

from discreet.errors import UnknownFormat
from discreet.noise.table import NoiseRow, NoiseTable
from discreet.pictures import noise_charts as noise
from discreet.pictures.save import save

ONE_ROW = NoiseTable(256, (NoiseRow((-1, 0, 1), (64, 192, 256)),), family="laplace", parameters={"m": 1})


def test_a_picture_is_saved_as_what_its_name_says(tmp_path):
    for name, start in {"a.svg": b"<svg", "b.PNG": b"\x89PNG"}.items():
        save(noise.pmf(ONE_ROW), tmp_path / name)
        assert (tmp_path / name).read_bytes().startswith(start)
    with pytest.raises(UnknownFormat):
        save(noise.pmf(ONE_ROW), tmp_path / "c.pdf")
