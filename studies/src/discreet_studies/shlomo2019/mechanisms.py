"""Tables 1-3 and section 3: the three mechanisms as probabilities, and what they promise exactly.

    Table 1: p(z) ∝ e^(-2|z|), |z| ≤ 7.   Tables 2 and 3: the same distribution within 0..6 and 0..14, what falls outside
    going to the neighbouring cell.

Source: Shlomo, Krenzke & Li (2019), Tables 1-3 and sections 3.1-3.3.
"""

from collections.abc import Iterator
from math import log

from discreet.noise import dropadd, pram
from discreet.noise.families import laplace as discrete_laplace
from discreet.noise.families.pram import large_matrix, small_matrix
from discreet.noise.table import NoiseTable
from discreet.privacy.audit import delta
from discreet_studies.exhibit import Effort, Exhibit, Finding, drawn

EPSILON = 2.0
CAP = 7
#: Table 1 as printed, for 0 to ±7: the probability and half its last digit.
LAPLACE = (
    (0.76159, 5e-6),
    (0.10307, 5e-6),
    (0.013949, 5e-7),
    (0.001887804, 5e-10),
    (0.000255486, 5e-10),
    (0.000034576, 5e-10),
    (0.000004679, 5e-10),
    (0.000000633, 5e-10),
)
#: Half the last digit of an entry with five decimals.
_FIVE = 5e-6
_DIAGONAL = "Printed as 1 - 2 x 0.11920; the probability is 0.761594, which Table 1 rounds to 0.76159."
SMALL = """\
1 0 0 0 0 0 0
0.11920 0.76160 0.10308 0.01395 0.00189 0.00026 3.46E-05
0.01395 0.10525 0.76160 0.10311 0.01395 0.00189 0.00026
0.00189 0.01395 0.10337 0.76160 0.10337 0.01395 0.00189
0.00026 0.00189 0.01395 0.10311 0.76160 0.10525 0.01395
3.46E-05 0.00026 0.00189 0.01395 0.10308 0.76160 0.11920
5.31E-06 3.46E-05 0.00026 0.00189 0.01395 0.22227 0.76160"""
LARGE = """\
0.76160 0.22227 0.01395 0.00189 0.00026 3.46E-05 4.68E-06 6.33E-07 0 0 0 0 0 0 0
0.11920 0.76160 0.10307 0.01395 0.00189 0.00026 3.46E-05 4.68E-06 6.33E-07 0 0 0 0 0 0
0.01395 0.10525 0.76160 0.10307 0.01395 0.00189 0.00026 3.46E-05 4.68E-06 6.33E-07 0 0 0 0 0
0.00189 0.01395 0.10337 0.76160 0.10307 0.01395 0.00189 0.00026 3.46E-05 4.68E-06 6.33E-07 0 0 0 0
0.00026 0.00189 0.01395 0.10311 0.76160 0.10307 0.01395 0.00189 0.00026 3.46E-05 4.68E-06 6.33E-07 0 0 0
3.46E-05 0.00026 0.00189 0.01395 0.10308 0.76160 0.10307 0.01395 0.00189 0.00026 3.46E-05 4.68E-06 6.33E-07 0 0
4.68E-06 3.46E-05 0.00026 0.00189 0.01395 0.10307 0.76160 0.10307 0.01395 0.00189 0.00026 3.46E-05 4.68E-06 6.33E-07 0
6.33E-07 4.68E-06 3.46E-05 0.00026 0.00189 0.01395 0.10307 0.76160 0.10307 0.01395 0.00189 0.00026 3.46E-05 4.68E-06 6.33E-07
0 6.33E-07 4.68E-06 3.46E-05 0.00026 0.00189 0.01395 0.10307 0.76160 0.10307 0.01395 0.00189 0.00026 3.46E-05 4.68E-06
0 0 6.33E-07 4.68E-06 3.46E-05 0.00026 0.00189 0.01395 0.10307 0.76160 0.10308 0.01395 0.00189 0.00026 3.46E-05
0 0 0 6.33E-07 4.68E-06 3.46E-05 0.00026 0.00189 0.01395 0.10307 0.76160 0.10311 0.01395 0.00189 0.00026
0 0 0 0 6.33E-07 4.68E-06 3.46E-05 0.00026 0.00189 0.01395 0.10307 0.76160 0.10337 0.01395 0.00189
0 0 0 0 0 6.33E-07 4.68E-06 3.46E-05 0.00026 0.00189 0.01395 0.10307 0.76160 0.10525 0.01395
0 0 0 0 0 0 6.33E-07 4.68E-06 3.46E-05 0.00026 0.00189 0.01395 0.10307 0.76160 0.11920
0 0 0 0 0 0 0 6.33E-07 4.68E-06 3.46E-05 0.00026 0.00189 0.01395 0.22227 0.76160"""


