"""The public facts of a survey: form of weights, sizes, variability of weights, and sampling design.

`[survey]` declares them, a load checks them against the records, and weighted tables print them. Errors follow by
linearisation from strata and clusters (ultimate clusters), or from replicate weights, or as under simple random
sampling. Weights are fixed-point integers. Replicate weights give Σ_r c_r (θ_r - θ)², θ_r being the estimate by the
r-th column and θ by the weights themselves. The coefficients c_r follow from the method and the number R of replicates:

    jackknife   (R - 1) / R, or as `coefficients` declare them (JKn: (n_h - 1) / n_h of the stratum of replicate r)
    brr         1 / R
    fay         1 / (R (1 - fay)²)
    bootstrap   1 / (R - 1)

`scale` replaces the method's factor. The names are columns, not variables of a table.

Source: Wolter (2007), chapters 2-5; Lumley (2004), `svrepdesign`; Fay (1989); Rao & Wu (1988).
"""

import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields
from fractions import Fraction
from math import sqrt
from typing import Any

from discreet.errors import BadDescription
from discreet.model.description.sections import check_section, check_value, refuse_first, require_keys
from discreet.model.limits import MOST_REPLICATES
from discreet.model.messages.text import message, nearest, one_line

METHODS = ("jackknife", "brr", "fay", "bootstrap")
#: The most pairs of variables whose constants of tests are published.
MOST_TESTS = 10
#: The keys of `[survey]` that declare constants of printed errors.
CONSTANT_KEYS = frozenset(
    {"cluster_effects", "constant_in_clusters", "records_per_cluster", "degrees_of_freedom"}
)
#: The keys of `[survey]` that are about the design.
DESIGN_KEYS = frozenset({"strata", "clusters", "fpc", "replicates", "method", "coefficients", "scale", "fay"})
_RANGE = re.compile(r"(.*?)(\d+)\.\.(.*?)(\d+)\Z")


@dataclass(frozen=True, slots=True)
class SamplingDesign:
    """The declared design of a sample; see docs/reference/dataset-toml.md.

    Args:
        clusters: The column of the primary sampling units; a name may occur in several strata.
        fpc: The sampling fraction by stratum value, or under "" that of all.
        replicates: The columns of the replicate weights.
        coefficients: The factor of each replicate's squared difference.
    """

    strata: str | None = None
    clusters: str | None = None
    fpc: tuple[tuple[str, Fraction], ...] = ()
    replicates: tuple[str, ...] = ()
    coefficients: tuple[Fraction, ...] = ()

    @property
    def grouped(self) -> bool:
        """Whether errors need the sample by strata or clusters."""
        return not self.replicates and bool(self.strata or self.clusters)

    @property
    def in_words(self) -> str:
        """The source of sampling errors; empty for simple random sampling."""
        if self.replicates:
            return message("sampling errors from {count} replicate weights", count=len(self.replicates))
        by = ((message("strata"), self.strata), (message("clusters"), self.clusters))
        drawn = tuple(name for name, column in by if column)
        return message("sampling errors by {drawn}", drawn=drawn) if drawn else ""

    def fraction_of(self, stratum: str) -> Fraction:
        """The sampling fraction of a stratum."""
        declared = dict(self.fpc)
        return declared.get(stratum, declared.get("", Fraction(0)))


def sampling_design(entry: Mapping[str, Any]) -> SamplingDesign:
    """Parse the design in `[survey]`."""
    strata, clusters = (_column(entry, name) for name in ("strata", "clusters"))
    if "replicates" not in entry:
        _refuse(entry, ("method", "coefficients", "scale", "fay"), "without `replicates`")
        return SamplingDesign(strata, clusters, _fractions(entry.get("fpc"), strata))
    _refuse(entry, ("strata", "clusters", "fpc"), "beside `replicates`, which hold the design already")
    columns = replicate_columns(entry["replicates"])
    return SamplingDesign(replicates=columns, coefficients=_coefficients(entry, len(columns)))


