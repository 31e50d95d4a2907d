"""The table request as a value, with one canonical form, which is also the permalink; and what a table counts.

`canonical` validates a request against its dataset and removes everything that does not change the cells: repeated and
unordered codes, filters that keep all categories, groups that regroup nothing. Two requests for the same cells then have
the same `identity`; layout and group names are no part of it. Before, a filter or a group may hold any item of the query
grammar (`selection.py`); in canonical form it holds codes only, in their declared order.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from urllib.parse import urlencode

from discreet.errors import BadRequest
from discreet.model import grammar, selection
from discreet.model.dataset import Dataset
from discreet.model.hierarchy import coarse_to_fine
from discreet.model.magnitude import NumericMeasure, join_statistic, split_statistic
from discreet.model.messages.text import Message, message, nearest, one_line
from discreet.model.protection import ADDITIVITY
from discreet.model.variable import Variable
from discreet.model.view import read_word, read_yes_no


@dataclass(frozen=True, slots=True)
class Unit:
    """The protected unit: `one` with its article, and `many`."""

    one: str = message("one person")
    many: str = message("people")

    def says(self, of_people: Message, of_others: Message) -> Message:
        """The sentence about people, or the other one with `one` and `many` filled in."""
        if self == PERSON:
            return of_people
        return Message(of_others.template, {**of_people.values, "one": self.one, "many": self.many})


PERSON = Unit()


def unit_of(dataset: Dataset) -> Unit:
    """The unit of a dataset.

    >>> from dataclasses import replace
    >>> from discreet.model.dataset import Dataset
    >>> from discreet.model.variable import Category, Variable
    >>> people = Dataset("people", "People", (Variable("sex", "Sex", (Category("1", "Male"),)),), "id", unit="persons")
    >>> [unit_of(replace(people, unit=unit)).one for unit in ("persons", "households")]
    ['one person', 'one of the households']
    """
    if dataset.unit in {"persons", "people", "records"}:
        return PERSON
    if dataset.unit_column is None:
        return Unit(message("one of the {unit}", unit=dataset.unit), dataset.unit)
    return Unit(message('one unit of the column "{column}"', column=dataset.unit_column), dataset.unit)


#: The default measure of a request.
DEFAULT_MEASURE = "count"
#: The parameters of a URL that name a table.
QUERY_PARAMETERS = (
    *("rows", "columns", "layers", "filter", "group", "levels"),
    *("totals", "measure", "statistic", "additivity", "fit_to"),
)


def _nothing(_dataset: Dataset) -> None:
    """The answer of a measure without a remark or a refusal."""


@dataclass(frozen=True, slots=True)
class Measure:
    """The public part of a measure; `release/measures/` computes it.

    Args:
        name: Its name in requests.
        label: Its name in a form, for a dataset.
        title: The start of a table title: "Persons", "Estimated persons".
        subject: The subject of the cell key promise.
        is_count: Whether a value is a count plus noise; only such tables are tested.
        has_errors: Whether each value has a sampling error.
        refuse: The reason why a dataset does not have it; None if it does.
        about: A remark on the design; None without one.
        magnitude: The numeric variable, if the numbers are sums or means of one.
    """

    name: str
    label: Callable[[Dataset], str]
    title: Callable[[Dataset], str]
    subject: str
    is_count: bool = False
    has_errors: bool = False
    refuse: Callable[[Dataset], BadRequest | None] = _nothing
    about: Callable[[Dataset], str | None] = _nothing
    magnitude: NumericMeasure | None = None

    def unit(self, dataset: Dataset) -> str:
        """The unit of the numbers: people, or that of a numeric variable."""
        return dataset.unit if self.magnitude is None else self.magnitude.unit

    @property
    def decimals(self) -> int:
        """The decimals of the numbers."""
        return 0 if self.magnitude is None else self.magnitude.decimals

    def __repr__(self) -> str:
        return one_line(self, self.name)


def unit_title(dataset: Dataset) -> str:
    """The unit, capitalised for a title: "Persons"; of a survey with weights, that those asked are counted."""
    if dataset.weight_column:
        return message("{unit:capital} asked (unweighted)", unit=dataset.unit)
    return Message("{unit:capital}", {"unit": dataset.unit})


def _no_counts(dataset: Dataset) -> BadRequest | None:
    if dataset.survey is None or not dataset.survey.only_weights:
        return None
    return BadRequest(
        message('The dataset "{id}" publishes people represented, not numbers of records.', id=dataset.id),
        message("Ask for the measure weighted."),
    )


#: Records counted: the measure of every dataset except surveys that release weights only.
COUNT = Measure(
    DEFAULT_MEASURE,
    label=lambda dataset: unit_title(dataset) if dataset.weight_column else message("Records counted"),
    title=unit_title,
    subject=message("One count by itself"),
    is_count=True,
    refuse=_no_counts,
)


Filters = tuple[tuple[str, tuple[str, ...]], ...]
Groups = tuple[tuple[str, tuple[tuple[str, ...], ...]], ...]
Levels = tuple[tuple[str, tuple[str, ...]], ...]
Names = tuple[tuple[str, "selection.NamedGroups"], ...]


@dataclass(frozen=True, slots=True)
class TableRequest:
    """A request for one table of a dataset.

    Args:
        rows: Variables down the side; `columns` along the top, `layers` with one sub-table per category.
        filters: By variable, the codes of the people who are counted. Before the canonical form a `!` after the
            variable's name excludes the codes.
        groups: By variable of the table, groups of codes shown instead of its categories. People in no group still
            count in the variable's total.
        levels: By variable of the table, the levels shown instead of its categories: coarser levels of its hierarchy,
            code lists, itself.
        measure: A name in `release/measures`: `count` for people counted; `income.mean` for a statistic of a numeric
            variable.
        additivity: How totals relate to their parts; empty for the dataset's default.
        fit_to: Published tables that a fitted table agrees with; empty for the dataset's default.
        names: By variable, all its groups with the requester's names: labels, no part of the identity.
        written: Groups of codes that are not written one by one: `((variable, codes), items)`.
    """

    dataset: str
    rows: tuple[str, ...] = ()
    columns: tuple[str, ...] = ()
    layers: tuple[str, ...] = ()
    filters: Filters = ()
    groups: Groups = ()
    totals: bool = True
    levels: Levels = ()
    measure: str = DEFAULT_MEASURE
    additivity: str = ""
    fit_to: tuple[str, ...] = ()
    names: Names = ()
    written: tuple[tuple[tuple[str, tuple[str, ...]], tuple[str, ...]], ...] = field(
        default=(), compare=False, repr=False
    )

    @property
    def variables(self) -> tuple[str, ...]:
        """The variables of the table in the order of its cells: rows, columns, layers."""
        return self.rows + self.columns + self.layers

    @property
    def used(self) -> frozenset[str]:
        """All variables of the request, filters included."""
        return frozenset(self.variables) | {name for name, _ in self.filters}

    @property
    def identity(self) -> tuple[object, ...]:
        """A key that is equal for two canonical requests exactly if their cells are, whatever the layout."""
        cells = (
            self.filters,
            self.groups,
            self.totals,
            self.levels,
            self.measure,
            self.additivity,
            self.fit_to,
        )
        return (self.dataset, tuple(sorted(self.variables)), *cells)

    def to_query(self) -> list[tuple[str, str]]:
        """The request as URL parameters, without the dataset."""
        axes = [("rows", self.rows), ("columns", self.columns), ("layers", self.layers)]
        query = [(name, ",".join(map(grammar.escape, names))) for name, names in axes if names]
        query += [("filter", text) for text in self.filter_lines()]
        query += [("group", text) for text in self.group_lines()]
        query += [("levels", grammar.write_filter(*item)) for item in self.levels]
        query += [] if self.totals else [("totals", "no")]
        measure, statistic = split_statistic(self.measure)
        query += [("measure", measure)] if measure != DEFAULT_MEASURE else []
        query += [("statistic", statistic)] if statistic else []
        query += [("additivity", self.additivity)] if self.additivity else []
        return [*query, ("fit_to", ",".join(map(grammar.escape, self.fit_to)))] if self.fit_to else query

    def filter_lines(self) -> list[str]:
        """The filters in the query grammar."""
        written = dict(self.written)
        return [grammar.write_filter(name, written.get((name, codes), codes)) for name, codes in self.filters]

    def group_lines(self) -> list[str]:
        """The groups in the query grammar, with their names; also groups of which only the names are left."""
        named, written = dict(self.names), dict(self.written)
        shown = {name: tuple((codes, "") for codes in groups) for name, groups in self.groups} | named
        return [
            grammar.write_group(
                name,
                tuple(
                    selection.write_named(written.get((name, codes), codes), label) for codes, label in groups
                ),
            )
            for name, groups in sorted(shown.items())
        ]

    @property
    def permalink(self) -> str:
        """The query string that repeats this request."""
        return urlencode(self.to_query(), safe=",=")

    def __repr__(self) -> str:
        return one_line(self, f"{self.dataset}?{self.permalink}")


def request_from_text(
    dataset: str,
    *,
    rows: Sequence[str] = (),
    columns: Sequence[str] = (),
    layers: Sequence[str] = (),
    filters: Iterable[str] = (),
    groups: Iterable[str] = (),
    totals: bool = True,
    levels: Iterable[str] = (),
    measure: str = DEFAULT_MEASURE,
    statistic: str = "",
    additivity: str = "",
    fit_to: Sequence[str] = (),
) -> TableRequest:
    """Build a request from the query grammar of URLs and the command line."""
    return TableRequest(
        dataset,
        grammar.parse_names(list(rows)),
        grammar.parse_names(list(columns)),
        grammar.parse_names(list(layers)),
        tuple(grammar.parse_filter(text) for text in filters if text.strip()),
        tuple(grammar.parse_group(text) for text in groups if text.strip()),
        totals,
        tuple(grammar.parse_levels(text) for text in levels if text.strip()),
        join_statistic(measure, statistic),
        additivity,
        grammar.parse_names(list(fit_to)),
    )


def request_from_query(
    dataset: str, texts: Callable[[str], Sequence[str]], measure: str = DEFAULT_MEASURE
) -> TableRequest:
    """The request of a URL; `texts` are those of one parameter, and `measure` is taken where none is named."""
    return request_from_text(
        dataset,
        rows=texts("rows"),
        columns=texts("columns"),
        layers=texts("layers"),
        filters=texts("filter"),
        groups=texts("group"),
        totals=read_yes_no("totals", texts("totals"), default=True),
        levels=texts("levels"),
        measure=read_word("measure", texts("measure")) or measure,
        statistic=read_word("statistic", texts("statistic")),
        additivity=read_word("additivity", texts("additivity")),
        fit_to=texts("fit_to"),
    )


def canonical(request: TableRequest, dataset: Dataset) -> TableRequest:
    """The canonical form of a request, validated against its dataset.

    Raises:
        UnknownVariable, UnknownCategory: With the nearest match.
        BadRequest: A variable used twice, an empty filter, overlapping groups, no variable at all.
    """
    for name in request.variables:
        dataset.variable(name)
    if not request.variables:
        raise BadRequest(
            message("The table has no variable."), message("Choose at least one for the rows or columns.")
        )
    repeated = [name for name in request.variables if request.variables.count(name) > 1]
    if repeated:
        raise BadRequest(
            message('The variable "{repeated}" is used twice.', repeated=repeated[0]),
            message("Use each variable once."),
        )
    selection.refuse_many(dataset, _items(request, dataset))
    filters = _canonical_filters(request.filters, dataset)
    groups, names = _canonical_groups(request, dict(filters), dataset)
    levels = _canonical_levels(request, dataset)
    asked = replace(request, filters=filters, groups=groups, levels=levels, names=names)
    if request.additivity and request.additivity not in ADDITIVITY:
        raise BadRequest(
            message('There is no additivity "{additivity}".', additivity=request.additivity),
            nearest(request.additivity, ADDITIVITY),
        )
    additivity = "" if request.additivity == dataset.protection.additivity else request.additivity
    fit_to = _canonical_fit_to(request.fit_to, additivity, dataset)
    return replace(asked, written=_written(asked, dataset), additivity=additivity, fit_to=fit_to)


def _canonical_fit_to(words: tuple[str, ...], additivity: str, dataset: Dataset) -> tuple[str, ...]:
    protection = dataset.protection
    if words and (additivity or protection.additivity) != "fitted":
        raise BadRequest(
            message("fit_to is for tables that are fitted."),
            message("Add additivity=fitted, or leave fit_to out."),
        )
    if not words and not protection.fit_to:
        return ()
    words = grammar.canonical_fit_to(words, dataset)
    own = grammar.canonical_fit_to(protection.fit_to, dataset)
    return () if words == own or (words == (grammar.NO_TABLES,) and not own) else words


def _items(request: TableRequest, dataset: Dataset) -> Iterator[tuple[str, str]]:
    """All items of filters and groups with their variables, without group names."""
    for name, items in request.filters:
        yield from ((name.removesuffix("!"), item) for item in items)
    for name, groups in request.groups:
        yield from ((name, item) for group in groups for item in selection.take_name(dataset, name, group)[1])


def _canonical_filters(filters: Filters, dataset: Dataset) -> Filters:
    """The union of filters by `=`, or all categories, less those of filters by `!=`."""
    kept: dict[str, set[int]] = {}
    left_out: dict[str, set[int]] = {}
    for written, items in filters:
        name = written.removesuffix("!")
        places = {place for item in items for place in selection.select(dataset, name, item)}
        (kept if name == written else left_out).setdefault(name, set()).update(places)
    found = {}
    for name in sorted(kept | left_out):
        variable = dataset.variable(name)
        places = kept.get(name, set(range(len(variable)))) - left_out.get(name, set())
        if not places:
            raise BadRequest(
                message('The filter on "{name}" leaves no one.', name=name),
                message("Name at least one category, or leave it out."),
            )
        if len(places) < len(variable):
            found[name] = _codes(variable, places)
    return tuple(found.items())


def _canonical_groups(
    request: TableRequest, filters: Mapping[str, tuple[str, ...]], dataset: Dataset
) -> tuple[Groups, Names]:
    """The groups that regroup something, and the names of all groups of variables that have some."""
    found: dict[str, dict[tuple[str, ...], str]] = {}
    given = {name: dict(groups) for name, groups in request.names}
    for name, groups in request.groups:
        variable = dataset.variable(name)
        if name in found:
            raise BadRequest(
                message('"{name}" is grouped twice.', name=name),
                message("Give all groups of a variable together."),
            )
        if name not in request.variables:
            raise BadRequest(
                message('"{name}" is grouped and not in the table.', name=name),
                message("Use a filter, or add it to the table."),
            )
        kept = filters.get(name, variable.codes)
        found[name] = _read_groups(dataset, variable, groups, kept, given.get(name, {}))
    for name in given.keys() - found.keys() - dict(request.levels).keys():
        if name in request.variables:  # names of single categories: the groups themselves regrouped nothing
            found[name] = {codes: given[name].get(codes, "") for codes in _singles(dataset, name, filters)}
    ordered = sorted(found.items())
    shown = (
        (name, selection.canonical_names(dataset, dataset.variable(name), called)) for name, called in ordered
    )
    regrouped = ((name, tuple(called)) for name, called in ordered)
    plain = tuple(each for each in regrouped if each[1] != _singles(dataset, each[0], filters))
    return plain, tuple((name, called) for name, called in shown if called)


def _singles(
    dataset: Dataset, name: str, filters: Mapping[str, tuple[str, ...]]
) -> tuple[tuple[str, ...], ...]:
    return tuple((code,) for code in filters.get(name, dataset.variable(name).codes))


def _read_groups(
    dataset: Dataset,
    variable: Variable,
    groups: tuple[tuple[str, ...], ...],
    kept: tuple[str, ...],
    given: Mapping[tuple[str, ...], str],
) -> dict[tuple[str, ...], str]:
    """The codes of each group, in their order, with its name."""
    found: list[tuple[list[int], str]] = []
    for group in groups:
        name, items = selection.take_name(dataset, variable.name, group)
        asked = {place for item in items for place in selection.select(dataset, variable.name, item)}
        positions = sorted(asked & {variable.position(code) for code in kept})
        if not positions:
            raise BadRequest(
                message('A group of "{name}" has no category left by the filter.', name=variable.name),
                message("Leave the group out, or widen the filter."),
            )
        found.append((positions, name or given.get(group, "")))
    members = [position for group, _ in found for position in group]
    if len(set(members)) != len(members):
        raise BadRequest(
            message('Two groups of "{name}" share a category.', name=variable.name),
            message("Put each category in one group only."),
        )
    return {_codes(variable, positions): name for positions, name in sorted(found)}


def _canonical_levels(request: TableRequest, dataset: Dataset) -> Levels:
    found = {}
    for name, levels in request.levels:
        dataset.variable(name)
        if name not in request.variables:
            raise BadRequest(
                message('"{name}" has levels and is not in the table.', name=name),
                message("Add it to the table."),
            )
        if name in dict(request.groups) or name in found:
            raise BadRequest(
                message('"{name}" has levels twice, or levels and groups.', name=name),
                message("Give its levels once, or groups of your own."),
            )
        ordered = coarse_to_fine(dataset, name, levels)
        if ordered and ordered != (name,):
            found[name] = ordered
    return tuple(sorted(found.items()))


def _written(
    request: TableRequest, dataset: Dataset
) -> tuple[tuple[tuple[str, tuple[str, ...]], tuple[str, ...]], ...]:
    """Long lists of codes as ranges, where those are shorter and can be parsed again."""
    lists = [*request.filters, *((name, group) for name, groups in request.groups for group in groups)]
    found = ((entry, selection.shortest(dataset.variable(entry[0]), entry[1])) for entry in lists)
    short = tuple((entry, items) for entry, items in found if items != entry[1])
    written = ((dataset.variable(name), item) for (name, _), items in short for item in items)
    ranges = [len(variable) for variable, item in written if item not in variable]
    return short if len(ranges) <= selection.most_read(ranges) else ()


def _codes(variable: Variable, positions: Iterable[int]) -> tuple[str, ...]:
    return tuple(variable.codes[position] for position in sorted(positions))
