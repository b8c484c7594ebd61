"""Parts of pages for our own scripts (`static/swap.js`): the same page without the layout around it."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from starlette.requests import Request

HEADER = "x-rankwell-fragment"


def wants_fragment(request: Request) -> bool:
    """Whether a script asks, which puts the page's main part in place of the one that is there."""
    return HEADER in request.headers


def layout_for(request: Request) -> str:
    """The template that a page extends (`{% extends layout %}`)."""
    return "fragment.html" if wants_fragment(request) else "layout.html"
