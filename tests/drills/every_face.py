"""Random requests over everything that HTTP has: tables, pages, other protocols, verdicts, errors, and hostile ones.

A face is a function from a generator and the name of a dataset to a request. The datasets are towns (tests/conftest.py).
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from urllib.parse import quote, urlencode

from tests.black_box.test_refusals import random_request

from discreet.formats import formats
from discreet.pictures.charts import charts

FORMATS = [form.name for form in formats() if not form.is_picture]
NAMES = ("sex", "age", "job", "area", "region")
VIEWS = [
    ("percent", "row"), ("percent", "column"), ("percent", "table"), ("rank", "yes"), ("top", "2"), ("sort", "-value"),
    ("hide_empty", "yes"), ("levels", "area=region,area"), ("levels", "job=work"), ("levels", "age=grown"),
    ("measure", "weighted"), ("additivity", "interior"), ("additivity", "fitted"), ("totals", "no"), ("lang", "de"),
    ("version", "1"), ("download", "1"),
]  # fmt: skip
ENCODINGS = ["gzip", "br", "zstd", "identity", "gzip;q=0, *;q=0.5", "nonsense"]
HOSTILE = [
    "%00",
    "../../etc/passwd",
    "<script>",
    "'; drop table records; --",
    "%ff%fe",
    "9" * 40,
    "{{7*7}}",
    "*",
]


@dataclass(frozen=True)
class Asked:
    """One request: its method, path with query, headers and body."""

    path: str
    method: str = "GET"
    headers: dict[str, str] = field(default_factory=dict)
    body: bytes | None = None


CODES = {"sex": "12", "age": ["child", "adult", "old"], "job": "0129", "region": "NS"}


def plain_question(rng):
    """The parameters of a table that the limits allow: one to three variables, perhaps a filter or a group."""
    names = rng.sample(["sex", "age", "job", rng.choice(["area", "region"])], rng.choice([1, 2, 2, 3]))
    cut = rng.randrange(len(names) + 1)
    query = [("rows", ",".join(names[:cut])), ("columns", ",".join(names[cut:]))]
    name, how = rng.choice(list(CODES)), rng.random()
    two = rng.sample(list(CODES[name]), 2)
    if how < 0.2:
        query.append(("filter", f"{name}={','.join(two[: rng.choice([1, 2])])}"))
    elif how < 0.35:
        query.append(("group", f"{name}={'+'.join(two)}"))
    return query


def question(rng, more=3):
    """The parameters of a table, with or without a view; of every four one may be refused or mean nothing."""
    strange = rng.random() < 0.25
    query = [pair for pair in random_request(rng) if pair[0] != "format"] if strange else plain_question(rng)
    return query + rng.sample(VIEWS, rng.choice([0, 0, 0, 1, 1, more]))


def address(path, query):
    """A path with its query."""
    return f"{path}?{urlencode(query)}"


def table(rng, name):
    form = rng.choice([*FORMATS, "json", "csv"])
    query = [*question(rng), ("format", form)]
    if rng.random() < 0.15:
        query = [*query[:-1], ("nonzero", "yes"), ("format", rng.choice(["csv", "parquet", "arrow"]))]
    headers = {"range": "bytes=10-400"} if rng.random() < 0.05 else {}
    return Asked(address(f"/api/datasets/{name}/table", query), rng.choice(["GET"] * 9 + ["HEAD"]), headers)


def chart(rng, name):
    query = [("rows", rng.choice(NAMES)), ("columns", rng.choice(NAMES)), ("format", "svg")]
    kinds = [each.name for each in charts()]
    query = [*query, ("chart", rng.choice(kinds))][: rng.choice([3, 4])]
    return Asked(address(f"/api/datasets/{name}/table", query))


def dry_run(rng, name):
    return Asked(address(f"/api/datasets/{name}/table", [*question(rng), ("dry_run", "1")]))


def page(rng, name):
    place = rng.choice(["", "", "", "/block", "/print", "/verdict", f"/variables/{rng.choice(NAMES)}"])
    return Asked(address(f"/datasets/{name}{place}", question(rng)), headers={"accept": "text/html"})


def frame(rng, name):
    return Asked(address(f"/embed/datasets/{name}", question(rng)))


def inference(rng, name):
    what = rng.choice(["interval", "interval", "test/independence", "compare"])
    if name == "guarded":  # with noise as wide as there, a test takes minutes
        what = "interval"
    query, (one, other) = question(rng, 1), rng.sample(NAMES, 2)
    if rng.random() < 0.7:
        query = [("rows", one), ("columns", other)]
    if what == "interval" and rng.random() < 0.6:
        query += [("cell", f"{one}=_T")]
    if what == "compare":
        query = [pair for pair in query if pair[0] != "version"] + [("version", "2"), ("with", "1")]
    return Asked(address(f"{rng.choice(['/api', ''])}/datasets/{name}/{what}", query))


def pxweb(rng, name):
    base, chosen = "/api/pxweb/v2", rng.sample(NAMES, rng.choice([1, 2, 2, 3]))
    if rng.random() < 0.3:
        places = [f"/tables/{name}", f"/tables/{name}/metadata", "/tables", "/config"]
        places += [f"/tables/{name}/defaultselection", f"/codelists/agg_{name}_job.work"]
        return Asked(base + rng.choice(places))
    if rng.random() < 0.3:
        selection = [{"variableCode": each, "valueCodes": ["*"]} for each in chosen]
        body = json.dumps({"selection": selection}).encode()
        return Asked(f"{base}/tables/{name}/data", "POST", {"content-type": "application/json"}, body)
    picked = [rng.choice(["*", "*", "_T", "TOP(2)", "nonsense"]) for _ in chosen]
    query = [(f"valuecodes[{each}]", what) for each, what in zip(chosen, picked, strict=True)]
    forms = ["json-stat2", "csv", "px", "xlsx", "html", "parquet", "json-px"]
    return Asked(address(f"{base}/tables/{name}/data", [*query, ("outputFormat", rng.choice(forms))]))


def sdmx(rng, name):
    if rng.random() < 0.4:
        kind = rng.choice(["dataflow", "datastructure", "codelist", "conceptscheme"])
        of = {"codelist": f"CL_{name}_sex", "conceptscheme": f"CS_{name}"}.get(kind, name)
        return Asked(f"/api/sdmx/{kind}/DISCREET/{of}?references={rng.choice(['none', 'all', 'children'])}")
    chosen = rng.sample(NAMES, rng.choice([1, 2, 3]))
    key = ".".join(rng.choice(["", "_T", "1"]) for _ in chosen)
    form = rng.choice(["sdmx-csv", "sdmx-json"])
    return Asked(
        f"/api/sdmx/data/{name}-{'-'.join(chosen)}/{rng.choice([key, 'all']) or 'all'}?format={form}"
    )


def document(rng, name):
    about = ("", "/methodology", "/noise", "/budget", "/ledger", "/versions", "/boundaries/area")
    places = [f"/api/datasets/{name}{rng.choice(about)}", "/api/datasets", "/api", "/openapi.json", "/"]
    places += [f"/datasets/{name}/{rng.choice(['methodology', 'budget', 'feed.atom'])}", "/feed.atom"]
    places += ["/.well-known/dcat", "/.well-known/api-catalog", "/errors", "/errors/refused"]
    return Asked(rng.choice(places))


def operations(rng, _name):
    places = ["/healthz", "/readyz", "/metrics", "/custodian/alerts", "/api/alerts", "/static/discreet.css"]
    return Asked(rng.choice(places))


def hostile(rng, name):
    bad = rng.choice(HOSTILE)
    paths = [
        f"/api/datasets/{quote(bad, safe='%')}/table?rows=sex",
        f"/api/datasets/{name}/table?rows={quote(bad, safe='%')}",
        f"/api/datasets/{name}/table?rows=sex&filter=age={quote(bad, safe='%')}",
        f"/datasets/{name}?rows=sex&{quote(bad, safe='%')}=1",
        f"/api/pxweb/v2/tables/{name}/data?valuecodes[{quote(bad, safe='%')}]=*",
        f"/api/sdmx/data/{name}-sex/{quote(bad, safe='%')}",
        f"/{quote(bad, safe='%')}",
        f"/api/datasets/{name}/table?rows=sex&group=sex={'1%2B2,' * 400}",
        f"/api/datasets/{name}/table?rows=" + "sex," * 5_000,
    ]
    method = rng.choice(["GET", "GET", "GET", "POST", "PUT", "DELETE", "OPTIONS"])
    body = rng.choice([None, b"{", b"\x00\xff" * 40, b'{"selection": 7}'])
    accepts = {"accept": bad[:20].encode("ascii", "replace").decode()}
    headers = rng.choice([{}, accepts, {"host": "evil.example"}])
    return Asked(rng.choice(paths), method, headers, body)


#: Every face, with how often it is asked.
FACES = {table: 34, page: 16, dry_run: 6, inference: 9, pxweb: 10, sdmx: 7, frame: 4, document: 5}
FACES |= {operations: 4, hostile: 4, chart: 1}


def random_asked(rng, datasets, faces=None):
    """A request to one of some datasets, by one of some faces, in one of the encodings."""
    chosen = faces or FACES
    face = rng.choices(list(chosen), list(chosen.values()))[0]
    asked = face(rng, rng.choice(datasets))
    asked.headers["accept-encoding"] = rng.choice(ENCODINGS)
    return face.__name__, asked
