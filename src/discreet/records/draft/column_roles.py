"""The roles of a file's columns: id, weights, sampling design, places, ages, amounts.

Names are those of EU-SILC, NHANES, CPS, ACS, DHS, PISA and the European Social Survey, and usual words at word
boundaries; labels of statistics programs count as names. A role needs values that agree: a name alone is proposed as a
comment. All are guesses: a draft writes each with its reason. A table by an id lists people one by one, so columns that
look like an id are left out: by their name, or if

    records / categories < 20
"""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from discreet.records.checks import MOST_REPLICATE_FACTOR
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
#: A column with more different values than this is no variable.
MOST_CATEGORIES = 400
#: Whole numbers of different lengths with more values than this are amounts.
MOST_AMOUNTS = 60
#: A longer value is free text.
LONGEST_CODE = 60
#: A numeric column with more values than this is grouped into classes.
MOST_YEARS = 20
#: Fewer numbered weights than this are no replicates, nor are those with a smaller correlation with the weight and a sum
#: further from its sum; with a name of replicates no correlation is needed, and any sum that a load accepts will do.
FEWEST_REPLICATES = 8
LEAST_CORRELATION, NEAR_SUM = 0.5, 1.25

#: Patterns match the whole name or one word of it.
WEIGHTS = re.compile(
    r"weights?|(final|fin|pers|samp|p|f|h)?(wt|wgt)|wght|[pf]weight|gewicht|poids|peso|ponderacion|grossing(factor)?|\w*fnlwgt|pwsswgt|perwt|hhwt"
    r"|rb0(50|6[0-4])|pb0[46]0|db0[89]0|wt(mec|int|saf|dr|sa)\w*|h?wtfinl|asecwt\w*|marsupwt|wtsupp|h?v005|d005"
    r"|\w*weight|\w*wght|p?wgtp|w_fst\w*wt"
)
#: Labels of weights, and names of replicate weights without their number.
WEIGHT_LABELS = re.compile(
    r".*\b(person|individual|household|sampl\w+|survey|design|final|analysis|post\S*|calibrat\w+|population|expansion)"
    r"\b.*\bweights?\b.*|weight(ing)?( factor| variable)?|.*\w+gewicht|.*hochrechnungsfaktor.*|factor de expansi.n"
)
REPLICATES = re.compile(
    r"p?wgtp|.*(repw|replic|brr|fay|jk|bsw|boot|fstu?r|rwgt).*|rep|(.*_)?(wt|wgt|weight)_?"
)
#: Weights and units of DHS, whose names any file may have that numbers its columns from v000. Its weights are whole
#: numbers with six decimals implied.
NUMBERED = re.compile(r"h?v\d{3}|d005")
IMPLIED = 10**5
#: Household weights: if there is another weight, records are persons.
HOUSEHOLD_WEIGHTS = re.compile(
    r"h(h|_)?w(t|gt)|db0[89]0|hwtfinl|asecwth|hv005|wgtp|hsup_?wgt|\w*(hh|household)\w*"
)
#: Weights of bodies.
BODY = re.compile(r"kg|lbs?\b|gram|birth|body")
STRATA = re.compile(r"strata|stratum|schicht|estrato|strate|strat|sdmvstra|db050|h?v02[23]")
CLUSTERS = re.compile(r"psus?|clusters?|upm|sdmvpsu|db06[02]|h?v021|h?v001")
PLACES = re.compile(
    r"region|nuts[0-3]?|county|district|municipality|province|state|lad|lsoa|msoa|oa|ward|area|canton|commune"
    r"|departement|department|gemeinde|kreis|bundesland|land|postcode|plz|zip|fips|tract|parish|country|db040"
    r"|gestfips|lau[0-2]?|h?v024"
)
STRATA_LABELS = re.compile(r".*\b(strat(a|um)|schicht)\b.*")
CLUSTER_LABELS = re.compile(r".*\b(primary sampling unit|psu|clusters?( number)?)\b.*")
AGES = re.compile(
    r"ages?|alter|edad|idade|leeftijd|alder|wiek|ridageyr|[rp]x020|hv105|v012|a_age|dvage|agep|agea"
)
#: An age below 0 and above this is a code for "no age".
LOWEST_CODE = -100
#: The upper ends of age classes: five years, ten years, broad.
AGE_CLASSES = (tuple(range(4, 85, 5)), tuple(range(9, 80, 10)), (14, 24, 64))


