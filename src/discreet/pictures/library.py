"""Altair, an optional dependency that is imported at its first use; where it is missing, the error says what to install."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from discreet.errors import MissingExtra

if TYPE_CHECKING:
    import altair as alt
else:

    class _Altair:
        def __getattr__(self, name: str) -> Any:
            return getattr(import_optional("altair"), name)

    alt = _Altair()

__all__ = ["alt", "import_optional"]


def import_optional(name: str) -> Any:
    """A module that charts need.

    Raises:
        MissingExtra: It is not installed.
    """
    try:
        return import_module(name)
    except ImportError as missing:
        raise MissingExtra(
            "Pictures need Altair and vl-convert.", 'Install them: pip install "discreet[pictures]".'
        ) from missing
