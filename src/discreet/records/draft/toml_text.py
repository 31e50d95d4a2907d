"""The lines of a draft: variables, classes, columns left out, the sample, hierarchies, and the default protection.

A long list of categories goes to a separate file, so that both can be checked line by line; a draft on the terminal has
all of them.
"""

import csv
import io
import math
import re
import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

from discreet.model.file_io import toml_string
from discreet.model.variable import RESERVED_NAMES
from discreet.records.draft.column_facts import ColumnFacts
from discreet.records.draft.column_roles import Roles, replicate_method

#: Longer lists of categories go to a separate file.
LONG_LIST = 40
#: More categories are not grouped one by one.
MOST_GROUPED = 12
NOT_STATED = "not-stated"
#: The form of weighted tables in a draft, before the weights are looked at.
DRAFT_FORM = 'form = "average-weight"'
#: Letters without a Unicode decomposition.
_PLAIN = str.maketrans({"ß": "ss", "æ": "ae", "œ": "oe", "ø": "o", "ł": "l", "đ": "d", "þ": "th", "ı": "i"})


class DraftCategory(NamedTuple):
    """A category of a draft."""

    code: str
    label: str
    parent: str | None = None


@dataclass(frozen=True, slots=True)
class DraftVariable:
    """A variable of a draft.

    `values` are ranges that become categories; `from_records` if a record alone has a category; `rarest` is about the rarest
    category, for the custodian alone: a publication has no comments.
    """

    column: ColumnFacts
    name: str
    categories: Sequence[DraftCategory]
    values: dict[str, str] = field(default_factory=dict)
    comment: str = ""
    from_records: bool = False
    rarest: tuple[str, ...] = ()


def variable_lines(variable: DraftVariable, file_name: str = "") -> list[str]:
    """The section of a variable; its categories are in a file if one is named."""
    column, absent = variable.column, variable.column.gaps or bool(variable.column.missing)
    lines = [f"# {one_line(each)}" for each in (variable.comment, *variable.rarest) if each]
    lines += ["[[variable]]", f"name = {toml_string(variable.name)}"]
    lines.append(f"label = {toml_string(column.notes.label or column.name)}")
    if variable.name != column.name:
        lines.append(f"column = {toml_string(column.name)}")
    if absent:
        lines.append(f"not_stated = {toml_string(NOT_STATED)}")
    if column.missing:
        lines.append(f"missing = [{', '.join(map(toml_string, column.missing))}]")
    if variable.values:
        lines.append(_values_line(variable.values))
    if variable.from_records:
        lines.append('categories_from = "records"')
    if file_name:
        return [*lines, f"categories_file = {toml_string(file_name)}"]
    return [*lines, "categories = [", *(f"  {_category_text(each)}," for each in variable.categories), "]"]


def _values_line(values: dict[str, str]) -> str:
    pairs = ", ".join(f"{toml_string(value)} = {toml_string(code)}" for value, code in values.items())
    return f"values = {{ {pairs} }}"


def _category_text(category: DraftCategory) -> str:
    given = category._asdict().items()
    return (
        "{ " + ", ".join(f"{key} = {toml_string(value)}" for key, value in given if value is not None) + " }"
    )


def code_list(categories: Sequence[DraftCategory]) -> str:
    """A long list of categories as a CSV file for `categories_file`."""
    out = io.StringIO()
    with_parents = any(each.parent is not None for each in categories)
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(["code", "label", "parent"][: 2 + with_parents])
    writer.writerows(each[: 2 + with_parents] for each in categories)
    return out.getvalue()


