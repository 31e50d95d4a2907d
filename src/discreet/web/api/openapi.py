"""The OpenAPI document: parameters, responses and schemas of the routes.

`web/urls.py` parses the parameters that are described here; a test compares the two. FastAPI's own 422 is removed,
since every request that cannot be parsed gets a problem with status 400.
"""

from http import HTTPStatus
from typing import Annotated, Any

from fastapi import FastAPI, Path
from fastapi.openapi.utils import get_openapi
from pydantic import TypeAdapter

from discreet import __version__
from discreet.formats import Format, formats
from discreet.formats.writers.json_stat import JsonStatDocument
from discreet.inference.confidence_intervals.count_intervals import DEFAULT_LEVEL
from discreet.model.protection import ADDITIVITY
from discreet.model.view import THEMES
from discreet.pictures.charts import charts
from discreet.release.dry_run import DryRunDocument
from discreet.release.measures import measures
from discreet.web.i18n.translation import languages
from discreet.web.negotiation import DEFAULT_FORMAT, media_type
from discreet.web.problems import PROBLEM_JSON, ProblemDocument

_ABOUT = (
    "Protected frequency tables from microdata. Counts are randomly adjusted before they leave; the note of "
    "a table says how. A release never changes: it has a strong ETag, and If-None-Match gives 304."
)
#: A key is optional: tables may be counted or charged by account.
OPTIONAL_KEY: list[dict[str, list[str]]] = [{}, {"key": []}]
#: A key is required.
REQUIRED_KEY: list[dict[str, list[str]]] = [{"key": []}]

_PROBLEMS = {
    400: "The request cannot be read; `code` says why and `advice` what to do.",
    401: "The API key is missing or not accepted.",
    403: "Not released: a rule, the declared universe, the budget that is left or the role of the account.",
    404: "There is no such dataset or version, or it has no budget.",
    406: "`Accept` names no format of the table; `advice` lists those that there are.",
    410: "The version is not answered beside the one that is served; `detail` says why.",
    413: "The body is longer than the server reads.",
    414: "The query is longer than the server reads.",
    429: "Too many calls; `Retry-After` says when to come back.",
    503: "The server cannot answer at the moment; nothing is ever answered unprotected.",
}


DatasetId = Annotated[str, Path(description="The dataset's id.", examples=["census"])]
_LEVEL: dict[str, Any] = {
    "name": "level",
    "in": "query",
    "description": "The chance to cover the true value, at least.",
    "schema": {"type": "number", "default": DEFAULT_LEVEL},
}


#: The types that `component_ref` refers to.
_COMPONENTS: dict[type, None] = {}


def component_ref(kind: type) -> dict[str, str]:
    """A reference to the schema of a type."""
    _COMPONENTS[kind] = None
    return {"$ref": f"#/components/schemas/{kind.__name__}"}


def problem_responses(*statuses: int) -> dict[int | str, dict[str, Any]]:
    """The problem responses of an operation."""
    schema = {"$ref": "#/components/schemas/Problem"}
    return {s: {"description": _PROBLEMS[s], "content": {PROBLEM_JSON: {"schema": schema}}} for s in statuses}


def table_responses() -> dict[int | str, dict[str, Any]]:
    """The responses of a table's URL: a document in one of the formats, not modified, or a problem."""
    content: dict[str, Any] = {}
    # JSON first: generators of clients take the first, and get an object in place of a text.
    for form in sorted(_formats(), key=lambda form: form.name != DEFAULT_FORMAT):
        content.setdefault(media_type(form), {"schema": _schema(form)})
    headers = {
        "ETag": {"description": "Names this release in this format for ever.", "schema": {"type": "string"}}
    }
    return {
        200: {"description": "The protected table.", "content": content, "headers": headers},
        304: {"description": "Not modified: the copy named by If-None-Match still holds."},
        **problem_responses(400, 401, 403, 404, 406, 410, 414, 503),
    }


def _formats() -> list[Format]:
    return [form for form in formats() if form.installed]


