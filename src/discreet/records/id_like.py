"""What looks like an id: a column with few records a value, or one whose name says so.

Whoever tabulates an id tabulates people one by one: the household number of a survey, crossed with sex and age, is a
list of persons. Two signs are looked at, the name at word boundaries and the records a category:

    records / categories < 20
"""

from __future__ import annotations

import re

#: With fewer records a category than this a column is left out of a draft, and a load cautions.
FEWEST_A_CATEGORY = 20
ID_WORDS = frozenset(
    [
        "id",
        "ids",
        "pid",
        "hid",
        "hhid",
        "uid",
        "uuid",
        "guid",
        "idno",
        "idnr",
        "idhh",
        "idp",
        "pidp",
        "hidp",
        "seqn",
        "seqno",
        "seqnr",
        "ident",
        "identifier",
        "caseid",
        "householdid",
        "persid",
        "personid",
        "recordid",
        "respid",
        "respondentid",
    ]
)
#: Persons and households of EU-SILC.
ID_NAMES = re.compile(r"[rpdh]b030|[rph]x030")
_WORDS = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[^\W\d_]+")


def words_of(name: str) -> list[str]:
    """The words of a name in lower case, at capitals, underscores and digits.

    >>> words_of("hoursPaid_2")
    ['hours', 'paid']
    """
    return [word.lower() for word in _WORDS.findall(name)]


def named_as_id(name: str) -> bool:
    """Whether a name says that it is an id, at word boundaries.

    >>> [named_as_id(name) for name in ("person_id", "personID", "PID", "id", "Id2", "household.id", "RB030", "CASEID")]
    [True, True, True, True, True, True, True, True]
    >>> [named_as_id(name) for name in ("hoursPaid", "idle", "PAID", "residence", "valid_until")]
    [False, False, False, False, False]
    """
    return not ID_WORDS.isdisjoint(words_of(name)) or bool(ID_NAMES.fullmatch(name.lower()))


def too_fine(records: int, categories: int) -> bool:
    """Whether a category has fewer than about 20 records on average."""
    return records < FEWEST_A_CATEGORY * categories


def id_caution(name: str, categories: int, records: int | None) -> str | None:
    """What a custodian is asked about a variable before it is served, if it looks like an id.

    A few categories are no id, however small the file. Without a number of records the name alone is looked at.

    >>> id_caution("household", 6000, 14827)
    'household has 6,000 categories for 14,827 records: is it an id? Leave it out, or group its categories.'
    >>> id_caution("sex", 2, 30)
    """
    if records is not None and categories > FEWEST_A_CATEGORY and too_fine(records, categories):
        return (
            f"{name} has {categories:,} categories for {records:,} records: is it an id? "
            "Leave it out, or group its categories."
        )
    if named_as_id(name):
        return (
            f"{name} is called an id: is it one? Leave it out: whoever tabulates it counts people one by one."
        )
    return None
