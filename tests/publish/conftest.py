"""Datasets of several protections, each published once: live registry and published registry side by side."""

import shutil
from dataclasses import dataclass
from pathlib import Path

import pytest

from discreet.publish.file_store import FolderStorage
from discreet.publish.published_registry import PublishedRegistry
from discreet.publish.publisher import PublishReport, publish
from discreet.records.signing import signing_key
from discreet.release.dataset_registry import DatasetRegistry, open_registry
from discreet.workspace.demo import DEMOS
from discreet.workspace.versions.label_corrections import relabel_dataset
from discreet.workspace.versions.load_version import load_dataset

PAIRS = '\n[publish]\nvariables = ["sex", "age", "job", "area"]\nup_to = 2\n'
LEVELS = 'tables = ["area*sex*job"]\n\n[publish.levels]\narea = ["region", "area"]\n'
RULE = '[[rule]]\nkind = "mean-cell-size"\nleast = 20\nlevel = "area"\nfrom_variables = 2\n\n[protection]'
UNIVERSE = "\n[publish]\nuniverse = true\n"
VARIANTS = ("ruled", "fitted", "weighted", "joint", "universe")


@dataclass(frozen=True)
class Side:
    """A dataset and its publication."""

    id: str
    workspace: Path
    folder: Path
    live: DatasetRegistry
    published: PublishedRegistry
    report: PublishReport


@pytest.fixture(scope="session")
def side_of(town, joint_town, request, tmp_path_factory):
    """A variant of the town, loaded and published once."""
    made = {}

    def workspace(name, folder):
        if name == "ruled":
            town.load(folder, town.description.replace("[protection]", RULE, 1) + PAIRS + LEVELS).close()
        elif name == "fitted":
            keys = 'keys = "hashed"'
            fitted = town.description.replace(keys, f'{keys}\nadditivity = "fitted"')
            town.load(folder, fitted + PAIRS).close()
        elif name == "weighted":
            demo = DEMOS["spudlandia"]
            text = demo.description() + '\n[publish]\nvariables = ["gender", "state"]\nup_to = 1\n'
            load_dataset(folder, text, demo.batches())
            return "spudlandia"
        else:  # no number depends on the section: it is added to what is loaded already
            shutil.copytree(request.getfixturevalue("joint_workspace").folder, folder)
            relabel_dataset(folder, joint_town.description + (UNIVERSE if name == "universe" else PAIRS))
        return "town"

    def side(name):
        if name not in made:
            home = tmp_path_factory.mktemp(f"publish-{name}")
            dataset_id = workspace(name, home / "workspace")
            live, key = open_registry(home / "workspace"), signing_key(home / "workspace")
            report = publish(live, dataset_id, FolderStorage(home / "tables"), key)
            registry = PublishedRegistry(FolderStorage(home / "tables"), key.public)
            made[name] = Side(dataset_id, home / "workspace", home / "tables", live, registry, report)
        return made[name]

    return side


@pytest.fixture
def ruled(side_of):
    return side_of("ruled")
