"""The roles of a file's columns: id, weights, sampling design, places, ages, amounts.

Names are those of EU-SILC, NHANES, CPS, ACS, DHS, PISA and the European Social Survey, and usual words at word
boundaries; the values must agree. All are guesses: a draft writes each with its reason. A table by an id lists people one
by one, so columns that look like an id are left out: by their name, or if

    records / categories < 20
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from discreet.records.draft.column_facts import ColumnFacts

#: With fewer records per category a column is left out of a draft, and a load warns.
FEWEST_A_CATEGORY = 20
ID_WORDS = frozenset([
    "id", "ids", "pid", "hid", "hhid", "uid", "uuid", "guid", "idno", "idnr", "idhh", "idp", "pidp", "hidp", "seqn", "seqno",
    "seqnr", "ident", "identifier", "caseid", "householdid", "persid", "personid", "recordid", "respid", "respondentid",
])  # fmt: skip
#: Persons and households of EU-SILC.
ID_NAMES = re.compile(r"[rpdh]b030|[rph]x030")
_WORDS = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[^\W\d_]+")


def words_of(name: str) -> list[str]:
    """The words of a name in lower case, split at capitals, underscores and digits.

    >>> words_of("hoursPaid_2")
    ['hours', 'paid']
    """
    return [word.lower() for word in _WORDS.findall(name)]


def has_id_name(name: str) -> bool:
    """Whether a name is that of an id, at word boundaries.

    >>> [has_id_name(name) for name in ("person_id", "personID", "PID", "id", "Id2", "household.id", "RB030", "CASEID")]
    [True, True, True, True, True, True, True, True]
    >>> [has_id_name(name) for name in ("hoursPaid", "idle", "PAID", "residence", "valid_until")]
    [False, False, False, False, False]
    """
    return not ID_WORDS.isdisjoint(words_of(name)) or bool(ID_NAMES.fullmatch(name.lower()))


def too_fine(records: int, categories: int) -> bool:
    """Whether a category has fewer than about 20 records on average."""
    return records < FEWEST_A_CATEGORY * categories


def id_caution(name: str, categories: int, records: int | None) -> str | None:
    """The warning about a variable that looks like an id, if it does.

    A few categories are no id, even in a small file. If the number of records is unknown, only the name counts.

    >>> id_caution("household", 6000, 14827)
    'household has 6,000 categories for 14,827 records: is it an id? Leave it out, or group its categories.'
    >>> id_caution("sex", 2, 30)
    """
    if records is not None and categories > FEWEST_A_CATEGORY and too_fine(records, categories):
        return (
            f"{name} has {categories:,} categories for {records:,} records: is it an id? "
            "Leave it out, or group its categories."
        )
    if has_id_name(name):
        return (
            f"{name} is called an id: is it one? Leave it out: whoever tabulates it counts people one by one."
        )
    return None


#: A column with more different values than this is no variable.
MOST_CATEGORIES = 400
#: Whole numbers of different lengths with more values than this are amounts.
MOST_AMOUNTS = 60
#: A longer value is free text.
LONGEST_CODE = 60
#: A numeric column with more values than this is grouped into classes.
MOST_YEARS = 20
#: Fewer numbered weights than this are no replicates.
FEWEST_REPLICATES = 8

#: Patterns match the whole name or one word of it.
WEIGHTS = re.compile(
    r"weights?|wt|wgt|wght|[pf]weight|gewicht|poids|peso|ponderacion|grossing(factor)?|\w*fnlwgt|pwsswgt|perwt|hhwt"
    r"|rb0(50|6[0-4])|pb0[46]0|db0[89]0|wt(mec|int|saf|dr|sa)\w*|h?wtfinl|asecwt\w*|marsupwt|wtsupp|h?v005|d005"
    r"|\w*weight|\w*wght|p?wgtp|w_fst\w*wt"
)
#: Household weights: if there is another weight, records are persons.
HOUSEHOLD_WEIGHTS = re.compile(r"hhwt|db0[89]0|hwtfinl|asecwth|hv005|wgtp|hsup_?wgt|\w*(hh|household)\w*")
#: Weights of bodies.
BODY = re.compile(r"kg|lbs?\b|gram|birth|body")
STRATA = re.compile(r"strata|stratum|schicht|estrato|strate|strat|sdmvstra|db050|h?v02[23]")
CLUSTERS = re.compile(r"psus?|clusters?|upm|sdmvpsu|db06[02]|h?v021|h?v001")
PLACES = re.compile(
    r"region|nuts[0-3]?|county|district|municipality|province|state|lad|lsoa|msoa|oa|ward|area|canton|commune"
    r"|departement|department|gemeinde|kreis|bundesland|land|postcode|plz|zip|fips|tract|parish|country|db040"
    r"|gestfips|lau[0-2]?|h?v024"
)
AGES = re.compile(
    r"ages?|alter|edad|idade|leeftijd|alder|wiek|ridageyr|[rp]x020|hv105|v012|a_age|dvage|agep|agea"
)
#: An age below 0 and above this is a code for "no age".
LOWEST_CODE = -100
#: The upper ends of age classes: five years, ten years, broad.
AGE_CLASSES = (tuple(range(4, 85, 5)), tuple(range(9, 80, 10)), (14, 24, 64))


@dataclass(frozen=True, slots=True)
class Roles:
    """The roles of columns: id with the reason for it, weight, strata and primary units of the sample, replicate weights."""

    id: ColumnFacts | None
    why: str
    weight: ColumnFacts | None = None
    strata: ColumnFacts | None = None
    clusters: ColumnFacts | None = None
    replicates: tuple[ColumnFacts, ...] = ()

    @property
    def taken(self) -> dict[str, str]:
        """The columns with a role, and which."""
        named = [(self.id, "the id"), (self.weight, "the weight"), (self.strata, "the strata of the sample")]
        named += [(self.clusters, "the primary units of the sample")]
        named += [(column, "a replicate weight") for column in self.replicates]
        return {column.name: part for column, part in named if column is not None}


def find_roles(columns: Sequence[ColumnFacts]) -> Roles:
    """The roles of the columns."""
    id_column, why = _id_column(columns)
    rest = [column for column in columns if column is not id_column]
    weights = [column for column in rest if is_weight(column)]
    weight = min(
        weights, key=lambda column: bool(HOUSEHOLD_WEIGHTS.fullmatch(column.name.lower())), default=None
    )
    replicates = _replicates(rest, weight) if weight else ()
    design = [column for column in rest if not column.gaps and weight is not None and not replicates]
    strata = next((c for c in design if _has_name(c, STRATA)), None)
    clusters = next((c for c in design if _has_name(c, CLUSTERS)), None)
    return Roles(id_column, why, weight, strata, clusters, replicates)


def _has_name(column: ColumnFacts, pattern: re.Pattern[str]) -> bool:
    return any(pattern.fullmatch(word) for word in (column.name.lower(), *words_of(column.name)))


def _id_column(columns: Sequence[ColumnFacts]) -> tuple[ColumnFacts | None, str]:
    """The id: a different value in every record, never a fraction; by its name, or by the shape of its values."""
    possible = [c for c in columns if c.unique and not c.gaps and (c.whole or not c.numeric) and not c.dates]
    for column in possible:
        if has_id_name(column.name):
            return column, "its name says so, and every record has another value"
    for column in possible:
        running = column.whole and column.high - column.low == column.records - 1
        even = column.lengths[0] == column.lengths[1] >= 4
        if column.records >= FEWEST_A_CATEGORY and (running or even):
            return (
                column,
                "every record has another value, and all values have one shape: check that it is the id",
            )
    return None, ""


def is_weight(column: ColumnFacts) -> bool:
    """Whether a column has the name and values of survey weights."""
    lower = column.name.lower()
    named = lower == "w" or (_has_name(column, WEIGHTS) and not BODY.search(lower))
    return named and column.numeric and not column.gaps and column.low >= 0 < column.total < 2**44


def _replicates(columns: Sequence[ColumnFacts], weight: ColumnFacts) -> tuple[ColumnFacts, ...]:
    """The longest series of numbered columns that add up to about the sum of the weights."""
    rows: dict[str, list[ColumnFacts]] = {}
    for column in columns:
        found = re.fullmatch(r"(.*?)(\d+)", column.name)
        alike = column.numeric and not column.gaps and weight.total / 2 <= column.total <= 2 * weight.total
        if found and alike and column is not weight:
            rows.setdefault(found[1], []).append(column)
    longest = max(rows.values(), key=len, default=[])
    numbers = [int(re.findall(r"\d+", column.name)[-1]) for column in longest]
    running = numbers == list(range(numbers[0], numbers[0] + len(numbers))) if numbers else False
    return tuple(longest) if running and len(longest) >= FEWEST_REPLICATES else ()


def replicate_method(name: str) -> tuple[str, str]:
    """The method that usual names of replicate weights imply, and why."""
    stem = re.sub(r"\d+$", "", name.lower())
    known = (
        (r"p?wgtp|repwtp?|\w*fstr\w*|\w*fay\w*", "fay", "usual for weights of this name, with fay = 0.5"),
        (r"\w*brr\w*", "brr", "its name says so"),
        (r"\w*jk\w*", "jackknife", "its name says so"),
    )
    for pattern, method, why in known:
        if re.fullmatch(pattern, stem):
            return method, why
    return "bootstrap", "a guess: look it up in the survey's documentation"


def is_place(column: ColumnFacts) -> bool:
    """Whether a column has the name of a geography."""
    return _has_name(column, PLACES)


def age_ends(column: ColumnFacts) -> tuple[int, ...]:
    """The upper ends of age classes with enough records, for a column of single years; empty for others."""
    is_age = _has_name(column, AGES) and column.whole and column.low > LOWEST_CODE and column.high <= 130
    if not is_age or column.distinct <= MOST_YEARS:
        return ()
    extra = 1 + (column.gaps or bool(column.missing) or column.low < 0)
    return next((ends for ends in AGE_CLASSES if not too_fine(column.records, len(ends) + extra)), ())


def is_amount(column: ColumnFacts) -> bool:
    """Whether whole numbers are amounts: many, and, unlike codes, of different lengths."""
    differ = column.lengths[0] != column.lengths[1]
    return column.whole and column.distinct > MOST_AMOUNTS and differ


def is_year(column: ColumnFacts) -> bool:
    """Whether whole numbers are many years."""
    return column.whole and column.distinct > MOST_YEARS and 1850 <= column.low <= column.high <= 2100


def why_left_out(column: ColumnFacts) -> str:
    """Why a column is no variable of a draft; empty if it is one."""
    categories = column.distinct + (column.gaps or bool(column.missing))
    reasons = {
        "no value in any record": column.distinct == 0,
        "its name says that it is an id": has_id_name(column.name),
        "a weight": _has_name(column, WEIGHTS) and column.numeric and not column.whole,
        "not whole numbers": column.numeric and not column.whole,
        "dates": column.dates,
        "a different value in every record": column.unique,
        "most values stand in one record only": column.single,
        "single years": is_year(column) or (_has_name(column, AGES) and is_amount(column)),
        f"the file has fewer than {FEWEST_A_CATEGORY} records": column.records < FEWEST_A_CATEGORY,
        f"{column.distinct:,} different values, fewer than {FEWEST_A_CATEGORY} records each: is it an id?": too_fine(
            column.records, categories
        ),
        "amounts": is_amount(column),
        "texts that people wrote": column.lengths[1] > LONGEST_CODE,
        f"{column.distinct:,} different values": column.distinct > MOST_CATEGORIES,
    }
    return next((reason for reason, holds in reasons.items() if holds), "")
