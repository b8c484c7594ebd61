"""The whole path in a real browser, a real server process and a real mail server."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from random import Random
from typing import Any

import pytest
from serving import Server, mail_environment, running

from browser import NARROW, WIDE, assert_no_stumbling_blocks, chromium, new_page
from inbox import Letters, mail_server
from rankwell.judging.store import Store, open_store
from rankwell.judging.study import SCALES
from studies import make_study

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
    make_study(tmp_path / "study.db", queries=8, passages=3, mark_terms=True).close()
    return tmp_path / "study.db"


@pytest.fixture
def store(database: Path) -> Iterator[Store]:
    with open_store(database) as found:
        yield found


@pytest.fixture
def letters() -> Iterator[Letters]:
    with mail_server() as found:
        yield found


@pytest.fixture
def server(database: Path, letters: Letters, tmp_path: Path) -> Iterator[Server]:
    with running(database, tmp_path / "log", "--admin", "boss@example.org", **mail_environment(letters)) as found:
        yield found


def mailed_link(letters: Letters, count: int) -> str:
    return re.findall(r"http://\S+/sign-in/link\?token=\S+", letters.wait(count)[count - 1].text)[0]


def press(page: Any, key: str) -> None:
    """Press a key that saves something, and wait for what comes of it."""
    page.wait_for_timeout(200)  # a key within 150 ms belongs to the passage before
    with page.expect_response(lambda response: response.request.method == "POST"):
        page.keyboard.press(key)
    page.wait_for_selector("main:not([aria-busy])")


def where(page: Any) -> str:
    return str(page.inner_text(".where"))


def sign_up(page: Any, invitation: str, letters: Letters, address: str, count: int) -> None:
    page.goto(invitation)
    page.fill("#email", address)
    page.click("text=Send me a link")
    assert "Look into your mail" in page.inner_text("h1")
    page.goto(mailed_link(letters, count))
    page.click("main button")
    page.check("input[name=english][value='8']")
    page.check("input[name=agreed]")
    page.click("main button")
    page.click("text=Get my first queries")
    page.wait_for_selector("form.answer")


def test_the_whole_path(browser: Any, server: Server, letters: Letters, store: Store) -> None:  # noqa: PLR0915 -- it is one path
    admin_link = re.findall(r"Administrator, once: (\S+)", server.words())[0]
    with new_page(browser) as admin, new_page(browser) as first, new_page(browser, width=NARROW) as second:
        admin.goto(admin_link)
        admin.click("main button")
        admin.click("text=Invitations")
        admin.fill("#places", "5")
        admin.click("text=Make an invitation")
        invitation = admin.inner_text("#link")

        sign_up(first, invitation, letters, "ada@example.org", 1)
        assert "1 of 3 in this query" in where(first)
        press(first, "3")
        assert "2 of 3 in this query" in where(first)
        assert first.inner_text("#status") == "Saved: relevant."
        press(first, "x")
        press(first, "u")
        assert "2 of 3 in this query" in where(first)
        first.keyboard.press("ArrowRight")
        first.keyboard.press("ArrowRight")
        press(first, "Enter")  # the second grade
        first.keyboard.press("n")
        first.keyboard.type("zinc, 1 or 2?")  # digits in a note are no grades
        first.keyboard.press("Escape")
        press(first, "5")
        assert "query 2 of 6" in where(first)
        first.keyboard.press("g")
        assert first.locator("dialog").is_visible()
        first.keyboard.press("Escape")
        assert not first.locator("dialog").is_visible()
        first.click("text=Pause")
        assert "5 queries wait for you" in first.inner_text("main")

        second.goto(f"{server.url}/sign-in")  # another device
        second.fill("#email", " Ada@Example.org ")
        second.click("text=Send me a link")
        second.goto(mailed_link(letters, 2))
        second.click("main button")
        second.click("text=Go on")
        assert "query 2 of 6" in where(second)
        assert "1 of 3 in this query" in where(second)
        second.locator(".grades button").nth(3).click()
        second.wait_for_selector(".where:has-text('2 of 3')")

        given = {(row.query_order, row.passage_order): row.grade for row in store.answers()}
        assert given == {(1, 1): 3, (1, 2): 2, (1, 3): 5, (2, 1): 4}

        admin.click("text=Progress")
        assert "4" in admin.inner_text(".figures")
        admin.click("text=Results")
        with admin.expect_download() as download:
            admin.click("text=All answers >> nth=0")
        rows = Path(download.value.path()).read_text().splitlines()
        assert len(rows) == 5
        assert "ada" not in "".join(rows)
        admin.click("text=Notes")
        assert "zinc, 1 or 2?" in admin.inner_text("td.remark")
        admin.click("text=Assessors")
        admin.click("tbody a >> nth=1")
        assert "ada@example.org" in admin.inner_text("main")
        admin.click("button:has-text('Pause')")
        first.goto(f"{server.url}/judge")
        assert "Your work on this study has been paused" in first.inner_text("main")
        admin.check("input[name=sure]")
        admin.click("button:has-text('Delete')")
        first.goto(f"{server.url}/me")
        assert first.url.endswith("/sign-in")
    assert "ada" not in server.words().lower().replace("/admin", "")
    assert "token=" not in server.words().replace(admin_link, "")


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
@pytest.mark.parametrize("width", [NARROW, WIDE])
def test_every_page_is_for_everyone(browser: Any, server: Server, store: Store, *, width: int, dark: bool) -> None:
    with new_page(browser, width=width, dark=dark) as page:
        for path in ("/", "/sign-in", f"/join?code={store.invitations.invite()}", "/sign-in/sent", "/sign-in/link"):
            page.goto(server.url + path)
            assert_no_stumbling_blocks(page)
        page.goto(f"{server.url}/join?code={store.invitations.invite(administrator=True)}")
        page.click("text=Join")
        page.wait_for_selector("#return-code")
        assert_no_stumbling_blocks(page)
        page.goto(f"{server.url}/welcome")
        assert_no_stumbling_blocks(page)
        page.check("input[name=english][value='8']")
        page.check("input[name=agreed]")
        page.click("main button")
        page.wait_for_selector("text=Get my first queries")
        assert_no_stumbling_blocks(page)
        page.click("text=Get my first queries")
        page.wait_for_selector("form.answer")
        assert_no_stumbling_blocks(page)
        press(page, "4")
        page.keyboard.press("n")
        assert_no_stumbling_blocks(page)
        page.keyboard.press("Escape")
        page.keyboard.press("?")
        assert_no_stumbling_blocks(page)
        name = store.people.accounts()[-1].name
        admin = ("", "/assessors", f"/assessors/{name}", "/invitations", "/results", "/notes", "/events")
        for path in ("/", "/judge/1/1", "/guidelines", "/me", "/gone", *(f"/admin{part}" for part in admin)):
            page.goto(server.url + path)
            assert_no_stumbling_blocks(page)


def test_agreement_is_read_on_a_phone_without_scrolling_sideways(browser: Any, server: Server, store: Store) -> None:
    random = Random(0)  # noqa: S311 -- the same every time
    for place in range(3):
        name = store.invitations.redeem(store.invitations.invite(), f"10.0.0.{place}").account.name
        store.people.consent(name)
        while store.judging.begin(name):
            while task := store.judging.task(name):
                store.judging.give(name, task.assignment, task.position, random.choice((1, 3, 5)))
    with new_page(browser, width=NARROW) as page:
        page.goto(f"{server.url}/join?code={store.invitations.invite(administrator=True)}")
        page.click("text=Join")
        page.goto(f"{server.url}/admin/results")
        cells = page.locator("table td, table th")
        assert cells.count() > 20
        rights = cells.evaluate_all("cells => cells.map(cell => cell.getBoundingClientRect().right)")
        assert max(rights) <= NARROW
        assert page.locator("td .muted").first.inner_text().startswith("[")  # an interval, whole
        assert_no_stumbling_blocks(page)


@pytest.mark.parametrize("points", SCALES)
def test_every_scale_fits_and_is_graded_by_key(browser: Any, tmp_path: Path, points: int) -> None:
    made = make_study(tmp_path / "scale.db", queries=6, passages=3, scale=SCALES[points])
    with made, running(tmp_path / "scale.db", tmp_path / "log") as server:
        for width in (NARROW, WIDE):
            with new_page(browser, width=width) as page:
                judging(page, server, made)
                assert_no_stumbling_blocks(page)
                spilt = "[...document.querySelectorAll('.grading button')].filter(b => b.scrollWidth > b.clientWidth)"
                assert page.evaluate(f"{spilt}.map(b => b.innerText)") == []
                sizes = "names => names.map(name => parseFloat(getComputedStyle(name).fontSize))"
                assert all(size >= 13 for size in page.eval_on_selector_all(".grading .name", sizes))
                press(page, "t" if points == 11 else str(SCALES[points][-1].grade))
    with open_store(tmp_path / "scale.db") as found:
        assert [row.grade for row in found.answers()] == [SCALES[points][-1].grade] * 2


def test_a_screen_reader_hears_what_happened_and_where_it_is(browser: Any, server: Server, store: Store) -> None:
    with new_page(browser) as page:
        judging(page, server, store)
        press(page, "2")
        assert page.evaluate("document.activeElement.id") == "passage"
        assert page.inner_text("#passage").startswith("Passage 2")
        assert page.get_by_role("status").inner_text() == "Saved: slightly relevant."
        assert page.get_by_role("group", name="How relevant is this passage?").get_by_role("button").count() == 6
        assert page.get_by_role("button", name="3 relevant", exact=True).count() == 1
        assert page.title().startswith("Passage 2 of 3, query 1 of 6")
        page.click("text=Previous passage")
        assert page.get_by_role("button", name="2 slightly relevant", pressed=True).count() == 1


def judging(page: Any, server: Server, store: Store) -> None:
    page.goto(f"{server.url}/join?code={store.invitations.invite()}")
    page.click("text=Join")
    page.click("text=Go on")
    page.check("input[name=english][value='8']")
    page.check("input[name=agreed]")
    page.click("main button")
    page.click("text=Get my first queries")
    page.wait_for_selector("form.answer")


def test_the_essential_path_needs_no_script(browser: Any, server: Server, store: Store, letters: Letters) -> None:
    code = store.invitations.invite()
    with new_page(browser, width=NARROW, java_script_enabled=False) as page:
        sign_up(page, f"{server.url}/join?code={code}", letters, "bob@example.org", 1)
        page.click("summary")
        page.fill("#note", "without a script")
        page.click(".grades button >> nth=4")
        assert "2 of 3 in this query" in where(page)
        page.click(".unsure")
        page.click("text=Undo")
        assert "2 of 3 in this query" in where(page)
        page.click("#guidelines-link")
        assert "What counts" in page.inner_text("main")
        page.click("text=Back to judging")
        page.click(".grades button >> nth=0")
        page.click("text=Pause")
        assert "2 of 3" in page.inner_text("main")
        page.click("text=Sign out")
    assert [row.grade for row in store.answers()] == [5, 1]


def test_a_grade_that_was_not_saved_is_said_not_to_be(browser: Any, server: Server, store: Store) -> None:
    context = browser.new_context()
    page = context.new_page()
    judging(page, server, store)
    context.set_offline(True)
    page.wait_for_timeout(200)
    page.keyboard.press("3")
    page.wait_for_selector("#trouble:has-text('Not saved')")
    assert "Not saved" in page.get_by_role("alert").inner_text()
    assert "1 of 3 in this query" in where(page)
    context.set_offline(False)
    press(page, "3")
    assert "2 of 3 in this query" in where(page)
    assert page.inner_text("#trouble") == ""
    context.close()
    assert len(store.answers()) == 1


def test_a_held_or_doubled_key_gives_one_grade(browser: Any, server: Server, store: Store) -> None:
    with new_page(browser) as page:
        judging(page, server, store)
        page.wait_for_timeout(200)
        page.evaluate("""() => {
            for (let n = 0; n < 20; n++)
                document.body.dispatchEvent(new KeyboardEvent("keydown", {key: "4", repeat: n > 1, bubbles: true}));
        }""")
        page.wait_for_selector(".where:has-text('2 of 3')")
        page.wait_for_timeout(500)
        assert "2 of 3 in this query" in where(page)
    assert len(store.answers()) == 1


def test_hostile_texts_are_text(browser: Any, tmp_path: Path) -> None:
    texts = {"title": f"title {HOSTILE}", "text": f"{HOSTILE}\n\n" + "long" * 300, f"<b>{HOSTILE}": HOSTILE}
    settings = {"title": f"Study {HOSTILE}", "guidelines": HOSTILE, "consent": HOSTILE, "mark_terms": True}
    store = make_study(tmp_path / "hostile.db", texts=texts, questions=(HOSTILE,), **settings)
    with store, running(tmp_path / "hostile.db", tmp_path / "log") as server, new_page(browser, width=NARROW) as page:
        page.goto(f"{server.url}/join?code={store.invitations.invite(administrator=True)}")
        page.click("text=Join")
        page.goto(f"{server.url}/welcome")
        page.check("input[name=english][value='8']")
        page.check("input[name=agreed]")
        page.click("main button")
        page.click("text=Get my first queries")
        page.wait_for_selector("form.answer")
        for answer in "12345":
            page.keyboard.press("n")
            page.keyboard.insert_text(HOSTILE)
            page.keyboard.press("Escape")
            press(page, answer)
            assert HOSTILE in page.text_content("main")
        for path in (
            "/",
            "/judge/1/1",
            "/guidelines",
            "/me",
            "/admin",
            "/admin/results",
            "/admin/notes",
            "/admin/events",
        ):
            page.goto(server.url + path)
            assert "hacked" not in page.title().split("document.title")[0]
            assert page.locator("main img, main script").count() == 0
            assert_no_stumbling_blocks(page)
        rows = json.loads(page.request.get(f"{server.url}/admin/export/answers.json").text())
        assert len(rows) == 5
