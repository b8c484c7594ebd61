"""`rankwell serve --new` without a browser: upload, look, choose, index, search; hostile files, keys, limits."""

from __future__ import annotations

import errno
import gzip
import re
from pathlib import Path

import pytest
from new_site import TICKETS, visiting

from commands import rankwell
from rankwell.apps.search.access import Keys
from rankwell.apps.search.new.reading import Look
from rankwell.apps.search.new.uploads import Upload, choice_of, choose, uses_of
from rankwell.collections import preview
from rankwell.core import Document, RankwellError
from rankwell.index import Index, IndexWriter
from waiting import wait_until

HOSTILE = '"><script>alert(1)</script>\u202e<b>&amp;'


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "indexes"


def looked_at(tmp_path: Path, content: str) -> Upload:
    path = tmp_path / "t.csv"
    path.write_text(content)
    seen = preview(path)
    upload = Upload("id", "t.csv", path, None, Look(seen.format, seen.tables, {}, ()))  # type: ignore[arg-type]
    upload.guess, upload.uses = uses_of(upload.table), uses_of(upload.table)
    return upload


def test_without_a_change_the_columns_are_guessed(tmp_path: Path) -> None:
    upload = looked_at(tmp_path, TICKETS)
    assert upload.uses == ["id-text", "title", "text", "both", "filter"]
    assert choice_of(upload) == {}


def test_chosen_uses_become_a_choice_of_columns(tmp_path: Path) -> None:
    upload = looked_at(tmp_path, TICKETS)
    choose(upload, {"use-0": "none", "use-1": "text", "use-2": "title", "use-3": "filter", "use-4": "nonsense"})
    assert choice_of(upload) == {
        "id": "{content}",
        "fields": {"title": "Text", "betreff": "Betreff"},
        "metadata": ["Art", "Preis"],
    }


@pytest.mark.parametrize(
    ("uses", "told"),
    [
        ({"use-2": "title"}, "expected one title, found 2: Betreff, Text"),
        ({"use-1": "id"}, "expected one id, found 2: Betreff, ticket"),
        ({f"use-{number}": "filter" for number in range(5)}, "expected one that is searchable, found none"),
    ],
)
def test_uses_that_make_no_documents_are_told(tmp_path: Path, uses: dict[str, str], told: str) -> None:
    upload = looked_at(tmp_path, TICKETS)
    choose(upload, uses)
    with pytest.raises(RankwellError, match=told):
        choice_of(upload)


@pytest.mark.parametrize("words", [("--host", "0.0.0.0"), ("--base-url", "https://example.org/new")])  # noqa: S104
def test_others_may_upload_only_where_there_is_a_key_to_write(tmp_path: Path, words: tuple[str, ...]) -> None:
    keys = tmp_path / "keys.json"
    Keys(keys).add("reader", "read")
    done = rankwell("serve", "--new", tmp_path / "indexes", *words, "--keys", keys)
    assert done.returncode == 1
    assert "rankwell serve keys add NAME --role write" in done.stderr
    assert not (tmp_path / "indexes").exists()


def test_an_index_is_no_folder_of_indexes(tmp_path: Path) -> None:
    with IndexWriter(tmp_path / "index") as writer:
        writer.add(Document("d", {"text": "words"}))
    done = rankwell("serve", "--new", tmp_path / "index")
    assert (done.returncode, "expected a folder for new indexes, found an index" in done.stderr) == (1, True)


def test_without_a_folder_the_way_out_is_named() -> None:
    assert "or --new, to make one on a page" in rankwell("serve", "run").stderr


def test_pages_need_a_key_to_write_where_others_reach_them(folder: Path, tmp_path: Path) -> None:
    keys = Keys(tmp_path / "keys.json")
    reader, writer = keys.add("reader", "read"), keys.add("writer", "write")
    with visiting(folder, keys=keys.path, host="0.0.0.0") as visitor:  # noqa: S104
        asked = visitor.get("/")
        assert (asked.status_code, asked.headers["www-authenticate"][:5]) == (401, "Basic")
        assert visitor.get("/", auth=("me", reader)).status_code == 403
        assert visitor.get("/", auth=("me", writer)).status_code == 200
        assert visitor.post("/upload", files={"file": ("a.csv", b"x")}).status_code == 401
        assert visitor.get("/static/new.css").status_code == 200


