"""Pictures of attacks: how well each protection withstood, by how much was asked.

Source: Rinott et al. (2018), section 2.2, for Bob and averaging; the paper has no picture of them.
"""

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

from discreet.pictures.library import alt
from discreet.pictures.theme import AMBER, BLUE, GREEN, INK, ORANGE, ROSE, SKY, SOFT_INK, apply_theme
from discreet_studies.attacks.report import all_results

NAMES = {
    "unprotected": "unprotected",
    "cellkey": "cell key: same people, same number",
    "participants-and-description": "cell key by participants and description",
    "dp": "differential privacy",
}
CHOICES = {"keep-keys": "the same keys in both versions", "new-lineage": "a new lineage"}
#: The forms of weighted counts; a star marks those that are not served.
WEIGHT_FORMS = {
    "cell-average": "cell-average *",
    "overall-average": "overall-average *",
    "largest-weight-with-counts": "largest-weight with counts *",
    "average-weight": "average-weight",
    "public-strata": "public-strata",
    "largest-weight": "largest-weight",
}
_COLOURS = dict(zip(NAMES.values(), (INK, ORANGE, BLUE, GREEN), strict=True))
_COLOURS |= dict(zip(CHOICES.values(), (ORANGE, BLUE), strict=True))
_COLOURS |= dict(
    zip((*WEIGHT_FORMS.values(), "counts alone"), (ORANGE, AMBER, ROSE, GREEN, BLUE, SKY, INK), strict=True)
)
_HEIGHT = 330
#: Labels at the end of lines are kept so many pixels apart.
_LINE_HEIGHT = 17


def bob_success(study: dict[str, Any]) -> Any:
    """The share of right answers about Bob against the number of pairs; what dp allows is shaded."""
    records = [
        {"name": _name(result), "x": point["pairs"], "y": point["success"], **_interval(point)}
        for result in all_results(study)
        for point in result["curve"]
    ]
    low = min(0.45, *(record["low"] for record in records))
    title = "Right about Bob's salary"
    y = alt.Y("y:Q").scale(domain=[low, 1.0], nice=False).title(title)
    y = y.axis(format="%", values=[0.5, 0.6, 0.7, 0.8, 0.9, 1.0])
    x = _x_axis("Pairs of tables asked", [r["x"] for r in records])
    layers = [
        *_allowed(study, x, y),
        _guessing(x, y, max(r["x"] for r in records)),
        *_lines(records, x, y, (low, 1.0), title),
    ]
    subtitle = [
        f"{study['targets']:,} people, each the only one hired today at the workplace; salary above the line or not",
        "Rinott et al. (2018), section 2.2; bands: 95% intervals",
    ]
    chart = alt.layer(*layers).properties(width=520, height=_HEIGHT)
    return apply_theme(chart, "What two tables that differ by one person give away", subtitle)


def versions_success(study: dict[str, Any]) -> Any:
    """The share of a removed person's attributes that are named rightly, against the pairs of tables."""
    records = [
        {"name": _name(result), "x": point["tables"], "y": point["success"], **_interval(point)}
        for result in all_results(study)
        for point in result["curve"]
    ]
    title = "Attributes named rightly"
    y = alt.Y("y:Q").scale(domain=[0.0, 1.0], nice=False).title(title).axis(format="%")
    x = _x_axis("Tables asked of both versions", [r["x"] for r in records])
    subtitle = [
        f"One person removed from each of {study['targets']:,} workplaces; six attributes each; bands: 95% intervals"
    ]
    chart = alt.layer(*_lines(records, x, y, (0.0, 1.0), title)).properties(width=520, height=_HEIGHT)
    return apply_theme(chart, "What two versions of the same tables give away", subtitle)


def averaging_error(study: dict[str, Any]) -> Any:
    """The typical error of a count against the ways of asking: other words at the left, sums of parts at the right."""
    results = all_results(study)
    kinds = list(results[0]["curves"])
    records = {
        kind: [
            {"name": _name(result), "x": point["ways"], "y": point["error"], **_interval(point)}
            for result in results
            for point in result["curves"][kind]
        ]
        for kind in kinds
    }
    top = max(record["high"] for each in records.values() for record in each) * 1.04
    top += 0.15 if abs(top - round(top)) < 0.1 else 0.0  # no label half above the edge
    titles = {"other words": "The same people in other words", "regroupings": "Sums of regrouped parts"}
    panels = [
        _error_panel(records[kind], study, top, labelled=kind == kinds[-1]).properties(
            title=alt.Title(titles[kind], fontSize=13, offset=8)
        )
        for kind in kinds
    ]
    subtitle = [
        f"One count in each of {study['targets']:,} areas, every answer averaged with those before; bands: 95% intervals"
    ]
    joined = alt.hconcat(*panels, spacing=28).resolve_scale(color="shared", y="shared")
    return apply_theme(joined, "What asking for a count again in another way gives away", subtitle)


