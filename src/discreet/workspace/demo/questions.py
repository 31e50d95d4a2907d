"""What the census form asks: the variables with their categories, and what cannot be answered together.

The positions of the categories are the faces of the dice in `people`; the codes are promises to readers.

Source: the variables of Rinott et al. (2018), section 3.
"""

from __future__ import annotations

from itertools import combinations

from discreet.workspace.demo.description import Category, Variable, Zero, coded
from discreet.workspace.demo.people import BANDS
from discreet.workspace.demo.places import COUNTRY

AGES = [f"{5 * band}-{5 * band + 4}" for band in range(BANDS - 1)] + ["100+"]
SEX = Variable("sex", "Sex", coded("Male; Female"), "People", "Sex as stated on the census form.")
AGE = Variable(
    "age",
    "Age in years",
    tuple(Category(band, band.replace("-", "\N{EN DASH}")) for band in AGES),
    "People",
    "Completed years on census day, in groups of five.",
)
EMPLOYMENT = Variable(
    "employment",
    "Employment status",
    coded("Employed; Unemployed; In education; Retired or otherwise inactive; Not applicable (under 15)"),
    "Work",
    "What a person of 15 or more years mainly did in the week before census day.",
)
OCCUPATION = Variable(
    "occupation",
    "Occupation, current or last in the past five years",
    coded(
        "Managers; Professionals; Technicians and associate professionals; Clerical support workers; "
        "Service and sales workers; Skilled agricultural, forestry and fishery workers; "
        "Craft and related trades workers; Plant and machine operators; Elementary occupations; "
        "Armed forces; No occupation in the past five years; Not applicable (under 15)"
    ),
    "Work",
    "The main job by the kind of work, in the ten major groups of an international classification.",
)
EDUCATION = Variable(
    "education",
    "Highest education completed",
    coded(
        "None; Primary; Lower secondary; Upper secondary, general; Upper secondary, vocational; "
        "Short-cycle tertiary; Bachelor's degree; Master's degree or doctorate; "
        "Not applicable (under 15)"
    ),
    "Education",
    "The highest level of education that a person of 15 or more years has completed.",
)
BIRTHPLACE = Variable(
    "birthplace",
    "Country of birth",
    coded(f"{COUNTRY}; Neighbouring countries; Rest of Europe; Asia; Africa, the Americas and Oceania"),
    "People",
    "The country in which a person was born, by its borders on census day.",
)

_UNDER_15, _FROM_15 = AGES[:3], AGES[3:]


def census_zeros() -> list[Zero]:
    """What cannot occur: stated in every pair of variables, so that no table shows noise there."""
    employment, occupation, education = EMPLOYMENT.codes, OCCUPATION.codes, EDUCATION.codes
    stated = {"employment": employment, "occupation": occupation, "education": education}
    words_for = {"employment": "employment status", "occupation": "occupation", "education": "education"}
    zeros = []
    for name, codes in stated.items():
        what = words_for[name]
        zeros.append(Zero(f"Children under 15 have no {what}", {"age": _UNDER_15, name: codes[:-1]}))
        zeros.append(
            Zero(f"From 15 on everybody has an answer for {what}", {"age": _FROM_15, name: codes[-1:]})
        )
    for one, other in combinations(stated, 2):
        for child, adult in ((one, other), (other, one)):
            label = f"Not applicable for {words_for[child]} means under 15, hence for {words_for[adult]} too"
            zeros.append(Zero(label, {child: stated[child][-1:], adult: stated[adult][:-1]}))
    zeros.append(Zero("Who is employed has an occupation", {"employment": ["1"], "occupation": ["11"]}))
    zeros.append(Zero("No master's degree before the age of 20", {"age": ["15-19"], "education": ["8"]}))
    return zeros
