"""A draft of `dataset.toml` from a file: which columns may be published, and why the others are left out.

Its categories are those in the file or its labels; the custodian completes them from the classification, because
categories are public knowledge and must not be read off the data. The draft loads as it is and publishes no identifier: a
variable has 20 records or more per category, and only `include` and `geography` override that. Nesting in another column
is no reason to keep a column.
"""

import re
import tempfile
from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import duckdb

from discreet.errors import BadData, BadRequest
from discreet.model.dataset import ROW_NUMBER
from discreet.model.description.sections import FileOptions
from discreet.model.file_io import toml_string
from discreet.model.messages.text import nearest
from discreet.records.draft import column_roles, toml_text
from discreet.records.draft.column_facts import ColumnFacts, StagedColumns
from discreet.records.draft.column_roles import FEWEST_A_CATEGORY, Roles, age_ends, why_left_out
from discreet.records.draft.toml_text import DraftCategory, DraftVariable, one_line, usable_names
from discreet.records.readers import open_source, read_error
from discreet.records.storage import connect_duckdb

HEADER = """\
# Drafted from {name}. Check every line before loading:
#  - categories were read off the file: complete and order them from the classification,
#    and replace labels that are only codes. `categories_from = "records"` marks those lists; method = "dp" refuses
#    them until the public code list stands there and the line says "code list";
#  - "Rarest" tells true counts, for you alone: a publication has no comments, but take these lines out before you give
#    this file away;
#  - say what is counted (unit, population), the source and the version;
#  - add hierarchies and structural zeros: see docs/reference/dataset-toml.md.
"""
DRAFT_LINE = "unchecked_draft = true"
NO_ID = """\
# No column was found that tells records apart. Their places in the file do it now: the numbers of a table hold for this
# file only, and a file in another order, or with a record more, has other numbers. Name a stable id if there is one."""
PROPOSED = """\
# Not taken: the names are those of a survey's design, and the values are not. If you know better, write the lines here or,
# but for weight_column, in [survey]."""
#: How many columns a sentence names.
MOST_NAMED = 5
BELOW_ZERO = "..-1"
SAID = {
    "weight_column": "a weight",
    "replicates": "replicate weights",
    "strata": "the strata of a sample",
    "clusters": "the primary units of a sample",
}
TOO_MANY = "more than one category (including those of its labels) per 20 records"


@dataclass(frozen=True, slots=True)
class Draft:
    """A draft of a `dataset.toml`, with long lists of categories by file name, the assumptions, and the columns left out."""

    text: str
    code_lists: dict[str, str]
    assumed: tuple[str, ...]
    left_out: tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class _Choice:
    """The variables with their nesting, and the columns left out with their reasons."""

    variables: tuple[DraftVariable, ...]
    chains: tuple[tuple[str, ...], ...]
    places: frozenset[str]
    left_out: tuple[tuple[ColumnFacts, str], ...]


def describe_file(
    path: Path,
    options: FileOptions | None = None,
    include: Sequence[str] = (),
    geography: Sequence[str] = (),
    lists: str | None = None,
) -> Draft:
    """A draft of `dataset.toml` for a file of records.

    Args:
        path: The file.
        options: How it is read.
        include: Columns that are always variables.
        geography: Columns that are always places.
        lists: The prefix of file names of long category lists; None to keep all in the draft.
    """
    with tempfile.TemporaryDirectory(prefix="discreet-describe-") as name:
        aside = Path(name)
        connection = connect_duckdb(aside / "staged.duckdb", temporary=aside)
        source = None
        try:
            source = open_source(connection, path, aside, options)
            for column in (*include, *geography):
                if column not in source.columns:
                    raise BadRequest(f'The file has no column "{column}".', nearest(column, source.columns))
            looked = StagedColumns(connection, source)
            if not looked.records:
                what = "a header and no records" if source.unit != "record" else "no records"
                raise BadData(f"{path.name} has {what}.", "Check that it is the right file.")
            return _draft(looked, path, set(include), set(geography), lists)
        except duckdb.Error:
            if source is None:
                raise BadData(f"{path.name} cannot be read.", "Check that it is complete.") from None
            raise read_error(source) from None
        finally:
            connection.close()


