"""The search page, put onto an application."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rankwell.serve.page.site import Site

if TYPE_CHECKING:
    from fastapi import FastAPI

    from rankwell.serve.service import Service
    from rankwell.web import Pages


def add_page(app: FastAPI, service: Service, pages: Pages) -> None:
    """Add the pages to an application that was made with `Pages` which know this package's folders."""
    from rankwell.serve.page import compare_page, document_page, judgments_page, search_page, why_page

    pages.everywhere["site"] = service.settings.index_name
    app.state.search_page = Site(pages, service)
    for part in (search_page, compare_page, document_page, why_page, judgments_page):
        app.include_router(part.router)
