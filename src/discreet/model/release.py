"""The release: all that the public may see of one table, and subsets of its cells.

Values are noisy counts, or derived from them; `noisy` has the counts before any adjustment for display, and
`distribution` is the distribution of their noise. A missing value has a status: c (withheld by a disclosure rule) or z
(structural zero). A released value may have the status u: its relative standard error exceeds the limit (weighted tables).

A subset is no filter. A filter counts fewer people and is another request with other noise; a subset shows some cells of
the whole table, with the same numbers, so that subsets of one table agree wherever they overlap.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any
from urllib.parse import urlencode

import numpy as np
from numpy.typing import NDArray

from discreet.errors import BadRequest, UnknownCategory, UnknownVariable
from discreet.model.dataset import Dataset
from discreet.model.grammar import write_filter
from discreet.model.messages.text import Message, message, nearest, one_line
from discreet.model.noise_distribution import NoiseDistribution
from discreet.model.request import COUNT, Measure, TableRequest
from discreet.model.shape import Dimension, Output
from discreet.model.view import NO_VIEW, Picture, View

#: Status letters by their number in `Release.status`; 0 is a released value.
STATUSES = ("", "c", "z", "u")
STATUS_MEANING: dict[str, str] = {
    "c": message("Not released: withheld to protect confidentiality"),
    "z": message("Not applicable: cannot occur"),
    "u": message("Low reliability: use with caution"),
}
WITHHELD, NOT_APPLICABLE, UNRELIABLE = 1, 2, 3


@dataclass(frozen=True, slots=True)
class Selection:
    """The cells of a whole table that a release shows: its title, and the codes of each variable that does not show all."""

    title: str
    codes: tuple[tuple[str, tuple[str, ...]], ...]

    @property
    def text(self) -> str:
        """The codes in one line: "sex=1&age=child,adult"."""
        return "&".join(write_filter(name, codes) for name, codes in self.codes)

    @property
    def note(self) -> str:
        """The note that explains a subset."""
        return message(
            'These are selected cells of the table "{title}". Every number, totals included, is that of the '
            "whole table, not of the categories selected here.",
            title=self.title,
        )


@dataclass(frozen=True, slots=True)
class Derived:
    """An additional column computed from released values alone (`inference/table_view.py`), in the shape of the table."""

    name: str
    meaning: str
    values: NDArray[np.int64] | NDArray[np.float64]
    missing: NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class Release:
    """A protected table with its metadata.

    Args:
        digest: The version id.
        dimensions: The variables in the order of the arrays' axes.
        values: Released numbers, int64 or float64; undefined where `missing`.
        noisy: Noisy counts before any adjustment; `distribution` is that of their noise.
        status: Index into `STATUSES` for each cell.
        notes: Notes for readers; the first is mandatory in every format.
        promise: The privacy guarantee in plain sentences.
        errors: Relative standard errors of a weighted table, noise included, in tenths of a percent; negative for none.
        noise_shares: The share of the noise in the error's variance, in tenths of a percent.
        verdict: The result of the rules on noisy counts, as data.
        charged: The charge for this request; for the requester only, written by no format.
        signed: The values before negative numbers became zero.
        unrounded: For a joint table, the values that `noisy` is rounded from.
        heading: The title in a requested language; empty for the default.
        sampling: For a weighted table, what its errors depend on (`survey/generalised.py`); all of it is public.
    """

    dataset: Dataset
    digest: str
    request: TableRequest
    dimensions: tuple[Dimension, ...]
    values: NDArray[np.int64] | NDArray[np.float64]
    noisy: NDArray[np.int64]
    status: NDArray[np.uint8]
    distribution: NoiseDistribution
    notes: tuple[str, ...]
    promise: tuple[str, ...]
    errors: NDArray[np.int64] | None = None
    noise_shares: NDArray[np.int64] | None = None
    verdict: Mapping[str, Any] | None = None
    measure: Measure = COUNT
    charged: Mapping[str, Any] | None = None
    signed: NDArray[np.int64] | NDArray[np.float64] | None = None
    selection: Selection | None = None
    derived: tuple[Derived, ...] = ()
    view: View = NO_VIEW
    unrounded: NDArray[np.float64] | None = None
    heading: str = ""
    picture: Picture | None = None
    sampling: Any = None

    def __post_init__(self) -> None:
        lengths = tuple(dimension.length for dimension in self.dimensions)
        arrays: list[NDArray[np.generic]] = [self.values, self.noisy, self.status]
        arrays += [array for column in self.derived for array in (column.values, column.missing)]
        beside = (self.errors, self.noise_shares, self.signed, self.unrounded)
        for array in (*arrays, *(a for a in beside if a is not None)):
            if array.shape != lengths:
                raise ValueError("the arrays of a release must have its shape")
            array.flags.writeable = False
        if self.values.dtype not in (np.int64, np.float64):
            raise ValueError("the values of a release are int64 or float64")

    @property
    def title(self) -> str:
        """The measure and the variables, "Persons by sex and age"; a subset says that it is one."""
        if self.heading:
            return self.heading
        if self.selection is not None:
            chosen = dict(self.selection.codes)
            parts = tuple(_in_words(d.label, d.labels, 3) for d in self.dimensions if d.name in chosen)
            return message(
                "{title} (selected cells: {cells})",
                title=self.selection.title,
                cells=Message("{parts:semicolon}", {"parts": parts}),
            )
        return table_title(self.dataset, self.dimensions, self.request, self.measure)

    @property
    def missing(self) -> NDArray[np.bool_]:
        """Cells without a released value."""
        return np.isin(self.status, (WITHHELD, NOT_APPLICABLE))

    @property
    def before_clipping(self) -> NDArray[np.int64] | NDArray[np.float64]:
        return self.values if self.signed is None else self.signed

    @property
    def query(self) -> str:
        """The query string that shows this table again."""
        return urlencode([*self.request.to_query(), *self.view.to_query()], safe=",=")

    @property
    def cells(self) -> int:
        return self.values.size

    def value(self, *codes: str) -> float | None:
        """The released value of a cell by its codes, in the order of the dimensions; None if it is missing."""
        place = tuple(d.codes.index(code) for d, code in zip(self.dimensions, codes, strict=True))
        return None if self.missing[place] else self.values[place].item()

    def __repr__(self) -> str:
        return one_line(self, f"{self.title}: {self.cells:,} cells, version {self.digest[:8]}")


def table_title(
    dataset: Dataset, dimensions: tuple[Dimension, ...], request: TableRequest, measure: Measure = COUNT
) -> str:
    """The title of a table: measure, variables and filters. It needs no counts."""
    grouped = {name for name, groups in request.groups if any(len(codes) > 1 for codes in groups)}
    names = tuple(
        message("{variable}, grouped", variable=each.label) if each.name in grouped else each.label
        for each in dimensions
    )
    only = tuple(filter_in_words(dataset, name, codes, 3) for name, codes in request.filters)
    everybody = tuple(each.label for each in dimensions if each.total and each.leaves_out)
    of_all: str = ""
    if everybody:
        of_all = message(
            "; totals over {names:each lower} count all {unit}", names=everybody, unit=dataset.unit
        )
    return message(
        "{what} by {names:lower}{only}{of_all}",
        what=measure.title(dataset),
        names=names,
        only=message(" (only {only:semicolon})", only=only) if only else "",
        of_all=of_all,
    )


def filter_in_words(dataset: Dataset, name: str, codes: tuple[str, ...], most: int) -> str:
    """A filter by its labels, the first few of them: "Country of birth: Asia, Africa"."""
    variable = dataset.variable(name)
    return _in_words(
        variable.label, [variable.categories[variable.position(code)].label for code in codes], most
    )


def _in_words(name: str, labels: Sequence[str], most: int) -> str:
    if len(labels) > most:
        return message(
            "{name}: {labels:comma} and {more} more",
            name=name,
            labels=tuple(labels[:most]),
            more=len(labels) - most,
        )
    return Message("{name}: {labels:comma}", {"name": name, "labels": tuple(labels)})


Places = tuple["NDArray[np.int64]", ...]


def subset_release(release: Release, wanted: Mapping[str, Collection[str]]) -> Release:
    """The cells of a release with these codes, in the order of the whole.

        subset_release(release, {"sex": ["1"]}).value("1", "_T") == release.value("1", "_T")

    Args:
        release: The whole, or a subset of it.
        wanted: The codes to keep by variable, `_T` for its total; other variables stay whole.

    Raises:
        UnknownVariable, UnknownCategory: The release does not show it; the error suggests the nearest.
        BadRequest: A variable is left without a code.
    """
    names = [dimension.name for dimension in release.dimensions]
    for name in wanted:
        if name not in names:
            raise UnknownVariable(f'The table does not show "{name}".', nearest(name, names))
    places = tuple(find_places(d, wanted.get(d.name, d.codes)) for d in release.dimensions)
    return subset_places(release, places)


def find_places(dimension: Dimension, codes: Collection[str]) -> NDArray[np.int64]:
    """The positions of codes in a dimension, ascending.

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