#: Names of columns that identify people, by what they hold. Other than names of people, few values are answers.
PERSONAL = {
    "names of people": re.compile(
        r"((full|first|last|family|given|maiden|middle|user|nick|person|patient|respondent|customer|client|employee|staff"
        r"|doctor|teacher|interviewer|contact|mother|father|child|spouse)s?_?)*names?(_(full|first|last|middle))?|surname"
        r"|forename|(contact|responsible)_?person|(vor|nach|familien)_?name|(pre)?nom|nombre|apellidos?"
    ),
    "e-mail addresses": re.compile(r"e_?mails?"),
    "telephone numbers": re.compile(
        r"((no|nr|number)_)?((home|work|mobile|cell|tele)_?)?(phone|mobile|telefono?|fax|tel|handy)(_?(no|number|nr))?"
    ),
    "addresses": re.compile(
        r"((ip|mac|url|web)_?address|url|website)|(street|home|postal)?_?address|street|strasse|anschrift|adresse|direccion"
    ),
    "national ids": re.compile(r"ssn|nino|passport(_?(no|number))?|iban|tax_?(id|number)|steuernummer|dni"),
    "dates of birth": re.compile(r"dob|(date_?of_?birth|birth_?(date|day))|geburts(tag|datum)"),
}
#: The same in labels of statistics programs.
PERSONAL_LABELS = {
    "names of people": re.compile(
        r".*\b((full|first|last) name|name of (the )?(respondent|person|patient|interviewer))\b.*"
    ),
    "e-mail addresses": re.compile(r".*\be-?mail\b.*"),
    "telephone numbers": re.compile(r".*\b((tele)?phone|mobile) numbers?\b.*"),
    "addresses": re.compile(r".*\b(street|home|postal) address\b.*"),
    "national ids": re.compile(r".*\b(passport|social security|tax) number\b.*"),
    "dates of birth": re.compile(r".*\bdate of birth\b.*"),
}
#: Few values of these forms may be names of something else: a draft asks.
ASKED_ABOUT = ("names of people", "sentences")
#: How the reason of a sensitive column begins.
ABOUT = "about "
#: Words of columns that say something sensitive of people: Article 9 of the GDPR, and crime.
SENSITIVE = {
    "health": re.compile(
        r"hiv|aids|covid\w*|suicid\w*|drugs?|alcohol\w*|medicat\w*|symptoms?|genetic\w*|health|disab\w+|diseases?|diagnos\w+|cancer|diabet\w+|depress\w+|mental|illness|icd|pregnan\w+|abortion"
        r"|krank\w*|gesundheit\w*|behinder\w+|sante|salud"
    ),
    "religion": re.compile(r"relig\w*|faith|denomination|church|konfession|glaub\w*|kirche"),
    "ethnicity": re.compile(r"eth?ni\w+|races?|racial|caste|tribe"),
    "sexuality": re.compile(r"sexual\w*|orientation|lgbt\w*|gay|lesbian|bisexual|transgender"),
    "crime": re.compile(r"crim(e|es|inal)|convict\w*|offen[cs]es?|arrest\w*|prison\w*|victim\w*"),
    "politics": re.compile(r"polit\w+|voted?|party|union(ized)?"),
}


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
        return f"{name} is named like an id. If it is one, leave it out: a table of ids counts single people."
    return None


@dataclass(frozen=True, slots=True)
class Roles:
    """The roles of columns: id with the reason for it, weight, strata and primary units of the sample, replicate weights.

    `proposed` has the keys of a description and the columns that have the name of a role and not its values.
    """

    id: ColumnFacts | None
    why: str
    weight: ColumnFacts | None = None
    strata: ColumnFacts | None = None
    clusters: ColumnFacts | None = None
    replicates: tuple[ColumnFacts, ...] = ()
    proposed: tuple[tuple[str, str], ...] = ()

    @property
    def taken(self) -> dict[str, str]:
        """The columns with a role, and which."""
        named = [(self.id, "the id"), (self.weight, "the weight"), (self.strata, "the strata of the sample")]
        named += [(self.clusters, "the primary units of the sample")]
        named += [(column, "a replicate weight") for column in self.replicates]
        return {column.name: part for column, part in named if column is not None}