def withheld_ratio(study: dict[str, Any]) -> Any:
    """The squared error of the attack on withheld areas by table, relative to each guess; the limit is a line."""
    (result,) = study["results"]
    names = {"shares": "beside the parent's shares", "fitted": "beside the fitted guess"}
    records = [
        {
            "table": f"{table['level']} by {', '.join(table['variables'])}",
            "guess": names[start],
            "ratio": curve[-1]["ratio"],
        }
        for table in [
            *result["tables"],
            {"level": "all", "variables": ["tables"], "curves": result["curves"]},
        ]
        for start, curve in table["curves"].items()
    ]
    for record in records[-len(names) :]:
        record["table"] = "all tables"
    order = list(dict.fromkeys(record["table"] for record in records))
    x = (
        alt.X("ratio:Q")
        .scale(domainMin=0)
        .title("Squared error relative to the best guess without differences")
    )
    colour = alt.Color("guess:N").scale(domain=list(names.values()), range=[ORANGE, BLUE]).title(None)
    points = alt.Chart(alt.InlineData(values=records)).mark_point(size=70, filled=True, opacity=0.9)
    points = points.encode(x=x, y=alt.Y("table:N").sort(order).title(None).axis(labelLimit=320), color=colour)
    limit = alt.Chart(alt.InlineData(values=[{"ratio": study["limit"]}]))
    line = limit.mark_rule(color=INK, strokeDash=[4, 3]).encode(x="ratio:Q")
    subtitle = [
        f"Demo census of {study['people']:,} people, every table asked in {study['ways']} ways",
        f"At 1 differences say nothing; dashed: the limit {study['limit']:.1f}",
    ]
    chart = alt.layer(line, points).properties(width=520, height=24 * len(order))
    return apply_theme(chart, "What totals less the areas shown say of those withheld", subtitle)


def weights_exact(study: dict[str, Any]) -> Any:
    """The share of counts found exactly against the number of tables asked, form by form, beside counts alone."""
    results = [each for each in study["results"] if each]
    records = [
        {
            "name": WEIGHT_FORMS[result["protection"]],
            "x": point["tables"],
            "y": point["exact"],
            **_interval(point),
        }
        for result in results
        for point in result["curve"]
    ]
    alone = [point["counts_alone"] for point in results[0]["curve"]]
    last = max(record["x"] for record in records)
    records += [
        {"name": "counts alone", "x": place + 1, "y": value, "low": value, "high": value}
        for place, value in enumerate(alone)
    ]
    title = "Counts found exactly"
    y = alt.Y("y:Q").scale(domain=[0, 1.02], nice=False).title(title)
    y = y.axis(format="%", values=[0, 0.2, 0.4, 0.6, 0.8, 1.0])
    scale = alt.Scale(domain=[1, max(last, 2)], nice=False)
    x = alt.X("x:Q").scale(scale).title("Tables asked, each in all measures")
    x = x.axis(values=list(range(1, last + 1)), format="d")
    chart = alt.layer(*_lines(records, x, y, (0.0, 1.02), title)).properties(width=420, height=_HEIGHT)
    subtitle = [
        f"{study['surveys']} invented surveys of {study['people']:,} people; same tables, same noise",
        "bands: 95% intervals; forms marked * are not served",
    ]
    return apply_theme(chart, "What weighted counts give away of counts", subtitle)


def _error_panel(records: list[dict[str, Any]], study: dict[str, Any], top: float, *, labelled: bool) -> Any:
    x = _x_axis("Ways of asking for the same count", [r["x"] for r in records])
    title = None if labelled else "Typical error (root mean square), persons"
    y = alt.Y("y:Q").scale(domain=[0, top], nice=False).title(title)
    y = y.axis(tickCount=6, format="~g", labels=not labelled)
    layers = [
        *_out_of_reach(study, records, x, y, title),
        *_lines(records, x, y, (0.0, top), title, labelled=labelled),
    ]
    return alt.layer(*layers).properties(width=330, height=_HEIGHT)


def _name(result: dict[str, Any]) -> str:
    claim = result.get("claim")
    return (NAMES | CHOICES)[result["protection"]] + (f", ε = {claim['epsilon']:g}" if claim else "")


def _interval(point: dict[str, Any]) -> dict[str, float]:
    return {"low": point["low"], "high": point["high"]}


def _x_axis(title: str, values: Sequence[int]) -> Any:
    """A logarithmic axis of base 2 that ends where the data end."""
    ticks = [2**power for power in range(max(values).bit_length())]
    scale = alt.Scale(type="log", base=2, domain=[1, max(*values, 2)], nice=False)
    return (
        alt.X("x:Q")
        .scale(scale)
        .title(title)
        .axis(values=ticks, format="d", labelOverlap=False, labelFlush=False)
    )


