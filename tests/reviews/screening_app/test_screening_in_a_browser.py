"""Screening in a real browser, with a real server process."""

from __future__ import annotations

import csv
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from screening_projects import TITLE, make_project, references
from screening_server import ScreeningServer, screening, start_screening

from browser import NARROW, WIDE, assert_no_stumbling_blocks, chromium, new_page
from rankwell.collections.tagged import parse_ris, write_ris
from rankwell.reviews import Reference
from rankwell.reviews.screening.decisions import Answer
from rankwell.reviews.screening.store import open_project

pytestmark = pytest.mark.slow

HOSTILE = (
    "<script>document.title='hacked'</script>\"><img src=x onerror=\"document.title='hacked'\">\u202eevil\u202c&amp;"
)


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    with chromium() as found:
        yield found


@pytest.fixture
def database(tmp_path: Path) -> Path:
    records = [*references(12), references(2)[1], Reference(title="Running as a treatment of depression: trial 1b")]
    make_project(tmp_path / "p.db", records, ("Ada", "Ben")).close()
    return tmp_path / "p.db"


@pytest.fixture
def server(database: Path, tmp_path: Path) -> Iterator[ScreeningServer]:
    with screening(database, tmp_path / "log") as found:
        yield found


def press(page: Any, key: str) -> None:
    """Press a key that saves something, and wait for what comes of it."""
    page.wait_for_timeout(200)  # a key within 150 ms belongs to the record before
    with page.expect_response(lambda response: response.request.method == "POST"):
        page.keyboard.press(key)
    page.wait_for_selector("main:not([aria-busy])")


def number(page: Any) -> int:
    return int(re.findall(r"/screen/(\d+)", page.get_attribute("form.decide", "action"))[0])


def test_import_decide_undo_and_export(browser: Any, tmp_path: Path) -> None:
    write_ris(tmp_path / "export.ris", [*references(6), references(1)[0]])
    with screening(tmp_path / "new.db", tmp_path / "log", "--title", TITLE) as server, new_page(browser) as page:
        page.goto(server.link())
        page.set_input_files("#files", tmp_path / "export.ris")
        page.click("main button")
        assert page.inner_text("tbody tr").split() == ["export.ris", "7", "1", "0"]
        page.click("main >> text=Screen")
        assert "0 of 6 decided" in page.inner_text(".where")
        first = number(page)
        press(page, "i")
        assert page.inner_text("#status") == "Saved: included."
        assert page.evaluate("document.activeElement.id") == "record"
        second = number(page)
        assert second != first
        page.keyboard.press("r")
        page.keyboard.type("outcome")  # letters in a field are no answers
        page.keyboard.press("Escape")
        page.keyboard.press("n")
        page.keyboard.type("ime, i?")
        page.keyboard.press("Escape")
        press(page, "e")
        press(page, "m")
        press(page, "u")
        assert page.inner_text("#status") == "Undone."
        assert "2 of 6 decided" in page.inner_text(".where")
        page.keyboard.press("ArrowLeft")
        page.wait_for_url(f"**/screen/{second}")
        assert "You said: exclude" in page.inner_text(".where")
        assert page.input_value("#note") == "ime, i?"
        page.click("text=Results")
        assert "1 duplicates removed" in page.inner_text(".flow")
        with page.expect_download() as download:
            page.click("a[href$='/export/all.csv']")
        with Path(download.value.path()).open(newline="", encoding="utf-8") as file:
            rows = {int(row["record"]): row for row in csv.DictReader(file)}
        assert (rows[first]["status"], rows[second]["status"]) == ("included", "excluded")
        assert (rows[second]["reason"], rows[second]["Reviewer: note"]) == ("outcome", "ime, i?")
        assert rows[7]["duplicate_of"] == "1"
        with page.expect_download() as download:
            page.click("a[href$='/export/included.ris']")
        kept = parse_ris(Path(download.value.path()).read_text(encoding="utf-8"))
        assert [of.title for of in kept] == [rows[first]["title"]]