def replicate_columns(given: object) -> tuple[str, ...]:
    """The columns of `replicates`: a list, or the first and the last of a numbered range, with its leading zeros."""
    if isinstance(given, list) and all(isinstance(name, str) for name in given):
        names = tuple(given)
    else:
        found = _RANGE.match(given) if isinstance(given, str) else None
        if found is None or found[1] != found[3]:
            raise BadDescription(
                f"`replicates` of [survey] is {given!r}.",
                'Write replicates = "repwt1..repwt60", or a list of columns.',
            )
        first, last = int(found[2]), int(found[4])
        width = len(found[2]) if found[2].startswith("0") else 0
        numbers = range(first, min(last, first + MOST_REPLICATES) + 1)
        names = tuple(f"{found[1]}{number:0{width}d}" for number in numbers)
    if not 2 <= len(names) <= MOST_REPLICATES or len(set(names)) != len(names):
        raise BadDescription(
            f"`replicates` of [survey] names {len(names)} columns, {len(set(names))} of them different.",
            f"Name 2 to {MOST_REPLICATES} different columns.",
        )
    return names


def _coefficients(entry: Mapping[str, Any], replicates: int) -> tuple[Fraction, ...]:
    method = entry.get("method")
    if method not in METHODS:
        raise BadDescription(f"`method` of [survey] is {method!r}.", nearest(str(method), METHODS))
    if method != "fay":
        _refuse(entry, ("fay",), f'with method = "{method}"')
    if method != "jackknife":
        _refuse(entry, ("coefficients",), f'with method = "{method}": `scale` is one factor for all')
    shrunk = _number(entry.get("fay", "0.5" if method == "fay" else 0), "fay")
    if not 0 <= shrunk < 1:
        raise BadDescription(
            f"`fay` of [survey] is {float(shrunk):g}.", "Give Fay's k, at least 0 and below 1."
        )
    own = {
        "jackknife": Fraction(replicates - 1, replicates),
        "brr": Fraction(1, replicates),
        "fay": 1 / (replicates * (1 - shrunk) ** 2),
        "bootstrap": Fraction(1, replicates - 1),
    }[method]
    name, found = "scale", (_number(entry.get("scale", own), "scale"),) * replicates
    if "coefficients" in entry:
        _refuse(entry, ("scale",), "beside `coefficients`")
        given = entry["coefficients"]
        if not isinstance(given, list) or len(given) != replicates:
            raise BadDescription(
                "`coefficients` of [survey] are not one number for each replicate.",
                f"Write a list of {replicates} numbers: (n_h - 1) / n_h of the stratum in which the replicate drops a "
                "unit.",
            )
        name, found = "coefficients", tuple(_number(value, "coefficients") for value in given)
    if min(found) <= 0:
        raise BadDescription(f"`{name}` of [survey] is {float(min(found)):g}.", "Give numbers above zero.")
    return found


def _fractions(given: object, strata: str | None) -> tuple[tuple[str, Fraction], ...]:
    """The sampling fractions: one for all, or one per stratum value."""
    if given is None:
        return ()
    named = given.items() if isinstance(given, dict) else [("", given)]
    if isinstance(given, dict) and strata is None:
        raise BadDescription(
            "`fpc` of [survey] is by stratum, and no strata are declared.",
            "Add `strata`, or give one number.",
        )
    found = tuple((str(stratum), _number(value, "fpc")) for stratum, value in named)
    for _, fraction in found:
        if not 0 <= fraction <= 1:
            raise BadDescription(
                f"`fpc` of [survey] has the sampling fraction {float(fraction):g}.",
                "Give the share of the units that were drawn, between 0 and 1.",
            )
    return found


def _column(entry: Mapping[str, Any], name: str) -> str | None:
    value = entry.get(name)
    fits = value is None or (isinstance(value, str) and value)
    check_value(fits, value, f"`{name}` of [survey]", "Give the name of a column, in quotes.")
    return value


def _number(value: object, name: str) -> Fraction:
    """A number as the exact decimal that was written."""
    try:
        return Fraction("none" if isinstance(value, bool) else str(value))
    except ValueError:
        raise BadDescription(f"`{name}` of [survey] is {value!r}.", "Give a number.") from None


