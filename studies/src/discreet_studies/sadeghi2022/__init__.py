"""Sadeghi & Chien (2022), recomputed: the ABS perturbation method as (ε, δ)-differential privacy.

The examples follow one design from (ε, δ) to a distribution, to a lookup table, to what is left after quantisation; the
figures show the trade-off and the key sizes. Beside every (ε^Q, δ^Q) of the paper, which looks at one
direction, stands the exact audit of the same integers in both.

Source: P. Sadeghi and C.-H. Chien, "On the connection between the ABS perturbation methodology and
differential privacy", 2022.
"""

from discreet_studies.exhibit import Exhibits
from discreet_studies.sadeghi2022 import examples, key_sizes, trade_off

#: All exhibits of the paper, in its order.
EXHIBITS: Exhibits = {
    "figure 1": trade_off.figure_1,
    "figure 2": trade_off.figure_2,
    "example 1": examples.example_1,
    "figure 3": examples.figure_3,
    "example 2": examples.example_2,
    "example 3": examples.example_3,
    "experiments": key_sizes.experiments,
    "figure 4": key_sizes.figure_4,
    "figure 5": key_sizes.figure_5,
}
