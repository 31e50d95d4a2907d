"""Rinott, O'Keefe, Shlomo & Skinner (2018): Tables 2 and 3, Figures 1-4, section 7 and the text's numbers."""

from discreet_studies.exhibit import Exhibits
from discreet_studies.rinott2018.independence import table_3
from discreet_studies.rinott2018.overlapping import section_7
from discreet_studies.rinott2018.proportion import figure_4
from discreet_studies.rinott2018.risk_utility import figure_1, figure_2, figure_3
from discreet_studies.rinott2018.small_counts import section_2, section_4, section_5, table_2

EXHIBITS: Exhibits = {
    "section 2": section_2,
    "section 4": section_4,
    "section 5": section_5,
    "table 2": table_2,
    "table 3": table_3,
    "figure 1": figure_1,
    "figure 2": figure_2,
    "figure 3": figure_3,
    "figure 4": figure_4,
    "section 7": section_7,
}
