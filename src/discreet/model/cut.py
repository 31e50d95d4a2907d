"""A cut: some cells of a table that was made as a whole.

A selection of categories is no filter. A filter counts fewer people, and is another question with other noise; a cut
shows some cells of the answer to the whole question. Every number of a cut is the number of that cell in the whole:
fitted, rounded and withheld with all the others. So slices of one table agree wherever they meet.

    cut(release, {"sex": ["1"]}).value("1", "_T") == release.value("1", "_T")
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from discreet.errors import BadRequest, UnknownCategory, UnknownVariable
from discreet.model.nearest import nearest
from discreet.model.release import Selection

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

    from numpy.typing import NDArray

    from discreet.model.release import Release
    from discreet.model.shape import Dimension, Output

Places = tuple["NDArray[np.int64]", ...]


def cut(release: Release, wanted: Mapping[str, Collection[str]]) -> Release:
    """The cells of a release that have these codes, in the order of the whole.

    Args:
        release: The whole, or a cut of it.
        wanted: For a variable the codes that are kept, `_T` for its total; other variables are kept whole.

    Raises:
        UnknownVariable, UnknownCategory: The release does not show it; the nearest that it shows is named.
        BadRequest: A variable is left without a code.
    """
    names = [dimension.name for dimension in release.dimensions]
    for name in wanted:
        if name not in names:
            raise UnknownVariable(f'The table does not show "{name}".', nearest(name, names))
    places = tuple(kept_places(d, wanted.get(d.name, d.codes)) for d in release.dimensions)
    return cut_places(release, places)


def kept_places(dimension: Dimension, codes: Collection[str]) -> NDArray[np.int64]:
    """Where codes stand in a dimension, ascending.

    Raises:
        UnknownCategory: The dimension does not show a code.
        BadRequest: There is no code.
    """
    known = {code: place for place, code in enumerate(dimension.codes)}
    for code in codes:
        if code not in known:
            raise UnknownCategory(f'"{dimension.name}" does not show {code!r}.', nearest(code, known))
    if not codes:
        raise BadRequest(f'Nothing of "{dimension.name}" is selected.', "Name at least one of its codes.")
    return np.array(sorted({known[code] for code in codes}), dtype=np.int64)


def cut_places(release: Release, places: Places) -> Release:
    """The cells at these places of each dimension, in their order.

    Args:
        release: The whole, or a cut of it.
        places: For each dimension. A total stays last; categories stand in another order only where none holds another.
    """
    if all(np.array_equal(p, np.arange(d.length)) for p, d in zip(places, release.dimensions, strict=True)):
        return release
    index = np.ix_(*places)
    kept = [_kept(d, p) for d, p in zip(release.dimensions, places, strict=True)]
    selection = _selection(release, tuple(kept))
    return replace(
        release,
        dimensions=tuple(kept),
        values=release.values[index],
        noisy=release.noisy[index],
        status=release.status[index],
        law=release.law.cut(places),
        errors=None if release.errors is None else release.errors[index],
        noise_shares=None if release.noise_shares is None else release.noise_shares[index],
        signed=None if release.signed is None else release.signed[index],
        unrounded=None if release.unrounded is None else release.unrounded[index],
        notes=release.notes if release.selection or not selection else (*release.notes, selection.note),
        selection=selection,
        derived=tuple(replace(c, values=c.values[index], missing=c.missing[index]) for c in release.derived),
    )


def _selection(release: Release, kept: tuple[Dimension, ...]) -> Selection | None:
    """What is selected of the whole; of a cut of a cut, what both selected; None where all is shown."""
    before = release.selection
    title = release.title if before is None else before.title
    lengths = {d.name: d.length for d in release.dimensions}
    named = {} if before is None else dict(before.codes)
    codes = tuple((d.name, d.codes) for d in kept if d.name in named or d.length < lengths[d.name])
    return Selection(title, codes) if codes else None


def cut_dimension(dimension: Dimension, codes: Collection[str]) -> Dimension:
    """A dimension with some of its codes, in its order.

    Raises:
        UnknownCategory, BadRequest: As `cut`.
    """
    return _kept(dimension, kept_places(dimension, codes))


def _kept(dimension: Dimension, places: NDArray[np.int64]) -> Dimension:
    """A dimension with some of its outputs; its total has the label that it has in the whole."""
    total = dimension.total and int(places[-1]) == len(dimension.outputs)
    outputs = _outputs(dimension.outputs, places[:-1].tolist() if total else places.tolist())
    label = dimension.labels[-1] if total else ""
    return replace(dimension, outputs=outputs, total=total, total_label=label)


def _outputs(outputs: tuple[Output, ...], places: list[int]) -> tuple[Output, ...]:
    """Some outputs, each below the nearest that holds it and is kept."""
    now = {place: number for number, place in enumerate(places)}
    kept: list[Output] = []
    for place in places:
        above = outputs[place].parent
        while above >= 0 and above not in now:
            above = outputs[above].parent
        parent = now.get(above, -1)
        depth = kept[parent].depth + 1 if parent >= 0 else 0
        kept.append(replace(outputs[place], parent=parent, depth=depth))
    return tuple(kept)
