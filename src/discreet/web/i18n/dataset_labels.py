"""The labels and sentences of datasets and releases in the reader's language.

Names, codes and numbers are the same objects as before, so no number can depend on a language.
"""

from __future__ import annotations

from dataclasses import replace
from functools import lru_cache

from discreet.model.columns import Listing
from discreet.model.dataset import Dataset
from discreet.model.messages.text import Label, Translatable
from discreet.model.release import Release
from discreet.model.shape import Dimension
from discreet.model.variable import CodeList, Variable
from discreet.web.i18n.messages import current_language, gettext, localise, request_language


def translate_dataset(dataset: Dataset) -> Dataset:
    """The description with its labels in the language of the reader."""
    code = current_language().code
    return _dataset(dataset, code) if _has_labels(dataset, code) else dataset


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
        label=localise(dataset.label),
        description=localise(dataset.description),
        unit=localise(dataset.unit),
        population=localise(dataset.population),
        source=localise(dataset.source),
        variables=tuple(map(_variable, dataset.variables)),
        hierarchies=tuple(replace(each, label=localise(each.label)) for each in dataset.hierarchies),
        code_lists=tuple(map(_code_list, dataset.code_lists)),
    )


def _variable(variable: Variable) -> Variable:
    categories = tuple(
        replace(each, label=localise(each.label)) if isinstance(each.label, Label) else each
        for each in variable.categories
    )
    return replace(
        variable,
        label=localise(variable.label),
        topic=localise(variable.topic),
        description=localise(variable.description),
        categories=categories,
    )


def _code_list(code_list: CodeList) -> CodeList:
    groups = tuple((code, localise(label), members) for code, label, members in code_list.groups)
    return replace(code_list, label=localise(code_list.label), groups=groups)


def translate_release(release: Release) -> Release:
    """The release with its labels and sentences in the language of the reader."""
    return replace(
        release,
        dataset=translate_dataset(release.dataset),
        dimensions=tuple(map(_dimension, release.dimensions)),
        notes=tuple(map(localise, release.notes)),
        promise=tuple(map(localise, release.promise)),
        derived=tuple(replace(each, meaning=localise(each.meaning)) for each in release.derived),
        heading=gettext(release.title),
    )


def dataset_in_language(dataset: Dataset) -> Dataset:
    """The description in the language that an API URL names; unchanged without one."""
    return translate_dataset(dataset) if request_language().chosen else dataset


def release_in_language(release: Release) -> Release:
    """The release in the language that an API URL names; unchanged without one."""
    return translate_release(release) if request_language().chosen else release


def listing_in_language(listing: Listing) -> Listing:
    """The same for a listing of cells."""
    if not request_language().chosen:
        return listing
    return replace(
        listing,
        dataset=translate_dataset(listing.dataset),
        dimensions=tuple(map(_dimension, listing.dimensions)),
        notes=tuple(map(localise, listing.notes)),
        promise=tuple(map(localise, listing.promise)),
    )


def _dimension(dimension: Dimension) -> Dimension:
    outputs = dimension.outputs
    if any(isinstance(output.label, Translatable) for output in outputs):
        outputs = tuple(replace(each, label=localise(each.label)) for each in outputs)
    total = localise(dimension.labels[-1]) if dimension.total else dimension.total_label
    return replace(
        dimension,
        label=localise(dimension.label),
        outputs=outputs,
        unit=localise(dimension.unit),
        total_label=total,
    )