def _refuse(entry: Mapping[str, Any], names: tuple[str, ...], why: str) -> None:
    for name in names:
        if name in entry:
            raise BadDescription(f"[survey] has `{name}` {why}.", f"Leave out `{name}`.")


#: The ratio of two steps of a published constant, which is this multiple of what was measured on average.
RUNG = 1.25


@dataclass(frozen=True, slots=True)
class VariableEffect:
    """The published constants of the categories of a variable, or of a level or code list.

    Args:
        cluster: D, by how much clusters raise the variance of a count; 1 without clusters.
        spread: gamma, by how much the mean squared weight varies between categories.
        constant: Whether the variable is constant within clusters, as a region is.
    """

    cluster: float = 1.0
    spread: float = 1.0
    constant: bool = False

    @property
    def extra_spread(self) -> float:
        """Gamma less one, without half of what rounding adds to it on average."""
        return max(self.spread / sqrt(RUNG) - 1, 0.0)


#: The step of a published relative variance, which is this much more than what was measured on average.
VARIATION_STEP = 0.1


@dataclass(frozen=True, slots=True)
class PairEffect:
    """The constants of a test: E and a² of `inference/hypothesis_tests/survey_tests.py`.

    Args:
        effect: By how much clusters raise the variance of the interactions of two variables; 1 without clusters.
        variation: The relative variance of that factor between interactions.
    """

    effect: float = 1.0
    variation: float = 0.0

    def before_rounding(self) -> "PairEffect":
        """What was measured, on average over the chance that published constants are rounded by."""
        return PairEffect(max(self.effect / RUNG, 1.0), max(self.variation - VARIATION_STEP, 0.0))


@dataclass(frozen=True, slots=True)
class SurveyConstants:
    """What the errors of weighted tables depend on beyond the declared facts; see `survey/published_constants.py`.

    Args:
        effects: By the name of a variable or level.
        per_cluster: The records per cluster; 1 without clusters.
        freedom: Clusters less strata; None without clusters.
        mean_square: The sum of the squared weights over that of the weights.
        calibration: The relative variance of the sum of the weights; 0 if they are calibrated.
        stratum_clusters: The clusters in each stratum, ten if there are more; if the strata are a variable of tables.
        pairs: The constants of tests, by two variables or levels.
    """

    effects: tuple[tuple[str, VariableEffect], ...] = ()
    per_cluster: float = 1.0
    freedom: int | None = None
    mean_square: float = 0.0
    calibration: float = 0.0
    stratum_clusters: tuple[int, ...] = ()
    pairs: tuple[tuple[tuple[str, str], PairEffect], ...] = ()

    def pair(self, one: str, other: str) -> PairEffect | None:
        """The constants of the test of two levels, in any order; None if none are published."""
        found = dict(self.pairs)
        return found.get((one, other), found.get((other, one)))

    def effect(self, level: str) -> VariableEffect:
        """The constants of a level; those of simple random sampling if it has none."""
        return dict(self.effects).get(level, VariableEffect())

    def as_json(self) -> dict[str, Any]:
        """The constants as data, for the methodology and for the file of a version."""
        return {
            "definition": DEFINITION,
            "records_per_cluster": self.per_cluster,
            "degrees_of_freedom": self.freedom,
            "mean_square_weight": self.mean_square,
            "calibration": self.calibration,
            "stratum_clusters": list(self.stratum_clusters),
            "effects": {name: asdict(effect) for name, effect in self.effects},
            "tests": [{"variables": list(names), **asdict(each)} for names, each in self.pairs],
        }


def read_constants(document: Mapping[str, Any]) -> SurveyConstants:
    """The constants of a document as `as_json` gives them."""
    effects = ((name, VariableEffect(**entry)) for name, entry in document["effects"].items())
    return SurveyConstants(
        tuple(effects),
        document["records_per_cluster"],
        document["degrees_of_freedom"],
        document["mean_square_weight"],
        document["calibration"],
        tuple(document["stratum_clusters"]),
        tuple(
            ((each["variables"][0], each["variables"][1]), PairEffect(each["effect"], each["variation"]))
            for each in document.get("tests", ())
        ),
    )


