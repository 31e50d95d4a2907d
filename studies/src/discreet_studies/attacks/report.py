"""What an attack found, in sentences; one function an attack.

What an attack found, as tables for a terminal, one function an attack, with the sentences of the study.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from discreet.cli.console import output, print_text


def all_results(study: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The results of all protections, the baseline first."""
    return [each for each in (study["baseline"], *study["results"]) if each]


def headlines(study: Mapping[str, Any]) -> list[str]:
    """The sentences of a study, those of the unprotected baseline first."""
    return list(HEADLINES[study["attack"]](study))


def _bob(study: Mapping[str, Any]) -> Iterator[str]:
    for result in all_results(study):
        last = result["curve"][-1]
        yield (
            f"{result['protection']}: {last['certain']:,} of {study['targets']:,} given away for certain, "
            f"{last['certain_true']:,} of them rightly; {last['success']:.0%} right in all (guessing: 50%); "
            f"{last['queries']} tables asked."
        )


def _averaging(study: Mapping[str, Any]) -> Iterator[str]:
    for result in all_results(study):
        last = {kind: curve[-1]["exact"]["share"] for kind, curve in result["curves"].items()}
        words = ", ".join(f"{share:.0%} by {kind}" for kind, share in last.items())
        yield f"{result['protection']}: exactly right in the end: {words}."


def _versions(study: Mapping[str, Any]) -> Iterator[str]:
    for result in all_results(study):
        last, error = result["curve"][-1], result["error"]
        yield (
            f"{result['protection']}: all attributes of {last['all_right']:.0%} of {study['targets']:,} people; "
            f"typical error of a count {error['one_version']:.2f}, averaged over both versions "
            f"{error['both_versions']:.2f}."
        )
    for each in study["collected"]:
        yield (
            f"keep-keys, {each['removed']} people removed a workplace: {each['success']:.0%} of the attributes of one "
            "of them."
        )


def _withheld(study: Mapping[str, Any]) -> Iterator[str]:
    (result,) = study["results"]
    verdict = "Withheld areas stay withheld" if result["within_limit"] else "Withheld areas come back"
    least = min(point["ratio"] for curve in result["curves"].values() for point in curve)
    yield (
        f"{verdict}: the squared error of the attack is at least {least:.2f} of that of the best guess, in all tables "
        f"together; the limit is {study['limit']:.2f}, for tables with ten withheld areas or more and for all tables "
        "together. At 1.00 differences say nothing."
    )


def _weights(study: Mapping[str, Any]) -> Iterator[str]:
    for each in study["results"]:
        last = each["curve"][-1]
        bar = "" if not each["served"] else ", within the bar" if last["within_bar"] else ", ABOVE THE BAR"
        yield (
            f"{each['protection']}{'' if each['served'] else ' (not served)'}: "
            f"{100 * last['gain']:+.1f} points against counts alone "
            f"({100 * last['gain_low']:+.1f} to {100 * last['gain_high']:+.1f}); "
            f"{last['certain']:,} of {last['cells']:,} counts certain, {last['certain_true']:,} of them rightly{bar}."
        )
    for each in study["outlying"]:
        name, best = max(each["attacks"].items(), key=lambda item: item[1]["gain"])
        yield (
            f"{each['protection']}, a weight of {each['ratio']:g} means: errors gain {100 * best['gain']:+.1f} points "
            f"at most ({100 * best['gain_low']:+.1f} to {100 * best['gain_high']:+.1f}), by {name}"
            f"{', within the bar' if best['within_bar'] else ', ABOVE THE BAR'}."
        )


def _rule_sets(study: Mapping[str, Any]) -> Iterator[str]:
    yield (
        f"The limit is {study['limit']:.2f}: {'every rule set keeps it.' if study['within_limit'] else 'NOT KEPT.'} "
        "Each ratio is followed by its standard error. The column open has neither complement nor listing."
    )


#: By the name of the attack in its JSON.
HEADLINES: Mapping[str, Callable[[Mapping[str, Any]], Iterator[str]]] = {
    "bob": _bob,
    "averaging": _averaging,
    "versions": _versions,
    "withheld": _withheld,
    "withheld-rules": _rule_sets,
    "weights": _weights,
}


def show_study(study: dict[str, Any]) -> None:
    """The table of an attack, and below it what was found."""
    SHOWS[study["attack"]](study)
    for sentence in headlines(study):
        print_text(sentence)


def _show_bob(study: dict[str, Any]) -> None:
    curves = [(result["protection"], result["curve"]) for result in all_results(study)]
    title = (
        f"Right about Bob's salary, by pairs of tables asked ({study['targets']:,} targets; guessing: 50%)"
    )
    lines = {name: [f"{point['success']:.0%}" for point in curve] for name, curve in curves}
    for name, curve in curves:
        if "bound" in curve[0]:
            lines[f"most possible under {name}"] = [f"{point['bound']:.0%}" for point in curve]
    _print_curves(title, "pairs", [point["pairs"] for point in curves[0][1]], lines)


def _show_averaging(study: dict[str, Any]) -> None:
    results = all_results(study)
    for kind in results[0]["curves"]:
        lines = {r["protection"]: [f"{point['error']:.2f}" for point in r["curves"][kind]] for r in results}
        lines |= {
            f"least possible under {r['protection']}": [f"{r['bound']['error']:.2f}"] * len(r["curves"][kind])
            for r in results
            if "bound" in r
        }
        ways = [point["ways"] for point in results[0]["curves"][kind]]
        title = f"Typical error of a count (root mean square), by ways of asking: {kind}"
        _print_curves(title, "ways", ways, lines)