def table_1(effort: Effort) -> Exhibit:  # noqa: ARG001 - nothing here is simulated
    """Table 1: Laplace noise of epsilon 2, capped at 7."""
    row = discrete_laplace.ideal_laplace(EPSILON, CAP).last
    findings = tuple(
        Finding(f"P(noise = {z:+d})", *_printed_and_ours(z, p))
        for z, p in zip(row.values, row.probabilities, strict=True)
    )
    return Exhibit("table 1", "Differentially private noise, ε = 2, capped at ±7", findings)


def _printed_and_ours(z: int, ours: float) -> tuple[float, float, float]:
    printed, tolerance = LAPLACE[abs(z)]
    return printed, ours, tolerance


def table_2(effort: Effort) -> Exhibit:  # noqa: ARG001
    """Table 2: the transition matrix of small counts."""
    why = "Mass beyond -6 went into the value 0 here (4.68e-6 + 6.3e-7); in every other row it goes to the neighbour."
    return Exhibit(
        "table 2",
        "PRAM of small counts: from a count to a released value",
        tuple(_matrix(SMALL, small_matrix(EPSILON, CAP).tolist(), "count", why)),
        picture=drawn(
            "shlomo2019",
            "transitions",
            small_matrix(EPSILON, CAP).tolist(),
            large_matrix(EPSILON, CAP).tolist(),
        ),
    )


def table_3(effort: Effort) -> Exhibit:  # noqa: ARG001
    """Table 3: the transition matrix of residuals."""
    return Exhibit(
        "table 3",
        "PRAM of large counts: from a residual by 15 to a drawn value",
        tuple(_matrix(LARGE, large_matrix(EPSILON, CAP).tolist(), "residual", "")),
        note=(
            "With residual m and drawn value v the paper adds m - v. That is not invariant; v - m is, but gives "
            "the counts 14 and 15 disjoint releases (δ = 1)."
        ),
    )


def _matrix(printed: str, ours: list[list[float]], name: str, why: str) -> Iterator[Finding]:
    for i, line in enumerate(printed.splitlines()):
        for j, text in enumerate(line.split()):
            reason = _DIAGONAL if i == j else why
            yield Finding(f"{name} {i} to {j}", float(text), ours[i][j], _rounding(text), reason)


def _rounding(text: str) -> float:
    """Half the last printed digit: 5E-08 for 3.46E-05; a printed 0 or 1 is exact to 5E-07."""
    if "E" in text:
        return 0.5 * 10.0 ** (int(text.split("E")[1]) - 2)
    return _FIVE if "." in text else 5e-7


def section_3(effort: Effort) -> Exhibit:  # noqa: ARG001
    """Sections 3.1-3.3: the epsilons and deltas of the text, and the exact ones."""
    return Exhibit(
        "section 3",
        "What the mechanisms promise: the paper's delta, and the exact one",
        (*_printed_deltas(), *_exact_deltas()),
        note=(
            "The deltas of PRAM and drop/add in the paper are probabilities of one transition, not the δ of "
            "differential privacy, which is the mass that a neighbouring count cannot explain."
        ),
    )


def _printed_deltas() -> Iterator[Finding]:
    small = small_matrix(EPSILON, CAP)
    yield Finding("DP: δ at the cap", 6.33e-7, discrete_laplace.end_probability(EPSILON, CAP), 5e-10)
    yield Finding("PRAM: P(1 to 0), called δ", 0.119203, float(small[1, 0]), 5e-7)
    yield Finding("PRAM: 'δ of 1 to 8', really P(1 to 6)", 3.4576e-5, float(small[1, 6]), 5e-10)
    yield Finding("Q: 1/(2q+1) for q = 7, called δ", 0.067, 1 / 15, 0.0005)
    yield Finding("Q: 1/(2q+1) for q = 1, called δ", 0.333, 1 / 3, 0.0005)
    yield quotient_epsilon()


def quotient_epsilon() -> Finding:
    """The epsilon of drop/add-up-to-q, which the paper gives as 0.01."""
    why = (
        "The laws are equal where q is equal (ε = 0); they differ by ln 3 between the counts 0 and 1 and by ln(5/3) "
        "between 100 and 101, where q steps from 1 to 2. 0.01 seems to be the 1 % that makes q."
    )
    return Finding("Q: ε on common support", 0.01, largest_ratio(dropadd()), 0.005, why)


def largest_ratio(table: NoiseTable) -> float:
    """The largest |log ratio| of two neighbouring counts' distributions on releases that both can make.

    >>> round(largest_ratio(dropadd()), 4)
    1.0986
    """
    worst = 0.0
    for count in range(len(table.rows)):
        here, there = table.row(count).probabilities(), table.row(count + 1).probabilities()
        for noise, p in here.items():
            q = there.get(noise - 1, 0)
            worst = max(worst, abs(log(p / q))) if q else worst
    return worst


def _exact_deltas() -> Iterator[Finding]:
    for name, table in (("PRAM", pram()), ("PRAM, v - m", pram(sign="invariant")), ("Q", dropadd())):
        yield Finding(f"{name}: exact δ at ε = 2, all counts", None, float(delta(table, epsilon=EPSILON)))
