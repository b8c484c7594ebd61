"""Who may judge: signed-in people and keys, anonymous visitors if the owner wants it; who may see what was judged."""

from __future__ import annotations

import base64
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from page_site import PageVisitor, another, make_index, visiting

from rankwell.apps.search.access import Keys
from rankwell.apps.search.judgments import JudgmentsFile

ADDRESS = "/?q=fever"
PRESSED = 'aria-pressed="true" title="Relevant"'


@pytest.fixture(scope="module")
def index(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_index(tmp_path_factory.mktemp("people") / "health")


@pytest.fixture
def visitor(index: Path, tmp_path: Path) -> Iterator[PageVisitor]:
    with visiting(index, tmp_path) as found:
        yield found


@pytest.fixture
def keys(tmp_path: Path) -> Keys:
    return Keys(tmp_path / "keys.json")


def judge(visitor: PageVisitor, docno: str, grade: str) -> int:
    """Press a thumb; the status. A page without thumbs lends its token from the sign-in page."""
    form = {"csrf": visitor.token("/sign-in"), "q": "fever", "id": docno, "grade": grade}
    return int(visitor.post("/judge", data=form, follow_redirects=False).status_code)


def test_who_has_not_signed_in_has_no_thumbs_and_keeps_none(visitor: PageVisitor, tmp_path: Path) -> None:
    page = visitor.get(ADDRESS).text
    assert "data-thumbs" not in page
    assert 'href="/sign-in?back=q%3Dfever"' in page
    assert judge(visitor, "d1", "1") == 401
    assert (tmp_path / "thumbs.jsonl").read_bytes() == b""


def test_a_key_to_read_does_not_judge(visitor: PageVisitor, keys: Keys) -> None:
    assert visitor.sign_in(keys.add("reader", "read")).status_code == 303
    assert "data-thumbs" not in visitor.get(ADDRESS).text
    assert judge(visitor, "d1", "1") == 403


def test_people_judge_side_by_side_and_see_their_own_grades(visitor: PageVisitor, keys: Keys, tmp_path: Path) -> None:
    ann, bob = visitor, another(visitor)
    sent = ann.sign_in(keys.add("ann", "judge"), back="q=fever&k1=1.2&b=0.4")
    assert sent.headers["location"] == "/?q=fever&b=0.4"
    bob.sign_in(keys.add("bob", "judge"))
    assert (judge(ann, "d4", "1"), judge(bob, "d4", "0"), judge(bob, "d9", "1")) == (303, 303, 303)
    assert ann.get("/?q=fever&k=50").text.count(PRESSED) == 1
    assert bob.get("/?q=fever&k=50").text.count(PRESSED) == 1
    assert judge(bob, "d4", "") == 303  # takes his own back, and hers stays
    kept = [line for line in (tmp_path / "thumbs.jsonl").read_text().splitlines() if '"d4"' in line]
    assert [re.findall(r'"grade":(\w+),"who":"(\w+)"', line)[0] for line in kept] == [
        ("1", "ann"),
        ("0", "bob"),
        ("null", "bob"),
    ]
    assert ann.get("/?q=fever&k=50").text.count(PRESSED) == 1


def test_a_key_sent_with_the_request_is_a_person_too(visitor: PageVisitor, keys: Keys, tmp_path: Path) -> None:
    basic = base64.b64encode(f"any:{keys.add('carl', 'judge')}".encode()).decode()
    visitor.headers["authorization"] = f"Basic {basic}"
    page = visitor.get(ADDRESS).text
    assert "data-thumbs" in page
    assert "Sign in" not in page
    assert judge(visitor, "d1", "1") == 303
    assert '"who":"carl"' in (tmp_path / "thumbs.jsonl").read_text()


def test_only_administrators_see_what_people_searched_for(visitor: PageVisitor, keys: Keys) -> None:
    ann, ada = visitor, another(visitor)
    ann.sign_in(keys.add("ann", "write"))
    ada.sign_in(keys.add("ada", "admin"))
    judge(ann, "d4", "1")
    nobody = another(visitor)
    for path in ("/judgments", "/judgments/qrels", "/judgments/queries", "/judgments/grades"):
        assert nobody.get(path, follow_redirects=False).headers["location"] == "/sign-in"
        assert ann.get(path).status_code == 403
        assert ada.get(path).status_code == 200
    assert "/judgments" not in ann.get(ADDRESS).text
    assert "1 judgment of 1 person for 1 query." in ada.get("/judgments").text
    assert ada.get("/judgments/grades").text.splitlines()[1].split("\t")[1:4] == ["d4", "ann", "1"]
    assert ada.get("/judgments/nothing").status_code == 404


def test_signing_out_ends_the_session_and_a_copy_of_its_cookie(
    visitor: PageVisitor, keys: Keys, index: Path, tmp_path: Path
) -> None:
    secret = keys.add("ann", "judge")
    visitor.sign_in(secret)
    copy, other = another(visitor), another(visitor)
    copy.cookies.update(visitor.cookies)
    other.sign_in(secret)
    assert "data-thumbs" in copy.get(ADDRESS).text
    visitor.post("/sign-out", data={"csrf": visitor.token(ADDRESS)})
    stolen = dict(copy.cookies)
    for who, has in ((visitor, False), (copy, False), (other, True)):
        assert ("data-thumbs" in who.get(ADDRESS).text) == has
    visitor.app.service.close()  # type: ignore[attr-defined]
    with visiting(index, tmp_path) as again:  # after a restart, too
        again.cookies.update(stolen)
        assert "data-thumbs" not in again.get(ADDRESS).text


@pytest.mark.parametrize("end", ["sign_out", "remove"])
def test_the_owner_ends_sessions_at_once(visitor: PageVisitor, keys: Keys, end: str) -> None:
    visitor.sign_in(keys.add("ann", "judge"))
    assert "data-thumbs" in visitor.get(ADDRESS).text
    getattr(keys, end)("ann")
    assert "data-thumbs" not in visitor.get(ADDRESS).text
    assert judge(visitor, "d1", "1") == 401
    if end == "remove":  # another key of the same name opens no session of the old one
        keys.add("ann", "judge")
        assert "data-thumbs" not in visitor.get(ADDRESS).text


def test_guessing_keys_on_the_sign_in_page_is_stopped(visitor: PageVisitor, keys: Keys) -> None:
    keys.add("ann", "judge")
    token = visitor.token("/sign-in")
    tries = [visitor.post("/sign-in", data={"csrf": token, "key": f"wrong {n}"}).status_code for n in range(21)]
    assert tries == [403] * 20 + [429]


def test_anonymous_thumbs_are_of_one_browser_and_limited(index: Path, tmp_path: Path) -> None:
    with visiting(index, tmp_path, anonymous_thumbs=3) as ann:
        bob = another(ann)
        assert [judge(ann, "d4", "1"), judge(bob, "d4", "0")] == [303, 303]
        assert ann.get("/?q=fever&k=50").text.count(PRESSED) == 1
        assert bob.get("/?q=fever&k=50").text.count(PRESSED) == 0
        assert ann.get("/judgments", follow_redirects=False).headers["location"] == "/sign-in"
        # A new cookie does not help: the limit is the address's.
        assert [judge(another(ann), "d5", "1") for _ in range(3)] == [303, 429, 429]
    kept = JudgmentsFile(tmp_path / "thumbs.jsonl")
    assert len(set(kept.by_person().assessors)) == 3
    assert all(who.startswith("anonymous:") for who in kept.by_person().assessors)
    kept.close()
