"""The methodology and the noise as types: what a generated client gets.

The documents are made in `answer/methodology.py`, `noise/files/document.py` and `protect/plan_file.py`; a test holds
them and these types together.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from discreet.server.answer_documents import BudgetFiguresDocument  # noqa: TC001 - read by pydantic


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
