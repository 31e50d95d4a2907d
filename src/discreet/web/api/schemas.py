"""The JSON of tables, budgets, methodology and noise as types: the schemas of the OpenAPI document.

The documents are made in `formats/json_stat.py`, `release`, `inference`, `noise/files` and `protect`; a test compares them
with these types. A field with a default may be missing. The docstrings are a part of the OpenAPI document.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any, Literal

from pydantic import Field

from discreet.workspace.versions.history import VersionFacts


@dataclass(frozen=True, slots=True)
class JsonStatCategory:
    """The categories of a dimension: places and labels by code, and the parts of a category by its code."""

    index: dict[str, int]
    label: dict[str, str]
    child: dict[str, list[str]] | None = None


@dataclass(frozen=True, slots=True)
class JsonStatDimension:
    """One dimension."""

    label: str
    category: JsonStatCategory


@dataclass(frozen=True, slots=True)
class JsonStatConfidentiality:
    """What protects the numbers; `noise` and its kin are the public law of the noise."""

    method: str
    perturbed: bool
    additivity: str
    promise: list[str]
    verdict: dict[str, Any] | None = None


@dataclass(frozen=True, slots=True)
class JsonStatStatus:
    """What the letters of `status` mean."""

    label: dict[str, str]


@dataclass(frozen=True, slots=True)
class JsonStatExtension:
    """What Discreet tells beside JSON-stat."""

    dataset: str
    dataset_version: str
    digest: str
    unit: str
    population: str
    reference_date: str
    query: str
    measure: str
    status: JsonStatStatus
    confidentiality: JsonStatConfidentiality
    signed: list[float | None] | None = None
    relative_standard_error: list[float | None] | None = None
    noise_share: list[float | None] | None = None
    percent: list[float | None] | None = None
    rank: list[int | None] | None = None
    meaning: dict[str, str] | None = None
    selection: dict[str, list[str]] | None = None
    design_effect: float | None = None


@dataclass(frozen=True, slots=True)
class JsonStatDocument:
    """A table as JSON-stat 2.0: dense values in the order of the dimensions, the last one runs fastest."""

    version: Literal["2.0"]
    kind: Annotated[Literal["dataset"], Field(alias="class")]
    label: str
    source: str
    note: list[str]
    id: list[str]
    size: list[int]
    dimension: dict[str, JsonStatDimension]
    value: list[float | None]
    status: dict[str, str]
    extension: JsonStatExtension
    role: dict[str, list[str]] | None = None


@dataclass(frozen=True, slots=True)
class AmountDocument:
    """A loss and a failure: epsilon and delta, or rho and distance under the rule `zcdp`."""

    epsilon: float | None = None
    delta: float | None = None
    rho: float | None = None
    distance: float | None = None


@dataclass(frozen=True, slots=True)
class RuleDocument:
    """What a rule says of a table."""

    code: str
    message: str
    advice: str


@dataclass(frozen=True, slots=True)
class VerdictDocument:
    """How many areas pass the rules."""

    passed: int
    blocked: int
    total: int
    table_error: str | None
    rules: list[RuleDocument]


@dataclass(frozen=True, slots=True)
class DryRunDocument:
    """The size of a table and what the rules say of it; `suggestion` is the query of the nearest allowed one."""

    cells: int
    allowed: bool
    verdict: VerdictDocument
    suggestion: str | None
    cost: AmountDocument | None = None


@dataclass(frozen=True, slots=True)
class IntervalDocument:
    """Between which limits a sum, a share or a difference of true counts lies; null where there is no limit."""

    estimate: float | None
    low: float | None
    high: float | None
    level: float


@dataclass(frozen=True, slots=True)
class CellIntervalDocument:
    """One cell with its interval; null where it is withheld."""

    codes: list[str]
    value: float | None
    low: float | None
    high: float | None


@dataclass(frozen=True, slots=True)
class IntervalsDocument:
    """All cells with their intervals."""

    dimensions: list[str]
    level: float
    cells: list[CellIntervalDocument]


@dataclass(frozen=True, slots=True)
class VersionsDocument:
    """The versions of a dataset, the newest last."""

    dataset: str
    versions: list[VersionFacts]


@dataclass(frozen=True, slots=True)
class DifferenceDocument:
    """A number of two versions with its limits; null where there is none."""

    estimate: float | None
    low: float | None
    high: float | None


@dataclass(frozen=True, slots=True)
class ComparedCellDocument:
    """One cell in two versions; null where it is withheld."""

    codes: list[str]
    value: float | None
    other: Annotated[float | None, Field(alias="with")]
    difference: DifferenceDocument
    ratio: DifferenceDocument


@dataclass(frozen=True, slots=True)
class ComparedDocument:
    """One table in two versions, which their digests name."""

    dimensions: list[str]
    version: str
    other: Annotated[str, Field(alias="with")]
    level: float
    note: list[str]
    cells: list[ComparedCellDocument]


@dataclass(frozen=True, slots=True)
class DeclaredTableDocument:
    """One table of the universe: what it costs alone, and how large its noise is."""

    variables: list[str]
    epsilon: float
    delta: float
    p_exact: float
    expected_abs_error: float
    standard_deviation: float


@dataclass(frozen=True, slots=True)
class GroupOfBudgetDocument:
    """What is promised to several persons together."""

    persons: int
    epsilon: float
    delta: float


@dataclass(frozen=True, slots=True)
class DroppedVariableDocument:
    """What the tables that remain would gain without a variable."""

    variable: str
    d: int
    expected_abs_error: float
    expected_abs_error_now: float


@dataclass(frozen=True, slots=True)
class BudgetFiguresDocument:
    """What a dataset under `dp` promises and costs, and what its budget has left."""

    family: str
    cap: AmountDocument
    neighbours: str
    records_per_unit: int
    invariants: list[str]
    spread: str
    margins: str
    tables: list[DeclaredTableDocument]
    d: int
    total: dict[str, AmountDocument]
    tightest: str | None
    price: AmountDocument | None
    promise: str | None
    spent: AmountDocument
    left: AmountDocument
    cautions: list[str]
    groups: list[GroupOfBudgetDocument]


@dataclass(frozen=True, slots=True)
class BudgetDocument(BudgetFiguresDocument):
    """The same, and what it would be with other margins or fewer variables."""

    standard_deviation_by_margins: dict[str, float | str]
    if_dropped: list[DroppedVariableDocument]


@dataclass(frozen=True, slots=True)
class AccountShareDocument:
    """What an account may spend and has spent."""

    account: str
    cap: AmountDocument
    spent: AmountDocument
    left: AmountDocument


@dataclass(frozen=True, slots=True)
class ChargeDocument:
    """One charge: when, to whom, how much and for what."""

    at: str
    account: str | None
    loss: float
    failure: float
    asked: str
    what: str


@dataclass(frozen=True, slots=True)
class LedgerDocument:
    """What a budget has spent, and by whom."""

    family: str
    rule: str
    cap: AmountDocument
    spent: AmountDocument
    left: AmountDocument
    accounts: list[AccountShareDocument]
    charges: list[ChargeDocument]


@dataclass(frozen=True, slots=True)
class MethodologyDataset:
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


@dataclass(frozen=True, slots=True)
class MechanismDocument:
    """What is done to a count."""

    method: str
    sentences: list[str]
    family: str
    parameters: dict[str, Any]
    keys: str
    additivity: str
    fit_to: list[str]
    negative_counts_shown: bool


@dataclass(frozen=True, slots=True)
class PrivacyDocument:
    """What is promised, and about what; `audit` is that of `discreet audit --json`."""

    about: str
    neighbours: str
    epsilon: float | None
    delta: float | None
    sentences: list[str]
    audit: dict[str, Any] | None


@dataclass(frozen=True, slots=True)
class SurveyDocument:
    """How weights are protected, and what is declared of the sample."""

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


@dataclass(frozen=True, slots=True)
class ToldRuleDocument:
    """A rule in a sentence; one that is not declared is a limit of `[protection]`."""

    kind: str
    code: str
    sentence: str
    parameters: dict[str, Any]
    declared: bool


@dataclass(frozen=True, slots=True)
class NoiseHashDocument:
    """A noise table by its hash; `variables` of the margin that has it."""

    variables: list[str] | None
    family: str
    content_sha256: str


@dataclass(frozen=True, slots=True)
class NoiseDocument:
    """Where the noise is, and its hashes."""

    href: str
    sha256: str
    tables: list[NoiseHashDocument]


@dataclass(frozen=True, slots=True)
class MeasuredDocument:
    """What was measured of an attack, and the command that measures it again."""

    command: str
    at: str
    program: str
    seed: int
    figures: list[str]


@dataclass(frozen=True, slots=True)
class AttackDocument:
    """An attack; `measured` is null where nobody measured it in this workspace."""

    attack: str
    what: str
    measured: MeasuredDocument | None
    advice: str


@dataclass(frozen=True, slots=True)
class AttacksDocument:
    """The attacks of the red team."""

    about: str
    red_team: list[AttackDocument]


@dataclass(frozen=True, slots=True)
class KeptVersionDocument:
    """A version, and whether it is answered."""

    digest: str
    version: str
    loaded: str
    current: bool
    answered: bool
    why_not: str


@dataclass(frozen=True, slots=True)
class CorrectionsDocument:
    """What happens to numbers when records are corrected."""

    versions_apart: int | None
    sentences: list[str]


@dataclass(frozen=True, slots=True)
class MethodologyDocument:
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


@dataclass(frozen=True, slots=True)
class NoiseTableDocument:
    """A noise table: see docs/reference/noise-table-files.md."""

    family: str
    parameters: dict[str, Any]
    modulus: int
    rows: list[dict[str, Any]]
    repeats: int
    moments: dict[str, float]
    notes: list[str]
    format: str
    version: int
    provenance: dict[str, Any]
    content_sha256: str
    arrangement: list[dict[str, Any]] | None = None


@dataclass(frozen=True, slots=True)
class NoisePlanDocument:
    """A noise plan under `dp`: every margin with its share, and every noise table once."""

    format: str
    version: int
    currency: str
    tables: list[dict[str, Any]]
    answer: dict[str, Any] | None
    noise: dict[str, dict[str, Any]]
    claim: dict[str, Any] | None
