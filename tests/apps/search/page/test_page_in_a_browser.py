"""The search page in a real browser, with a real server process and a real model."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.error import HTTPError
from urllib.request import urlopen

import pytest
from page_site import make_index

from browser import NARROW, WIDE, assert_no_stumbling_blocks, chromium, new_page
from rankwell.apps.search.access import Keys
from rankwell.core import Document
from servers import Server, started, stopped

pytestmark = pytest.mark.slow

MODEL = "ms-marco-minilm-l12"
QUESTION = "how to prune apple trees in winter"
ANSWER = "To prune an apple tree, cut the dead branches with a sharp saw while it sleeps in February."
TEXTS = {
    # Words alone put the repetition first; who understands the question finds the answer, which has fewer of them.
    "repeats": "Apple, apple trees: how I prune, prune. Winter, winter. How, oh how to prune apple trees: a poem.",
    "picking": "How to pick apples from trees in autumn, and how to keep them over the winter.",
    "history": "How people came to prune trees in the year 1700: a history of gardens in winter.",
    "answer": ANSWER,
}
ASKED = f"q={QUESTION.replace(' ', '+')}&is.source=Gardens"


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    with chromium() as found:
        yield found


@pytest.fixture(scope="module")
def home(models: Path, tmp_path_factory: pytest.TempPathFactory) -> str:
    """A home of these tests, with the fetched models in it, and the kernels that other tests have compiled."""
    folder = tmp_path_factory.mktemp("home")
    kernels = tmp_path_factory.getbasetemp() / "home" / "kernels"
    kernels.mkdir(parents=True, exist_ok=True)
    (folder / "kernels").symlink_to(kernels)
    (folder / "models").mkdir()
    for model in models.iterdir():
        (folder / "models" / model.name).symlink_to(model)
    return str(folder)


def compile_kernels(home: str) -> None:
    """However long it takes: a server that is started afterwards answers at once."""
    program = "from rankwell.vectors.search import warm; warm()"
    command = [sys.executable, "-c", program]
    subprocess.run(command, check=True, env={**os.environ, "RANKWELL_HOME": home})


def answered(server: Server, path: str) -> None:
    """Wait until the server has done what it does once."""
    for _ in range(600):
        try:
            with urlopen(server.url + path, timeout=120):  # noqa: S310 -- our own server
                return
        except HTTPError:
            time.sleep(0.5)
    raise AssertionError(server.words())


@pytest.fixture(scope="module")
def server(home: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """Thirty studies with years and sources, three documents that mean harm, four about gardens; a model, if asked."""
    folder = tmp_path_factory.mktemp("served")
    gardens = [Document(docno, {"abstract": text}, {"source": "Gardens"}) for docno, text in TEXTS.items()]
    index = make_index(folder / "health", gardens)
    words = ["serve", str(index), "--judgments", str(folder / "thumbs.jsonl"), "--model", MODEL, "--timeout", "60"]
    words += ["--keys", str(folder / "keys.json"), "--anonymous-thumbs", "1000"]
    compile_kernels(home)
    with stopped(started(words, folder / "log", RANKWELL_HOME=home)) as found:
        answered(found, "/ready")
        yield found


def focused(page: Any) -> str:
    return str(page.evaluate("document.activeElement.closest('.result')?.dataset.id || document.activeElement.id"))


def ids(page: Any, within: str = "main") -> list[str]:
    return [result.get_attribute("data-id") for result in page.query_selector_all(f"{within} .result")]


def searched(page: Any, words: str) -> None:
    page.fill("#q", words)
    page.keyboard.press("Enter")
    page.wait_for_function("words => document.title.startsWith(words)", arg=words)
    page.wait_for_selector("#page:not([aria-busy])")


def test_by_keys_alone_from_the_box_to_a_document_and_back(browser: Any, server: Server) -> None:
    with new_page(browser) as page:
        page.goto(server.url)
        assert focused(page) == "q"
        searched(page, "fever cough")
        assert page.url == f"{server.url}/?q=fever+cough"
        assert "30 documents" in page.inner_text("#found")
        assert page.inner_text("#status").startswith("30 documents found")
        first, second, *_ = ids(page)
        page.keyboard.press("ArrowDown")
        assert focused(page) == first
        page.keyboard.press("j")
        assert focused(page) == second
        page.keyboard.press("k")
        assert focused(page) == first
        page.keyboard.press("/")
        assert focused(page) == "q"
        page.keyboard.type("jk?")  # letters in the box are letters
        assert not page.is_visible("#keys")
        page.keyboard.press("Escape")
        page.keyboard.press("?")
        assert page.is_visible("#keys")
        page.keyboard.press("?")
        assert not page.is_visible("#keys")
        page.goto(f"{server.url}/?q=fever+cough")
        page.keyboard.press("j")
        page.keyboard.press("o")
        page.wait_for_url("**/document?**")
        assert first in page.inner_text(".facts")
        page.keyboard.press("/")
        page.wait_for_url(f"{server.url}/")
        assert focused(page) == "q"
        page.go_back()
        page.click("#back")
        page.wait_for_url(f"{server.url}/?q=fever+cough")
        page.keyboard.press("n")
        page.wait_for_url("**&page=2")
        assert not set(ids(page)) & {first, second}
        page.keyboard.press("p")
        page.wait_for_url(f"{server.url}/?q=fever+cough")


def test_keys_of_one_letter_can_be_turned_off_and_stay_so(browser: Any, server: Server) -> None:
    with new_page(browser) as page:
        page.goto(f"{server.url}/?q=fever")
        page.keyboard.press("?")
        page.uncheck("#keys-on")
        page.keyboard.press("Escape")
        page.reload()
        page.keyboard.press("j")
        assert not focused(page).startswith("d")


def test_results_come_while_one_types_and_the_back_button_knows_what_was_before(browser: Any, server: Server) -> None:
    with new_page(browser) as page:
        page.goto(server.url)
        searched(page, "fever")
        page.fill("#q", "")
        page.locator("#q").press_sequentially("hostile", delay=20)
        page.wait_for_selector(".result[data-id=huge]")
        assert page.url == f"{server.url}/?q=hostile"
        assert focused(page) == "q"
        searched(page, "cough")
        page.go_back()
        page.wait_for_selector(".result[data-id=huge]")
        assert page.input_value("#q") == "hostile"


def test_settings_stand_in_the_address_and_are_reset_by_one_click(browser: Any, server: Server) -> None:
    with new_page(browser) as page:
        page.goto(f"{server.url}/?q=fever+cough")
        page.keyboard.press("s")
        page.fill("#k1", "0.4")
        page.fill("[name='weight.title']", "2")
        page.select_option("#match", "and")
        page.click("#settings-form button")
        page.wait_for_url("**match=and**")
        assert page.url == f"{server.url}/?q=fever+cough&match=and&k1=0.4&weight.title=2"
        assert "3 changed" in page.inner_text("#settings-name")
        assert page.is_visible("#k1")  # the panel stays open
        with new_page(browser) as other:
            other.goto(page.url)
            assert ids(other) == ids(page)
            assert other.input_value("#k1") == "0.4"
        page.click("#settings-form >> text=Reset")
        page.wait_for_url(f"{server.url}/?q=fever+cough")
        assert page.input_value("#k1") == "1.2"
        assert "changed" not in page.inner_text("#settings-name")


def test_filters_by_facet_and_by_range_and_off_again(browser: Any, server: Server) -> None:
    with new_page(browser) as page:
        page.goto(f"{server.url}/?q=fever")
        page.click(".facet a:has-text('WHO')")
        page.wait_for_selector(".chip:has-text('source: WHO')")
        assert "10 documents" in page.inner_text("#found-title")
        page.click(".facet a:has-text('PMC')")
        page.wait_for_selector(".chip:has-text('source: PMC')")
        assert "20 documents" in page.inner_text("#found-title")
        page.fill("input[name='from.year']", "2010")
        page.keyboard.press("Enter")
        page.wait_for_selector(".chip:has-text('year: from 2010')")
        assert page.url == f"{server.url}/?q=fever&is.source=WHO&is.source=PMC&from.year=2010"
        assert page.locator(".bars .out").count() > 0
        page.click(".chip:has-text('WHO')")
        page.wait_for_selector(".chip:has-text('WHO')", state="detached")
        page.click(".chip:has-text('year')")
        page.wait_for_url(f"{server.url}/?q=fever&is.source=PMC")
        assert "10 documents" in page.inner_text("#found-title")


def test_results_are_sorted_by_keys_alone_and_the_address_is_shared(browser: Any, server: Server) -> None:
    with new_page(browser) as page:
        page.goto(f"{server.url}/?q=fever&from.year=2000")
        page.focus("#sort")
        page.keyboard.press("ArrowDown")  # year, highest first
        page.wait_for_url(f"{server.url}/?q=fever&from.year=2000&sort=year%3Adesc")
        page.wait_for_selector("#page:not([aria-busy])")
        assert ids(page)[:2] == ["d29", "d28"]
        assert focused(page) == "sort"
        shared = page.url
    with new_page(browser, width=NARROW) as page:
        page.goto(shared)
        assert ids(page)[:2] == ["d29", "d28"]
        assert page.input_value("#sort") == "year:desc"
        assert_no_stumbling_blocks(page)


def test_a_thumb_is_kept_on_reload_and_taken_back(browser: Any, server: Server) -> None:
    with new_page(browser) as page:
        page.goto(f"{server.url}/?q=fever+trial")
        page.keyboard.press("j")
        page.keyboard.press("y")
        page.wait_for_selector("#status:has-text('Judged relevant')")
        page.keyboard.press("j")
        page.keyboard.press("x")
        page.wait_for_selector("#status:has-text('Judged not relevant')")
        page.reload()
        pressed = "button[aria-pressed=true]"
        assert [button.get_attribute("title") for button in page.query_selector_all(pressed)] == [
            "Relevant",
            "Not relevant",
        ]
        page.click(f"{pressed} >> nth=0")
        page.wait_for_selector("#status:has-text('taken back')")
        page.goto(f"{server.url}/judgments")
        page.wait_for_url("**/sign-in")
        sign_in(page, Keys(server.said.with_name("keys.json")).add("ada", "admin"))
        page.click("nav >> text=Judgments")
        assert "1 judgment of 1 person for 1 query" in page.inner_text("main")
        with page.expect_download() as download:
            page.click("a[download]")
        assert Path(download.value.path()).read_text().split()[3] == "0"
        page.click("nav >> text=Sign out")
        page.wait_for_selector("nav >> text=Sign in")


def sign_in(page: Any, secret: str) -> None:
    page.fill("#key", secret)
    page.keyboard.press("Enter")
    page.wait_for_selector("nav >> text=Sign out")


def test_why_a_result_is_here(browser: Any, server: Server) -> None:
    with new_page(browser) as page:
        page.goto(f"{server.url}/?q=fever+cough")
        page.keyboard.press("j")
        page.keyboard.press("w")
        page.wait_for_selector(".result .because")
        told = page.inner_text(".because")
        assert "BM25 number 1" in told
        assert "cough" in told
        assert_no_stumbling_blocks(page)
        page.keyboard.press("w")
        page.wait_for_selector(".because", state="detached")


def test_a_models_results_take_the_place_of_the_first_ones(browser: Any, server: Server) -> None:
    with new_page(browser) as page:
        held: list[Any] = []
        page.route("**wait=1*", lambda route: held.append(route))  # noqa: PLW0108 -- Playwright marks its handlers
        page.goto(f"{server.url}/?{ASKED}&rerank={MODEL}")
        before = ids(page)
        assert before[0] == "repeats"
        assert "is reading" in page.inner_text("#found")
        page.keyboard.press("j")  # somebody looks at the first one meanwhile
        page.wait_for_timeout(100)
        held[0].continue_()
        page.wait_for_selector(".moved")
        after = ids(page)
        assert after[0] == "answer"
        assert focused(page) == "repeats"  # and is not torn away from it
        was = before.index("answer")
        assert page.inner_text(".result[data-id=answer] .moved [aria-hidden]") == f"▲{was}"
        assert f"up {was}, was number {was + 1}" in page.inner_text(".result[data-id=answer] .place")
        assert "▼" in page.inner_text(".result[data-id=repeats] .moved")
        assert page.inner_text("#status").startswith(f"Re-ranked by {MODEL}")
        assert "wait" not in page.url
        page.click(".result[data-id=answer] .why")
        page.wait_for_selector(".because")
        told = page.inner_text(".because")
        assert ANSWER in told
        assert "relevant, says the model" in told
        assert f"BM25 number {was + 1}" in told
        assert f"{MODEL} number 1" in told


def test_nothing_glides_for_those_who_want_no_motion(browser: Any, server: Server) -> None:
    with new_page(browser, reduced_motion="reduce") as page:
        page.goto(f"{server.url}/?{ASKED}&rerank={MODEL}")
        page.wait_for_selector(".moved")
        assert page.evaluate("document.getAnimations().length") == 0


def test_when_the_model_does_not_answer_the_first_results_stay(browser: Any, server: Server) -> None:
    with new_page(browser) as page:
        page.route(
            "**wait=1*", lambda route: route.fulfill(status=200, body="<p>not ours</p>", content_type="text/html")
        )
        page.goto(f"{server.url}/?{ASKED}&rerank={MODEL}")
        page.wait_for_selector("#status:has-text('not re-ranked')")
        assert ids(page)[0] == "repeats"


def test_without_scripts_everything_is_there(browser: Any, server: Server) -> None:
    with new_page(browser, java_script_enabled=False) as page:
        page.goto(f"{server.url}/?is.source=Gardens&rerank={MODEL}")
        page.fill("#q", QUESTION)
        page.click("#search button")
        page.wait_for_url("**wait=1")
        assert ids(page)[0] == "answer"
        page.click(".why >> nth=0")
        page.wait_for_url("**/why?**")
        assert ANSWER in page.inner_text("main")
        page.click("#back")
        page.wait_for_url("**wait=1")
        page.goto(f"{server.url}/?q=fever&page=2")
        page.click(".thumb >> nth=0")
        page.wait_for_url("**/?q=fever&page=2#r-11")
        assert page.get_attribute(".thumb >> nth=0", "aria-pressed") == "true"
        page.click(".thumb >> nth=0")
        page.click("#settings summary")
        page.check("input[type=checkbox][name=rm3]")
        page.click("#settings-form button")
        assert page.url == f"{server.url}/?q=fever&rm3=1"


def test_two_rankings_side_by_side(browser: Any, server: Server) -> None:
    with new_page(browser) as page:
        page.goto(f"{server.url}/compare?is.source=Gardens")
        searched(page, QUESTION)
        page.wait_for_selector(".moved")
        left, right = (ids(page, f".side:nth-child({side})") for side in (1, 2))
        assert (left[0], right[0]) == ("repeats", "answer")
        assert set(left) == set(right)
        number = right.index("repeats") + 1
        assert f"number {number}" in page.inner_text(".side:nth-child(1) .result[data-id=repeats] .joined")
        page.hover(".side:nth-child(1) .result[data-id=answer]")
        assert page.locator(".side:nth-child(2) .result.partner").get_attribute("data-id") == "answer"
        page.click(".side:nth-child(2) details.settings summary")
        page.select_option("[name='b.rerank']", "none")
        page.fill("[name='b.k1']", "0")
        page.click(".side:nth-child(2) form button")
        page.wait_for_url("**b.k1=0**")
        assert "b.rerank=none" in page.url
        assert "a.k1" not in page.url
        assert page.inner_text(".side:nth-child(2) h2") == "BM25"


def test_hostile_documents_and_queries_do_nothing(browser: Any, server: Server) -> None:
    with new_page(browser, width=NARROW) as page:
        page.goto(f"{server.url}/?q=hostile")
        assert "hacked" not in page.title()
        assert page.locator("main img, main script").count() == 0
        assert_no_stumbling_blocks(page)
        for docno in ids(page):
            page.goto(f"{server.url}/?q=hostile")
            page.click(f'.result[data-id="{docno}"] h2 a')
            page.wait_for_url("**/document?**")
            assert page.locator("main img, main script").count() == 0
            assert_no_stumbling_blocks(page)
        page.goto(f"{server.url}/")
        page.fill("#q", "<script>document.title='hacked'</script>\u202e<img src=x onerror=alert(1)>" + "w" * 500)
        page.keyboard.press("Enter")
        page.wait_for_function("() => document.title.startsWith('<script>')")
        assert page.locator("main img, main script").count() == 0
        assert_no_stumbling_blocks(page)


@pytest.mark.parametrize("dark", [False, True])
@pytest.mark.parametrize("width", [NARROW, WIDE])
def test_every_page_is_for_everyone(browser: Any, server: Server, width: int, *, dark: bool) -> None:
    administrator = Keys(server.said.with_name("keys.json")).add(f"ada-{width}-{dark}", "admin")
    # Without motion, so that nothing is looked at while it is fading in.
    with new_page(browser, width=width, dark=dark, reduced_motion="reduce") as page:
        for path in (
            "/",
            "/?q=fever&is.source=WHO&from.year=2000",
            "/?q=zebra",
            "/compare?q=fever",
            "/document?id=d1&q=fever",
            "/why?id=d1&q=fever+cough",
            "/sign-in",
            "/judgments",
        ):
            page.goto(server.url + path)
            if path == "/judgments":
                sign_in(page, administrator)
                page.goto(server.url + path)
            page.wait_for_function("() => !document.querySelector('[data-rerank]')")
            assert_no_stumbling_blocks(page)
        page.goto(f"{server.url}/?q=fever")
        page.keyboard.press("s")
        assert_no_stumbling_blocks(page)
        page.keyboard.press("?")
        assert_no_stumbling_blocks(page)
        for path in (f"/?{ASKED}&rerank={MODEL}", f"/compare?{ASKED}"):
            page.goto(server.url + path)
            page.wait_for_selector(".moved")
            assert_no_stumbling_blocks(page)
