"""Listings: the cells of the whole table that are not 0, no others, with the same numbers under every protection."""

import io

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from tests.release.surveys import description, survey_records

from discreet.errors import BadRequest, Refused, TooManyCells
from discreet.formats import format_by_name
from discreet.model.request import request_from_text
from discreet.records import tabulate as sparse_sums
from discreet.records.tabulate import tabulate
from discreet.release.nonzero_listing import check_nonzero, list_nonzero
from discreet.release.pipeline import release_table
from discreet.workspace.versions.load_version import load_dataset
from discreet.workspace.workspace import Workspace

REQUESTS = [
    request_from_text("town", rows=["area", "sex"], columns=["age", "job"]),
    request_from_text(
        "town", rows=["area"], columns=["job"], levels=["area=region,area"], filters=["age=adult,old"]
    ),
    request_from_text(
        "town", rows=["sex"], columns=["job"], groups=["job=1+2"], filters=["area=N2,S3", "sex=1"]
    ),
    request_from_text("town", rows=["age", "job"], layers=["sex"], totals=False, filters=["area=S1"]),
]
#: A noise that takes many small counts to 0, and some below.
LAPLACE = '[protection.noise]\nfamily = "laplace"\nepsilon = 0.5\nm = 9\n'
KEYS = ("hashed", "additive", "abs", "participants-and-description")


def described(town, protection, noise=""):
    head = town.description[: town.description.index("[protection]")]
    return f"{head}[protection]\nmax_variables = 4\n{protection}\n{noise}"


def laid_out(release):
    """The lines of a whole table whose number is not 0, before or after clipping."""
    kept = np.flatnonzero((release.values != 0) | (release.before_clipping != 0))
    places = np.unravel_index(kept, release.values.shape)
    lines = zip(
        *(np.array(d.codes)[p].tolist() for d, p in zip(release.dimensions, places, strict=True)), strict=True
    )
    errors = [None] * kept.size if release.errors is None else release.errors.ravel()[kept].tolist()
    values = zip(
        release.values.ravel()[kept].tolist(), release.status.ravel()[kept].tolist(), errors, strict=True
    )
    return dict(zip(lines, values, strict=True))


def listed(stored, request):
    listing = list_nonzero(check_nonzero(stored, request))
    found = {}
    for cells in listing.cells:
        codes = (np.array(d.codes)[p].tolist() for d, p in zip(listing.dimensions, cells.places, strict=True))
        errors = [None] * cells.values.size if cells.errors is None else cells.errors.tolist()
        lines = list(zip(*codes, strict=True))
        assert not found.keys() & set(lines), "each cell once"
        found |= dict(
            zip(lines, zip(cells.values.tolist(), cells.status.tolist(), errors, strict=True), strict=True)
        )
    return found


class TestSameNumbers:
    @pytest.mark.slow
    @pytest.mark.parametrize("keys", KEYS)
    @pytest.mark.parametrize("noise", ["", LAPLACE])
    def test_as_the_whole_table_under_every_key(self, town, tmp_path, monkeypatch, keys, noise):
        stored = town.load(tmp_path / "w", described(town, f'keys = "{keys}"', noise)).stored("town")
        for request in REQUESTS:
            whole = laid_out(release_table(stored, request))
            assert whole
            for dense in (0, 2**16):
                monkeypatch.setattr(sparse_sums, "DENSE", dense)
                assert listed(stored, request) == whole

    @pytest.mark.parametrize("design", ["", 'clusters = "home"\n'], ids=["people", "clusters"])
    @pytest.mark.parametrize("form", ["largest-weight", "average-weight"])
    def test_weights_and_their_errors_too(self, tmp_path, form, design):
        stored = survey(tmp_path, form, design)
        for request in (
            request_from_text("survey", rows=["sex"], columns=["age"], measure="weighted"),
            request_from_text(
                "survey", rows=["state", "sex", "age"], measure="weighted", filters=["age=y,o"]
            ),
            request_from_text("survey", rows=["state"], measure="weighted", filters=["age=y", "sex=1"]),
        ):
            whole = laid_out(release_table(stored, request))
            assert listed(stored, request) == whole
            assert any(error not in {None, -1} for _, _, error in whole.values())

    def test_weights_and_their_errors_too_in_a_version_of_0_2_0(self, tmp_path, errors_of_0_2_0):
        with errors_of_0_2_0():
            stored, measure = survey(tmp_path / "before", "largest-weight"), "weighted"
        for request in (
            request_from_text("survey", rows=["sex"], columns=["age"], measure=measure),
            request_from_text("survey", rows=["state", "sex", "age"], measure=measure, filters=["age=y,o"]),
        ):
            whole = laid_out(release_table(stored, request))
            assert listed(stored, request) == whole
            assert any(error not in {None, -1} for _, _, error in whole.values())

    def test_formats_write_the_lines_of_the_whole_table(self, town, tmp_path):
        stored = town.load(tmp_path / "w", described(town, "", LAPLACE)).stored("town")
        release = release_table(stored, REQUESTS[0])
        lines = format_by_name("csv").write(release).decode().splitlines()
        kept = (release.values != 0) | (release.before_clipping != 0)
        wanted = [lines[0], *(line for line, keep in zip(lines[1:], kept.ravel(), strict=True) if keep)]
        written = b"".join(
            format_by_name("csv").stream(list_nonzero(check_nonzero(stored, REQUESTS[0])))
        ).decode()
        assert written.splitlines()[0] == wanted[0]
        assert sorted(written.splitlines()) == sorted(wanted)
        for name, read in (("arrow", pa.ipc.open_stream), ("parquet", pq.ParquetFile)):
            raw = b"".join(format_by_name(name).stream(list_nonzero(check_nonzero(stored, REQUESTS[0]))))
            found = read(io.BytesIO(raw))
            table = found.read_all() if name == "arrow" else found.read()
            assert table.num_rows == len(wanted) - 1
            assert sum(table.column("value").to_pylist()) == int(release.values.sum())
            assert b"is not listed has the number 0" in table.schema.metadata[b"discreet"]


