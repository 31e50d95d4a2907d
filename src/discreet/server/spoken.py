"""A dataset and a release in the language of the reader: their labels and sentences, and nothing else.

Names, codes and numbers are the same objects as before, so that no number can depend on a language.
"""

from __future__ import annotations

from dataclasses import replace
from functools import lru_cache
from typing import TYPE_CHECKING

from discreet.model.told import Label, Told
from discreet.server.words import language, say, speech, spoken

if TYPE_CHECKING:
    from discreet.model.dataset import Dataset
    from discreet.model.listing import Listing
    from discreet.model.release import Release
    from discreet.model.shape import Dimension
    from discreet.model.variable import CodeList, Variable


def spoken_dataset(dataset: Dataset) -> Dataset:
    """The description with its labels in the language of the reader."""
    return _dataset(dataset, language().code) if _has_labels(dataset, language().code) else dataset


@lru_cache(maxsize=64)
def _has_labels(dataset: Dataset, code: str) -> bool:
    own = (dataset.label, dataset.description, dataset.unit, dataset.population, dataset.source)
    above = [
        each.label for part in (dataset.variables, dataset.hierarchies, dataset.code_lists) for each in part
    ]
    categories = (category.label for variable in dataset.variables for category in variable.categories)
    about = (text for variable in dataset.variables for text in (variable.topic, variable.description))
    texts = (*own, *above, *about, *categories)
    return any(isinstance(text, Label) and code in text.others for text in texts)


@lru_cache(maxsize=64)
def _dataset(dataset: Dataset, _code: str) -> Dataset:
    return replace(
        dataset,
        label=spoken(dataset.label),
        description=spoken(dataset.description),
        unit=spoken(dataset.unit),
        population=spoken(dataset.population),
        source=spoken(dataset.source),
        variables=tuple(map(_variable, dataset.variables)),
        hierarchies=tuple(replace(each, label=spoken(each.label)) for each in dataset.hierarchies),
        code_lists=tuple(map(_code_list, dataset.code_lists)),
    )


def _variable(variable: Variable) -> Variable:
    categories = tuple(
        replace(each, label=spoken(each.label)) if isinstance(each.label, Label) else each
        for each in variable.categories
    )
    return replace(
        variable,
        label=spoken(variable.label),
        topic=spoken(variable.topic),
        description=spoken(variable.description),
        categories=categories,
    )


def _code_list(code_list: CodeList) -> CodeList:
    groups = tuple((code, spoken(label), members) for code, label, members in code_list.groups)
    return replace(code_list, label=spoken(code_list.label), groups=groups)


def spoken_release(release: Release) -> Release:
    """The release with its labels and sentences in the language of the reader."""
    return replace(
        release,
        dataset=spoken_dataset(release.dataset),
        dimensions=tuple(map(_dimension, release.dimensions)),
        notes=tuple(map(spoken, release.notes)),
        promise=tuple(map(spoken, release.promise)),
        derived=tuple(replace(each, meaning=spoken(each.meaning)) for each in release.derived),
        heading=say(release.title),
    )


def asked_dataset(dataset: Dataset) -> Dataset:
    """The description in the language that an address for programs names; as it is where it names none."""
    return spoken_dataset(dataset) if speech().chosen else dataset


def asked_release(release: Release) -> Release:
    """The release in the language that an address for programs names; as it is where it names none."""
    return spoken_release(release) if speech().chosen else release


def asked_listing(listing: Listing) -> Listing:
    """The same of cells that are listed."""
    if not speech().chosen:
        return listing
    return replace(
        listing,
        dataset=spoken_dataset(listing.dataset),
        dimensions=tuple(map(_dimension, listing.dimensions)),
        notes=tuple(map(spoken, listing.notes)),
        promise=tuple(map(spoken, listing.promise)),
    )


def _dimension(dimension: Dimension) -> Dimension:
    outputs = dimension.outputs
    if any(isinstance(output.label, Told) for output in outputs):
        outputs = tuple(replace(each, label=spoken(each.label)) for each in outputs)
    total = spoken(dimension.labels[-1]) if dimension.total else dimension.total_label
    return replace(
        dimension,
        label=spoken(dimension.label),
        outputs=outputs,
        unit=spoken(dimension.unit),
        total_label=total,
    )
