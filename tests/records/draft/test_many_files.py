"""Files in many shapes: what of each is a variable, has a role, stands in a comment and is left out, and that it loads."""

import re
import tomllib

import numpy as np
import pandas as pd
import pyreadstat
import pytest
from starlette.testclient import TestClient

from discreet.cli.commands.demo import first_released_table
from discreet.errors import BadDescription, Refused
from discreet.model.description.dataset_toml import parse_dataset
from discreet.model.request import TableRequest
from discreet.publish.release_file import pack
from discreet.records.draft.describe_file import describe_file
from discreet.records.engine import records_in
from discreet.release.dataset_registry import open_registry
from discreet.web.app import create_app
from discreet.web.pages.builder import default_axes
from discreet.workspace.options import read_options
from discreet.workspace.versions.load_version import load_dataset
from discreet.workspace.workspace import Workspace

pytestmark = pytest.mark.slow

N = 600


def brr_survey(random):
    """A survey with balanced repeated replicates, of which half a sample is zero and the other doubled."""
    weight = np.round(random.gamma(9, 40, N), 2)
    halves = {f"brr{n}": np.round(weight * 2 * random.randint(0, 2, N), 2) for n in range(1, 17)}
    answers = {"sex": random.choice(["m", "f"], N), "vote": random.choice(["a", "b", "c"], N)}
    return pd.DataFrame({"respid": np.arange(N) + 7000, **answers, "finalwt": weight, **halves})


def questionnaire(random):
    """Fifty-two answers from 1 to 5, -9 for none, beside a weight near 3: the answers were taken for replicates."""
    weight = np.round(random.gamma(9, 0.33, N), 3)
    items = {f"q{n:02d}": random.choice([1, 2, 3, 4, 5, -9], N, p=[0.19] * 5 + [0.05]) for n in range(1, 53)}
    return pd.DataFrame({"caseid": np.arange(N) + 5000, "wt_final": weight, **items})


def full_questionnaire(random):
    """Eight answers without a missing value: nothing but their values says that they are no replicates."""
    items = {f"item{n}": random.randint(1, 6, N) for n in range(1, 9)}
    return pd.DataFrame(
        {"id": np.arange(N) + 100, "weight": np.round(random.gamma(90, 0.033, N), 3), **items}
    )


def numbered_columns(random):
    """A file with columns v000 to v099, of which a survey programme calls some weight, strata and clusters."""
    return pd.DataFrame({f"v{n:03d}": random.randint(0, 6, N) for n in range(100)})


def hierarchy(random):
    district = random.randint(0, 12, N)
    places = {"region": np.array(list("ABCD"))[district % 4], "district": [f"D{d:02d}" for d in district]}
    return pd.DataFrame({"person_id": np.arange(N) + 1000, **places, "sex": random.randint(1, 3, N)})


def amounts_only(random):
    """Turnovers of firms: nothing is a category, and the amounts could be classes."""
    return pd.DataFrame(
        {"turnover": np.round(random.gamma(2, 9000, N), 2), "staff": random.permutation(N) * 7 + 5}
    )


def time_series(random):
    """One value a day."""
    days = pd.date_range("2021-01-01", periods=N).strftime("%Y-%m-%d")
    return pd.DataFrame({"date": days, "index": np.round(random.normal(100, 5, N), 3)})


def contacts(random):
    """People with names, addresses of both kinds, dates of birth and remarks, each of which many records share."""
    first = random.choice(["Anna", "Bela", "Carl", "Dora", "Emil", "Fritz", "Greta", "Hugo", "Ida"], N)
    last = random.choice(["Berg", "Costa", "Dahl", "Ernst", "Falk", "Grau", "Holm", "Ipsen", "Jung"], N)
    serial = random.randint(0, 25, N)
    return pd.DataFrame(
        {
            "name": [f"{one} {two}" for one, two in zip(first, last, strict=True)],
            "contact": [f"user{n}@example.org" for n in serial],
            "call": [f"+49 30 {n + 7000000}" for n in serial],
            "lives": [f"{n + 1} Mill Road" for n in serial],
            "dob": [f"{n + 1}.03.{1950 + n}" for n in serial],
            "teacher": [f"{one} {two}" for one, two in zip(first[::-1], last[serial % 9 * 7], strict=True)],
            "said": [f"he told us {n} times that all is well" for n in serial],
            "sex": random.choice(["m", "f"], N),
        }
    )