def _draft(
    looked: StagedColumns, path: Path, include: set[str], places: set[str], lists: str | None
) -> Draft:
    roles = column_roles.find_roles(
        [c for c in looked.columns if c.name not in include | places], looked.correlation
    )
    choice = _choose(looked, roles, include, places)
    code_lists: dict[str, str] = {}
    sections = [_top(path, roles)]
    if looked.source.found.given():
        given = [f"{key} = {toml_string(value)}" for key, value in looked.source.found.given().items()]
        sections.append(["# How the file is read.", "[file]", *given])
    sections.append(toml_text.survey_lines(roles))
    for variable in choice.variables:
        file = (
            f"{lists}.{variable.name}.csv" if lists and len(variable.categories) > toml_text.LONG_LIST else ""
        )
        if file:
            code_lists[file] = toml_text.code_list(variable.categories)
        sections.append(toml_text.variable_lines(variable, file))
    names = usable_names(column.name for column, _ in choice.left_out)
    could: list[str] = []
    for column, reason in choice.left_out:
        if reason.startswith(column_roles.ABOUT):  # complete, to be uncommented
            kept = _variable(looked, column, names[column.name], None, wished=False)
            lines = [f"Left out: {one_line(column.name)} ({reason})", *toml_text.variable_lines(kept)]
            sections.append(["# " + line for line in lines])
        else:
            classes = _classes(looked, column, reason)
            could += [column.name] if classes else []
            sections.append(toml_text.left_out_lines(column, names[column.name], reason, classes))
            if classes and column.numeric and roles.weight is None:
                sections.append(toml_text.measure_lines(column, names[column.name]))
    if not choice.variables:
        sections[0].append(f"# {_nothing(could)}")
    sections += [
        toml_text.hierarchy_lines(levels[-1], levels, geography=levels[-1] in choice.places)
        for levels in choice.chains
    ]
    rules = toml_text.RULES + "".join(
        toml_text.geography_rule(levels[-1]) for levels in choice.chains if levels[-1] in choice.places
    )
    body = "\n\n".join("\n".join(section) for section in sections if section)
    return Draft(
        f"{body}\n\n{toml_text.PROTECTION}\n{rules}",
        code_lists,
        (*_assumptions(looked, roles, choice, places), *([] if choice.variables else [_nothing(could)])),
        tuple((column.name, reason) for column, reason in choice.left_out),
    )


def _choose(looked: StagedColumns, roles: Roles, include: set[str], places: set[str]) -> _Choice:
    """Which columns are variables, and which of them nest."""
    wished, taken = include | places, roles.taken
    rest = [c for c in looked.columns if c.name not in taken and (c.distinct or c.name not in wished)]
    reasons = {c.name: "" if c.name in wished or age_ends(c) else why_left_out(c) for c in rest}
    kept = [c for c in rest if not reasons[c.name]]
    parents = _nesting(looked, [c for c in kept if not age_ends(c)])
    names = usable_names(c.name for c in kept)
    variables = [_variable(looked, c, names[c.name], parents.get(c.name), c.name in wished) for c in kept]
    fine = {v.name for v in variables if column_roles.too_fine(looked.records, len(v.categories))}
    dropped = {v.column.name for v in variables if v.name in fine and v.column.name not in wished}
    left_out = [(c, reasons[c.name] or TOO_MANY) for c in rest if reasons[c.name] or c.name in dropped]
    chains = []  # nested columns, from the coarsest to the finest
    for finest in (name for name in parents if name not in parents.values()):
        levels = [finest]
        while levels[0] in parents:
            levels.insert(0, parents[levels[0]])
        if not dropped & set(levels):
            chains.append(tuple(names[level] for level in levels))
    is_places = {names[c.name] for c in kept if c.name in places or column_roles.is_place(c)}
    geographic = frozenset(chain[-1] for chain in chains if set(chain) & is_places)
    chosen = tuple(v for v in variables if v.column.name not in dropped)
    return _Choice(chosen, tuple(chains), geographic, tuple(left_out))