def _show_versions(study: dict[str, Any]) -> None:
    results = all_results(study)
    lines = {r["protection"]: [f"{point['success']:.0%}" for point in r["curve"]] for r in results}
    title = (
        f"Attributes of a removed person named rightly, by pairs of tables (guessing: {study['prior']:.0%})"
    )
    _print_curves(title, "tables", [point["tables"] for point in results[0]["curve"]], lines)


def _show_withheld(study: dict[str, Any]) -> None:
    from rich import box
    from rich.table import Table

    (result,) = study["results"]
    output.print("Squared error of the attack relative to the best guess without differences", style="bold")
    shown = Table(box=box.SIMPLE_HEAD)
    shown.add_column("table")
    steps = [(start, point["ways"]) for start, curve in result["curves"].items() for point in curve]
    heads = [f"{start}\n{ways} way{'s' if ways > 1 else ''}" for start, ways in steps]
    for name in ("withheld\nby a rule", "with\nthem", *heads):
        shown.add_column(name, justify="right")
    for each in result["tables"]:
        name = f"{each['level']} by {', '.join(each['variables'])}"
        shown.add_row(name, f"{each['withheld']:,}", f"{each['complement']:,}", *_ratios(each))
    shown.add_row("all tables", "", "", *_ratios(result))
    output.print(shown)


def _show_rule_sets(study: dict[str, Any]) -> None:
    from rich import box
    from rich.table import Table

    output.print(
        "Squared error of the attack relative to the parent's shares, at its best in hindsight", style="bold"
    )
    shown = Table(box=box.SIMPLE_HEAD)
    shown.add_column("rules")
    found = dict.fromkeys(method for each in study["results"] for method in each["methods"])
    methods = sorted(found, key=lambda name: name == "open")
    for name in ("withheld\nby a rule", "with\nthem", *methods):
        shown.add_column(name, justify="right")
    for each in study["results"]:
        first = next(iter(each["methods"].values()))
        ratios = [_measured(each["methods"].get(method)) for method in methods]
        shown.add_row(each["rules"], f"{first['withheld']:,}", f"{first['complement']:,}", *ratios)
    output.print(shown)


def _measured(line: dict[str, Any] | None) -> str:
    if line is None or line["curves"] is None:
        return "" if line is None else "-"
    each = line["curves"]["shares"]
    return f"{each['best']:.3f} ± {each['error']:.3f}"


def _ratios(each: dict[str, Any]) -> list[str]:
    return [f"{point['ratio']:.2f}" for curve in each["curves"].values() for point in curve]


def _show_weights(study: dict[str, Any]) -> None:
    results = all_results(study)
    names = [*(each["protection"] for each in results), "counts alone"]
    shares = [[point["exact"] for point in each["curve"]] for each in results]
    shares.append([point["counts_alone"] for point in results[0]["curve"]])
    columns = {
        f"{place + 1}": [f"{share:.0%}" for share in each]
        for place, each in enumerate(zip(*shares, strict=True))
    }
    title = f"Counts found exactly, by tables asked in all measures ({study['surveys']} invented surveys)"
    _print_curves(title, "tables", names, columns)
    if study["outlying"]:
        _show_outlying(study["outlying"])
    for each in study["constants"]:
        _show_constants(each)


def _show_outlying(results: list[dict[str, Any]]) -> None:
    from rich import box
    from rich.table import Table

    print_text("People of unusual weight found, and by the released numbers alone", "bold")
    shown = Table(box=box.SIMPLE_HEAD)
    names = dict.fromkeys(name for each in results for name in each["attacks"])
    shown.add_column("form")
    shown.add_column("r", justify="right")
    for name in names:
        shown.add_column(name.replace(" ", "\n"), justify="right")
    for each in results:
        scores = [each["attacks"].get(name) for name in names]
        cells = [f"{score['right']:.0%}\n{score['alone']:.0%}" if score else "" for score in scores]
        shown.add_row(each["protection"], f"{each['ratio']:g}", *cells)
    output.print(shown)


def _show_constants(result: dict[str, Any]) -> None:
    from rich import box
    from rich.table import Table

    print_text(f"Total variation by published constants, everybody else known: {result['sample']}", "bold")
    shown = Table(box=box.SIMPLE_HEAD)
    for name in ("unknown", "constant", "of", "mean", "95th percentile", "largest"):
        shown.add_column(name, justify="right")
    for gain in result["gains"]:
        figures = (f"{100 * gain[name]:.1f} %" for name in ("mean", "most_of_95", "largest"))
        shown.add_row(gain["secret"], gain["constant"], gain["of"].replace("_", " "), *figures)
    output.print(shown)


def _print_curves(title: str, what: str, steps: Sequence[object], lines: dict[str, list[str]]) -> None:
    """One line a number of questions, one column a protection."""
    from rich import box
    from rich.table import Table

    print_text(title, "bold")
    shown = Table(box=box.SIMPLE_HEAD)
    for name in (what, *lines):
        shown.add_column(name.replace("-and-", "-and-\n"), justify="right")
    for step, figures in zip(steps, zip(*lines.values(), strict=True), strict=True):
        shown.add_row(str(step), *figures)
    output.print(shown)


#: By the name of the attack in its JSON.
SHOWS: Mapping[str, Callable[[dict[str, Any]], None]] = {
    "bob": _show_bob,
    "averaging": _show_averaging,
    "versions": _show_versions,
    "withheld": _show_withheld,
    "withheld-rules": _show_rule_sets,
    "weights": _show_weights,
}