#: The definition of printed errors, and the name of its method in `dataset.toml`.
DEFINITION, GENERALISED = "generalised-1", "generalised"
#: The method of versions that 0.2.0 loaded: from exact weights, which may single out people of unusual weight.
DESIGN_EFFECTS = "design-effects"
#: The method of new versions.
NEW_ERRORS = GENERALISED

#: The bounds of the bias that can be declared: they are public, and a bound in steps shows little of the measured bias.
BIAS_BOUNDS = tuple(Fraction(parts, 1000) for parts in (5, 10, 20, 50, 100, 200))

#: The forms of a weighted table, the default first; see `survey/weight_forms.py`.
FORMS = ("average-weight", "public-strata", "largest-weight", "invariant")
#: Forms of the literature that are not served: their tables undo the noise (docs/methods/attack-weights.md).
OPEN_FORMS = ("cell-average", "overall-average")
#: Forms under `dp`: from noisy counts and public constants; `invariant` needs a public n.
DP_FORMS = ("average-weight", "public-strata", "invariant")


@dataclass(frozen=True, slots=True)
class Survey:
    """The declared facts of a weighted sample.

    Args:
        form: How weighted counts are protected.
        sample_size: The number of records, n; `population_size` is the sum of the weights, N.
        largest_weight: A load with a larger one is refused.
        relative_variance: The variance of the weights over their squared mean.
        stratum: For `public-strata`, the variable of the strata, whose public weights are `stratum_weights`, by code.
        error_limit: A cell whose printed relative standard error is larger gets status `u`.
        errors: How printed errors are computed: `GENERALISED`, or `DESIGN_EFFECTS` in versions of 0.2.0.
        calibrated: Whether the weights add up to a known population in every sample that could have been drawn.
        calibrated_to: The variables whose known distribution they reproduce.
        population_totals: That distribution, by variable and code.
        bias_bound: The largest relative bias of a category by the form, as declared; it replaces the bias that a load
            lets through in printed errors.
        constants: Declared under `dp`; else measured and published by the load.
        tests: The pairs of variables or levels whose constants of tests the load publishes.
    """

    form: str
    sample_size: int
    population_size: Fraction
    largest_weight: Fraction
    relative_variance: Fraction
    stratum: str | None = None
    stratum_weights: tuple[tuple[str, Fraction], ...] = ()
    design: SamplingDesign = SamplingDesign()
    error_limit: Fraction = Fraction(1, 4)
    errors: str = GENERALISED
    calibrated: bool = False
    calibrated_to: tuple[str, ...] = ()
    population_totals: tuple[tuple[str, tuple[tuple[str, Fraction], ...]], ...] = ()
    bias_bound: Fraction | None = None
    constants: SurveyConstants = field(default=SurveyConstants(), compare=False)
    tests: tuple[tuple[str, str], ...] = ()

    @property
    def simple(self) -> bool:
        """Whether counts of the sample can be tested as if records were drawn one by one, with equal chances."""
        weights = {weight for _, weight in self.stratum_weights} if self.form == "public-strata" else set()
        stratified = bool(self.design.strata) and self.relative_variance > 0
        return not (self.clustered or stratified or len(weights) > 1)

    @property
    def clustered(self) -> bool:
        """Whether tests need published constants: with clusters or replicates, or with declared effects of clusters."""
        constants = self.constants
        effects = any(each.cluster > 1 for _, each in constants.effects) or bool(constants.pairs)
        return bool(self.design.clusters or self.design.replicates or constants.freedom or effects)

    @property
    def errors_of_people(self) -> bool:
        """Whether printed errors come from the weights of the people in a cell, as in 0.2.0; under `dp` they did not."""
        by_strata = self.form == "public-strata" and self.design == SamplingDesign()
        return self.errors == DESIGN_EFFECTS and not (self.only_weights or by_strata)

    @property
    def only_weights(self) -> bool:
        """Whether only weights are released, in steps of the largest one, with separate noise.

        A count of the same people would be a second measurement with other noise.
        """
        return self.form == "largest-weight"

    def __post_init__(self) -> None:
        refuse_first(
            (
                self.sample_size < 1 or self.population_size <= 0 or self.largest_weight <= 0,
                "[survey] has a size or weight that is not positive.",
                "Give positive numbers.",
            ),
            (
                self.relative_variance < 0,
                "[survey] has a relative variance below zero.",
                "Give zero or more.",
            ),
            (
                self.error_limit <= 0,
                f"`error_limit` of [survey] is {float(self.error_limit):g}.",
                "Give a number above 0, as in 0.25.",
            ),
            (
                self.bias_bound is not None and self.bias_bound not in BIAS_BOUNDS,
                f"`bias_bound` of [survey] is {float(self.bias_bound or 0):g}.",
                "Give 0.005, 0.01, 0.02, 0.05, 0.1 or 0.2: a finer figure would be one of the records.",
            ),
            (
                self.only_weights and self.bias_bound is not None,
                '[survey] has `bias_bound`, and the form "largest-weight" has no bias.',
                "Leave it out.",
            ),
            (
                self.form == "public-strata" and not (self.stratum and self.stratum_weights),
                "The weight form public-strata needs `stratum` and `stratum_weights`.",
                'Write stratum = "state" and stratum_weights = { A = 900, B = 300 }.',
            ),
        )

    def __repr__(self) -> str:
        return one_line(self, f"{self.form}, {self.sample_size:,} records")