def rarest_lines(
    counts: Mapping[str, int], fewest: int, *, ordered: bool, parent: str | None
) -> tuple[str, ...]:
    """The rarest category with its number of records; if these are few, a coarser grouping.

    The smallest categories are grouped until they have enough records together; classes are merged with their neighbours.
    """
    smallest = sorted(counts, key=lambda code: (counts[code], code))
    if not smallest:
        return ()
    rare = counts[smallest[0]]
    lines = (f"Rarest: {toml_string(smallest[0])} with {rare:,} record{'' if rare == 1 else 's'}.",)
    if rare >= fewest:
        return lines
    sizes = [counts[code] for code in smallest]
    enough = (n for n in range(2, len(sizes)) if sizes[n] >= fewest <= sum(sizes[:n]))
    many = next(enough, len(smallest))
    codes = ", ".join(f'{toml_string(code)} = "other"' for code in smallest[:many])
    if parent is not None:
        coarser = f"leave this level out: {toml_string(parent)} is the next coarser one."
    elif ordered:
        coarser = "merge the class with its neighbour."
    elif many == len(smallest):
        coarser = "no grouping leaves two categories with enough records: leave the variable out."
    elif many > MOST_GROUPED:
        coarser = f"group the {many} smallest categories, as their classification does."
    else:
        coarser = (
            f'values = {{ {codes} }}, and {{ code = "other", label = "Other" }} in place of these categories.'
        )
    return (*lines, f"Coarser: {coarser}")


def left_out_lines(column: ColumnFacts, name: str, reason: str, values: dict[str, str]) -> list[str]:
    """A column left out, as a commented section; the values of an id or a text are never listed."""
    lines = [f"Left out: {one_line(column.name)} ({reason})", "[[variable]]", f"name = {toml_string(name)}"]
    if name != column.name:
        lines.append(f"column = {toml_string(column.name)}")
    if values:
        codes = ", ".join(toml_string(code) for code in dict.fromkeys(values.values()))
        lines += [_values_line(values), f"categories = [{codes}]"]
    else:
        lines.append(
            f"categories = []  # list them, or draft again with --include {toml_string(one_line(column.name))}"
        )
    return ["# " + line for line in lines]


def measure_lines(column: ColumnFacts, name: str) -> list[str]:
    """A numeric column as a commented measure. Its bounds are left open: they are public facts, not those of the records.

    >>> measure_lines(ColumnFacts("Pay", 9, 9, 9, decimals=2), "Pay")[2:5]
    ['# name = "pay"', '# column = "Pay"', '# decimals = 2']
    """
    lines = [
        f"Or release sums and means of {one_line(column.name)}: give public bounds, not those of these records.",
        "[[measure]]",
        f"name = {toml_string(name.lower()[:32])}",
        f"column = {toml_string(column.name)}",
        *([f"decimals = {column.decimals}"] if column.decimals else []),
        *([f"missing = [{', '.join(map(toml_string, column.missing))}]"] if column.missing else []),
        "lowest =",
        "largest =",
    ]
    return ["# " + line for line in lines]


def survey_lines(roles: Roles) -> list[str]:
    """`[survey]` with the constants of the weights, and the sampling design."""
    weight = roles.weight
    if weight is None:
        return []
    spread = weight.records * weight.squares / weight.total**2 - 1
    lines = [
        "# From the weights of the file; a load compares them again. See docs/methods/survey-weights.md.",
        "[survey]",
        DRAFT_FORM,
        f"sample_size = {weight.records}",
        f"population_size = {number(weight.total)}",
        f"largest_weight = {number(math.ceil(weight.high * 10**4) / 10**4)}",
        f"relative_variance = {max(0.0, spread):.5f}",
    ]
    design = (("strata", roles.strata), ("clusters", roles.clusters))
    lines += [f"{key} = {toml_string(column.name)}" for key, column in design if column is not None]
    if roles.replicates:
        first, last = roles.replicates[0].name, roles.replicates[-1].name
        method, why = replicate_method(first)
        lines += [
            f"replicates = {toml_string(f'{first}..{last}')}",
            f"method = {toml_string(method)}  # {why}",
        ]
        lines += ["fay = 0.5"] if method == "fay" else []
    return lines