def sensitive(random):
    """Religion with three Zoroastrians, a status of HIV, and a tongue that few have."""
    columns = {
        "religion": ["Zoroastrian"] * 3 + list(random.choice(["Christian", "Muslim", "none"], N - 3)),
        "hiv_status": random.choice(["neg", "pos"], N, p=[0.9, 0.1]),
        "tongue": ["Romansh"] * 4 + ["Ladin"] * 18 + list(random.choice(["German", "Italian"], N - 22)),
    }
    return pd.DataFrame(columns)


def no_answers(random):
    """Codes and words for no answer, and small negative numbers that are none."""
    return pd.DataFrame(
        {
            "id": random.permutation(N) + 300,
            "happy": random.choice([1, 2, 3, -9, -99, -1], N),
            "work": random.choice(["yes", "no", "Refused", "Don't know", "."], N),
            "born": random.choice(["here", "abroad", "NA"], N),
            "trend": random.choice([-2, -1, 0, 1, 2], N),
        }
    )


def decimal_comma(random):
    """A European file: semicolons, and a weight with a decimal comma."""
    weights = [f"{each:.2f}".replace(".", ",") for each in random.gamma(9, 30, N)]
    lines = [f"{n + 400};{weights[n]};{'mw'[n % 2]}\n" for n in range(N)]
    return "lfd_id;gewicht;geschlecht\n" + "".join(lines)


def numbered_records(random):
    """Ids 1 to n, and ages."""
    columns = {"nr": range(1, N + 1), "age": random.randint(0, 90, N), "sex": random.choice([1, 2], N)}
    return pd.DataFrame(columns)


def binary_items(random):
    """Sixty answers of yes or no beside a weight near one half, which they would all reproduce."""
    items = {f"y{n}": random.randint(0, 2, N) for n in range(1, 61)}
    return pd.DataFrame({"weight": np.round(random.gamma(90, 0.0055, N), 4), **items})


def labelled(random):
    """A file of SPSS whose names say nothing and whose labels say all."""
    weight = np.round(random.gamma(9, 30, N), 2)
    columns = {
        "pwgt": weight,
        "psu": random.randint(1, 90, N) * 11,
        "x1": random.choice([1.0, 2.0, 8.0], N),
        "x2": [
            f"{a}{['nna', 'lf'][n % 2]} Meier" for n, a in enumerate(random.choice(list("ABCDEFGHIJKLM"), N))
        ],
        "x3": random.choice([1.0, 2.0, 3.0], N, p=[0.01, 0.4, 0.59]),
        "x4": [f"{n:04d}" for n in random.randint(0, 25, N)],
    }
    labels = {
        "pwgt": "Person weight", "psu": "Primary sampling unit", "x1": "Has a job", "x2": "Interviewer", "x3": "Religion",
        "x4": "Telephone number (last digits)",
    }  # fmt: skip
    values = {"x1": {1.0: "Yes", 2.0: "No", 8.0: "Refused"}, "x3": {1.0: "Sikh", 2.0: "Hindu", 3.0: "None"}}
    return pd.DataFrame(columns), {"column_labels": labels, "variable_value_labels": values}