def _schema(form: Format) -> dict[str, Any]:
    """The schema of a format's document: an object, text or bytes."""
    if form.name == DEFAULT_FORMAT:
        return {"anyOf": [component_ref(kind) for kind in (JsonStatDocument, DryRunDocument)]}
    if media_type(form).endswith("json"):
        return {"type": "object", "description": f"A {form.summary} dataset."}
    return {"type": "string"} if form.is_text else {"type": "string", "format": "binary"}


def request_parameters() -> list[dict[str, Any]]:
    """The query parameters of a table request."""
    return [
        _list_parameter("rows", "Variables down the side, comma-separated or repeated.", "age"),
        _list_parameter("columns", "Variables along the top, comma-separated or repeated.", "sex"),
        _list_parameter("layers", "Variables of which each category is a table of its own."),
        _list_parameter(
            "filter", "Who is counted: `variable=code,code`. Repeated filters on one variable unite."
        ),
        _list_parameter(
            "group",
            "Groups of categories shown instead of the categories: `age=15-19+20-24,25-29`. "
            "A plus is written %2B in a URL.",
        ),
        _list_parameter(
            "levels",
            "Levels of a variable shown instead of its categories: `district=region,district`, or a code list.",
        ),
        _choice_parameter(
            "totals", ["yes", "no"], "yes", "Whether every variable has a total, with the code `_T`."
        ),
        text_parameter(
            "measure",
            "`count`: people counted; `weighted`: people represented by survey weights; or a numeric variable of the "
            "dataset, with a statistic. The dataset's first by default. Known to this server: "
            + ", ".join(f"`{each.name}`" for each in measures())
            + ".",
        ),
        text_parameter("statistic", "The statistic of a numeric variable: `sum` or `mean`."),
        _choice_parameter(
            "additivity",
            list(ADDITIVITY),
            None,
            "How totals relate to their parts; the dataset's own way by default.",
        ),
        _list_parameter(
            "fit_to",
            "Published tables whose totals a fitted table keeps: `area,sex*age`; `none` for none. With additivity=fitted.",
        ),
        version_parameter(),
    ]


def version_parameter(name: str = "version") -> dict[str, Any]:
    """The query parameter of a version."""
    return text_parameter(
        name, "The version: 8 letters or more of its digest, or its declared name; else the newest."
    )


def compare_parameters() -> list[dict[str, Any]]:
    """The query parameters of a comparison."""
    other = version_parameter("with") | {"required": True, "example": "1"}
    return [*request_parameters(), other, _LEVEL]


def interval_parameters() -> list[dict[str, Any]]:
    """The query parameters of an interval."""
    return [
        *request_parameters(),
        _list_parameter("cell", "A cell such as `sex=1,age=20-24`; several are added up. Without it: all."),
        _list_parameter("of", "The share in this: one total, or each part of the whole."),
        _list_parameter("over", "The ratio to this cell, or to the sum of several."),
        _list_parameter("minus", "The difference to this cell, or to the sum of several."),
        _list_parameter(
            "minus_of", "With `of` and `minus`: what `minus` is a share of, if not `of`. Weighted tables."
        ),
        _LEVEL,
    ]