def test_another_host_name_is_refused(folder: Path) -> None:
    with visiting(folder) as visitor:
        assert visitor.get("/", headers={"host": "evil.example"}).status_code == 421


def test_forms_need_their_token_and_uploads_have_a_limit(folder: Path) -> None:
    with visiting(folder) as visitor:
        assert visitor.upload("a.csv", b"x", csrf="wrong").status_code == 403
        assert visitor.post("/upload", data={"csrf": visitor.token()}).status_code == 415
        too_large = visitor.post("/upload", content=b"x", headers={"content-length": str(70 * 1024 * 1024)})
        assert too_large.status_code == 413
        assert "script-src 'self'" in visitor.get("/").headers["content-security-policy"]
    assert not folder.exists()


@pytest.mark.parametrize("path", ["/file/nothing", "/i/nothing/", "/i/../x/", "/i/%2e%2e/", "/i/a b/", "/i/"])
def test_what_is_not_there_is_not_found(folder: Path, path: str) -> None:
    with visiting(folder) as visitor:
        assert visitor.get(path, follow_redirects=False).status_code in (307, 404)  # 307: without the slash


@pytest.mark.slow
def test_from_a_file_to_a_search(folder: Path) -> None:
    with visiting(folder) as visitor:
        page = visitor.upload("../../Tickets März.csv", TICKETS.encode("cp1252"))
        assert page.status_code == 200
        assert "How <bdi>Tickets März.csv</bdi> is read" in page.text
        assert "semicolon-separated" in page.text
        assert 'value="Tickets-M-rz"' in page.text
        done = visitor.finished(visitor.change(page, "index", name="tickets"))
        assert "8 documents indexed" in done
        assert 'href="/i/tickets/"' in done
        found = visitor.get("/i/tickets/?q=keller&is.Art=rot").text
        assert "4 documents" in found
        assert 'href="/static' not in found  # below its own address
        assert 'href="/">All indexes' in found
        assert len(visitor.get("/i/tickets/api/search?q=keller").json()["results"]) == 8
        assert visitor.get("/i/tickets", follow_redirects=False).headers["location"] == "/i/tickets/"
        assert "tickets</a>" in visitor.get("/").text
    assert [path.name for path in folder.iterdir()] == ["tickets"]
    assert "Tickets März.csv" in (folder / "tickets" / "tables.json").read_text()
    assert "/tmp" not in (folder / "tickets" / "tables.json").read_text()  # noqa: S108 -- no path of the upload


@pytest.mark.slow
def test_roles_are_corrected_and_shown_again(folder: Path) -> None:
    with visiting(folder) as visitor:
        page = visitor.upload("t.csv", TICKETS.encode())
        again = visitor.change(page, "look", **{"use-0": "none", "use-3": "none"})
        assert "made from its content" in again.text
        assert re.search(r'name="use-3">.*?value="none" selected', again.text, re.DOTALL)
        wrong = visitor.change(again, "index", **{"use-2": "title"})
        assert wrong.status_code == 422
        assert "expected one title, found 2" in wrong.text
        assert "8 documents indexed" in visitor.finished(visitor.change(again, "index", name="t", **{"use-2": "text"}))
    index = Index.open(folder / "t")
    assert (index.fields, index.metadata) == (("title", "text"), ("Preis",))


@pytest.mark.slow
def test_another_encoding_is_looked_at_first(folder: Path) -> None:
    with visiting(folder) as visitor:
        page = visitor.upload("t.csv", "id;Übersicht\n1;Grüße aus dem Süden\n2;Schöne Tage\n".encode())
        again = visitor.change(page, "index", encoding="cp1252")
        assert again.status_code == 422
        assert "the columns have other names" in again.text
        assert "Ãœbersicht" in again.text
        assert not folder.exists()


