"""The methodology of a dataset as one public document: how its numbers are made, its guarantees and their limits.

It follows from the description, the noise as integers, the ledger and the history of versions. No word or number
depends on a record, except the published constants of a survey: else two versions with other records differ in their
digests only. Its keys: docs/reference/methodology.md.
"""

from collections.abc import Iterable, Mapping
from dataclasses import fields
from fractions import Fraction
from typing import Any, NotRequired, cast

from typing_extensions import TypedDict

from discreet import __version__
from discreet.model.dataset import Dataset
from discreet.model.messages.sentences import Attack, dataset_citation
from discreet.model.messages.text import message
from discreet.model.request import unit_of
from discreet.model.survey import GENERALISED
from discreet.noise.files import FORMATS, content_hash
from discreet.noise.files.document import plain
from discreet.noise.table import NoiseTable
from discreet.privacy.audit import audit_document
from discreet.privacy.claim import float_up
from discreet.privacy.sampling import Sampling, guarantee_document, population_guarantee, population_sentences
from discreet.protect.best_composition import best_claim
from discreet.protect.plan import plan_text
from discreet.protect.promise import audit_once
from discreet.release.budget_document import BudgetFiguresDocument, budget_figures
from discreet.release.notes import totals_note, whole_note
from discreet.rules.rule import Rule
from discreet.rules.rule_set import protection_rules
from discreet.survey.weight_forms import weight_form
from discreet.workspace.measured_attacks import AttackResult
from discreet.workspace.versions.history import SHORT, VersionFacts
from discreet.workspace.versions.version import noise_hash
from discreet.workspace.workspace import StoredDataset

FORMAT = "discreet-methodology"
VERSION = 1
#: How the noise of a cell is found, by the kind of its keys.
KEYS = {
    "hashed": message(
        "The noise of a cell is found by who is in it, through a keyed hash: the same people have "
        "the same noise in every table, and nobody can compute it without the secret."
    ),
    "participants-and-description": message(
        "The noise of a cell is found by who is in it and by how the cell is described, through a "
        "keyed hash: the same people have other noise under another description, which can be "
        "averaged."
    ),
    "additive": message(
        "The noise of a cell is found by the sum of the keys of who is in it. A patient reader can "
        "predict the noise of unions of cells."
    ),
    "abs": message(
        "The noise of a cell is found by one byte of the sum of the keys of who is in it. A patient "
        "reader can predict the noise of unions of cells."
    ),
}
EXACTLY = message(
    "Both are computed exactly from the integers of the noise table. They are about one count by itself."
)
DP_KEYS = message(
    "The noise of a cell is found by its description, whoever is in it, through a keyed hash "
    "that is another in every version."
)
#: How the constants of a survey's printed errors were rounded.
MEASURED_CONSTANTS = message(
    "Measured once by the load. Effects, spreads and calibration are rounded up to powers of 1.25, by a chance that is "
    "secret and the same in all versions of the lineage: they are 1 to 1.5625 times what was measured, 1.25 times on "
    "average. The mean square weight is rounded up to two digits, the variation of a test by 0 to 0.2."
)
DECLARED_CONSTANTS = message("Declared by the publisher; nothing of them was measured in these records.")
#: Limits under any method.
LIMITS = (
    message("Noise says nothing of errors in the data themselves."),
    message("Whoever has the secret of the workspace and the ids of the records can undo the noise."),
)
ONE_COUNT = message(
    "The exact (epsilon, delta) speaks of one count. Nothing is promised about several counts together."
)
#: Limits about one unit, for people and for other units: under the cell key method, and under `dp`.
ONE_APART = (
    message(
        "Two tables that differ by one person, many overlapping tables, or areas that differ by a "
        "few people can reveal what one table hides. The rules make this harder, not impossible."
    ),
    message(
        "Two tables that differ by {one}, many overlapping tables, or areas that differ by a few {many} "
        "can reveal what one table hides. The rules make this harder, not impossible."
    ),
)
ONE_PROMISED = (
    message(
        "The promise is about one person. People who act alike, such as a family, are promised less: "
        "the budget says how much for two and for five."
    ),
    message(
        "The promise is about {one}. Several that act alike are promised less: the budget says how much "
        "for two and for five."
    ),
)
CELLKEY_LIMITS = (
    message(
        "Two versions that were published tell more than one: with the same keys, cells without the "
        "corrected people keep their numbers; with other keys, the numbers of the same people can be "
        "averaged. What was published cannot be taken back."
    ),
)
ZEROS_LIMITS = {
    "kept": message("Empty cells stay zero: a count above zero says that somebody is there."),
    "perturbed": message(
        "Some empty cells show a small count, found by their description. Whoever may describe the "
        "same empty group in many ways sees different numbers, and people would show one: that tells "
        "emptiness."
    ),
}
DP_LIMITS = (
    message(
        "The budget counts what this workspace answers. What is published elsewhere about the same "
        "people is not in it."
    ),
    message(
        "The promise says nothing of what can be learnt about people as a group, with or without any "
        "one of them."
    ),
)
ABOUT_ATTACKS = message(
    "The red team attacks invented people, with the noise and the rules that each study names: "
    "the figures are not about the people of this dataset, nor about its own parameters. Each "
    "command gives its figures again."
)
_NEW_VERSION = message(
    "A correction is a new load and makes a new version. A version that was loaded never changes a number."
)
_COLLECT = message("collect: corrections are compared and kept back, until several are served together.")