def table_parameters() -> list[dict[str, Any]]:
    """The query parameters of a table's document."""
    kinds = "; ".join(f"`{chart.name}` is for {chart.summary}" for chart in charts())
    return [
        *request_parameters(),
        text_parameter(
            "percent", "Percent of the `row`, `column` or `table` total, or of a cell: `sex=1,age=_T`."
        ),
        _choice_parameter(
            "rank", ["yes", "no"], "no", "The rank of each number among the rows of its column."
        ),
        text_parameter("top", "How many categories of the first row variable, the largest first.")
        | {"schema": {"type": "integer", "minimum": 1, "maximum": 999_999_999}},
        _choice_parameter("hide_empty", ["yes", "no"], "no", "Leave out rows whose numbers are all 0."),
        text_parameter(
            "sort",
            "Sort rows by `label`, `value` or a column such as `sex=1`; `-` before it turns the order.",
        ),
        text_parameter("ratio", "Each number over that of a category: `sex=1`."),
        text_parameter("difference", "Each number less that of a category: `sex=1`."),
        _choice_parameter(
            "alone",
            ["yes", "no"],
            "no",
            "In Excel: percentages, ratios and differences in place of the numbers.",
        ),
        _choice_parameter(
            "chart",
            [chart.name for chart in charts()],
            None,
            f"With `format=svg` or `png`: the kind of chart. {kinds}. Without it what fits best.",
        ),
        _choice_parameter("theme", list(THEMES), THEMES[0], "With `format=svg` or `png`: the colours."),
        _choice_parameter("dry_run", ["0", "1"], "0", "1: only the size and what the rules say, as JSON."),
        _choice_parameter(
            "nonzero",
            ["yes", "no"],
            "no",
            "List only cells that are not 0, of wide tables too; with a format that has lines, such as csv.",
        ),
        _choice_parameter(
            "format",
            [form.name for form in _formats()],
            DEFAULT_FORMAT,
            "; ".join(f"`{form.name}` is {form.summary}" for form in _formats())
            + ". Without it `Accept` decides.",
        ),
        _choice_parameter("download", ["0", "1"], "0", "1: sent as a file to save."),
        language_parameter(),
    ]


def language_parameter() -> dict[str, Any]:
    """The query parameter of the language."""
    meaning = "The language of labels and sentences, where the dataset has them; its own without it."
    return _choice_parameter("lang", list(languages()), None, meaning)


def install_openapi(app: FastAPI) -> None:
    """Let the application serve this document."""

    def describe() -> dict[str, Any]:
        if app.openapi_schema is None:
            app.openapi_schema = _document(app)
        return app.openapi_schema

    app.openapi = describe  # type: ignore[method-assign]


def _document(app: FastAPI) -> dict[str, Any]:
    document = get_openapi(title="Discreet", version=__version__, description=_ABOUT, routes=app.routes)
    schemas = document.setdefault("components", {}).setdefault("schemas", {})
    for name in ("HTTPValidationError", "ValidationError"):
        schemas.pop(name, None)
    document["components"]["securitySchemes"] = {
        "key": {"type": "http", "scheme": "bearer", "description": "The API key of an account."}
    }
    schemas["Problem"] = TypeAdapter(ProblemDocument).json_schema()
    kinds: list[Any] = [(kind, "serialization", TypeAdapter(kind)) for kind in _COMPONENTS]
    schemas |= TypeAdapter.json_schemas(kinds, ref_template="#/components/schemas/{model}")[1]["$defs"]
    for operations in document["paths"].values():
        for operation in operations.values():
            operation["responses"].pop(str(int(HTTPStatus.UNPROCESSABLE_ENTITY)), None)
            operation.setdefault("security", OPTIONAL_KEY)
            for status, problem in problem_responses(401, 429).items():
                operation["responses"].setdefault(str(status), problem)
    return document


def _list_parameter(name: str, meaning: str, example: str = "") -> dict[str, Any]:
    schema = {"type": "array", "items": {"type": "string"}, "default": []}
    parameter = _parameter(name, meaning, schema) | {"style": "form", "explode": True}
    return parameter | ({"example": [example]} if example else {})


def text_parameter(name: str, meaning: str) -> dict[str, Any]:
    """A text parameter."""
    return _parameter(name, meaning, {"type": "string"})


def _parameter(name: str, meaning: str, schema: dict[str, Any]) -> dict[str, Any]:
    return {"name": name, "in": "query", "required": False, "description": meaning, "schema": schema}


def _choice_parameter(name: str, choices: list[str], default: str | None, meaning: str) -> dict[str, Any]:
    schema = {"type": "string", "enum": choices, **({} if default is None else {"default": default})}
    return _parameter(name, meaning, schema)
