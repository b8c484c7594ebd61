"""The routes of the search page."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rankwell.apps.search.page.site import Site

if TYPE_CHECKING:
    from fastapi import FastAPI

    from rankwell.apps.search.service import Service
    from rankwell.apps.web import Pages


def add_page(app: FastAPI, service: Service, pages: Pages) -> None:
    """Add the page's routes to an application whose `Pages` know this package's folders."""
    from rankwell.apps.search.page import compare_page, document_page, judgments_page, search_page

    pages.everywhere["site"] = service.settings.index_name
    app.state.search_page = Site(pages, service)
    for part in (search_page, compare_page, document_page, judgments_page):
        app.include_router(part.router)
