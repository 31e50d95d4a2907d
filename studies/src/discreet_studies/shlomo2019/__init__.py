"""Shlomo, Krenzke & Li (2019): Tables 1-5, Figures 1-4 and the numbers of section 3."""

from discreet_studies.exhibit import Exhibits
from discreet_studies.shlomo2019.figures import figure_1, figure_2, figure_3, figure_4
from discreet_studies.shlomo2019.mechanisms import section_3, table_1, table_2, table_3
from discreet_studies.shlomo2019.risk_utility import table_4, table_5

EXHIBITS: Exhibits = {
    "table 1": table_1,
    "table 2": table_2,
    "table 3": table_3,
    "section 3": section_3,
    "table 4": table_4,
    "table 5": table_5,
    "figure 1": figure_1,
    "figure 2": figure_2,
    "figure 3": figure_3,
    "figure 4": figure_4,
}
