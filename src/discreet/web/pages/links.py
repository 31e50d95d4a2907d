"""A control of a page: every one is a link to another state of the page.

The same table elsewhere: its addresses, and the calls of other programs that ask for it.
"""

from __future__ import annotations

import json
import shlex
from collections.abc import Sequence
from dataclasses import dataclass
from urllib.parse import urlencode

from discreet.model.dataset import Dataset
from discreet.model.grammar import write_filter
from discreet.model.measure import DEFAULT_MEASURE
from discreet.model.messages import citation as provenance
from discreet.model.release import filter_in_words
from discreet.model.request import TableRequest
from discreet.release.checked_request import CheckedRequest
from discreet.release.measures import measure_kind
from discreet.web.i18n.messages import display_date, gettext


@dataclass(frozen=True, slots=True)
class Link:
    """What a control does, and the address at which that is done; `current` where it leads to what is shown."""

    label: str
    href: str
    current: bool = False


#: Parameters of an address beside the request: of a view, of a version.
QueryItems = Sequence[tuple[str, str]]

#: Systems allow 255 bytes; some programs less.
LONGEST_STEM = 120
#: Parameters of a view that say yes or no.
_SWITCHES = {"rank", "hide_empty"}


def page_path(request: TableRequest, also: QueryItems = ()) -> str:
    """The address of the table's page.

    Args:
        request: The canonical request.
        also: The parameters of a view and of a version.
    """
    return f"/datasets/{request.dataset}?{_query(request, also)}"


def api_path(request: TableRequest, form: str, also: QueryItems = ()) -> str:
    """The address of the table's document."""
    return f"/api/datasets/{request.dataset}/table?{_query(request, also)}&format={form}"


def table_path(request: TableRequest, what: str, also: QueryItems = ()) -> str:
    """The address of something else about the table: its blocks, the sheets to print."""
    return f"/datasets/{request.dataset}/{what}?{_query(request, also)}"


def independence_path(request: TableRequest, also: QueryItems = ()) -> str:
    """The address of the page that tests the table for independence."""
    return table_path(request, "test/independence", also)


def interval_path(request: TableRequest, also: QueryItems = ()) -> str:
    """The address of the page that says how sure sums, shares and differences of the table are."""
    return table_path(request, "interval", also)


def comparison_path(request: TableRequest, also: QueryItems = ()) -> str:
    """The address of the page that compares two versions of the table."""
    return f"/datasets/{request.dataset}/compare?{_query(request, also)}"


def _query(request: TableRequest, also: QueryItems) -> str:
    return urlencode([*request.to_query(), *also], safe=",=")


def file_stem(request: TableRequest) -> str:
    """The name of a download: dataset, variables, and whether it is a selection or weighted.

    Ids and names hold letters, digits, hyphens and underscores only: no label ever names a file.

    >>> from discreet.model.request import TableRequest
    >>> file_stem(TableRequest("census", ("sex",), ("age",), filters=(("birthplace", ("2",)),)))
    'census-sex-by-age-selection'
    """
    words = [request.dataset, "-by-".join((*request.rows, *request.columns, *request.layers))]
    chosen = request.filters or request.groups or request.levels or request.names
    words += ["selection"] if chosen else []
    words += [request.measure] if request.measure != DEFAULT_MEASURE else []
    return "-".join(words)[:LONGEST_STEM]


def frame_path(request: TableRequest, also: QueryItems = ()) -> str:
    """The address of the table alone, for a frame on another page."""
    return f"/embed{page_path(request, also)}"


def curl(request: TableRequest, base: str, also: QueryItems = ()) -> str:
    """The call of the API from a shell."""
    return f"curl {shlex.quote(base + api_path(request, 'csv', also))}"


