"""Three assessors at once, then a third person between their grades: in a real browser, on both databases."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from people_in_a_browser import come_in, press
from serving import running

from browser import NARROW, WIDE, assert_no_stumbling_blocks, chromium, new_page
from databases import address, postgres
from rankwell.judging.store import Store, open_store
from servers import Server
from studies import make_study

__all__ = ["address", "postgres"]
pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    with chromium() as found:
        yield found


@pytest.fixture
def store(address: str) -> Iterator[Store]:
    make_study(address, queries=1, passages=2, assessors_per_query=3).close()
    with open_store(address) as found:
        yield found


@pytest.fixture
def server(store: Store, address: str, tmp_path: Path) -> Iterator[Server]:  # noqa: ARG001 -- it is there first
    with running(address, tmp_path / "log") as found:
        yield found


def grade_by_turns(browser: Any, server: Server, store: Store) -> None:
    """Three people who are in at the same time grade both passages: 1, 3 and 5."""
    with new_page(browser) as first, new_page(browser) as second, new_page(browser, width=NARROW) as third:
        people = {"1": first, "3": second, "5": third}
        for page in people.values():
            come_in(page, server, store)
            page.click("text=Get my first queries")
            page.wait_for_selector("form.answer")
        second.keyboard.press("n")
        second.keyboard.type("half of an answer")
        second.keyboard.press("Escape")
        for _ in range(2):
            for key, page in people.items():
                press(page, key)
        for page in people.values():
            page.wait_for_selector("text=That was the last one")
            assert page.get_by_role("link", name="Disagreements").count() == 0


def test_grades_that_differ_are_decided_by_a_third_person(browser: Any, server: Server, store: Store) -> None:
    grade_by_turns(browser, server, store)
    with new_page(browser) as boss, new_page(browser, width=NARROW) as judge:
        come_in(boss, server, store, administrator=True)
        come_in(judge, server, store)
        name = store.people.accounts()[-1].name
        boss.goto(f"{server.url}/admin/assessors/{name}")
        boss.click("text=Make them an adjudicator")
        judge.goto(server.url)
        judge.click("text=Disagreements")
        assert "2 of 2 wait for a decision" in judge.inner_text("main")
        assert_no_stumbling_blocks(judge)
        judge.click("ol.work a >> nth=0")
        shown = sorted(re.findall(r"\d", "".join(judge.locator(".sides .digit").all_inner_texts())))
        assert shown == ["1", "3", "5"]
        notes = judge.locator(".sides .remark").all_inner_texts()
        assert_no_stumbling_blocks(judge)
        press(judge, "4")  # by key
        judge.wait_for_selector("text=Saved. The next one")
        assert_no_stumbling_blocks(judge)
        notes += judge.locator(".sides .remark").all_inner_texts()
        assert notes == ["half of an answer"]  # on one of the two passages
        judge.fill("#reason", "the second sentence")
        judge.click(".grades button >> nth=1")
        judge.wait_for_selector("text=Nothing else waits for a decision")
        assert sorted(one.grade for one in store.adjudications()) == [2, 4]
        assert {one.adjudicator for one in store.adjudications()} == {name}
        boss.goto(f"{server.url}/admin")
        boss.click("tbody a >> nth=0")
        assert boss.locator(".sides .digit").count() == 6
        assert "half of an answer" in boss.inner_text("main")
        assert_no_stumbling_blocks(boss)
        boss.click("text=Results")
        assert "2 passages were" in boss.inner_text("main")
        with boss.expect_download() as download:
            boss.click("text=Labels, graded")
        grades = [line.split()[-1] for line in Path(download.value.path()).read_text().splitlines()]
        assert sorted(grades) == ["2", "4"]


@pytest.mark.parametrize("width", [NARROW, WIDE])
def test_deciding_needs_no_script(browser: Any, server: Server, store: Store, width: int) -> None:
    grade_by_turns(browser, server, store)
    with new_page(browser, width=width, java_script_enabled=False) as boss:
        come_in(boss, server, store, administrator=True)
        boss.click("text=Disagreements")
        boss.click("ol.work a >> nth=0")
        boss.fill("#reason", "without a script")
        boss.click(".grades button >> nth=2")
        boss.click("text=All disagreements")
        boss.click("text=decided: 3")
        boss.click("ol.work a >> nth=1")
        boss.click("text=Take the decision back")
    assert store.adjudications() == []