def test_two_reviewers_differ_and_agree_in_the_end(browser: Any, server: ScreeningServer) -> None:
    with new_page(browser) as ada, new_page(browser, width=NARROW) as ben:
        ada.goto(server.link("Ada"))
        ada.goto(f"{server.url}/screen/2")
        press(ada, "i")
        ben.goto(server.link("Ben"))
        ben.goto(f"{server.url}/conflicts")
        assert "No record has been decided by both yet" in ben.inner_text("main")
        ben.goto(f"{server.url}/screen/2")
        assert "You said" not in ben.inner_text(".where")
        ben.select_option("#reason", "outcome")
        ben.click("button:has-text('Exclude')")
        ben.wait_for_selector("#status:has-text('Saved: excluded')")
        for page in (ada, ben):
            page.goto(f"{server.url}/conflicts")
            assert "1 to resolve" in page.inner_text("main")
            assert_no_stumbling_blocks(page)
        ben.click(".conflict button:has-text('Include')")
        assert "Resolved by Ben: include" in ben.inner_text(".conflict")
        assert_no_stumbling_blocks(ben)
        ada.goto(f"{server.url}/results")
        assert "1 records included" in ada.inner_text(".flow")


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
@pytest.mark.parametrize("width", [NARROW, WIDE])
def test_every_page_is_for_everyone(browser: Any, server: ScreeningServer, *, width: int, dark: bool) -> None:
    with new_page(browser, width=width, dark=dark) as page:
        page.goto(server.link("Ada"))
        assert_no_stumbling_blocks(page)
        page.goto(f"{server.url}/screen")
        assert_no_stumbling_blocks(page)
        for answer in "iememm":
            press(page, answer)
        assert_no_stumbling_blocks(page)
        paths = ("/", "/records", "/records?show=all", "/duplicates", "/conflicts", "/results", "/import", "/settings")
        for path in paths:
            page.goto(server.url + path)
            assert_no_stumbling_blocks(page)
        page.goto(f"{server.url}/screen")
        for _ in range(7):
            press(page, "e")
        assert "Every record is decided" in page.inner_text("h1")
        assert_no_stumbling_blocks(page)


def test_deciding_needs_no_script(browser: Any, server: ScreeningServer, database: Path) -> None:
    with new_page(browser, width=NARROW, java_script_enabled=False) as page:
        page.goto(server.link("Ada"))
        page.click("text=Begin to screen")
        first = number(page)
        page.select_option("#reason", "outcome")
        page.fill("#note", "without a script")
        page.click("button:has-text('Exclude')")
        second = number(page)
        page.click("button:has-text('Maybe')")
        page.click("text=Undo the last")
        assert number(page) == second
        page.click("button:has-text('Include')")
    with open_project(database) as project:
        found = project.decisions.of(1)
        assert found[first][1:] == (Answer.EXCLUDE, "outcome", "without a script")
        assert found[second].answer is Answer.INCLUDE


def test_an_answer_that_was_not_saved_is_said_not_to_be(browser: Any, server: ScreeningServer) -> None:
    context = browser.new_context()
    page = context.new_page()
    page.goto(server.link("Ada"))
    page.goto(f"{server.url}/screen")
    context.set_offline(True)
    page.wait_for_timeout(200)
    page.keyboard.press("i")
    page.wait_for_selector("#trouble:has-text('Not saved')")
    assert "0 of 13 decided" in page.inner_text(".where")
    context.set_offline(False)
    press(page, "i")
    assert "1 of 13 decided" in page.inner_text(".where")
    assert page.inner_text("#trouble") == ""
    context.close()


def test_hostile_records_are_text(browser: Any, tmp_path: Path) -> None:
    bad = Reference(
        title=f"One {HOSTILE}",
        abstract=f"{HOSTILE}\n\n" + "long" * 300,
        authors=(HOSTILE, "x" * 500),
        journal=HOSTILE,
        doi=HOSTILE,
        pmid=HOSTILE,
        url="javascript:alert(1)",
        keywords=(HOSTILE,),
    )
    twin = Reference(title=f"Two {HOSTILE * 3}", abstract="Another.", doi=HOSTILE)
    with make_project(tmp_path / "p.db", [bad, twin], (f"Ada {HOSTILE[:30]}", "Ben"), f"Title {HOSTILE}") as project:
        project.import_references(f"{HOSTILE}.ris", [Reference(title=HOSTILE * 2)])
        for record, reviewer, answer in ((1, 1, Answer.INCLUDE), (1, 2, Answer.EXCLUDE), (3, 1, Answer.MAYBE)):
            project.decisions.decide(reviewer, record, answer, note=HOSTILE)
    with screening(tmp_path / "p.db", tmp_path / "log") as server, new_page(browser, width=NARROW) as page:
        page.goto(server.link("Ben"))
        for path in (
            "/",
            "/screen",
            "/screen/1",
            "/records?show=all",
            "/duplicates",
            "/conflicts",
            "/results",
            "/import",
        ):
            page.goto(server.url + path)
            assert "hacked" not in page.title().split("document.title")[0]
            assert page.locator("main img, main script, main a[href^=javascript]").count() == 0
            assert_no_stumbling_blocks(page)
        page.goto(f"{server.url}/screen/1")
        assert HOSTILE in page.text_content("main")


def test_a_kill_loses_no_answer_that_was_acknowledged(browser: Any, database: Path, tmp_path: Path) -> None:
    given: dict[int, str] = {}
    for round_ in range(3):
        server = start_screening(database, tmp_path / f"log{round_}")
        context = browser.new_context()
        page = context.new_page()
        try:
            page.goto(server.link("Ada"))
            page.goto(f"{server.url}/screen")
            for key, answer in (("i", "include"), ("e", "exclude"), ("m", "maybe")):
                record = number(page)
                press(page, key)
                given[record] = answer
        finally:
            server.process.kill()
            server.process.wait()
            context.close()
        with open_project(database) as project:
            kept = {record: decision.answer.value for record, decision in project.decisions.of(1).items()}
        assert kept == given