def r(request: TableRequest, base: str, also: QueryItems = ()) -> str:
    """The call from R, without a package; codes stay text, as docs/how-to/from-r.md says."""
    return (
        f'address <- "{base + api_path(request, "csv", also)}"\n'
        'table <- read.csv(address, colClasses = "character", na.strings = character(), encoding = "UTF-8")\n'
        'table$value <- as.numeric(ifelse(table$value == "", NA, table$value))\n'
        "table"
    )


def js_fetch(request: TableRequest, base: str, also: QueryItems = ()) -> str:
    """The call from a browser or Node; the note of the answer is to be shown beside it."""
    return (
        f'const answer = await fetch("{base + api_path(request, "json", also)}");\n'
        "const table = await answer.json();\n"
        "if (!answer.ok) throw new Error(`${table.detail} ${table.advice}`);\n"
        "console.log(table.label, table.value, table.note[0]);"
    )


def power_query(request: TableRequest, base: str, also: QueryItems = ()) -> str:
    """The query for Excel's Power Query; codes stay text, and numbers are read the same in every country."""
    return (
        "let\n"
        f'    Answer = Web.Contents("{base + api_path(request, "csv", also)}"),\n'
        '    Lines = Csv.Document(Answer, [Delimiter = ",", Encoding = 65001, QuoteStyle = QuoteStyle.Csv]),\n'
        "    Named = Table.PromoteHeaders(Lines, [PromoteAllScalars = true]),\n"
        '    Typed = Table.TransformColumnTypes(Named, {{"value", type number}}, "en-US")\n'
        "in\n"
        "    Typed"
    )


def command(request: TableRequest, base: str, also: QueryItems = ()) -> str:
    """The call of the command line, from any machine.

    >>> from discreet.model.request import TableRequest
    >>> command(TableRequest("census", ("age",), ("sex",)), "https://example.org")
    'discreet table https://example.org/datasets/census --rows age --columns sex --format csv'
    """
    words = ["discreet", "table", f"{base}/datasets/{request.dataset}", *_options(request)]
    words += ["--measure", request.measure] if request.measure != DEFAULT_MEASURE else []
    words += ["--additivity", request.additivity] if request.additivity else []
    words += ["--fit-to", ",".join(request.fit_to)] if request.fit_to else []
    words += [] if request.totals else ["--no-totals"]
    return shlex.join([*words, *_flags(also), "--format", "csv"])


def command_test(request: TableRequest, base: str, also: QueryItems = ()) -> str:
    """The test of independence on the command line.

    >>> from discreet.model.request import TableRequest
    >>> command_test(TableRequest("census", ("age",), ("sex",)), "https://example.org")
    'discreet test independence --dataset https://example.org/datasets/census --rows age --columns sex'
    """
    place = f"{base}/datasets/{request.dataset}"
    words = ["discreet", "test", "independence", "--dataset", place, *_options(request)]
    return shlex.join([*words, *_flags(also)])


def _flags(also: QueryItems) -> list[str]:
    """The options of a view and a version."""
    words: list[str] = []
    for name, text in also:
        words += [f"--{name.replace('_', '-')}", *([] if name in _SWITCHES else [text])]
    return words


def _options(request: TableRequest) -> list[str]:
    words: list[str] = []
    for option, names in (
        ("--rows", request.rows),
        ("--columns", request.columns),
        ("--layers", request.layers),
    ):
        words += [option, ",".join(names)] if names else []
    for text in request.filter_lines():
        words += ["--filter", text]
    for text in request.group_lines():
        words += ["--group", text]
    for name, levels in request.levels:
        words += ["--levels", write_filter(name, levels)]
    return words


def python(request: TableRequest, base: str, also: QueryItems = ()) -> str:
    """The call from Python, from any machine.

    >>> from discreet.model.request import TableRequest
    >>> print(python(TableRequest("census", ("age",), ("sex",)), "https://example.org"))
    import discreet
    <BLANKLINE>
    catalogue = discreet.open("https://example.org")
    table = catalogue.table("census", rows=["age"], columns=["sex"])
    table.to_pandas()
    """
    return _python(request, base, "table.to_pandas()", also)


