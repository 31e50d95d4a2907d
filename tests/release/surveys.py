"""A survey of 900 people with unequal weights, and the town as a survey."""

import numpy as np

import discreet

RECORDS = 900
SURVEY = """[survey]
form = "{form}"
sample_size = {records}
population_size = {size}
largest_weight = 2
relative_variance = {spread}
{more}"""


def weighted_town(town, form, weights, more=""):
    """The description and the records of the town as a survey; no weight is above 2."""
    spread = round(float(len(weights) * (weights**2).sum() / weights.sum() ** 2 - 1), 4)
    survey = SURVEY.format(form=form, records=len(weights), size=weights.sum(), spread=spread, more=more)
    text = town.description.replace('id_column = "person"', 'id_column = "person"\nweight_column = "w"', 1)
    text = text.replace("[protection]\n", survey + "[protection]\n", 1)
    return text, town.records.append_column("w", [weights.tolist()])


def survey_records(*, related=True):
    """People with weights that are larger in state A; or, if not related, the same weights in any order."""
    import pandas as pd

    rng = np.random.RandomState(4)
    state = rng.choice(["A", "B"], RECORDS, p=[0.6, 0.4])
    weight = np.where(state == "A", 30, 10) + rng.randint(0, 500, RECORDS) / 100
    frame = pd.DataFrame(
        {
            "id": range(RECORDS),
            "state": state,
            "sex": rng.choice(["1", "2"], RECORDS),
            "age": rng.choice(["y", "m", "o"], RECORDS, p=[0.02, 0.5, 0.48]),
            "w": weight.round(2),
        }
    )
    return frame if related else frame.assign(w=np.random.RandomState(1).permutation(frame["w"]))


def description(frame, form, **changes):
    weights = frame["w"]
    facts = {
        "sample_size": len(frame),
        "population_size": round(float(weights.sum()), 2),
        "largest_weight": float(weights.max()),
        "relative_variance": round(float(len(frame) * (weights**2).sum() / weights.sum() ** 2 - 1), 4),
    } | changes
    listed = "".join(f"{name} = {value}\n" for name, value in facts.items())
    variables = "".join(
        f'[[variable]]\nname = "{name}"\ncategories = {codes}\n'
        for name, codes in (("state", '["A", "B"]'), ("sex", '["1", "2"]'), ("age", '["y", "m", "o"]'))
    )
    return (
        'id = "survey"\nlabel = "Survey"\nunit = "persons"\nid_column = "id"\nweight_column = "w"\nweight_decimals = 2\n'
        f'{variables}[survey]\nform = "{form}"\n{listed}stratum = "state"\nstratum_weights = {{ A = 32.5, B = 12.6 }}\n'
    )


def load(folder, frame, form, more="", **changes):
    """The survey in a form, loaded and opened."""
    (folder / "dataset.toml").write_text(description(frame, form, **changes) + more)
    discreet.load(folder / "workspace", folder / "dataset.toml", frame)
    return discreet.open(folder / "workspace")


def released(catalogue, **parts):
    return catalogue.table("survey", measure="weighted", **parts).release


def cells(frame, release):
    """Each cell's place and records."""
    for place in np.ndindex(*release.values.shape):
        inside = np.ones(len(frame), dtype=bool)
        for dimension, at in zip(release.dimensions, place, strict=True):
            inside &= (
                frame[dimension.name].isin([dimension.base[m] for m in dimension.members()[at]]).to_numpy()
            )
        yield place, frame[inside]