def hierarchy_lines(name: str, levels: Sequence[str], *, geography: bool) -> list[str]:
    """A chain of nested variables, coarse to fine."""
    places = (
        ", and their names are those of places."
        if geography
        else ". Set geography = true if they are places."
    )
    return [
        f"# These columns nest in the file{places}",
        "[[hierarchy]]",
        f"name = {toml_string(name)}",
        f"levels = [{', '.join(map(toml_string, levels))}]",
        f"geography = {str(geography).lower()}",
    ]


def class_values(ends: Iterable[int]) -> dict[str, str]:
    """Classes of whole years from 0, by their upper ends; the last is open.

    >>> class_values([14, 64])
    {'0..14': '0-14', '15..64': '15-64', '65..': '65+'}
    """
    low, values = 0, {}
    for high in ends:
        values[f"{low}..{high}"] = f"{low}-{high}"
        low = high + 1
    return {**values, f"{low}..": f"{low}+"}


def amount_values(column: ColumnFacts) -> dict[str, str]:
    """Round classes of amounts, which depend only on the order of magnitude of the largest.

    >>> from discreet.records.draft.column_facts import ColumnFacts
    >>> amount_values(ColumnFacts("pay", 9, 9, 9, high=2500.0))
    {'..<100': 'under 100', '100..<200': '100-200', '200..<500': '200-500', '500..<1000': '500-1000', '1000..': '1000+'}
    """
    top = 10 ** math.floor(math.log10(max(column.high, 10)))
    ends = [number(top * part) for part in (0.1, 0.2, 0.5, 1)]
    between = {f"{low}..<{high}": f"{low}-{high}" for low, high in pairwise(ends)}
    return {f"..<{ends[0]}": f"under {ends[0]}", **between, f"{ends[-1]}..": f"{ends[-1]}+"}


def decade_values(first: int, last: int, *, dates: bool) -> dict[str, str]:
    """Decades from one year to another."""
    ends = "{0}-01-01..{1}-12-31" if dates else "{0}..{1}"
    starts = range(first // 10 * 10, last + 1, 10)
    return {ends.format(start, start + 9): f"{start}-{start + 9}" for start in starts}


def usable_names(names: Iterable[str]) -> dict[str, str]:
    """A readable, distinct ASCII name for each column.

    >>> usable_names(["Größe", "été", "2nd", "count", "性別"])
    {'Größe': 'grosse', 'été': 'ete', '2nd': 'v_2nd', 'count': 'count_1', '性別': 'variable'}
    """
    found: dict[str, str] = {}
    for each in names:
        name = re.sub(r"[^a-z0-9_]+", "_", plain_letters(each)).strip("_") or "variable"
        name = name if name[0].isalpha() else f"v_{name}"
        if name in RESERVED_NAMES or name.endswith("_label"):
            name = f"{name}_1"
        candidate, count = name[:60], 2
        while candidate in found.values():
            candidate, count = f"{name[:56]}_{count}", count + 1
        found[each] = candidate
    return found


def plain_letters(value: str) -> str:
    """Lower-case letters without accents."""
    bare = unicodedata.normalize("NFKD", value.lower().translate(_PLAIN))
    return "".join(c for c in bare if not unicodedata.combining(c))


def number(value: float) -> str:
    """A TOML number with at most four decimals.

    >>> number(1500.0), number(0.25)
    ('1500', '0.25')
    """
    return f"{value:.4f}".rstrip("0").rstrip(".")


def one_line(value: str) -> str:
    """Text that stays within its comment line."""
    return "".join(c if c.isprintable() else "?" for c in value)


PROTECTION = """\
[protection]
method = "cellkey"
keys = "hashed"
additivity = "independent"
max_variables = 3

[protection.noise]
family = "maxent"
D = 5
V = 3
js = 2
"""

#: The rules of the demo census that are independent of its variables.
RULES = Path(__file__).with_name("rules.toml").read_text("utf-8")


def geography_rule(level: str) -> str:
    """The demo's rule on areas: at most two variables in addition to the finest level of a geography."""
    return f'\n[[rule]]\nkind = "max-variables"\nmost = 2\nlevel = "{level}"\n'
