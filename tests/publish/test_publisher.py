"""What is published is what the workspace answers, byte for byte, and nothing else; too much is refused."""

import copy
import io
import json
import re
import shutil
import zipfile
from dataclasses import replace
from itertools import permutations

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from discreet.errors import BadDescription, PublicationUnusable, TableNotReleased, TooMuchToPublish
from discreet.formats import format_by_name, formats
from discreet.model.description.sections import Publish
from discreet.model.request import TableRequest
from discreet.model.shape import table_shape
from discreet.model.view import Picture
from discreet.publish import publisher
from discreet.publish.file_store import FolderStorage
from discreet.publish.publication import POINTER
from discreet.publish.published_registry import PublishedRegistry
from discreet.publish.publisher import Limits, plan_publication, publish, requests_to_publish, same_release
from discreet.publish.release_file import write_release
from discreet.records.keys import Secret
from discreet.records.signing import SIGNING_KEY, signing_key
from discreet.records.tabulate import tabulate
from discreet.release.dataset_registry import open_registry, unlock_service
from discreet.web.pages.static_site import write_site
from discreet.workspace.versions.label_corrections import relabel_dataset
from discreet.workspace.versions.load_version import load_dataset

from .conftest import RULE, VARIANTS


def test_too_much_is_refused_beforehand_with_its_size_and_nothing_is_counted(ruled, monkeypatch):
    monkeypatch.setattr("discreet.release.pipeline.count_cells", None)
    for limits in (Limits(files=3), Limits(bytes=1000)):
        with pytest.raises(TooMuchToPublish, match=r"15 files and about [\d,]{5,} bytes"):
            plan_publication(ruled.live, "town", limits)
    plan = plan_publication(ruled.live, "town", Limits())
    assert (len(plan.requests), plan.files) == (11, 15)
    written = sum(path.stat().st_size for path in (ruled.folder / "files").iterdir())
    assert written < plan.bytes


def test_absurdly_many_tables_are_refused_without_listing_them(ruled):
    dataset = copy.copy(ruled.live.open("town").dataset)
    object.__setattr__(dataset, "publish", Publish(variables=tuple(f"v{n}" for n in range(400)), up_to=9))
    files, size = publisher._upper_bound(dataset)
    assert files > 10**17
    with pytest.raises(TooMuchToPublish):
        Limits().refuse_more(files, size)


@pytest.mark.slow
def test_the_shortest_variable_stands_along_the_top_and_fitted_tables_have_one_order(ruled, side_of):
    requests = {each.variables: each for each in requests_to_publish(ruled.live.open("town").dataset)}
    assert requests[("area", "sex")].columns == ("sex",)
    assert dict(requests[("area", "sex")].levels) == {"area": ("region", "area")}
    fitted = side_of("fitted").live.open("town").dataset
    assert [set(each.variables) for each in requests_to_publish(fitted)].count({"sex", "age"}) == 1


@pytest.mark.slow
def test_a_universe_with_rules_is_not_given_away(side_of):
    """Residuals tell every table of the universe, also what a rule would withhold."""
    side = side_of("universe")
    dataset, parts = side.live.open("town").dataset, side.live.public_parts("town")
    publisher._refuse_no_universe(dataset, parts)
    ruled = replace(dataset, rules=({"kind": "mean-cell-size"},))
    with pytest.raises(BadDescription, match="publishes the numbers"):
        publisher._refuse_no_universe(ruled, parts)


#: Tables of the joint universe, which lists none.
OF_UNIVERSE = [
    TableRequest("town", ("sex",), ("age",)),
    TableRequest("town", ("area",), ("age",), levels=(("area", ("region", "area")),)),
    TableRequest("town", ("age",), filters=(("sex", ("1",)),)),
    TableRequest("town", ("job",), ("sex",), totals=False),
]


def layouts(table):
    """Every layout of a table in rows and columns."""
    for order in permutations(table.variables):
        for cut in range(len(order) + 1):
            yield replace(table, rows=order[:cut], columns=order[cut:], layers=())


@pytest.mark.slow
@pytest.mark.parametrize("name", VARIANTS)
def test_every_published_table_is_the_live_one_in_every_layout_and_format(side_of, name):
    side = side_of(name)
    live, published = side.live.open(side.id), side.published.open(side.id)
    tables = getattr(published, "tables", OF_UNIVERSE)
    assert len(tables) == (side.report.tables or len(OF_UNIVERSE))
    for table in tables:
        for asked in layouts(table):
            assert same_release(live.release(asked), published.release(asked)), asked
        one, other = live.release(table), published.release(table)
        for form in formats():
            if not form.is_picture:
                assert form.write(one) == form.write(other), (table, form.name)
    drawn = [form for form in formats() if form.is_picture]
    one, other = (replace(service.release(tables[0]), picture=Picture()) for service in (live, published))
    assert drawn
    assert all(form.write(one) == form.write(other) for form in drawn)