def _lines(
    records: list[dict[str, Any]],
    x: Any,
    y: Any,
    domain: tuple[float, float],
    title: str | None,
    *,
    labelled: bool = True,
) -> list[Any]:
    """Bands, lines with points, and a name at the end of each."""
    shown = list(dict.fromkeys(record["name"] for record in records))
    colours = [next(c for name, c in _COLOURS.items() if each.startswith(name)) for each in shown]
    colour = alt.Color("name:N").scale(domain=shown, range=colours).legend(None)
    base = alt.Chart(alt.InlineData(values=records)).encode(x=x, color=colour)
    band = base.mark_area(opacity=0.14).encode(y=alt.Y("low:Q").title(title), y2="high:Q")
    line = base.mark_line(strokeWidth=2.5, point={"size": 30}).encode(y=y)
    if not labelled:
        return [band, line]
    ends = alt.Chart(alt.InlineData(values=_spread_labels(records, shown, domain)))
    names = ends.mark_text(align="left", dx=10, fontSize=12.5, fontWeight=500, baseline="middle")
    return [band, line, names.encode(x=x, y=alt.Y("y:Q"), text="name:N", color=colour)]


def _spread_labels(
    records: list[dict[str, Any]], shown: list[str], domain: tuple[float, float]
) -> list[dict[str, Any]]:
    """The names at the right ends, pushed up where they would overlap, and down again from the top."""
    gap = (domain[1] - domain[0]) * _LINE_HEIGHT / _HEIGHT
    ends = [next(r for r in reversed(records) if r["name"] == name) for name in reversed(shown)]
    placed = sorted(({"name": r["name"], "x": r["x"], "y": r["y"]} for r in ends), key=lambda each: each["y"])
    for lower, upper in pairwise(placed):
        upper["y"] = max(upper["y"], lower["y"] + gap)
    ceiling = domain[1]
    for label in reversed(placed):
        label["y"] = min(label["y"], ceiling)
        ceiling = label["y"] - gap
    return placed


def _guessing(x: Any, y: Any, last: int) -> Any:
    rule = alt.Chart(alt.InlineData(values=[{"y": 0.5}])).mark_rule(color=SOFT_INK, strokeDash=[3, 4])
    words = alt.Chart(alt.InlineData(values=[{"x": last, "y": 0.5, "text": "guessing"}]))
    words = words.mark_text(align="right", baseline="top", dx=-6, dy=5, color=SOFT_INK, fontSize=12)
    return alt.layer(rule.encode(y=y), words.encode(x=x, y=y, text="text:N"))


def _allowed(study: dict[str, Any], x: Any, y: Any) -> list[Any]:
    """What epsilon allows any attack, shaded up from guessing."""
    found = []
    for result in study["results"]:
        if "bound" not in result["curve"][0]:
            continue
        area = [{"x": point["pairs"], "y": point["bound"], "floor": 0.5} for point in result["curve"]]
        base = alt.Chart(alt.InlineData(values=area)).encode(x=x, y=y)
        found.append(base.mark_area(color=GREEN, opacity=0.12).encode(y2="floor:Q"))
        found.append(base.mark_line(color=GREEN, strokeDash=[5, 4], strokeWidth=1.5))
        words = [area[-1] | {"text": f"no attack passes this: ε = {result['claim']['epsilon']:g}"}]
        text = alt.Chart(alt.InlineData(values=words)).encode(x=x, y=y, text="text:N")
        found.append(text.mark_text(align="right", dx=-6, dy=-8, color=GREEN, fontSize=12))
    return found


def _out_of_reach(
    study: dict[str, Any], records: list[dict[str, Any]], x: Any, y: Any, title: str | None
) -> list[Any]:
    """Errors so small that epsilon allows them to nobody, shaded."""
    found = []
    last = max(record["x"] for record in records)
    for result in study["results"]:
        if "bound" not in result:
            continue
        bound = result["bound"]["error"]
        band = alt.Chart(alt.InlineData(values=[{"low": 0, "high": bound}]))
        edges = {"y": alt.Y("low:Q").title(title), "y2": alt.Y2("high:Q")}
        found.append(band.mark_rect(color=GREEN, opacity=0.12).encode(**edges))
        words = [{"x": last, "y": 0, "text": f"out of reach under dp, ε = {result['claim']['epsilon']:g}"}]
        text = alt.Chart(alt.InlineData(values=words)).encode(x=x, y=y, text="text:N")
        found.append(text.mark_text(align="right", dx=-6, dy=-8, color=GREEN, fontSize=12))
    return found


#: The picture of each attack, by its name in the JSON.
PICTURES = {
    "bob": bob_success,
    "averaging": averaging_error,
    "versions": versions_success,
    "withheld": withheld_ratio,
    "weights": weights_exact,
}