def python_test(request: TableRequest, base: str, also: QueryItems = ()) -> str:
    """The test of independence from Python."""
    return _python(request, base, "table.test_independence()", also)


def _python(request: TableRequest, base: str, last: str, also: QueryItems) -> str:
    arguments = [_python_string(request.dataset)]
    for name, names in (("rows", request.rows), ("columns", request.columns), ("layers", request.layers)):
        arguments += [f"{name}={_python_list(names)}"] if names else []
    if request.filters and request.written:
        arguments.append(f"filters={_python_list(tuple(request.filter_lines()))}")
    elif request.filters:
        arguments.append(
            "filters={"
            + ", ".join(f"{_python_string(n)}: {_python_list(codes)}" for n, codes in request.filters)
            + "}"
        )
    if request.names or (request.groups and request.written):
        arguments.append(f"groups={_python_list(tuple(request.group_lines()))}")
    elif request.groups:
        parts = (
            f"{_python_string(n)}: [{', '.join(map(_python_list, groups))}]" for n, groups in request.groups
        )
        arguments.append("groups={" + ", ".join(parts) + "}")
    if request.levels:
        parts = (f"{_python_string(n)}: {_python_list(levels)}" for n, levels in request.levels)
        arguments.append("levels={" + ", ".join(parts) + "}")
    arguments += [] if request.totals else ["totals=False"]
    arguments += [f"measure={_python_string(request.measure)}"] if request.measure != DEFAULT_MEASURE else []
    arguments += [f"additivity={_python_string(request.additivity)}"] if request.additivity else []
    arguments += [f"fit_to={_python_list(request.fit_to)}"] if request.fit_to else []
    arguments += [f"{name}={_argument(name, text)}" for name, text in also]
    lines = [
        "import discreet\n",
        f"catalogue = discreet.open({_python_string(base)})",
        f"table = catalogue.table({', '.join(arguments)})",
        last,
    ]
    return "\n".join(lines)


def _argument(name: str, text: str) -> str:
    """A parameter of a view or a version as Python writes it."""
    if name == "top":
        return text
    return "True" if name in _SWITCHES else _python_string(text)


def version_pin(digest: str) -> tuple[str, str]:
    """The parameter that names a version for as long as it is kept."""
    return "version", digest[:8]


def citation(question: CheckedRequest, base: str, also: QueryItems = ()) -> str:
    """How to cite the table: what, from where, which version, at which address, which names the version."""
    path = page_path(question.request, [*also, version_pin(question.digest)])
    return provenance.citation(question, base + path)


def table_facts(dataset: Dataset, request: TableRequest) -> list[tuple[str, str]]:
    """What is counted, of whom and when: the lines under a table's title."""
    lines = [(gettext("Counted"), dataset.unit), (gettext("Population"), dataset.population)]
    lines += [(gettext("Only"), filter_in_words(dataset, name, codes, 8)) for name, codes in request.filters]
    lines += [(gettext("Reference date"), display_date(dataset.reference_date))]
    about = dataset.about
    lines += [
        (gettext("Publisher"), about.publisher),
        (gettext("Licence"), about.licence),
        (gettext("Contact"), about.contact),
    ]
    lines += [
        (gettext("Area covered"), about.spatial),
        (gettext("Next update"), display_date(about.next_update)),
    ]
    lines += [(gettext("Weights"), _weights(dataset, request))] if dataset.weight_column else []
    return [(name, text) for name, text in lines if text]


def _weights(dataset: Dataset, request: TableRequest) -> str:
    return measure_kind(request.measure).measure.about(dataset) or gettext("not applied: records are counted")


def _python_list(texts: tuple[str, ...]) -> str:
    return "[" + ", ".join(map(_python_string, texts)) + "]"


def _python_string(text: str) -> str:
    """A Python string in double quotes: JSON writes it the same way."""
    return json.dumps(text, ensure_ascii=False)
