"""A registry walks its package once, keeps names apart, and says what to install."""

import sys
from types import ModuleType, SimpleNamespace

import pytest

from discreet.errors import BadRequest, MissingExtra
from discreet.model.plugins import Extra, Registry


@pytest.fixture
def shapes(tmp_path, monkeypatch):
    """A package of two modules, each with its member."""
    package = ModuleType("toy_shapes")
    package.__path__ = [str(tmp_path)]
    monkeypatch.setitem(sys.modules, "toy_shapes", package)
    for name in ("circle", "square"):
        text = f"from types import SimpleNamespace\nSHAPE = SimpleNamespace(name={name!r})\n"
        (tmp_path / f"{name}.py").write_text(text)
    yield Registry("toy_shapes", "SHAPE", "shape", BadRequest)
    for name in ("toy_shapes.circle", "toy_shapes.square"):
        sys.modules.pop(name, None)


def test_members_are_found_by_walking_and_no_earlier_than_they_are_asked_for(shapes):
    assert "toy_shapes.circle" not in sys.modules
    assert [member.name for member in shapes.members()] == ["circle", "square"]
    assert shapes.named("square").name == "square"
    with pytest.raises(BadRequest, match='no shape "sqare"') as unknown:
        shapes.named("sqare")
    assert "square" in str(unknown.value)


def test_a_registered_member_stands_behind_and_takes_nobody_s_name(shapes):
    star = SimpleNamespace(name="star")
    shapes.register(star)
    shapes.register(star)
    assert shapes.members()[-1] is star
    with pytest.raises(ValueError, match='"circle" is there already'):
        shapes.register(SimpleNamespace(name="circle"))


def test_an_extra_names_only_what_is_missing():
    extra = Extra("discreet[toy]", ("json", "no_such_toy"))
    assert extra.missing == ["no_such_toy"]
    with pytest.raises(MissingExtra, match=r'The toy needs no_such_toy.*pip install "discreet\[toy\]"'):
        extra.refuse_missing("The toy")
    assert Extra("discreet", ("json",)).refuse_missing("The toy") is None
