"""Which format a reader gets who names none: what the header `Accept` asks for.

    text/csv                      csv
    text/html,*/*;q=0.8           html, as browsers ask
    */*, or no header             json
    image/png                     png, a chart
    image/gif                     406, with the list of what there is

Of the ranges that match a format the most specific one gives its quality. The highest quality wins, then the more
specific match, then the order in which formats are offered.

Source: RFC 9110, section 12.5.1.
"""

from __future__ import annotations

from discreet.errors import NotAcceptable
from discreet.formats import Format, formats

DEFAULT_FORMAT = "json"


def negotiated(accept: str) -> Format:
    """The format that a header asks for.

    >>> negotiated("text/csv;q=0.9, text/html;q=0.1").name, negotiated("").name
    ('csv', 'json')

    Raises:
        NotAcceptable: It names no format that can be written here.
    """
    offered = sorted((f for f in formats() if f.installed), key=lambda form: form.name != DEFAULT_FORMAT)
    ranges = accepted_ranges(accept) or [("*/*", 1.0)]
    best = max(offered, key=lambda form: _liking(form, ranges))
    if not _liking(best, ranges)[0]:
        types = dict.fromkeys(media_type(form) for form in offered)
        raise NotAcceptable(
            f'No format of this table is "{accept[:200]}".',
            f"Accept one of {', '.join(types)}, or name a format.",
        )
    return best


def _liking(form: Format, ranges: list[tuple[str, float]]) -> tuple[float, int]:
    """How much a format is wanted, and how precisely it is named."""
    own = media_type(form)
    names = ("*/*", f"{own.partition('/')[0]}/*", own)
    found = [(names.index(name), quality) for name, quality in ranges if name in names]
    precision, quality = max(found, default=(0, 0.0))
    return quality, precision


def accepted_ranges(accept: str) -> list[tuple[str, float]]:
    """The media ranges of a header with their qualities; a quality that cannot be read is 1."""
    found = []
    for item in accept.split(","):
        name, *parameters = (part.strip().lower() for part in item.split(";"))
        quality = next((text[2:] for text in parameters if text.startswith("q=")), "1")
        if name:
            found.append((name, _quality(quality)))
    return found


def _quality(text: str) -> float:
    try:
        return min(1.0, max(0.0, float(text)))
    except ValueError:
        return 1.0


def media_type(form: Format) -> str:
    """What HTTP calls a format, without parameters."""
    return form.media_type.partition(";")[0]
