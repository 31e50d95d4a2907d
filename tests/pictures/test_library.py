"""Without the library of pictures it is said what to install."""

import importlib
import sys

import pytest

from discreet.errors import MissingExtra
from discreet.pictures import library


def test_the_extra_is_named_where_the_library_is_missing(monkeypatch):
    monkeypatch.setitem(sys.modules, "altair", None)
    with pytest.raises(MissingExtra, match=r"discreet\[pictures\]"):
        importlib.reload(library)
