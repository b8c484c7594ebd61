"""The search page: made on the server, quicker with a small script, and complete without one.

`rankwell.serve.page.routes.add_page(app, ...)` puts it onto an application whose `Pages` know these folders.
"""

from __future__ import annotations

from pathlib import Path

STATIC = Path(__file__).parent / "static"
TEMPLATES = Path(__file__).parent / "templates"

__all__ = ["STATIC", "TEMPLATES"]