def test_what_rules_withhold_is_withheld_in_a_publication(ruled):
    asked = TableRequest("town", ("area",), ("sex", "job"), levels=(("area", ("region", "area")),))
    release = ruled.published.open("town").release(asked)
    assert release.verdict["blocked"] > 0
    assert not release.values[release.missing].any()
    assert not release.noisy[release.missing].any()
    foreseen = ruled.published.open("town").foresee(asked)
    assert (foreseen.verdict.withheld, foreseen.verdict.total) == (release.verdict["blocked"], 5)


def contents(folder):
    """Every file of a folder as it is, and what is packed inside of it."""
    for path in sorted(each for each in folder.rglob("*") if each.is_file()):
        raw = path.read_bytes()
        yield path.name, raw
        if zipfile.is_zipfile(io.BytesIO(raw)):
            with zipfile.ZipFile(io.BytesIO(raw)) as archive:
                yield from ((f"{path.name}/{name}", archive.read(name)) for name in archive.namelist())
        if path.suffix == ".parquet":
            yield f"{path.name}/columns", repr(pq.read_table(path).to_pydict()).encode()


def tells(content, number):
    """Whether a content has a number: as digits, or as an integer or float of eight bytes."""
    digits = re.search(rb"(?<![0-9A-Za-z])%d(?![0-9A-Za-z])" % number, content)
    binary = [np.array([number], dtype=kind).tobytes() for kind in ("<i8", ">i8", "<f8")]
    return bool(digits) or any(each in content for each in binary)


def found_canaries(folder, numbers, secrets):
    return {
        (name, canary)
        for name, content in contents(folder)
        for canary in (*(n for n in numbers if tells(content, n)), *(s for s in secrets if s in content))
    }


COUNTS = {("1", "1"): 23_017, ("1", "2"): 17_389, ("2", "1"): 13_577, ("2", "2"): 11_731}


@pytest.fixture(scope="module")
def counted(tmp_path_factory):
    """A dataset whose exact counts are distinctive numbers, and its publication."""
    folder = tmp_path_factory.mktemp("counted")
    codes = np.repeat(np.array(list(COUNTS)), list(COUNTS.values()), axis=0)
    records = pa.table({"id": np.arange(len(codes)) + 10**9, "sex": codes[:, 0], "job": codes[:, 1]})
    variable = '[[variable]]\nname = "{}"\ncategories = ["1", "2"]\n'
    text = (
        'id = "big"\nlabel = "Big"\nid_column = "id"\n'
        + "".join(map(variable.format, ("sex", "job")))
        + '[publish]\nvariables = ["sex", "job"]\n[protection.noise]\nfamily = "maxent"\nD = 8\nV = 9\n'
    )
    (folder / "workspace").mkdir()
    (folder / "workspace" / "secret").write_bytes(bytes(range(7, 39)))
    (folder / "workspace" / "secret").chmod(0o600)
    load_dataset(folder / "workspace", text, records)
    return folder


def canaries(folder):
    """Exact counts that the noise changed, sums of record keys, ids, the secret, what follows from it, the signing key."""
    registry = open_registry(folder / "workspace")
    release = registry.open("big").release(TableRequest("big", ("sex",), ("job",)))
    by_cell = {codes: release.value(*codes) for codes in COUNTS}
    sums = {("1", "_T"): 40_406, ("2", "_T"): 25_308, ("_T", "1"): 36_594, ("_T", "2"): 29_120}
    exact = [count for codes, count in COUNTS.items() if by_cell[codes] != count]
    exact += [count for codes, count in sums.items() if release.value(*codes) != count]
    assert len(exact) >= 5  # a count that noise leaves as it is may be read
    stored = unlock_service(registry.open("big"))
    cells = tabulate(stored.engine, table_shape(release.request, stored.dataset))
    registry.close()
    keys = [int(each) for each in np.ravel(cells.key_sums)]
    secret = (folder / "workspace" / "secret").read_bytes()
    derived = [Secret(secret).derive(*labels) for labels in (("record-key", "big"), ("cell-key", "big"))]
    signing_pem = (folder / "workspace" / SIGNING_KEY).read_bytes().splitlines()[1]
    told = [each for raw in (secret, *derived) for each in (raw, raw.hex().encode())]
    ids = [b"%d" % (10**9 + 12_345)]
    return [*exact, *keys], [*told, *ids, signing_pem]