class MethodologyDataset(TypedDict):
    """What is counted, and which version of it."""

    id: str
    label: str
    description: str
    unit: str
    population: str
    source: str
    reference_date: str
    version: str
    digest: str
    arithmetic: int


class MechanismDocument(TypedDict):
    """What is done to a count."""

    method: str
    sentences: list[str]
    family: str
    parameters: dict[str, Any]
    keys: str
    additivity: str
    fit_to: list[str]
    negative_counts_shown: bool


class PrivacyDocument(TypedDict):
    """What is promised, and about what; `audit` and `population` are those of `discreet audit --json`."""

    about: str
    neighbours: str
    epsilon: float | None
    delta: float | None
    sentences: list[str]
    audit: dict[str, Any] | None
    population: NotRequired[dict[str, Any]]


class VariableEffectDocument(TypedDict):
    """The constants of a variable or level: D, gamma, and whether it is constant within clusters."""

    cluster: float
    spread: float
    constant: bool


class TestEffectDocument(TypedDict):
    """The constants of a test of two variables: E and a²."""

    variables: list[str]
    effect: float
    variation: float


class SurveyConstantsDocument(TypedDict):
    """What printed errors depend on in addition to released counts and declared facts; `rule` says how it was rounded."""

    definition: str
    rule: str
    records_per_cluster: float
    degrees_of_freedom: int | None
    mean_square_weight: float
    calibration: float
    stratum_clusters: list[int]
    effects: dict[str, VariableEffectDocument]
    tests: list[TestEffectDocument]


class SurveyDocument(TypedDict):
    """How weights are protected, what is declared of the sample, and how errors are made.

    `constants` is null in versions of 0.2.0, whose `errors` are `design-effects`.
    """

    form: str
    formula: str
    sentence: str
    design: str
    declared_sample_size: int
    declared_population_size: float
    largest_weight: float
    relative_variance: float
    error_limit: float
    stratum: str | None
    errors: str
    calibrated: bool
    calibrated_to: list[str]
    bias_bound: float | None
    constants: SurveyConstantsDocument | None


class ToldRuleDocument(TypedDict):
    """A rule in a sentence; one that is not declared is a limit of `[protection]`."""

    kind: str
    code: str
    sentence: str
    parameters: dict[str, Any]
    declared: bool


class NoiseHashDocument(TypedDict):
    """A noise table by its hash; `variables` of the margin that has it."""

    variables: list[str] | None
    family: str
    content_sha256: str


class NoiseDocument(TypedDict):
    """Where the noise is, and its hashes."""

    href: str
    sha256: str
    tables: list[NoiseHashDocument]


class MeasuredDocument(TypedDict):
    """What was measured of an attack, and the command that measures it again."""

    command: str
    at: str
    program: str
    seed: int
    figures: list[str]


class AttackDocument(TypedDict):
    """An attack; `measured` is null where nobody measured it in this workspace."""

    attack: str
    what: str
    measured: MeasuredDocument | None
    advice: str


class AttacksDocument(TypedDict):
    """The attacks of the red team."""

    about: str
    red_team: list[AttackDocument]


class KeptVersionDocument(TypedDict):
    """A version, and whether it is answered."""

    digest: str
    version: str
    loaded: str
    current: bool
    answered: bool
    why_not: str


class CorrectionsDocument(TypedDict):
    """What happens to numbers when records are corrected."""

    versions_apart: int | None
    sentences: list[str]


class MethodologyDocument(TypedDict):
    """How the numbers of a dataset are made, what is promised and what is not."""

    format: str
    format_version: int
    program: str
    dataset: MethodologyDataset
    citation: str
    note: str
    mechanism: MechanismDocument
    privacy: PrivacyDocument
    budget: BudgetFiguresDocument | None
    survey: SurveyDocument | None
    rules: list[ToldRuleDocument]
    noise: NoiseDocument
    limits: list[str]
    attacks: AttacksDocument
    versions: list[KeptVersionDocument]
    corrections: CorrectionsDocument


