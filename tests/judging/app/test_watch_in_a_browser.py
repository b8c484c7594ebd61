"""Three assessors at once, gold questions among what they grade, and what the administrator is told."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from people_in_a_browser import come_in, press
from serving import running

from browser import NARROW, assert_no_stumbling_blocks, chromium, new_page
from databases import address, postgres
from rankwell.core import Judgments
from rankwell.judging.store import open_store
from studies import make_study

__all__ = ["address", "postgres"]
pytestmark = pytest.mark.slow


def test_whoever_misses_gold_questions_is_told_to_the_administrator(address: str, tmp_path: Path) -> None:
    make_study(address, queries=6, passages=1).close()
    with chromium() as browser, open_store(address) as store, running(address, tmp_path / "log") as server:
        store.set_gold(Judgments([(f"q{number}", f"d{number}-0", 4) for number in range(6)]))
        with new_page(browser) as first, new_page(browser) as second, new_page(browser, width=NARROW) as third:
            people: dict[Any, str] = {first: "4", second: "5", third: "1"}
            for page in people:
                come_in(page, server, store)
                page.click("text=Get my first queries")
                page.wait_for_selector("form.answer")
            for _ in range(6):
                for page, key in people.items():
                    press(page, key)
            for page in people:
                page.wait_for_selector("text=That was the last one")
                assert "gold" not in page.content().lower()  # hidden
        names = [account.name for account in store.people.accounts()]
        with new_page(browser, width=NARROW) as boss:
            come_in(boss, server, store, administrator=True)
            boss.click("text=Study")
            boss.click("text=look at them")
            told = boss.inner_text(".note")
            assert f"{names[2]}: 0 of 6 gold questions are right" in told
            assert names[0] not in told
            assert names[1] not in told
            rows = {row.split()[0]: row for row in boss.locator("tbody tr").all_inner_texts()}
            assert "6 of 6" in rows[names[0]]
            assert "6 of 6" in rows[names[1]]  # one step beside it
            assert "0 of 6" in rows[names[2]]
            assert_no_stumbling_blocks(boss)
