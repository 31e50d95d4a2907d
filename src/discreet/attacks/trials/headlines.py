"""What an attack found, in sentences; one function an attack."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from discreet.model.red_team import all_results

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping


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


#: By the name of the attack in its JSON.
HEADLINES: Mapping[str, Callable[[Mapping[str, Any]], Iterator[str]]] = {
    "bob": _bob,
    "averaging": _averaging,
    "versions": _versions,
    "withheld": _withheld,
    "weights": _weights,
}
