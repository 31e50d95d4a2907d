"""The alerts of the detectors and the clients that are throttled or blocked, as a page and as JSON, for custodians."""

from dataclasses import asdict, dataclass
from datetime import UTC, datetime

from fastapi import APIRouter, Request
from starlette.responses import Response

from discreet.web.api.openapi import REQUIRED_KEY, problem_responses
from discreet.web.auth.identity import require_custodian
from discreet.web.detectors.monitor import Alert, read_alerts
from discreet.web.detectors.patterns import DETECTORS
from discreet.web.lifespan import ServerState
from discreet.web.responses import as_json, no_store
from discreet.web.templating import render_page
from discreet.web.urls import refuse_unknown

#: The most alerts on the page.
SHOWN = 200


@dataclass(frozen=True, slots=True)
class HoldDocument:
    """Somebody who is held back."""

    who: str
    action: str
    until: str
    why: str


@dataclass(frozen=True, slots=True)
class AlertsDocument:
    """Who is held back, and the last alerts, the newest first."""

    holds: list[HoldDocument]
    alerts: list[Alert]


def custodian_router(state: ServerState) -> APIRouter:
    """The routes for custodians."""
    router = APIRouter()

    @router.get(
        "/api/alerts",
        tags=["custodian"],
        response_model=AlertsDocument,
        responses=problem_responses(400, 401, 403),
        openapi_extra={"security": REQUIRED_KEY},
    )
    def alerts(request: Request) -> Response:
        """What the watch of requests found, and who is held back; for custodians."""
        refuse_unknown(request.query_params, ())
        require_custodian()
        return no_store(as_json(asdict(alerts_document(state))))

    @router.get("/custodian/alerts", include_in_schema=False)
    def alerts_page(request: Request) -> Response:
        refuse_unknown(request.query_params, ())
        require_custodian()
        sentences = {detector.name: detector.sentence for detector in DETECTORS}
        return no_store(render_page("alerts.html", found=alerts_document(state), sentences=sentences))

    return router


def alerts_document(state: ServerState) -> AlertsDocument:
    """The holds and the newest alerts."""

    def until(seconds: float) -> str:
        return datetime.fromtimestamp(seconds, UTC).isoformat(timespec="seconds")

    holds = state.shared.holds().values()
    return AlertsDocument(
        [HoldDocument(each.who, each.action, until(each.until), each.why) for each in holds],
        [] if state.folder is None else read_alerts(state.folder, SHOWN),
    )