def _variable(
    looked: StagedColumns, column: ColumnFacts, name: str, parent: str | None, wished: bool
) -> DraftVariable:
    ends = () if wished else age_ends(column)
    chosen = "Single years in the file: these classes were chosen."
    codes = [value for value in column.missing if value.startswith("-")]
    if ends and (column.low < 0 or codes):
        rest = (value for value in column.missing if value not in codes)
        column = replace(column, missing=(*rest, BELOW_ZERO))
        chosen += " Is it right that an age below 0 is a missing value?"
    absent = [DraftCategory(toml_text.NOT_STATED, "Not stated")] if column.gaps or column.missing else []
    found = looked.values(column, parent)
    if ends:
        values = toml_text.class_values(ends)
        codes = list(values.values())
        counts = dict.fromkeys(codes, 0)
        for age, _, count in found:
            counts[codes[bisect_left(ends, float(age))]] += count
        rarest = toml_text.rarest_lines(counts, FEWEST_A_CATEGORY, ordered=True, parent=None)
        categories = [DraftCategory(code, code) for code in codes]
        return DraftVariable(column, name, categories + absent, values, chosen, rarest=rarest)
    labels = [code for code in column.notes.labels if code not in column.missing and not parent]
    above = {code: within for code, within, _ in found}
    listed = [
        DraftCategory(code, column.notes.labels.get(code) or code, above.get(code))
        for code in dict.fromkeys([*labels, *above])
    ]
    reason = why_left_out(column) if wished else ""
    declared = [value for value in column.missing if value in column.notes.missing]
    comment = 'Is "missing" right? These values look like no answer.' if column.missing else ""
    if declared and len(declared) == len(column.missing):
        comment = "The file declares the missing values."
    if column.kind == "names of people" and not column_roles.is_place(column):
        comment = f"Are these names of people? Then remove the variable. {comment}".rstrip()
    if reason:
        comment = f"Included at your request; it would have been left out: {reason}"
    unlabelled = any(code not in labels for code in above)
    counts = {code: count for code, _, count in found}
    rarest = toml_text.rarest_lines(counts, FEWEST_A_CATEGORY, ordered=False, parent=parent)
    return DraftVariable(column, name, listed + absent, {}, comment, unlabelled, rarest)


def _classes(looked: StagedColumns, column: ColumnFacts, reason: str) -> dict[str, str]:
    """Classes for amounts, years and dates that are left out, ready to be uncommented."""
    if column_roles.has_id_name(column.name) or column_roles.personal(column):
        return {}
    if reason in {"not whole numbers", "amounts"} or column_roles.is_amount(column):
        return toml_text.amount_values(column)
    if column_roles.is_year(column) and not column.unique:
        return toml_text.decade_values(int(column.low), int(column.high), dates=False)
    if column.dates:
        years = [int(value[:4]) for value, *_ in looked.values(column)[:: max(1, column.distinct - 1)]]
        return toml_text.decade_values(min(years), max(years), dates=True)
    return {}


def _nothing(could: Sequence[str]) -> str:
    """The sentence of a file without a variable: a load would refuse the draft as it is."""
    listed = ", ".join(map(one_line, could[:MOST_NAMED])) + (" and more" if len(could) > MOST_NAMED else "")
    what = f"Possible classes: {listed}." if could else "No column can be grouped into classes either."
    return (
        "No column can be tabulated as it is: none has categories with at least 20 records each. "
        f"{what} Uncomment the columns you may publish: a load needs at least one variable."
    )