class TestNothingElse:
    def test_a_count_that_the_noise_took_to_0_is_as_an_empty_cell(self, town, tmp_path):
        """The wrong alternative: to list every cell in which somebody is, 0 or not."""
        few = town.records.slice(0, 150)
        stored = town.load(tmp_path / "w", described(town, "", LAPLACE), few).stored("town")
        request = REQUESTS[0]
        exact = tabulate(stored.engine, check_nonzero(stored, request).shape).counts
        release = release_table(stored, request)
        taken = (exact > 0) & (release.before_clipping == 0)
        assert taken.any()
        assert len(listed(stored, request)) < np.count_nonzero(exact)
        assert len(listed(stored, request)) == np.count_nonzero(release.before_clipping)

    def test_where_empty_cells_have_noise_a_list_would_tell_them(self, town, tmp_path, monkeypatch):
        """The wrong alternative: to list them all the same. What the whole table shows and the list lacks is empty."""
        made_up = (
            '[protection.noise]\nfamily = "maxent"\nD = 5\nV = 3\njs = 2\nmade_up = 0.2\ndropped = 0.1\n'
        )
        text = described(town, 'zeros = "perturbed"', made_up)
        stored, request = town.load(tmp_path / "w", text).stored("town"), REQUESTS[0]
        with pytest.raises(BadRequest, match="which are empty"):
            check_nonzero(stored, request)
        monkeypatch.setattr("discreet.release.nonzero_listing._refuse_noisy_zeros", lambda _stored: None)
        release = release_table(stored, request)
        exact = tabulate(stored.engine, check_nonzero(stored, request).shape).counts
        told = laid_out(release).keys() - listed(stored, request).keys()
        codes = [d.codes for d in release.dimensions]
        assert told
        assert all(exact[tuple(c.index(w) for c, w in zip(codes, cell, strict=True))] == 0 for cell in told)

    def test_under_dp_it_is_refused(self, private_town):
        stored = Workspace(private_town.folder).stored("town")
        with pytest.raises(BadRequest, match="which are empty"):
            check_nonzero(stored, request_from_text("town", rows=["sex"]))


class TestWhatIsRefused:
    @pytest.mark.slow
    def test_totals_that_add_up_and_measures_that_need_several_cells(self, town, tmp_path):
        stored = town.load(tmp_path / "w", described(town, "")).stored("town")
        for additivity in ("fitted", "interior"):
            with pytest.raises(BadRequest, match="need the whole table"):
                check_nonzero(stored, request_from_text("town", rows=["sex"], additivity=additivity))
        weighted = survey(tmp_path / "strata", "public-strata")
        with pytest.raises(BadRequest, match="combine several cells"):
            check_nonzero(weighted, request_from_text("survey", rows=["sex"], measure="weighted"))
        assert listed(survey(tmp_path / "counts", "public-strata"), request_from_text("survey", rows=["sex"]))

    def test_rules_on_counts_need_the_whole(self, town, tmp_path):
        """The wrong alternative: to list cells of areas that such a rule would withhold."""
        rule = '[[rule]]\nkind = "attribute-disclosure"\n'
        stored = town.load(tmp_path / "w", described(town, "", rule)).stored("town")
        with pytest.raises(BadRequest, match="need the whole table"):
            check_nonzero(stored, request_from_text("town", rows=["area"], columns=["sex"]))

    @pytest.mark.slow
    def test_max_cells_is_no_limit_of_a_list_but_other_rules_hold(self, town, tmp_path):
        text = described(town, "max_cells = 5")
        stored = town.load(tmp_path / "w", text).stored("town")
        with pytest.raises(TooManyCells):
            release_table(stored, REQUESTS[0])
        assert listed(stored, REQUESTS[0])
        with pytest.raises(TooManyCells):
            check_nonzero(stored, REQUESTS[0], most_cells=5)
        few = town.load(tmp_path / "v", text.replace("max_variables = 4", "max_variables = 1")).stored("town")
        with pytest.raises(Refused, match="variables"):
            check_nonzero(few, REQUESTS[0])


def survey(folder, form, more=""):
    frame = survey_records(related=form != "average-weight")
    frame["home"] = frame["id"] // 9
    text = description(frame, form)
    load_dataset(folder, text.replace("stratum = ", f"{more}stratum = ", 1), frame)
    return Workspace(folder).stored("survey")
