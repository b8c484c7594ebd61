"""Three assessors at once judge their own passages again, in a real browser."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from people_in_a_browser import come_in, press
from serving import running

from browser import NARROW, assert_no_stumbling_blocks, chromium, new_page
from databases import address, postgres
from rankwell.judging.quality import GoldScore
from rankwell.judging.store import open_store
from studies import make_study

__all__ = ["address", "postgres"]
pytestmark = pytest.mark.slow


def test_passages_come_a_second_time_without_the_first_grade(address: str, tmp_path: Path) -> None:
    make_study(address, queries=2, passages=1, rejudge=1.0).close()
    with chromium() as browser, open_store(address) as store, running(address, tmp_path / "log") as server:
        with (
            new_page(browser) as first,
            new_page(browser, width=NARROW) as second,
            new_page(browser, java_script_enabled=False) as third,
        ):
            people: dict[Any, int] = {first: 5, second: 1, third: 5}  # the second grade; the first is 5
            for page in people:
                come_in(page, server, store)
                page.click("text=Get my first queries")
                page.wait_for_selector("form.answer")
            for _ in range(2):
                for page in people:
                    page.click(".grades button >> nth=4") if page is third else press(page, "5")
            for page in people:
                page.wait_for_selector("text=2 of your passages come a second time")
                page.click("text=Get more queries")  # these come first
                page.wait_for_selector("text=2 are left")
                assert page.locator("[aria-pressed]").count() == 0
            assert_no_stumbling_blocks(second)
            for _ in range(2):
                for page, grade in people.items():
                    page.click(".grades button >> nth=4") if page is third else press(page, str(grade))
            for page in people:
                page.wait_for_selector("text=That was the last one")
        names = [account.name for account in store.people.accounts()]
        scores = store.rejudging.scores()
        assert [scores[name] for name in names] == [GoldScore(2, 2), GoldScore(2, 0), GoldScore(2, 2)]
        assert {row.grade for row in store.answers()} == {5}
        with new_page(browser, width=NARROW) as boss:
            come_in(boss, server, store, administrator=True)
            boss.goto(f"{server.url}/admin/assessors")
            assert "Same again" in boss.inner_text("thead")
            assert_no_stumbling_blocks(boss)
