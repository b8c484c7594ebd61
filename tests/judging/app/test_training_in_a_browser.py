"""Three people train at once in a real browser: one passes, one needs another try, one does not pass."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from people_in_a_browser import come_in, press
from serving import running

from browser import NARROW, assert_no_stumbling_blocks, chromium, new_page
from databases import address, postgres
from rankwell.judging.store import open_store
from rankwell.judging.training import TrainingQuestion
from studies import make_study

__all__ = ["address", "postgres"]
pytestmark = pytest.mark.slow

QUESTIONS = [
    TrainingQuestion(1, "does zinc help", {"title": "Zinc", "text": "It may shorten a cold."}, 5, "<b>It answers.</b>"),
    TrainingQuestion(2, "how long is a cold", {"text": "Bricks are red."}, 1, "Not a word about colds."),
]


def test_training_is_passed_repeated_or_failed(address: str, tmp_path: Path) -> None:
    make_study(address, pass_mark=1.0).close()
    with chromium() as browser, open_store(address) as store, running(address, tmp_path / "log") as server:
        store.training.set_questions(QUESTIONS)
        with (
            new_page(browser) as good,
            new_page(browser, width=NARROW) as slow,
            new_page(browser, java_script_enabled=False) as bad,
        ):
            for page in (good, slow, bad):
                come_in(page, server, store)
                page.click("text=Get my first queries")
                page.wait_for_selector("text=Training, 1 of 2")
            assert_no_stumbling_blocks(slow)
            press(good, "5")
            press(slow, "2")
            bad.click(".unsure")
            assert "Right" in good.inner_text("h1")
            assert "<b>It answers.</b>" in good.inner_text(".note")  # text, not markup
            assert "Not quite" in slow.inner_text("h1")
            assert "Your grade: 2 (slightly relevant). The right grade: 5 (perfectly relevant)." in slow.inner_text(
                ".note"
            )
            assert "I can’t tell" in bad.inner_text(".note")  # noqa: RUF001 -- as the page has it
            assert_no_stumbling_blocks(slow)
            for page in (good, slow, bad):
                page.click("text=Next question")
            press(good, "1")
            press(slow, "1")
            bad.click(".grades button >> nth=4")
            for page in (good, slow, bad):
                page.click("text=To the result")
            assert "You have passed" in good.inner_text("h1")
            good.click("text=Get my first queries")
            good.wait_for_selector("form.answer")
            for page, grades in ((slow, (4, 0)), (bad, (0, 0))):
                assert "Not yet" in page.inner_text("h1")
                _try_again(page, grades)
            assert_no_stumbling_blocks(slow)
            assert "You have passed" in slow.inner_text("h1")
            assert "Thank you for trying" in bad.inner_text("h1")
            bad.goto(f"{server.url}/judge")
            bad.click("main button")
            assert "Thank you for trying" in bad.inner_text("h1")
        names = [account.name for account in store.people.accounts()]
        assert [store.training.state(name).passed for name in names] == [True, True, False]
        with new_page(browser, width=NARROW) as boss:
            come_in(boss, server, store, administrator=True)
            boss.goto(f"{server.url}/admin/assessors")
            assert f"{names[2]}: did not pass the training: 1 of 2 right" in boss.inner_text(".note")
            assert_no_stumbling_blocks(boss)


def _try_again(page: Any, grades: tuple[int, int]) -> None:
    page.click("a:has-text('Try again')")
    page.click(f".grades button >> nth={grades[0]}")
    page.click("text=Next question")
    page.click(f".grades button >> nth={grades[1]}")
    page.click("text=To the result")