@pytest.mark.slow
def test_no_exact_count_key_or_secret_is_in_a_publication_or_a_site(counted, tmp_path):
    registry = open_registry(counted / "workspace")
    publish(registry, "big", FolderStorage(counted / "tables"), signing_key(counted / "workspace"))
    write_site(registry, "big", FolderStorage(counted / "site"), Limits())
    numbers, secrets = canaries(counted)
    assert found_canaries(counted / "tables", numbers, secrets) == set()
    assert found_canaries(counted / "site", numbers, secrets) == set()
    # Wrong alternatives are found out: a release with an exact count inside, and a file with a key.
    service = registry.open("big")
    question = service.check(TableRequest("big", ("sex",), ("job",)))
    release = service.answer(question)
    leaky = release.values.copy()
    leaky[0, 0] = numbers[0]
    leaked = replace(release, values=leaky)
    for name, form in (("leaky.parquet", "parquet"), ("leaky.xlsx", "xlsx"), ("leaky.csv", "csv")):
        (tmp_path / form).mkdir()
        (tmp_path / form / name).write_bytes(format_by_name(form).write(leaked))
        assert {canary for _, canary in found_canaries(tmp_path / form, numbers, secrets)} == {numbers[0]}
    (tmp_path / "leaky").write_bytes(write_release(leaked, question.asked))
    (tmp_path / "key").write_text(json.dumps({"key": numbers[-1]}))
    (tmp_path / "secret").write_bytes(b"..." + secrets[0] + b"...")
    found = {canary for _, canary in found_canaries(tmp_path, numbers, secrets)}
    assert found == {numbers[0], numbers[-1], secrets[0]}
    registry.close()


@pytest.mark.slow
def test_a_second_publication_writes_nothing_that_is_there(ruled, tmp_path):
    key, place = signing_key(ruled.workspace), FolderStorage(tmp_path)
    shutil.copytree(ruled.folder, tmp_path, dirs_exist_ok=True)
    before = {path: path.stat().st_mtime_ns for path in tmp_path.rglob("*")}
    again = publish(ruled.live, "town", place, key)
    assert (ruled.report.changed, again.changed, again.written) == (True, False, 0)
    assert {path: path.stat().st_mtime_ns for path in tmp_path.rglob("*")} == before
    listed = json.loads((tmp_path / POINTER).read_text())["list"]["sha256"]
    damaged = next(path for path in (tmp_path / "files").iterdir() if path.name != listed)
    damaged.write_bytes(damaged.read_bytes()[:-1] + b"?")
    assert publish(ruled.live, "town", place, key).written == 1  # what is damaged is written again
    (tmp_path / "files" / listed).write_bytes(b"{}")
    with pytest.raises(PublicationUnusable, match="list of datasets is lost"):
        publish(ruled.live, "town", place, key)


class Dying(FolderStorage):
    """A place whose disk dies at a step."""

    def __init__(self, folder, steps):
        super().__init__(folder)
        self.steps = steps

    def write(self, name, content):
        self.steps -= 1
        if self.steps < 0:
            raise OSError("the disk is gone")
        super().write(name, content)


@pytest.mark.slow
@pytest.mark.parametrize("steps", [0, 5, 10, 11, 12])
def test_killed_at_any_step_it_leaves_the_former_publication(ruled, side_of, tmp_path, steps):
    key = signing_key(ruled.workspace)
    shutil.copytree(ruled.folder, tmp_path, dirs_exist_ok=True)
    former = (tmp_path / POINTER).read_bytes()
    other = side_of("fitted")  # the same dataset with other numbers
    with pytest.raises(PublicationUnusable, match="publication of another workspace"):
        publish(other.live, "town", FolderStorage(tmp_path), signing_key(other.workspace))
    with pytest.raises(OSError, match="gone"):
        publish(other.live, "town", Dying(tmp_path, steps), key)
    assert (tmp_path / POINTER).read_bytes() == former
    registry = PublishedRegistry(FolderStorage(tmp_path), key.public)
    registry.verify("town")
    table = registry.open("town").tables[0]
    assert same_release(registry.open("town").release(table), ruled.live.open("town").release(table))


@pytest.mark.slow
def test_what_cannot_be_published_says_why(town, tmp_path):
    folder = tmp_path / "w"
    text = town.description.replace("[protection]", RULE, 1)
    town.load(folder, text).close()
    registry, key = open_registry(folder), signing_key(folder)
    for section, error, words in (
        ("", BadDescription, "nothing to publish"),
        ("\n[publish]\nuniverse = true\n", BadDescription, "joint dp universe"),
        ('\n[publish]\ntables = ["area*age*job"]\n', TableNotReleased, '"area\\*job\\*age" of \\[publish\\]'),
    ):
        relabel_dataset(folder, text + section)
        with pytest.raises(error, match=words):
            publish(registry, "town", FolderStorage(tmp_path / "tables"), key)
        assert not (tmp_path / "tables" / POINTER).exists()
    registry.close()
