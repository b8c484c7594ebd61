"""The search page: rendered on the server, made faster by a small script, and complete without it.

`rankwell.apps.search.page.routes.add_page(app, ...)` adds it to an application whose `Pages` know these folders.
"""

from __future__ import annotations

from pathlib import Path

__all__ = ["STATIC", "TEMPLATES"]


STATIC = Path(__file__).parent / "static"
TEMPLATES = Path(__file__).parent / "templates"
