"""A real Chromium for tests of pages: no console errors, no sideways scrolling, nothing that axe complains about."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
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
PATIENCE = 15_000  # milliseconds


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
    for width in (NARROW, WIDE):
        with new_page(browser, width=width, dark=dark, bypass_csp=True) as page:
            page.goto(file.as_uri())
            assert_no_stumbling_blocks(page)


@contextmanager
def new_page(browser: Any, *, width: int = WIDE, dark: bool = False, **settings: Any) -> Iterator[Any]:
    """A page in a browser of its own (cookies, colours), which at its end must have had no errors to tell."""
    scheme = "dark" if dark else "light"
    context = browser.new_context(viewport={"width": width, "height": 800}, color_scheme=scheme, **settings)
    page = context.new_page()
    page.set_default_timeout(PATIENCE)
    page.click = partial(click_and_load, page, page.click)
    said: list[str] = []
    page.on("console", lambda message: said.append(message.text) if message.type in ("error", "warning") else None)
    page.on("pageerror", lambda error: said.append(str(error)))
    try:
        yield page
    finally:
        context.close()
    assert not said


def click_and_load(page: Any, click: Callable[..., None], selector: str, **settings: Any) -> None:
    """A click waits until its navigation has begun. What a test looks at next is there only when the page is loaded."""
    click(selector, **settings)
    page.wait_for_load_state()


def assert_no_stumbling_blocks(page: Any) -> None:
    """Nothing to scroll for sideways, nothing that axe complains about."""
    from axe_playwright_python.sync_playwright import Axe

    page.wait_for_load_state()
    assert page.evaluate("document.documentElement.scrollWidth") <= page.viewport_size["width"], page.url
    violations = Axe().run(page).response["violations"]
    assert not violations, [(page.url, found["id"], found["nodes"][0]["html"][:200]) for found in violations]