@pytest.mark.slow
def test_a_name_that_is_taken_or_odd_is_refused(folder: Path) -> None:
    (folder / "mine").mkdir(parents=True)
    (folder / "mine" / "letter.txt").write_text("keep me")
    with visiting(folder) as visitor:
        page = visitor.upload("t.csv", TICKETS.encode())
        for name in ("mine", "../out", ".hidden", "a/b", "a b", "", "x" * 65, "c:d"):
            answer = visitor.change(page, "index", name=name)
            assert answer.status_code == 422, name
            assert "Name of the index: expected" in answer.text
    assert [path.name for path in folder.iterdir()] == ["mine"]
    assert (folder / "mine" / "letter.txt").read_text() == "keep me"


@pytest.mark.slow
def test_hostile_names_and_texts_are_only_text(folder: Path) -> None:
    content = (
        f'id,{HOSTILE.replace(chr(34), chr(39))},text\n1,"{HOSTILE.replace(chr(34), chr(39))}",some words in here\n'
    )
    with visiting(folder) as visitor:
        page = visitor.upload(f"{HOSTILE}.csv", content.encode())
        assert page.status_code == 200
        for answer in (page.text, visitor.finished(visitor.change(page, "index", name="h")), visitor.get("/").text):
            assert "<script>alert" not in answer
            assert "<b>&" not in answer


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "content", "told"),
    [
        ("a.csv", b"", "a.csv"),
        ("a.csv", b"\x00\x01\x02", "a.csv"),
        ("a.csv.gz", gzip.compress(gzip.compress(b"id,text\n1,x\n")), "packed twice"),
        ("a.csv.gz", gzip.compress(b"id,text\n" + b"1,x\n" * 50_000_000, 1), "at most 128 MB when unpacked"),
        ("", b"id,text\n1,x\n", ""),
    ],
    ids=["empty", "bytes", "packed twice", "bomb", "no name"],
)
def test_a_bad_file_is_told_in_a_line_and_the_server_goes_on(
    folder: Path, name: str, content: bytes, told: str
) -> None:
    with visiting(folder) as visitor:
        page = visitor.upload(name, content)
        assert page.status_code == 422
        assert told in page.text
        assert "/tmp" not in page.text  # noqa: S108 -- no path of this machine
        assert visitor.get("/").status_code == 200
    assert not folder.exists()


@pytest.mark.slow
def test_bad_rows_are_left_out_and_told(folder: Path) -> None:
    with visiting(folder) as visitor:
        page = visitor.upload("t.csv", (TICKETS + "T9;nur zwei\n").encode())
        done = visitor.finished(visitor.change(page, "index", name="t"))
        assert "1 bad records were left out" in done
        assert "t.csv:10: expected 5 columns" in done


@pytest.mark.slow
def test_waiting_uploads_are_few_and_gone_at_the_end(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("rankwell.apps.search.new.uploads.MOST_WAITING", 2)
    with visiting(folder) as visitor:
        pages = [visitor.upload(f"{number}.csv", TICKETS.encode()) for number in range(3)]
        assert [visitor.get(page.url.path).status_code for page in pages] == [404, 200, 200]
        uploads: list[Upload] = list(visitor.app.uploads._uploads.values())  # type: ignore[attr-defined]
        assert all(upload.path.exists() for upload in uploads)
    assert not any(upload.path.exists() for upload in uploads)


def test_a_full_disk_is_told_as_such(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object) -> int:
        raise OSError(errno.ENOSPC, "No space left on device")

    with visiting(folder) as visitor:
        token = visitor.token()
        monkeypatch.setattr(Path, "write_bytes", full)
        answer = visitor.upload("t.csv", TICKETS.encode(), csrf=token)
    assert answer.status_code == 507


@pytest.mark.slow
def test_an_index_that_is_half_made_when_the_server_ends_is_removed(folder: Path) -> None:
    rows = "".join(f"{number},some words of the row {number} in here\n" for number in range(300_000))
    with visiting(folder) as visitor:
        page = visitor.upload("t.csv", b"id,text\n" + rows.encode())
        visitor.change(page, "index", name="t")
        wait_until((folder / "t").exists, "indexing has begun")
    assert list(folder.iterdir()) == []
