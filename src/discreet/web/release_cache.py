"""Caches of recent releases and of their grids, so that a reader who pages through a large table has it counted once.

Keys are those of `cache.release_key`. They are looked up after `DatasetService.check` has allowed the request to the
requester, and nothing that is metered per account is cached.
"""

from __future__ import annotations

from dataclasses import replace

from discreet.errors import Refused
from discreet.inference.table_view import apply_view
from discreet.model.release import Release
from discreet.model.view import View
from discreet.release.checked_request import CheckedRequest
from discreet.release.dataset_service import DatasetService
from discreet.web.cache import OVERHEAD, Cache, release_key
from discreet.web.i18n.messages import current_language
from discreet.web.i18n.translation import translate_release
from discreet.web.pages.interval_page import cell_limits, share_limits
from discreet.web.pages.table_grid import Layout

#: Bytes per cell of a release and of a grid, and the bytes of each cache.
RELEASE_CELL, GRID_CELL, MAX_BYTES = 50, 80, 25_000_000


class ReleaseCache:
    """The releases of recent requests, and refusals that depend on counts."""

    def __init__(self, max_bytes: int = MAX_BYTES) -> None:
        self.cache: Cache[Release | Refused] = Cache(max_bytes, _release_size)

    def release(self, service: DatasetService, checked: CheckedRequest) -> Release:
        """The answer to a checked request.

        Raises:
            Refused: A rule on counts does not release it.
        """
        if checked.metered:
            return service.answer(checked)
        own: list[Release] = []

        def compute() -> Release | Refused:
            try:
                own.append(service.answer(checked))
            except Refused as refusal:
                if not refusal.cacheable:
                    raise
                return _without_traceback(refusal)
            return replace(own[0], charged=None)  # only the requester who is charged sees the charge

        outcome = self.cache.compute(release_key(checked), compute)
        if isinstance(outcome, Refused):
            raise _without_traceback(outcome)
        return own[0] if own else outcome


class GridCache:
    """Recent releases as pages show them: with percentages, order, intervals and labels in one language."""

    def __init__(self, releases: ReleaseCache, max_bytes: int = MAX_BYTES) -> None:
        self.releases = releases
        self.cache: Cache[Layout] = Cache(max_bytes, _grid_size)

    def layout(self, service: DatasetService, checked: CheckedRequest, view: View, naming: str) -> Layout:
        """The answer to a checked request, laid out for a view.

        Raises:
            Refused: A rule on counts does not release it.
            BadRequest: The view does not fit the table.
        """

        def compute() -> Layout:
            release = translate_release(apply_view(self.releases.release(service, checked), view))
            return Layout(release, cell_limits(release), naming, share_limits(release))

        if checked.metered:
            return compute()
        return self.cache.compute(release_key(checked, view, naming, current_language().code), compute)


def _release_size(outcome: Release | Refused) -> int:
    return OVERHEAD + (0 if isinstance(outcome, Refused) else outcome.cells * RELEASE_CELL)


def _grid_size(layout: Layout) -> int:
    return OVERHEAD + layout.release.cells * GRID_CELL


def _without_traceback(refusal: Refused) -> Refused:
    """A copy of a refusal. The frames of a traceback would keep exact counts in memory."""
    return type(refusal)(refusal.message, refusal.advice, code=refusal.code)
