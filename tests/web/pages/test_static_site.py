"""A static site: every link leads somewhere without a server of ours, and files have the bytes of the live tables."""

import re
import threading
from dataclasses import replace
from functools import partial
from html.parser import HTMLParser
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import urljoin, urlsplit

import httpx
import pytest

from discreet.errors import BadDescription, TooMuchToPublish
from discreet.formats import formats
from discreet.publish.file_store import FolderStorage
from discreet.publish.publisher import Limits, plan_publication, requests_to_publish
from discreet.release.dataset_registry import open_registry
from discreet.web.pages.static_site import plan_site, slug_of, write_site
from discreet.workspace.versions.label_corrections import relabel_dataset

pytestmark = pytest.mark.slow  # the first chart of a process takes seconds
SECTION = '\n[publish]\nvariables = ["sex", "age"]\nup_to = 2\n'


@pytest.fixture(scope="module")
def site(town, tmp_path_factory):
    """A workspace, its site below a path, and the report."""
    home = tmp_path_factory.mktemp("site")
    town.load(home / "workspace", town.description + SECTION).close()
    registry = open_registry(home / "workspace")
    report = write_site(registry, "town", FolderStorage(home / "www" / "below"), Limits())
    yield home, registry, report
    registry.close()


@pytest.fixture
def address(site):
    """A plain static server, which knows nothing of ours."""

    class Quiet(SimpleHTTPRequestHandler):
        def log_message(self, *_given):
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(Quiet, directory=str(site[0] / "www")))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_address[1]}/below/"
    server.shutdown()
    server.server_close()


class Links(HTMLParser):
    """The links of a page, and whether its elements are closed."""

    def __init__(self, text):
        super().__init__()
        self.found, self.open, self.ids = [], [], []
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        given = dict(attrs)
        self.found += [given[name] for name in ("href", "src") if given.get(name)]
        self.ids += [given["id"]] if "id" in given else []
        if tag not in {"meta", "link", "img", "input", "br"}:
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag, tag


def test_every_link_leads_somewhere_and_is_relative(site, address):
    waiting, seen, client = [address], {}, httpx.Client()
    while waiting:
        here = waiting.pop()
        answer = client.get(here)
        seen[here] = answer
        assert answer.status_code == 200, here
        if "html" not in answer.headers["content-type"]:
            continue
        page = Links(answer.text)
        if not re.search(r"/town-[^/]*\.html$|methodology\.html$", here):  # these are files of one piece
            assert page.open == []
            assert len(page.ids) == len(set(page.ids))
            assert all(not urlsplit(link).netloc and not urlsplit(link).query for link in page.found), here
            assert not any(link.startswith("/") for link in page.found), here
        links = (urljoin(here, link).partition("#")[0] for link in page.found)
        waiting += [link for link in links if link.startswith(address) and link not in {*seen, *waiting}]
    client.close()
    # The bare folder is its index; all else is a file, and is linked but for the list of datasets.
    files = {str(path.relative_to(site[0] / "www" / "below")) for path in (site[0] / "www").rglob("*.*")}
    reached = {link.removeprefix(address) or "index.html" for link in seen}
    assert files - reached == {"site.json"}
    assert len(reached) > 35


def test_a_broken_link_would_be_found():
    assert Links('<p><a href="nowhere.html">x</a></p>').found == ["nowhere.html"]
    with pytest.raises(AssertionError):
        Links("<p><b></p>")


def test_files_have_the_bytes_of_the_live_tables(site):
    home, registry, report = site
    service, checked = registry.open("town"), 0
    assert (report.tables, report.refused) == (3, ())
    for folder in (home / "www" / "below" / "town" / "tables").iterdir():
        names = folder.name.split("-")
        asked = next(
            each.request
            for each in map(service.check, requests_to_publish(service.dataset))
            if sorted(each.request.variables) == sorted(names)
        )
        release = service.release(asked)
        for form in formats():
            if not form.is_picture and form.owns_extension:
                content = (folder / f"town-{folder.name}.{form.extension}").read_bytes()
                assert content == form.write(release), (folder.name, form.name)
                checked += 1
    assert checked >= 3 * 6


def test_a_second_time_only_what_changed_is_written(site):
    home, registry, first = site
    (home / "www" / "below" / "index.html").write_text("another")
    again = write_site(registry, "town", FolderStorage(home / "www" / "below"), Limits())
    assert (again.files, again.written) == (first.files, 1)


def test_a_plan_tells_how_much_a_site_is_before_anything_is_counted(site):
    """Wrong alternative: the files and bytes of a publication, of which a site has ten times as many."""
    _, registry, report = site
    plan, tables = plan_site(registry, "town", Limits()), plan_publication(registry, "town", Limits())
    assert len(plan.requests) == report.tables
    assert tables.files < report.files <= plan.files <= 2 * report.files
    assert tables.bytes < report.bytes <= plan.bytes


def test_what_cannot_be_a_site_is_refused(site, town, tmp_path):
    home, registry, _ = site
    with pytest.raises(TooMuchToPublish, match="bytes"):
        plan_site(registry, "town", Limits(bytes=plan_publication(registry, "town", Limits()).bytes))
    with pytest.raises(TooMuchToPublish, match="files"):
        write_site(registry, "town", FolderStorage(tmp_path), Limits(files=8))
    relabel_dataset(home / "workspace", town.description + "\n[publish]\nuniverse = true\n")
    with pytest.raises(BadDescription, match="universe"):
        write_site(registry, "town", FolderStorage(tmp_path), Limits())
    relabel_dataset(home / "workspace", town.description + SECTION)
    assert not list(tmp_path.iterdir())


def test_names_of_folders_are_short_and_differ(site):
    service = site[1].open("town")
    requests = list(requests_to_publish(service.dataset))
    assert len({slug_of(each, service.dataset) for each in requests}) == len(requests)
    wide = replace(requests[0], rows=tuple(f"variable{n}" for n in range(60)), columns=())
    other = replace(wide, rows=(*wide.rows, "more"))
    assert len(slug_of(wide, service.dataset)) < 100
    assert slug_of(wide, service.dataset) != slug_of(other, service.dataset)