def subset_places(release: Release, places: Places) -> Release:
    """The cells at these positions of each dimension, in their order.

    A total stays last; categories may be reordered only where none contains another.
    """
    if all(np.array_equal(p, np.arange(d.length)) for p, d in zip(places, release.dimensions, strict=True)):
        return release
    index = np.ix_(*places)
    kept = tuple(_dimension_at(d, p) for d, p in zip(release.dimensions, places, strict=True))
    before = release.selection
    named = {} if before is None else dict(before.codes)
    cut = zip(kept, release.dimensions, strict=True)
    codes = tuple((d.name, d.codes) for d, whole in cut if d.name in named or d.length < whole.length)
    selection = Selection(release.title if before is None else before.title, codes) if codes else None
    names = ("values", "noisy", "status", "errors", "noise_shares", "signed", "unrounded")
    arrays = {name: array[index] for name in names if (array := getattr(release, name)) is not None}
    return replace(
        release,
        **arrays,
        dimensions=kept,
        distribution=release.distribution.cut(places),
        notes=release.notes if release.selection or not selection else (*release.notes, selection.note),
        selection=selection,
        derived=tuple(replace(c, values=c.values[index], missing=c.missing[index]) for c in release.derived),
    )


def subset_dimension(dimension: Dimension, codes: Collection[str]) -> Dimension:
    """A dimension with some of its codes, in its order; errors as in `subset_release`."""
    return _dimension_at(dimension, find_places(dimension, codes))