def _nesting(looked: StagedColumns, columns: Sequence[ColumnFacts]) -> dict[str, str]:
    """For each column the next coarser one that it determines in every record, if any."""
    parents = {}
    complete = [c for c in columns if not c.gaps and not c.missing and not c.notes.labels]
    for fine in complete:
        coarser = [c for c in complete if c.distinct >= 2 and 2 * c.distinct <= fine.distinct]
        for coarse in sorted(coarser, key=lambda c: -c.distinct):
            if looked.nests(fine, coarse):
                parents[fine.name] = coarse.name
                break
    return parents


def _top(path: Path, roles: Roles) -> list[str]:
    stem = re.sub(r"(\.[A-Za-z0-9]{2,8}){1,2}$", "", path.name) or path.name
    name = re.sub(r"[^a-z0-9]+", "-", toml_text.plain_letters(stem)).strip("-") or "dataset"
    lines = [
        HEADER.format(name=one_line(path.name)),
        f"id = {toml_string((name if name[0].isalpha() else 'data-' + name)[:64].rstrip('-'))}",
        f"label = {toml_string(stem)}",
        'source = ""',
        'version = "1"',
        'unit = "records"',
        'population = ""',
    ]
    lines += [
        "# Pages, notes and citations say so. Remove the line when every other one is checked.",
        DRAFT_LINE,
    ]
    if roles.id is None:
        lines += [NO_ID, f"id_column = {toml_string(ROW_NUMBER)}"]
    else:
        lines += [f"# Chosen because {roles.why}.", f"id_column = {toml_string(roles.id.name)}"]
    if roles.weight is not None:
        decimals = min(roles.weight.decimals, 4)
        lines += [f"weight_column = {toml_string(roles.weight.name)}", f"weight_decimals = {decimals}"]
    if roles.proposed:
        lines += [PROPOSED, *(f"#   {key} = {toml_string(one_line(name))}" for key, name in roles.proposed)]
    return lines


def _assumptions(looked: StagedColumns, roles: Roles, choice: _Choice, places: set[str]) -> list[str]:
    """The guesses, as sentences for the terminal."""
    numbers = [one_line(c.name) for c in looked.columns if re.fullmatch(r"-?[0-9]+([.,][0-9]+)?", c.name)]
    lines = [f"Does the first line name the columns? One of them is called {numbers[0]}."] if numbers else []
    nobody = "No column identifies records, so their positions in the file are used."
    lines.append(f"The id is {roles.id.name}: {roles.why}." if roles.id else nobody)
    if looked.source.found.given():
        given = ", ".join(f"{key} {value!r}" for key, value in looked.source.found.given().items())
        lines.append(f"The file is read with {given}.")
    missing: dict[tuple[str, ...], list[str]] = {}
    for variable in choice.variables:
        if variable.column.missing:
            missing.setdefault(variable.column.missing, []).append(one_line(variable.column.name))
    for values, columns in missing.items():
        more = f" and {len(columns) - MOST_NAMED} more" if len(columns) > MOST_NAMED else ""
        said = ", ".join(map(one_line, values))
        lines.append(f"Treated as missing values: {said} of {', '.join(columns[:MOST_NAMED])}{more}.")
    unsaid = {"the id", "a replicate weight"}
    lines += [f"{column} is {part}." for column, part in roles.taken.items() if part not in unsaid]
    lines += [
        (
            f"{one_line(name)} is named like {SAID[key]}, but its values do not look like it, so it is only a "
            "comment."
        )
        for key, name in roles.proposed
    ]
    if roles.replicates:
        lines.append(f"{roles.replicates[0].name} to {roles.replicates[-1].name} are replicate weights.")
    lines += [
        f"{v.column.name} is grouped into {len(v.values)} classes." for v in choice.variables if v.values
    ]
    lines += [
        f"{', '.join(levels)} nest" + (" and are places." if levels[-1] in choice.places else ".")
        for levels in choice.chains
    ]
    nested = {name for levels in choice.chains for name in levels}
    lines += [
        f"{v.column.name} is treated as an ordinary variable, not as geography: it nests with no other column."
        for v in choice.variables
        if v.column.name in places and v.name not in nested
    ]
    return lines
