"""Protectors without keys: distributions, notes and promises that follow from public noise; nothing that needs a secret.

The cell key method has one public noise table. Under `dp` the plan is public; the noisy residuals of a joint universe answer
its tables, and anything that must be charged is refused, since there is no ledger.
"""

from __future__ import annotations

import io
import json
from dataclasses import replace
from typing import Any, NoReturn, cast

import numpy as np

from discreet.errors import WorkspaceUnusable
from discreet.ledger.ledger import Ledger
from discreet.model.dataset import Dataset
from discreet.model.noise_distribution import NoiseDistribution
from discreet.model.shape import TableShape
from discreet.noise.files import from_document
from discreet.noise.table import NoiseTable
from discreet.protect.cell_keys import CellChances, CellKeys
from discreet.protect.description_keys import DescriptionNoise
from discreet.protect.dp_protector import DpProtector
from discreet.protect.joint_residuals import StoredResiduals
from discreet.protect.plan_file import read_plan
from discreet.protect.protector import CellKeyProtector, Protector
from discreet.records.engine import Engine
from discreet.records.keys import Secret


class Absent:
    """A placeholder for parts that a publication lacks (records, keys, a ledger); any use raises an error."""

    def __getattr__(self, name: str) -> NoReturn:
        if name.startswith("__"):  # special methods that Python looks up
            raise AttributeError(name)
        raise WorkspaceUnusable(
            "A publication has no records and no keys.", "Ask the workspace that published it."
        )

    def __call__(self, *_given: object) -> NoReturn:
        """Raise the error."""
        raise WorkspaceUnusable(
            "A publication has no records and no keys.", "Ask the workspace that published it."
        )


ABSENT: Any = Absent()
NO_RECORDS = cast("Engine", ABSENT)


class PublicDpProtector(DpProtector):
    """A plan without a ledger: the version was charged before it was published, and nothing else can be charged."""

    def refuse_uncharged(self) -> None:
        """The publication was signed by the workspace that charged the version."""

    def file_mark(self) -> None:
        """There is no ledger file."""


def public_protector(dataset: Dataset, noise: str, residuals: bytes = b"") -> Protector:
    """The protector of a dataset without its keys.

    Args:
        dataset: The description.
        noise: The public noise, as `Door.noise_text` gives it.
        residuals: The file of the noisy residuals of a joint universe, if they are published.

    Raises:
        BadNoiseTable, WorkspaceUnusable, ValueError: The files do not belong together.
    """
    if not dataset.protection.is_dp:
        return CellKeyProtector(
            cast("CellKeys", ABSENT), from_document(json.loads(noise)), cast("CellChances", ABSENT)
        )
    plan = replace(read_plan(noise, dataset), answer=None)
    source = DescriptionNoise(cast("Secret", ABSENT), dataset, dataset.version, "", plan.noise())
    ledger = cast("Ledger", ABSENT)
    if plan.joint is None:
        return PublicDpProtector(plan, source, ledger)
    if not residuals:  # the distribution follows from the plan; the numbers are in the releases
        return PublicDpProtector(plan, source, ledger, cast("StoredResiduals", ABSENT))
    numbers = np.load(io.BytesIO(residuals), allow_pickle=False)
    return PublicDpProtector(plan, source, ledger, StoredResiduals(plan.joint, numbers))


def laws_of(protector: Protector, shape: TableShape) -> tuple[NoiseDistribution, tuple[NoiseTable, ...]]:
    """The law of the noise of a shape, and the noise tables that its note speaks of."""
    if isinstance(protector, DpProtector):
        covering = replace(protector, _cache={})
        covering.find([shape])
        return covering.law(shape), covering.tables
    return protector.law(shape), protector.tables