def find_roles(
    columns: Sequence[ColumnFacts],
    correlation: Callable[[ColumnFacts, ColumnFacts], float] = lambda _one, _other: 0.0,
) -> Roles:
    """The roles of the columns; without the correlation of two columns, replicate weights need a name."""
    id_column, why = _id_column(columns)
    rest = [column for column in columns if column is not id_column]
    weights = [column for column in rest if _called_weight(column) and column.numeric]
    weight = min(
        (column for column in weights if is_weight(column)),
        key=lambda column: bool(HOUSEHOLD_WEIGHTS.fullmatch(column.name.lower())),
        default=None,
    )
    proposed = [("weight_column", column.name) for column in weights[:1] if weight is None]
    series = [row for row in _numbered_rows(rest) if weight not in row]
    sound = [row for row in series if weight is not None and _are_replicates(row, weight, correlation)]
    replicates: tuple[ColumnFacts, ...] = max(sound, key=len, default=())
    named = [row for row in series if _replicate_name(row[0]) and not replicates]
    proposed += [("replicates", f"{row[0].name}..{row[-1].name}") for row in named[:1]]
    design: dict[str, ColumnFacts] = {}
    for key, names, labels in (("strata", STRATA, STRATA_LABELS), ("clusters", CLUSTERS, CLUSTER_LABELS)):
        called = [c for c in rest if _has_name(c, names) or labels.fullmatch(c.notes.label.lower())]
        called = [] if replicates else [c for c in called if c is not weight]
        sound_units = [c for c in called if weight is not None and _are_units(c, weight, labels)]
        design |= dict(zip([key], sound_units, strict=False))
        proposed += [(key, column.name) for column in called[:1] if not sound_units]
    return Roles(
        id_column, why, weight, design.get("strata"), design.get("clusters"), replicates, tuple(proposed)
    )


def _has_name(column: ColumnFacts, pattern: re.Pattern[str]) -> bool:
    return any(pattern.fullmatch(word) for word in (column.name.lower(), *words_of(column.name)))


def _id_column(columns: Sequence[ColumnFacts]) -> tuple[ColumnFacts | None, str]:
    """The id: a different value in every record, never a fraction; by its name, or by the shape of its values."""
    possible = [c for c in columns if c.unique and not c.gaps and (c.whole or not c.numeric) and not c.dates]
    for column in possible:
        if has_id_name(column.name):
            return column, "its name says so, and every record has a different value"
    for column in possible:
        running = column.whole and column.high - column.low == column.records - 1
        even = column.lengths[0] == column.lengths[1] >= 4
        if column.records >= FEWEST_A_CATEGORY and (running or even):
            shape = "every record has a different value of the same pattern"
            return column, f"{shape}: check that it is the id"
    return None, ""


def _labelled_weight(column: ColumnFacts) -> bool:
    label = column.notes.label.lower()
    return bool(WEIGHT_LABELS.fullmatch(label)) and not BODY.search(label)


def _called_weight(column: ColumnFacts) -> bool:
    lower = column.name.lower()
    named = lower in {"w", "pw"} or (_has_name(column, WEIGHTS) and not BODY.search(lower))
    return named or _labelled_weight(column)


def is_weight(column: ColumnFacts) -> bool:
    """Whether a column has the name or label of survey weights, and values of weights: fractions, or many numbers."""
    sound = column.numeric and not column.gaps and column.low >= 0 < column.total < 2**44
    implied = column.whole and column.total >= IMPLIED * column.records
    if NUMBERED.fullmatch(column.name.lower()) and not (implied or _labelled_weight(column)):
        return False
    return _called_weight(column) and sound and not _few_codes(column)


def _few_codes(column: ColumnFacts) -> bool:
    return column.whole and column.distinct <= MOST_YEARS


def _are_units(column: ColumnFacts, weight: ColumnFacts, labels: re.Pattern[str]) -> bool:
    """Whether a column divides the records, and, if a survey programme names it, its label or the weight is that one's."""
    numbered = NUMBERED.fullmatch(column.name.lower()) and not labels.fullmatch(column.notes.label.lower())
    same = not numbered or bool(NUMBERED.fullmatch(weight.name.lower()))
    divides = 2 <= column.distinct < column.records and (column.whole or not column.numeric)
    return same and not column.gaps and divides


def _numbered_rows(columns: Sequence[ColumnFacts]) -> list[tuple[ColumnFacts, ...]]:
    """The columns whose names count on by one, by what is before the number."""
    rows: dict[str, list[tuple[int, ColumnFacts]]] = {}
    for column in columns:
        if found := re.fullmatch(r"(.*?)(\d+)", column.name):
            rows.setdefault(found[1], []).append((int(found[2]), column))
    long = (row for row in rows.values() if len(row) >= FEWEST_REPLICATES)
    counting = (row for row in long if all(number == row[0][0] + at for at, (number, _) in enumerate(row)))
    return [tuple(column for _, column in row) for row in counting]