def eu_silc(random, records=1200):
    """A household survey as EU-SILC has it: households nest in regions, and ids are called by codes."""
    household = np.sort(random.randint(0, records // 2, records))
    columns = {
        "db030": household + 100,
        "db040": [f"AT{h % 9}" for h in household],
        "rb030": (household + 100) * 100 + np.arange(records),
        "rb090": random.randint(1, 3, records),
        "age": random.randint(0, 40, records),
        "pl030": random.choice(["1", "2", "3", ""], records),
        "py010n": np.round(random.gamma(2, 9000, records), 2),
        "rb050": np.round(random.gamma(9, 40, records), 4),
    }
    return pd.DataFrame(columns)


def ses(random, records=1500):
    """A survey of earnings as SES has it: workers of establishments; hours paid are unique and no id."""
    establishment = random.randint(0, 30, records)
    columns = {
        "hoursPaid": np.arange(records) + 0.25,
        "establishmentID": establishment + 5000,
        "employeeID": random.permutation(records) + 10**6,
        "nace": np.array(list("BCDEFGHIJK"))[establishment % 10],
        "sex": random.choice(["M", "F"], records),
        "isco": random.randint(100, 350, records),
        "earnings": np.round(random.gamma(4, 700, records), 2),
    }
    return pd.DataFrame(columns)


def nhanes(random, records=1000):
    """An examination survey as NHANES has it: ids as floats, strata and sampling units."""
    columns = {
        "SEQN": 83732.0 + np.arange(records),
        "RIAGENDR": random.randint(1, 3, records),
        "RIDAGEYR": random.randint(0, 81, records),
        "RIDRETH3": random.randint(1, 7, records),
        "SDMVSTRA": random.randint(1, 16, records),
        "BMXBMI": np.round(random.normal(27, 6, records), 1),
        "WTMEC2YR": np.round(random.gamma(3, 9000, records), 3),
        "PHONE": random.randint(10**6, 10**6 + 300, records),
    }
    return pd.DataFrame(columns)


def sparse_first(random):
    """Two variables that nearly exhaust the records, in front of two that do not: a table of the first is too sparse."""
    codes = {name: [f"{name}{n:02d}" for n in random.randint(0, 30, N)] for name in ("trade", "origin")}
    return pd.DataFrame({**codes, "sex": random.choice(["m", "f"], N), "owner": random.choice(["y", "n"], N)})


def person_and_household(random):
    """A household's weight, shared by its members, in front of a person's; short names, and replicates from 001."""
    person, household = np.round(random.gamma(9, 40, N), 3), np.round(random.gamma(9, 40, N // 2), 2)
    replicates = {f"bsw{n:03d}": np.round(person * random.poisson(1, N), 3) for n in range(1, 21)}
    columns = {
        "hhid": np.repeat(np.arange(N // 2), 2) + 10,
        "pid": np.arange(N) + 900,
        "hhwt": np.repeat(household, 2),
    }
    return pd.DataFrame({**columns, "pw": person, **replicates, "sex": random.choice(["m", "f"], N)})


def replicates_alone(random):
    """Replicate weights whose full weight has a name that nothing says: they are proposed, and nothing is active."""
    mystery = np.round(random.gamma(9, 40, N), 3)
    replicates = {f"bsw{n:03d}": np.round(mystery * random.poisson(1, N), 3) for n in range(1, 21)}
    return pd.DataFrame({"mystery": mystery, **replicates, "sex": random.choice(["m", "f"], N)})


def unusual_names(random):
    """Names of people and how to reach them in columns of unusual names, and places whose names have two words."""
    serial = random.randint(0, 24, N)
    people = ["Élodie Dupont", "Zoë Müller", "Øyvind Ås", "Anna Berg", "Bela Costa", "Carl Dahl"]
    columns = {
        "gp": random.choice(["Dr. Smith", "Dr Jones", "Prof. Patel", "Mrs. Berg"], N),
        "patientName": random.choice(["Anna B", "Bela C"], N),
        "NAME_FIRST": random.choice(["Anna", "Bela"], N),
        "contact_person": random.choice(["Anna Berg", "Bela Costa"], N),
        "staff": [f"{people[n % 6]}-{chr(65 + n)}o" for n in serial],
        "nm": [f"{chr(65 + n)}ERG, JOHN" for n in serial],
        "nr_tel": [f"0664{n + 1000000}" for n in serial],
        "login": [f"10.0.0.{n}" for n in serial],
        "page": [f"https://x.org/u{n}" for n in serial],
        "chosen": random.choice(people[:3], N),
        "area_name": random.choice(["North East", "South West"], N),
    }
    return pd.DataFrame(columns)


PERSONAL = "it looks like "
NAMES = PERSONAL + "names of people"
ID_NAME = "its name says that it is an id"
AMOUNT = "not whole numbers"


def numbered(stem, first, last, digits=1):
    return " ".join(f"{stem}{n:0{digits}d}" for n in range(first, last + 1))


#: By shape: the file, its variables, roles, what is proposed or kept in a comment, and the reasons of what is left out.
SHAPES = {
    "brr": (brr_survey, "sex", {"id": "respid", "weight": "finalwt", "replicates": 16}, "", {"vote": "about politics"}),
    "questionnaire": (questionnaire, numbered("q", 1, 52, 2), {"id": "caseid", "weight": "wt_final"}, "", {}),
    "full-questionnaire": (full_questionnaire, numbered("item", 1, 8), {"id": "id", "weight": "weight"}, "", {}),
    "numbered": (numbered_columns, numbered("v", 0, 99, 3), {}, "v005 v022 v001", {}),
    "hierarchy": (hierarchy, "region district sex", {"id": "person_id"}, "", {}),
    "amounts": (amounts_only, "", {}, "", {"turnover": AMOUNT, "staff": "a different value in every record"}),
    "series": (time_series, "", {}, "", {"date": "dates", "index": AMOUNT}),
    "contacts": (contacts, "sex", {}, "", {
        "name": NAMES, "contact": PERSONAL + "e-mail addresses", "call": PERSONAL + "telephone numbers",
        "lives": PERSONAL + "addresses", "dob": "dates", "teacher": NAMES, "said": PERSONAL + "sentences",
    }),
    "sensitive": (sensitive, "tongue", {}, "", {"religion": "about religion", "hiv_status": "about health"}),
    "no-answers": (no_answers, "happy work born trend", {"id": "id"}, "", {}),
    "comma": (decimal_comma, "geschlecht", {"id": "lfd_id", "weight": "gewicht"}, "", {}),
    "numbers": (numbered_records, "age sex", {"id": "nr"}, "", {}),
    "binary": (binary_items, numbered("y", 1, 60), {"weight": "weight"}, "", {}),
    "labelled": (labelled, "x1", {"weight": "pwgt", "clusters": "psu"}, "", {
        "x2": NAMES, "x3": "about religion", "x4": PERSONAL + "telephone numbers",
    }),
    "silc": (eu_silc, "db040 rb090 age pl030", {"id": "rb030", "weight": "rb050"}, "", {"db030": ID_NAME, "py010n": AMOUNT}),
    "ses": (ses, "nace sex", {"id": "employeeID"}, "", {
        "hoursPaid": AMOUNT, "establishmentID": ID_NAME, "earnings": AMOUNT,
        "isco": "250 different values with fewer than 20 records each",
    }),
    "sparse": (sparse_first, "trade origin sex owner", {}, "", {}),
    "household": (person_and_household, "sex", {"id": "pid", "weight": "pw", "replicates": 20}, "", {
        "hhid": ID_NAME, "hhwt": "a weight",
    }),
    "replicates-alone": (replicates_alone, "sex", {}, "bsw001..bsw020", {
        "mystery": AMOUNT, **{f"bsw{n:03d}": AMOUNT for n in range(1, 21)},
    }),
    "unusual": (unusual_names, "chosen area_name", {}, "", {
        "gp": NAMES + " with titles", "patientName": NAMES, "NAME_FIRST": NAMES, "contact_person": NAMES,
        "staff": NAMES, "nm": NAMES,
        "nr_tel": PERSONAL + "telephone numbers", "login": PERSONAL + "addresses", "page": PERSONAL + "addresses",
    }),
    "nhanes": (nhanes, "RIAGENDR RIDAGEYR RIDRETH3", {"id": "SEQN", "weight": "WTMEC2YR", "strata": "SDMVSTRA"}, "", {
        "BMXBMI": AMOUNT, "PHONE": PERSONAL + "telephone numbers",
    }),
}  # fmt: skip


def write(stem, made):
    """A file of a shape: a text as it is, a frame as CSV, a frame with labels as a file of SPSS."""
    path = stem.with_suffix(".sav" if isinstance(made, tuple) else ".csv")
    if isinstance(made, str):
        path.write_text(made, "utf-8")
    elif isinstance(made, tuple):
        pyreadstat.write_sav(made[0], path, **made[1])
    else:
        made.to_csv(path, index=False)
    return path


@pytest.mark.parametrize("name", SHAPES)
def test_each_file_gets_the_draft_that_is_written_down_for_it(name, tmp_path):
    make, active, roles, commented, left_out = SHAPES[name]
    path = write(tmp_path / name, make(np.random.RandomState(5)))
    draft = describe_file(path)
    assert {name: reason.split(":")[0] for name, reason in draft.left_out} == left_out
    assert " ".join(re.findall(r'^#   \w+ = "(.*)"$', draft.text, re.MULTILINE)) == commented
    if not active:
        assert "No column can be tabulated as it is" in draft.text
        with pytest.raises(BadDescription, match="no variables"):
            parse_dataset(draft.text)
        return
    dataset = parse_dataset(draft.text)
    assert " ".join(variable.column for variable in dataset.variables) == active
    found = {"id": dataset.id_column.replace("row number", ""), "weight": dataset.weight_column}
    if dataset.survey is not None:
        design = dataset.survey.design
        found |= {"strata": design.strata, "clusters": design.clusters, "replicates": len(design.replicates)}
    assert {key: value for key, value in found.items() if value} == roles
    load_dataset(tmp_path / "w", draft.text, path)
    stored = Workspace(tmp_path / "w").stored(dataset.id)
    assert all(20 * len(each) <= records_in(stored.engine, dataset) for each in dataset.variables)
    assert {"mean-cell-size", "nested-groups"} <= {rule.kind for rule in stored.rules}, "those of the demo"
    registry = open_registry(tmp_path / "w")
    first = first_released_table(registry.open(dataset.id))
    with TestClient(
        create_app(registry, read_options(tmp_path / "w")), base_url="http://localhost"
    ) as client:
        page = client.get(f"/datasets/{dataset.id}?{first.permalink}")
        assert page.status_code == 200
        assert "<td" in page.text


def drafted(name, tmp_path):
    return describe_file(write(tmp_path / name, SHAPES[name][0](np.random.RandomState(5))))


def test_the_first_table_is_one_that_the_rules_release(tmp_path):
    """The first two variables gave a page with a refusal."""
    draft = drafted("sparse", tmp_path)
    load_dataset(tmp_path / "w", draft.text, tmp_path / "sparse.csv")
    service = open_registry(tmp_path / "w").open("sparse")
    rows, columns = default_axes(service.dataset)
    with pytest.raises(Refused):
        service.release(TableRequest("sparse", rows, columns))
    assert first_released_table(service).variables == ("trade", "sex")


def test_a_name_that_few_share_is_asked_about(tmp_path):
    asked = "# Are these names of people? Then remove the variable."
    assert f'{asked}\n# Rarest: "' in drafted("unusual", tmp_path).text
    assert asked not in drafted("hierarchy", tmp_path).text


def test_no_answers_are_missing_and_the_draft_says_which(tmp_path):
    draft = drafted("no-answers", tmp_path)
    missing = {v.name: {value for value, _ in v.missing.single} for v in parse_dataset(draft.text).variables}
    words = {"work": {"Refused", "Don't know", "."}, "born": {"NA"}}
    assert missing == {"happy": {"-9", "-99", "-1"}, **words, "trend": set()}
    assert "Treated as missing values: -1, -9, -99 of happy." in draft.assumed
    assert "Treated as missing values: 8 of x1." in drafted("labelled", tmp_path).assumed


def test_every_variable_says_its_rarest_category_and_a_coarser_grouping(tmp_path):
    draft = drafted("sensitive", tmp_path).text
    coarser = '# Coarser: values = { "Romansh" = "other", "Ladin" = "other" }'
    assert f'# Rarest: "Romansh" with 4 records.\n{coarser}' in draft
    kept = draft[draft.index("# Left out: religion") :].split("\n\n")[0]
    section = "\n".join(line.removeprefix("# ") for line in kept.splitlines()[1:])
    assert '# Rarest: "Zoroastrian" with 3 records.' in section.splitlines()
    (religion,) = tomllib.loads(section)["variable"]
    assert [each["code"] for each in religion["categories"]] == ["Christian", "Muslim", "Zoroastrian", "none"]
    assert re.search(r'# Rarest: "\d+-\d+" with \d+ records', drafted("numbers", tmp_path).text)


def test_no_count_of_a_draft_is_published(tmp_path):
    """A publication has the values of a description and none of its comments."""
    load_dataset(tmp_path / "w", drafted("sensitive", tmp_path).text, tmp_path / "sensitive.csv")
    parts = open_registry(tmp_path / "w").public_parts("sensitive")
    assert b"Rarest" not in pack(parts.description)
    assert b"Zoroastrian" not in pack(parts.description)


def test_what_could_be_classed_is_said_of_a_file_without_a_variable(tmp_path):
    assert "Possible classes: turnover, staff." in drafted("amounts", tmp_path).assumed[-1]
    assert "Possible classes: date, index." in drafted("series", tmp_path).assumed[-1]
