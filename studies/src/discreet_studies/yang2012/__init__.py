"""Yang, Fienberg & Rinaldo (2012), recomputed: data, models, noise, theorem and simulations.

The paper prints errors in each; a finding says which number follows. The mechanism is shown as published
(labelled where that is not ε-DP) and with the scale that is needed.

Source: X. Yang, S. E. Fienberg and A. Rinaldo, "Differential Privacy for Protecting Multi-dimensional
Contingency Table Data: Extensions and Applications", 2012.
"""

from discreet_studies.exhibit import Exhibits
from discreet_studies.yang2012 import data, figures, models, theory

#: All exhibits of the paper, in its order.
EXHIBITS: Exhibits = {
    "example 3": theory.example_3,
    "theorem 2": theory.theorem_2,
    "table 3": data.table_3,
    "table 4": data.table_4,
    "table 5": data.table_5,
    "table 6": data.table_6,
    "table 7": models.table_7,
    "table 8": models.table_8,
    "figure 1": figures.figure_1,
    "figure 2": figures.figure_2,
    "figure 3": figures.figure_3,
    "figure 4": figures.figure_4,
    "figure 5": figures.figure_5,
    "figure 6": figures.figure_6,
}