def _replicate_name(column: ColumnFacts) -> bool:
    stem = re.sub(r"\d+$", "", column.name.lower())
    return bool(REPLICATES.fullmatch(stem)) or "replicate" in column.notes.label.lower()


def _are_replicates(
    row: tuple[ColumnFacts, ...],
    weight: ColumnFacts,
    correlation: Callable[[ColumnFacts, ColumnFacts], float],
) -> bool:
    """Whether all columns of a row have values of weights, and their names or the correlation with the weight say so."""
    named = _replicate_name(row[0])
    factor = MOST_REPLICATE_FACTOR if named else NEAR_SUM
    weights = all(c.numeric and not c.gaps and c.low >= 0 and not _few_codes(c) for c in row)
    near = all(weight.total / factor <= column.total <= factor * weight.total for column in row)
    return (
        weights
        and near
        and (named or all(correlation(weight, column) >= LEAST_CORRELATION for column in row))
    )


def replicate_method(name: str) -> tuple[str, str]:
    """The method that usual names of replicate weights imply, and why."""
    stem = re.sub(r"\d+$", "", name.lower())
    known = (
        (r"p?wgtp|repwtp?|\w*fstr\w*|\w*fay\w*", "fay", "usual for weights of this name, with fay = 0.5"),
        (r"\w*brr\w*", "brr", "its name says so"),
        (r"\w*jk\w*", "jackknife", "its name says so"),
    )
    guess = "bootstrap", "a guess: look it up in the survey's documentation"
    return next(((method, why) for pattern, method, why in known if re.fullmatch(pattern, stem)), guess)


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


def personal(column: ColumnFacts) -> str:
    """What of a column identifies people, by its name or the form of its values; empty if nothing does."""
    by_form = "" if column.kind == "names of people" and is_place(column) else column.kind
    name = "_".join(words_of(column.name))
    label = column.notes.label.lower()
    called = (
        kind
        for kind, pattern in PERSONAL.items()
        if pattern.fullmatch(name) or PERSONAL_LABELS[kind].fullmatch(label)
    )
    many = column.distinct > MOST_YEARS
    by_form = by_form if many or column.kind not in ASKED_ABOUT else ""
    return next((kind for kind in called if many or kind == "names of people"), by_form)


def sensitive(column: ColumnFacts) -> str:
    """What sensitive thing a column says of people, by the words of its name and label; empty if none."""
    words = [*words_of(column.name), *words_of(column.notes.label)]
    return next((what for what, named in SENSITIVE.items() if any(map(named.fullmatch, words))), "")


def why_left_out(column: ColumnFacts) -> str:
    """Why a column is no variable of a draft; empty if it is one."""
    categories = column.distinct + (column.gaps or bool(column.missing))
    reasons = {
        "no value in any record": column.distinct == 0,
        "its name says that it is an id": has_id_name(column.name),
        "a weight": _has_name(column, WEIGHTS) and column.numeric and not column.whole,
        "not whole numbers": column.numeric and not column.whole,
        "its name says that it is a unit of a sample": _has_name(column, CLUSTERS)
        and not NUMBERED.fullmatch(column.name.lower())
        and column.distinct > MOST_YEARS,
        "dates": column.dates or column.kind == "dates",
        f"it looks like {personal(column)}": bool(personal(column)),
        "a different value in every record": column.unique,
        "most values occur in one record only": column.single,
        "single years": is_year(column) or (_has_name(column, AGES) and is_amount(column)),
        f"the file has fewer than {FEWEST_A_CATEGORY} records": column.records < FEWEST_A_CATEGORY,
        f"{column.distinct:,} different values with fewer than {FEWEST_A_CATEGORY} records each: is it an id?": too_fine(
            column.records, categories
        ),
        "amounts": is_amount(column),
        "free text": column.lengths[1] > LONGEST_CODE,
        f"{column.distinct:,} different values": column.distinct > MOST_CATEGORIES,
        f"{ABOUT}{sensitive(column)}: publish it only if you are allowed to; its lines are complete": bool(
            sensitive(column)
        ),
    }
    return next((reason for reason, holds in reasons.items() if holds), "")
