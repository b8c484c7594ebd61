"""`rankwell serve --new` in a real browser: from a dropped file to a search, by hand and by keyboard."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from new_site import TICKETS

from browser import NARROW, WIDE, assert_no_stumbling_blocks, chromium, new_page
from servers import Server, started, stopped

pytestmark = pytest.mark.slow

DROP = """content => {
  const transfer = new DataTransfer();
  transfer.items.add(new File([content], "dropped.csv", { type: "text/csv" }));
  document.getElementById("upload").dispatchEvent(
    new DragEvent("drop", { dataTransfer: transfer, bubbles: true, cancelable: true }));
}"""


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    with chromium() as found:
        yield found


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    folder = tmp_path_factory.mktemp("new")
    (folder / "tickets.csv").write_text(TICKETS)
    with stopped(started(["serve", "--new", str(folder / "indexes")], folder / "said.txt")) as found:
        yield found


@pytest.mark.parametrize(("width", "dark"), [(WIDE, False), (NARROW, False), (NARROW, True)])
def test_from_a_file_to_a_search_on_any_screen(browser: Any, server: Server, width: int, dark: bool) -> None:
    name = f"tickets-{width}-{dark}"
    with new_page(browser, width=width, dark=dark, bypass_csp=True) as page:
        page.goto(server.url)
        assert_no_stumbling_blocks(page)
        page.set_input_files("#file", server.said.with_name("tickets.csv"))
        page.click("text=Look at it")
        page.wait_for_selector(".columns")
        assert_no_stumbling_blocks(page)
        page.select_option("#use-3", "filter")
        page.fill("#name", "not a name")
        page.click("text=Index it")
        assert page.evaluate("document.activeElement.id") == "name"  # the browser says what is expected
        page.fill("#name", name)
        page.click("text=Index it")
        page.wait_for_selector("#done")
        assert_no_stumbling_blocks(page)
        page.click(f"text=Search {name}")
        page.fill("#q", "keller")
        page.keyboard.press("Enter")
        page.wait_for_selector(".result")
        assert page.url == f"{server.url}/i/{name}/?q=keller"
        assert_no_stumbling_blocks(page)
        page.click("text=All indexes")
        assert name in page.inner_text(".indexes")


def test_what_was_chosen_stays_when_something_is_wrong(browser: Any, server: Server) -> None:
    context = browser.new_context(viewport={"width": NARROW, "height": 800}, bypass_csp=True)
    page = context.new_page()  # a status of 422 is an error on the browser's console
    page.goto(server.url)
    page.set_input_files("#file", server.said.with_name("tickets.csv"))
    page.click("text=Look at it")
    page.select_option("#use-3", "filter")
    page.select_option("#use-2", "title")
    page.click("text=Index it")
    page.wait_for_selector("#problem")
    assert "expected one title, found 2" in page.inner_text("#problem")
    assert (page.input_value("#use-2"), page.input_value("#use-3")) == ("title", "filter")
    assert_no_stumbling_blocks(page)
    context.close()


def test_a_dropped_file_is_uploaded(browser: Any, server: Server) -> None:
    with new_page(browser) as page:
        page.goto(server.url)
        page.evaluate(DROP, TICKETS)
        page.wait_for_selector(".columns")
        assert "dropped.csv" in page.inner_text("h1")


def test_the_keyboard_is_enough(browser: Any, server: Server) -> None:
    with new_page(browser) as page:
        page.goto(server.url)
        page.set_input_files("#file", server.said.with_name("tickets.csv"))  # the system's own window
        page.focus("#file")
        page.keyboard.press("Tab")
        page.keyboard.press("Enter")
        page.wait_for_selector(".columns")
        page.focus("#name")
        page.keyboard.press("Control+a")
        page.keyboard.type("by-keys")
        page.keyboard.press("Enter")
        page.wait_for_selector("#done")
        assert page.evaluate("document.activeElement.id") == "done"
        page.keyboard.press("Tab")
        page.keyboard.press("Enter")
        page.wait_for_selector("#q")
        assert page.url == f"{server.url}/i/by-keys/"


def test_without_scripts_it_works_too(browser: Any, server: Server) -> None:
    with new_page(browser, java_script_enabled=False) as page:
        page.goto(server.url)
        page.set_input_files("#file", server.said.with_name("tickets.csv"))
        page.click("text=Look at it")
        page.wait_for_selector(".columns")
        page.fill("#name", "without-scripts")
        page.click("text=Index it")
        page.wait_for_selector("#done")  # the page reloads itself
        page.click("text=Search without-scripts")
        page.fill("#q", "keller")
        page.keyboard.press("Enter")
        page.wait_for_selector(".result")


def test_the_log_has_no_names_and_the_uploads_are_gone(server: Server) -> None:
    assert "tickets" not in server.words()
    assert "Traceback" not in server.words()
    assert {path.name for path in Path(server.said.parent).iterdir()} == {"indexes", "said.txt", "tickets.csv"}