def parse_survey(section: Any) -> Survey:
    """Parse `[survey]`."""
    entry = check_section(
        section,
        "survey",
        {f.name for f in fields(Survey)} - {"design", "constants", "calibrated_to"}
        | DESIGN_KEYS
        | CONSTANT_KEYS,
    )
    require_keys(entry, ("sample_size", "population_size", "largest_weight"), "[survey]")
    form = str(entry.get("form", FORMS[0]))
    if form in OPEN_FORMS:
        raise BadDescription(
            f'The weight form "{form}" is not served: its weighted counts undo the noise of the counts.',
            f"Use {', '.join(FORMS[:-1])}: docs/methods/survey-weights.md says which fits your weights.",
        )
    if form not in FORMS:
        raise BadDescription(f'The weight form is "{form}".', nearest(form, FORMS))
    weights = entry.get("stratum_weights", {})
    if not isinstance(weights, dict) or not isinstance(entry["sample_size"], int):
        raise BadDescription(
            "`sample_size` is no whole number, or `stratum_weights` no table.",
            "Write sample_size = 1500 and stratum_weights = { A = 900, B = 300 }.",
        )
    return Survey(
        form,
        entry["sample_size"],
        _number(entry["population_size"], "population_size"),
        _number(entry["largest_weight"], "largest_weight"),
        _number(entry.get("relative_variance", 0), "relative_variance"),
        entry.get("stratum"),
        tuple((str(code), _number(weight, "stratum_weights")) for code, weight in weights.items()),
        sampling_design(entry),
        _number(entry.get("error_limit", "0.25"), "error_limit"),
        _method_of_errors(entry),
        *_calibration(entry),
        None if "bias_bound" not in entry else _number(entry["bias_bound"], "bias_bound"),
        _declared_constants(entry),
        tuple(names for names, _ in _tests(entry)),
    )


def _tests(entry: Mapping[str, Any]) -> tuple[tuple[tuple[str, str], PairEffect | None], ...]:
    """The declared pairs, with their constants where these are declared too."""
    given = entry.get("tests", [])
    advice = 'Write tests = [["region", "sex"]]; under dp tests = [{ variables = ["region", "sex"], effect = 1.6 }].'
    if not isinstance(given, list) or len(given) > MOST_TESTS:
        raise BadDescription(
            f"`tests` of [survey] is no list of at most {MOST_TESTS} pairs: each tells a little of the clusters.",
            advice,
        )
    found: list[tuple[tuple[str, str], PairEffect | None]] = []
    for each in given:
        pair = each.get("variables") if isinstance(each, dict) else each
        unknown = sorted(set(each) - {"variables", "effect", "variation"}) if isinstance(each, dict) else []
        if (
            unknown
            or not isinstance(pair, list)
            or len(pair) != 2
            or not all(isinstance(n, str) for n in pair)
        ):
            raise BadDescription(f"`tests` of [survey] has {each!r}.", advice)
        constants = None
        if isinstance(each, dict):
            effect, variation = (
                float(_number(each.get(name, own), name)) for name, own in (("effect", 1), ("variation", 0))
            )
            if effect < 1 or variation < 0:
                raise BadDescription(
                    f"`tests` of [survey] has the effect {effect:g} and the variation {variation:g}.",
                    "Give an effect of 1 or more, and a variation of 0 or more.",
                )
            constants = PairEffect(effect, variation)
        found.append(((pair[0], pair[1]), constants))
    if len({frozenset(names) for names, _ in found}) < len(found):
        raise BadDescription("`tests` of [survey] names a pair twice.", "Name each pair once.")
    return tuple(found)


