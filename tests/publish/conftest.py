"""Datasets of several protections, each published once: live doors and published doors side by side."""

import shutil
from dataclasses import dataclass
from pathlib import Path

import pytest

from discreet.answer.doors import Doors, open_doors
from discreet.publish.doors import PublishedDoors, open_publication
from discreet.publish.place import Folder
from discreet.publish.publishing import Report, publish
from discreet.records.signing import signing_key
from discreet.workspace.demo import DEMOS
from discreet.workspace.load import load_dataset
from discreet.workspace.wording import correct_wording

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
    live: Doors
    published: PublishedDoors
    report: Report


@pytest.fixture(scope="session")
def side_of(town, joint_town, request, tmp_path_factory):
    """A variant of the town, loaded and published once."""
    made = {}

    def workspace(name: str, folder: Path) -> str:
        if name == "ruled":
            town.load(folder, town.description.replace("[protection]", RULE, 1) + PAIRS + LEVELS).close()
        elif name == "fitted":
            keys = 'keys = "hashed"'
            town.load(
                folder, town.description.replace(keys, f'{keys}\nadditivity = "fitted"') + PAIRS
            ).close()
        elif name == "weighted":
            demo = DEMOS["spudlandia"]
            text = demo.description() + '\n[publish]\nvariables = ["gender", "state"]\nup_to = 1\n'
            load_dataset(folder, text, demo.batches())
            return "spudlandia"
        else:  # no number depends on the section: it is added to what is loaded already
            shutil.copytree(request.getfixturevalue("joint_workspace").folder, folder)
            correct_wording(folder, joint_town.description + (UNIVERSE if name == "universe" else PAIRS))
        return "town"

    def side(name: str) -> Side:
        if name not in made:
            home = tmp_path_factory.mktemp(f"publish-{name}")
            dataset_id = workspace(name, home / "workspace")
            live, key = open_doors(home / "workspace"), signing_key(home / "workspace")
            report = publish(live, dataset_id, Folder(home / "tables"), key)
            doors = open_publication(Folder(home / "tables"), key.public)
            made[name] = Side(dataset_id, home / "workspace", home / "tables", live, doors, report)
        return made[name]

    return side


@pytest.fixture
def ruled(side_of) -> Side:
    return side_of("ruled")
