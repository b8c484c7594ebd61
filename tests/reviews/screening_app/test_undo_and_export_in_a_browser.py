"""Undoing to the very beginning, every file to take away, and a model that reads along: in a real browser."""

from __future__ import annotations

import csv
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from screening_projects import TITLE, make_project, references
from screening_server import ScreeningServer, screening

from browser import NARROW, assert_no_stumbling_blocks, chromium, new_page
from rankwell.collections.tagged import parse_ris

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    with chromium() as found:
        yield found


@pytest.fixture
def server(tmp_path: Path) -> Iterator[ScreeningServer]:
    make_project(tmp_path / "p.db", references(3)).close()
    with screening(tmp_path / "p.db", tmp_path / "log") as found:
        yield found


def press(page: Any, key: str) -> None:
    """Press a key that saves something, and wait for what comes of it."""
    page.wait_for_timeout(200)  # a key within 150 ms belongs to the record before
    with page.expect_response(lambda response: response.request.method == "POST"):
        page.keyboard.press(key)
    page.wait_for_selector("main:not([aria-busy])")


def address(page: Any) -> str:
    return str(page.get_attribute("form.decide", "action"))


def test_everything_is_undone_step_by_step_also_from_the_last_page(browser: Any, server: ScreeningServer) -> None:
    with new_page(browser, width=NARROW) as page:
        page.goto(server.link())
        page.goto(f"{server.url}/screen")
        shown = []
        for key in "iem":
            shown.append(address(page))
            press(page, key)
        assert "Every record is decided" in page.inner_text("h1")
        page.click("text=Undo the last")
        page.wait_for_selector("form.decide")
        for left in (2, 1, 0):
            assert f"{left} of 3 decided" in page.inner_text(".where")
            assert address(page) == shown[left], "the record whose answer was taken back"
            if left:
                press(page, "u")
        assert page.locator("#undo").count() == 0, "nothing is left to undo"


def test_undoing_a_changed_answer_brings_the_one_before_back(browser: Any, server: ScreeningServer) -> None:
    with new_page(browser) as page:
        page.goto(server.link())
        page.goto(f"{server.url}/screen/2")
        press(page, "i")
        page.goto(f"{server.url}/screen/2")
        press(page, "e")
        press(page, "u")
        assert address(page).endswith("/screen/2")
        assert "You said: include" in page.inner_text(".where")


def test_every_file_on_the_page_of_results_can_be_taken_away(browser: Any, server: ScreeningServer) -> None:
    with new_page(browser) as page:
        page.goto(server.link())
        for record, key in ((1, "e"), (2, "i"), (3, "m")):
            page.goto(f"{server.url}/screen/{record}")
            press(page, key)
        page.goto(f"{server.url}/results")
        files: dict[str, Path] = {}
        for link in page.locator("main a[download]").all():
            with page.expect_download() as download:
                link.click()
            files[str(link.get_attribute("href")).rpartition("/")[2]] = Path(download.value.path())
            assert download.value.suggested_filename.startswith("exercise-for-depression-in-adults-")
        expected = {"all": [1, 2, 3], "included": [2], "maybe": [3], "excluded": [1]}
        assert set(files) == {f"{name}.{kind}" for name in expected for kind in ("ris", "csv")} | {"prisma.json"}
        titles = [of.title for of in references(3)]
        for name, records in expected.items():
            with files[f"{name}.csv"].open(newline="", encoding="utf-8") as file:
                assert [int(row["record"]) for row in csv.DictReader(file)] == records
            found = parse_ris(files[f"{name}.ris"].read_text(encoding="utf-8"))
            assert [of.title for of in found] == [titles[record - 1] for record in records]
        counts = json.loads(files["prisma.json"].read_text(encoding="utf-8"))
        assert (counts["included"], counts["maybe"], counts["screened"]) == (1, 1, 3)


@pytest.mark.usefixtures("use_models")
def test_a_model_reads_along_and_the_page_says_so(browser: Any, tmp_path: Path) -> None:
    make_project(tmp_path / "p.db", references(12), title=TITLE).close()
    with (
        screening(tmp_path / "p.db", tmp_path / "log", "--bert", "minilm-l3") as server,
        new_page(browser, width=NARROW) as page,
    ):
        page.goto(server.link())
        page.goto(f"{server.url}/screen")
        press(page, "i")
        for _ in range(120):
            if "by what minilm-l3 reads in them" in page.inner_text("aside"):
                break
            page.wait_for_timeout(500)
            page.reload()
        assert "by what minilm-l3 reads in them" in page.inner_text("aside")
        assert_no_stumbling_blocks(page)
        press(page, "e")
        assert "2 of 12 decided" in page.inner_text(".where")