def methodology(
    stored: StoredDataset, versions: Iterable[VersionFacts], measured: Mapping[Attack, AttackResult | None]
) -> MethodologyDocument:
    """The document of one version, with the facts of all versions, and all attacks with their stored results."""
    dataset, dp = stored.dataset, stored.dp
    return {
        "format": FORMAT,
        "format_version": VERSION,
        "program": f"discreet {__version__}",
        "dataset": {
            "id": dataset.id,
            "label": dataset.label,
            "description": dataset.description,
            "unit": dataset.unit,
            "population": dataset.population,
            "source": dataset.source,
            "reference_date": dataset.reference_date,
            "version": dataset.version,
            "digest": stored.digest,
            "arithmetic": stored.arithmetic,
        },
        "citation": dataset_citation(dataset, stored.digest),
        "note": whole_note(dataset, stored.protector.tables),
        "mechanism": _mechanism(stored),
        "privacy": _privacy(stored),
        "budget": None
        if dp is None
        else budget_figures(dp.plan, dataset, dp.ledger.state(dp.plan.terms.name)),
        "survey": survey_document(dataset),
        "rules": [
            *(_rule(rule, declared=False) for rule in protection_rules(dataset)),
            *(_rule(rule, declared=True) for rule in stored.rules),
        ],
        "noise": _noise(stored),
        "limits": [*_limits(dataset), *LIMITS],
        "attacks": {"about": ABOUT_ATTACKS, "red_team": [_attack(*each) for each in measured.items()]},
        "versions": [
            {
                "digest": facts.digest,
                "version": facts.version,
                "loaded": facts.loaded,
                "current": facts.current,
                "answered": not facts.closed,
                "why_not": facts.closed,
            }
            for facts in versions
        ],
        "corrections": _corrections(dataset),
    }


def _limits(dataset: Dataset) -> tuple[str, ...]:
    unit = unit_of(dataset)
    if dataset.protection.is_dp:
        return (unit.says(*ONE_PROMISED), *DP_LIMITS)
    return (ONE_COUNT, unit.says(*ONE_APART), *CELLKEY_LIMITS, ZEROS_LIMITS[dataset.protection.zeros])


def noise_text(stored: StoredDataset) -> str:
    """The noise as our JSON; under `dp` its SHA-256 is the hash of the noise."""
    return FORMATS["json"](stored.protector.tables[0]) if stored.dp is None else plan_text(stored.dp.plan)


def _mechanism(stored: StoredDataset) -> MechanismDocument:
    protection = stored.dataset.protection
    first = stored.protector.tables[0]
    promised = stored.protector.promise(stored.dataset)
    declared = {name: value for name, value in protection.noise.items() if name != "family"}
    below = message("shown as zero") if protection.clips else message("shown as they are")
    return {
        "method": protection.method,
        "sentences": [
            promised[-1] if protection.is_dp else promised[0],  # the one about noise
            DP_KEYS if protection.is_dp else KEYS[protection.keys],
            totals_note(stored.dataset),
            message("Counts that noise takes below zero are {below}.", below=below),
        ],
        "family": first.family,
        "parameters": plain(declared if protection.is_dp else first.parameters),
        "keys": "description" if protection.is_dp else protection.keys,
        "additivity": protection.additivity,
        "fit_to": list(protection.fit_to),
        "negative_counts_shown": not protection.clips,
    }


def _privacy(stored: StoredDataset) -> PrivacyDocument:
    """The guarantee: for one count under the cell key method, for all answers under `dp`."""
    promised = stored.protector.promise(stored.dataset)
    if stored.dp is not None:
        claim = best_claim(stored.dp.plan)
        return {
            "about": "all released tables of this version together",
            "neighbours": stored.dp.plan.terms.neighbours,
            "epsilon": None if claim is None else float_up(Fraction(claim.epsilon)),
            "delta": None if claim is None else float_up(Fraction(claim.delta)),
            "sentences": list(promised[:-1]),
            "audit": None,
        }
    table, survey = stored.protector.tables[0], stored.dataset.survey
    found = audit_once(table)
    document: PrivacyDocument = {
        "about": "one count",
        "neighbours": found.neighbours,
        "epsilon": found.epsilon,
        "delta": float_up(found.delta),
        "sentences": [promised[1], EXACTLY, *promised[2:]],
        "audit": audit_document(found),
    }
    # What a version of 0.2.0 answers stays as it was.
    if survey is not None and survey.errors == GENERALISED and (sampling := Sampling.of_survey(survey)):
        guarantee = population_guarantee(table, sampling, epsilon=found.epsilon)
        document["population"] = guarantee_document(sampling, guarantee)
        document["sentences"] += population_sentences(table, sampling, found.epsilon)
    return document