def _method_of_errors(entry: Mapping[str, Any]) -> str:
    given = entry.get("errors", GENERALISED)
    if given != GENERALISED:
        raise BadDescription(f"`errors` of [survey] is {given!r}.", nearest(str(given), [GENERALISED]))
    return NEW_ERRORS


def _calibration(entry: Mapping[str, Any]) -> tuple[bool, tuple[str, ...], Any]:
    """Whether the weights are calibrated, to which variables, and their known totals."""
    given, totals = entry.get("calibrated", False), entry.get("population_totals", {})
    names = given if isinstance(given, list) else []
    advice = 'Use calibrated = true, or calibrated = ["sex"] with population_totals = { sex = { F = 510000, M = 490000 } }'
    if not isinstance(given, bool) and not (names and all(isinstance(name, str) for name in names)):
        raise BadDescription(f"`calibrated` of [survey] is {given!r}.", advice)
    by_variable = isinstance(totals, dict) and all(isinstance(each, dict) for each in totals.values())
    if not by_variable or set(totals) != set(names):
        raise BadDescription(
            "`population_totals` of [survey] does not have the known total of every category of the variables in "
            "`calibrated`, and of no other.",
            advice,
        )
    people = _number(entry["population_size"], "population_size")
    if given and people.denominator != 1:
        raise BadDescription(
            f"[survey] says `calibrated`, and `population_size` = {float(people):.10g} is no known number of people.",
            "Declare the known population as a whole number, or leave `calibrated` out.",
        )
    known = (
        (name, tuple((str(code), _number(total, "population_totals")) for code, total in each.items()))
        for name, each in totals.items()
    )
    return bool(given), tuple(names), tuple(known)


def _declared_constants(entry: Mapping[str, Any]) -> SurveyConstants:
    """The constants that a description declares; a load under the cell key method measures them."""
    effects = entry.get("cluster_effects", {})
    if not isinstance(effects, dict):
        raise BadDescription(
            "`cluster_effects` of [survey] is no table.", "Write cluster_effects = { region = 1.6 }."
        )
    found = {str(name): float(_number(value, "cluster_effects")) for name, value in effects.items()}
    constant = entry.get("constant_in_clusters", [])
    if not isinstance(constant, list) or not set(map(str, constant)) <= set(found):
        raise BadDescription(
            f"`constant_in_clusters` of [survey] is {constant!r}.",
            "List variables that `cluster_effects` has, such as regions, each of whose clusters has one category.",
        )
    per_cluster = float(_number(entry.get("records_per_cluster", 1), "records_per_cluster"))
    freedom = entry.get("degrees_of_freedom")
    if min([*found.values(), per_cluster]) < 1:
        raise BadDescription(
            "[survey] has a cluster effect or `records_per_cluster` below 1.",
            "Give 1 without clusters, or more.",
        )
    if freedom is not None and (isinstance(freedom, bool) or not isinstance(freedom, int) or freedom < 1):
        raise BadDescription(
            f"`degrees_of_freedom` of [survey] is {freedom!r}.",
            "Give the number of clusters less that of strata.",
        )
    return SurveyConstants(
        tuple((name, VariableEffect(value, constant=name in constant)) for name, value in found.items()),
        per_cluster,
        freedom,
        pairs=tuple((names, constants) for names, constants in _tests(entry) if constants is not None),
    )
