"""A real Chromium for tests of pages: no console errors, no sideways scrolling, nothing that axe complains about."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from needs import require

SWITCHES = (
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)
NARROW, WIDE = 360, 1200


@contextmanager
def chromium() -> Iterator[Any]:
    """A browser, or a skip where there is none."""
    program = os.environ.get("RANKWELL_CHROMIUM") or shutil.which("chromium") or shutil.which("google-chrome")
    require("browser", there=program is not None, how="install Chromium (Debian: apt-get install chromium)")
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=program, args=list(SWITCHES))
        try:
            yield browser
        finally:
            browser.close()


def assert_readable(browser: Any, file: Path, *, dark: bool = False) -> None:
    """The page works at a phone's width and at a desk's, for eyes, ears and keyboards."""
    from axe_playwright_python.sync_playwright import Axe

    for width in (NARROW, WIDE):
        context = browser.new_context(
            viewport={"width": width, "height": 800}, color_scheme="dark" if dark else "light", bypass_csp=True
        )
        page = context.new_page()
        said: list[str] = []
        page.on("console", lambda message, said=said: said.append(message.text) if message.type == "error" else None)
        page.on("pageerror", lambda error, said=said: said.append(str(error)))
        page.goto(file.as_uri())
        assert page.evaluate("document.documentElement.scrollWidth") <= width
        violations = Axe().run(page).response["violations"]
        assert not violations, [(found["id"], found["nodes"][0]["html"][:200]) for found in violations]
        assert not said
        context.close()
