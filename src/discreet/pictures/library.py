"""Altair, an optional dependency: importing this module without it says what to install."""

from discreet.errors import MissingExtra

try:
    import altair as alt
except ImportError as missing:
    raise MissingExtra(
        "Pictures need Altair and vl-convert.", 'Install them: pip install "discreet[pictures]".'
    ) from missing

__all__ = ["alt"]