def survey_document(dataset: Dataset) -> SurveyDocument | None:
    """How the weights of a dataset are protected, with the constants of its printed errors; None without weights."""
    survey = dataset.survey
    if survey is None:
        return None
    form = weight_form(survey.form)
    constants = None
    if survey.errors == GENERALISED:
        rule = DECLARED_CONSTANTS if dataset.protection.is_dp else MEASURED_CONSTANTS
        constants = cast("SurveyConstantsDocument", {"rule": rule, **survey.constants.as_json()})
    return {
        "form": form.name,
        "formula": form.formula,
        "sentence": form.promise,
        "design": survey.design.in_words or message("sampling errors as if every record was drawn by itself"),
        "declared_sample_size": survey.sample_size,
        "declared_population_size": plain(survey.population_size),
        "largest_weight": plain(survey.largest_weight),
        "relative_variance": plain(survey.relative_variance),
        "error_limit": plain(survey.error_limit),
        "stratum": survey.stratum,
        "errors": survey.errors,
        "calibrated": survey.calibrated,
        "calibrated_to": list(survey.calibrated_to),
        "bias_bound": plain(survey.bias_bound),
        "constants": constants,
    }


def _rule(rule: Rule, *, declared: bool) -> ToldRuleDocument:
    """A rule in a sentence, with the code of its refusals and its parameters; those of [protection] always hold."""
    values = {each.name: getattr(rule, each.name) for each in fields(rule)}
    return {
        "kind": rule.kind,
        "code": rule.refusal_code(),
        "sentence": rule.sentence,
        "parameters": plain({name: value for name, value in values.items() if value not in (None, ())}),
        "declared": declared,
    }


def _noise(stored: StoredDataset) -> NoiseDocument:
    dp = stored.dp
    if dp is None:
        tables: list[tuple[list[str] | None, NoiseTable]] = [(None, stored.protector.tables[0])]
    else:
        residuals = () if dp.plan.joint is None else dp.plan.joint.residuals
        tables = [(list(each.margin), each.noise) for each in dp.plan.tables]
        tables += [(list(each.margin), each.noise) for each in residuals if each.noise is not None]
        tables += [] if dp.plan.answer is None else [(None, dp.plan.answer.noise)]
    return {
        "href": f"/api/datasets/{stored.dataset.id}/noise?version={stored.digest[:SHORT]}",
        "sha256": noise_hash(stored.protector.tables[0] if dp is None else dp.plan),
        "tables": [
            {"variables": variables, "family": table.family, "content_sha256": content_hash(table)}
            for variables, table in tables
        ],
    }


def _attack(attack: Attack, kept: AttackResult | None) -> AttackDocument:
    if kept is None:
        advice = message("Not measured in this workspace: run `{command}`.", command=attack.command)
        return {"attack": attack.name, "what": attack.what, "measured": None, "advice": advice}
    measured: MeasuredDocument = {
        "command": kept.command,
        "at": kept.at,
        "program": kept.program,
        "seed": kept.seed,
        "figures": list(kept.figures),
    }
    return {"attack": attack.name, "what": attack.what, "measured": measured, "advice": ""}


def _corrections(dataset: Dataset) -> CorrectionsDocument:
    if dataset.protection.is_dp:
        own = message(
            "Every version has noise of its own and is charged to the budget before it can be seen."
        )
        kept = message("Earlier versions stay open: the ledger has charged each of them.")
        return {"versions_apart": None, "sentences": [_NEW_VERSION, own, kept, _COLLECT]}
    apart = dataset.protection.versions_apart
    sentences = (
        message(
            "keep-keys, the default: everybody keeps the record key, and a cell in which nobody changed "
            "keeps its number."
        ),
        _COLLECT,
        message("new-lineage: all keys are new, all numbers change, and earlier versions are closed."),
        message(
            "An earlier version is answered beside the one that is served if both have the same keys, "
            "noise, rules, weights and categories, and either no record or at least {apart} records "
            "differ. The custodian can allow more at a load. {apart} records are a convention and no "
            "promise.",
            apart=apart,
        ),
    )
    return {"versions_apart": apart, "sentences": [_NEW_VERSION, *sentences]}
