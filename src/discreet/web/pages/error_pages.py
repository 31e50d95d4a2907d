"""The pages that explain error codes: a list, and one page per code."""

from __future__ import annotations

from fastapi import APIRouter, Request
from starlette.responses import Response

from discreet.errors import NotFound
from discreet.model.messages.text import message
from discreet.web.assets import FINGERPRINT
from discreet.web.problems import error_explanations
from discreet.web.responses import conditional, strong_etag
from discreet.web.templating import render_page
from discreet.web.urls import link


def add_error_pages(router: APIRouter) -> None:
    """Add the routes of the pages."""

    @router.get("/errors")
    def error_list(request: Request) -> Response:
        """Every error by its code."""
        kinds = list(error_explanations().values())
        tag = strong_etag("errors", FINGERPRINT)
        return conditional(request, tag, lambda: render_page("errors.html", kinds=kinds))

    @router.get("/errors/{code}")
    def error_meaning(request: Request, code: str) -> Response:
        """The meaning of one code."""
        kinds = error_explanations()
        if code not in kinds:
            raise NotFound(
                message("There is no error of this code."),
                message("All codes are listed under {link}.", link=link("/errors")),
            )
        kind, meaning = kinds[code]
        tag = strong_etag("error", FINGERPRINT, code)
        return conditional(
            request, tag, lambda: render_page("error_meaning.html", kind=kind, meaning=meaning)
        )
