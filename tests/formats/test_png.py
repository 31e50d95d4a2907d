"""PNG among the formats: the same picture as pixels."""

from dataclasses import replace

from discreet.formats import format_by_name
from discreet.model.view import Picture


def test_it_is_a_png_of_the_theme(release):
    light, dark = (
        format_by_name("png").write(replace(release, picture=Picture(theme=theme)))
        for theme in ("light", "dark")
    )
    assert light.startswith(b"\x89PNG\r\n")
    assert light != dark