def _dimension_at(dimension: Dimension, places: NDArray[np.int64]) -> Dimension:
    """Some outputs, each with its nearest kept ancestor as parent; the total keeps the label of the whole."""
    outputs, total = dimension.outputs, dimension.total and int(places[-1]) == len(dimension.outputs)
    shown = places[:-1].tolist() if total else places.tolist()
    now = {place: number for number, place in enumerate(shown)}
    kept: list[Output] = []
    for place in shown:
        above = outputs[place].parent
        while above >= 0 and above not in now:
            above = outputs[above].parent
        parent = now.get(above, -1)
        depth = kept[parent].depth + 1 if parent >= 0 else 0
        kept.append(replace(outputs[place], parent=parent, depth=depth))
    label = dimension.labels[-1] if total else ""
    return replace(dimension, outputs=tuple(kept), total=total, total_label=label)


#: The values of a printed relative standard error, in tenths of a percent.
ERROR_STEPS = np.array([10, 20, 50, 100, 150, 200, 250, 300, 400, 500, 750, 1000, 2000, 5000, 10_000])
#: The values of a printed share of the noise, in tenths of a percent.
SHARE_STEPS = np.array([0, 10, 20, 50, *range(100, 1001, 100)])
#: One hundred percent in tenths of a percent.
WHOLE = 1000
#: Printed without a relative error: the number is not positive, or the error is beyond the last step.
NO_ERROR = -1


def round_up_to_step(
    values: NDArray[np.float64], steps: NDArray[np.int64] = ERROR_STEPS
) -> NDArray[np.int64]:
    """The smallest step that is not below each value; -1 beyond the last.

    >>> round_up_to_step(np.array([12.0, 50.0, 1e9])).tolist()
    [20, 50, -1]
    """
    # A value that equals a step except for the last bits of a float is rounded to it.
    place = np.searchsorted(steps, values * (1 - 1e-12), side="left")
    return np.append(steps, NO_ERROR)[place]
