"""What the pages say, without a browser: addresses, states, filters, judgments, hostile texts."""

from __future__ import annotations

import re
from collections.abc import Iterator
from html import unescape
from pathlib import Path

import pytest
from page_site import HOSTILE, PageVisitor, make_index, visiting
from typer.testing import CliRunner

from rankwell.apps.search.access import Keys
from rankwell.cli import app

FRAGMENT = {"X-Rankwell-Fragment": "1"}


@pytest.fixture(scope="module")
def index(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_index(tmp_path_factory.mktemp("page") / "health")


@pytest.fixture
def visitor(index: Path, tmp_path: Path) -> Iterator[PageVisitor]:
    with visiting(index, tmp_path) as found:
        yield found


def titles(page: str) -> list[str]:
    return [unescape(re.sub(r"<[^>]+>", "", title)) for title in re.findall(r'<h2 id="t-\d+">(.*?)</h2>', page)]


def test_a_query_finds_documents_with_marked_words(visitor: PageVisitor) -> None:
    page = visitor.get("/?q=fever+cough").text
    assert "30 documents" in page
    assert len(titles(page)) == 10
    assert "<mark>fever</mark>" in page
    assert "Page 1 of 3" in page
    assert "<title>fever cough · health</title>" in page


def test_pages_go_on_where_the_last_one_ended(visitor: PageVisitor) -> None:
    seen = [title for number in (1, 2, 3) for title in titles(visitor.get(f"/?q=fever&page={number}").text)]
    assert sorted(seen) == sorted(f"Fever study {number}" for number in range(30))
    assert "Go to the first page" in visitor.get("/?q=fever&page=4").text


def test_the_usual_is_taken_out_of_the_address(visitor: PageVisitor) -> None:
    sent = visitor.get("/?q=fever&k1=1.2&b=0.4&weight.title=&rm3=0", follow_redirects=False)
    assert (sent.status_code, sent.headers["location"]) == (303, "/?q=fever&b=0.4")
    assert visitor.get("/?q=fever&b=0.4", follow_redirects=False).status_code == 200


def test_results_are_sorted_and_the_address_says_so(visitor: PageVisitor) -> None:
    page = visitor.get("/?q=fever&sort=year:desc").text
    assert titles(page)[:2] == ["Fever study 29", "Fever study 28"]
    assert '<option value="year:desc" selected>year, highest first</option>' in page
    assert titles(visitor.get("/?q=fever&sort=year:desc&page=2").text)[0] == "Fever study 19"
    assert titles(visitor.get("/?q=fever&sort=title:asc").text)[:2] == ["Fever study 0", "Fever study 1"]
    sent = visitor.get("/?q=fever&sort=relevance", follow_redirects=False)
    assert sent.headers["location"] == "/?q=fever"
    assert 'href="/?q=fever&amp;sort=year%3Adesc&amp;page=2"' in page
    bad = visitor.get("/?q=fever&sort=colour")
    assert bad.status_code == 422
    assert "one of year, source, title" in bad.text


def test_settings_change_the_ranking_and_are_reset_by_a_link(visitor: PageVisitor) -> None:
    page = visitor.get("/?q=fever&k1=0&weight.title=1").text
    assert "2 changed" in page
    assert re.search(r'class="button" href="/\?q=fever" data-live>Reset', page)
    assert titles(page) != titles(visitor.get("/?q=fever").text)


def test_facets_count_each_column_without_its_own_filter(visitor: PageVisitor) -> None:
    page = visitor.get("/?q=fever&is.source=PMC&from.year=2000").text
    assert "6 documents" in page
    counts = dict(re.findall(r"<bdi>(PMC|WHO|Elsevier BV)</bdi></span> <span class=\"many\">(\d+)</span>", page))
    assert counts == {"PMC": "6", "WHO": "7", "Elsevier BV": "7"}
    assert "source: PMC" in page
    assert "year: from 2000" in page
    removed = re.findall(r'class="chip" href="([^"]+)"', page)
    assert [unescape(link) for link in removed] == ["/?q=fever&from.year=2000", "/?q=fever&is.source=PMC"]
    assert "Elsevier+BV" in page
    assert "is.source=PMC&amp;is.source=WHO" in page


def test_facets_are_links_that_filter(visitor: PageVisitor) -> None:
    page = visitor.get("/?q=fever").text
    link = unescape(
        re.findall(r'href="([^"]+)"[^>]*data-live><span class="tick"[^>]*></span><span class="value"><bdi>WHO', page)[0]
    )
    assert "10 documents" in visitor.get(link).text


@pytest.mark.parametrize(
    ("query", "words"),
    [
        ("q=the+of", "in nearly every text"),
        ("q=zebra", "No document has"),
        ("q=fever+zebra&match=and", "Look for any of the words"),
        ("q=fever&is.source=PMC&to.year=1900", "Search without the filters"),
        ("", "33 documents, with title, abstract"),
    ],
)
def test_an_empty_page_helps(visitor: PageVisitor, query: str, words: str) -> None:
    page = visitor.get(f"/?{query}")
    assert page.status_code == 200
    assert words in page.text


@pytest.mark.parametrize(
    ("query", "words"),
    [
        ("q=fever&k1=much", "k1: expected a number"),
        ("q=fever+AND+(&match=expr", "expected a word"),
        ("q=fever&is.colour=red", "one of the metadata columns"),
        ("q=fever&rerank=../secret", "rerank: expected none"),
        ("q=fever&weight.body=1", "expected one of those in health"),
        ("q=fever&page=200", "k: expected at most 1000"),
        ("q=" + "x" * 3000, "at most 2000 characters"),
        ("q=fever&by=vectors", "vectors"),
    ],
)
def test_what_cannot_be_done_is_said_on_the_page(visitor: PageVisitor, index: Path, query: str, words: str) -> None:
    page = visitor.get(f"/?{query}")
    assert page.status_code == 422
    assert words in unescape(page.text)
    assert str(index.parent) not in page.text
    assert "Search with the usual settings" in page.text


@pytest.mark.parametrize("path", ["/", "/compare", "/document"])
def test_an_address_with_too_many_parts_is_a_mistake_of_the_request(visitor: PageVisitor, path: str) -> None:
    address = path + "?" + "&".join(f"x{number}=1" for number in range(400))
    assert visitor.get(address).status_code == 422


def test_an_expression_is_one_only_where_that_is_chosen(visitor: PageVisitor) -> None:
    assert len(titles(visitor.get('/?q="fever" AND NOT study').text)) == 10
    assert "Nothing was found" in visitor.get("/?q=fever+AND+NOT+study&match=expr").text


def test_a_script_gets_the_main_part_only(visitor: PageVisitor) -> None:
    part = visitor.get("/?q=fever", headers=FRAGMENT).text
    assert "<html" not in part
    assert 'id="found"' in part
    assert visitor.get("/?q=fever&k1=x", headers=FRAGMENT).status_code == 200


@pytest.mark.parametrize("path", ["/?q=hostile", "/compare?q=hostile", "/document?q=hostile&id=../%3Cb%3Ebad%3C/b%3E"])
def test_hostile_documents_are_text(visitor: PageVisitor, path: str) -> None:
    page = visitor.get(path).text
    assert "&lt;script&gt;" in page
    assert "<img src=x" not in page
    assert "<script>document" not in page
    assert "<b>bad" not in page


def test_hostile_queries_are_text(visitor: PageVisitor) -> None:
    for path in ("/", "/compare"):
        page = visitor.get(path, params={"q": HOSTILE, f"is.{HOSTILE}": HOSTILE, f"weight.{HOSTILE}": "1"}).text
        assert "<script>document" not in page
        assert "<img src=x" not in page


def test_long_texts_are_cut(visitor: PageVisitor) -> None:
    assert len(visitor.get("/?q=hostile").text) < 60_000
    page = visitor.get("/document?q=hostile&id=huge").text
    assert "The first 20,000 of" in page
    assert len(page) < 60_000
    whole = unescape(re.findall(r'href="([^"]+)">Show everything', page)[0])
    assert len(visitor.get(whole).text) > 900_000


def test_a_document_has_its_fields_its_metadata_and_the_way_back(visitor: PageVisitor) -> None:
    page = visitor.get("/document?id=d7&q=fever&is.source=WHO&page=1").text
    assert "<h1><bdi><mark>Fever</mark> study 7</bdi></h1>" in page
    assert "1997" in page
    assert 'href="/?q=fever&amp;is.source=WHO&amp;page=1"' in page
    assert visitor.get("/document?id=nobody").status_code == 404
    assert visitor.get("/document").status_code == 404


def test_the_parts_of_a_score_are_told(visitor: PageVisitor) -> None:
    page = visitor.get("/why?id=d7&q=fever+cough+zebra").text
    assert "BM25</span> number" in page
    parts = [float(part) for part in re.findall(r'<td class="r">([\d.]+)</td></tr>', page)]
    assert sum(parts[:-1]) == pytest.approx(parts[-1], abs=0.002)
    assert 'Not in this document: <bdi class="word">zebra</bdi>' in page
    assert visitor.get("/why?id=nobody&q=fever").status_code == 404


def test_two_rankings_show_where_the_other_has_a_document(visitor: PageVisitor) -> None:
    page = visitor.get("/compare?q=fever").text
    assert '<h2 id="a.title">BM25</h2>' in page
    assert '<h2 id="b.title">RM3</h2>' in page
    assert "documents are on both sides" in page
    same = visitor.get("/compare?q=fever&b.rm3=0").text
    assert "10 of 10 documents are on both sides, 10 of them at the same rank." in same
    assert same.count("same rank</a>") == 20
    bad = visitor.get("/compare?q=fever&b.weight.body=1")
    assert (bad.status_code, bad.text.count("expected one of those in")) == (422, 1)


@pytest.fixture
def administrator(visitor: PageVisitor, tmp_path: Path) -> PageVisitor:
    visitor.sign_in(Keys(tmp_path / "keys.json").add("ada", "admin"))
    return visitor


def test_a_judgment_is_kept_shown_and_taken_back(administrator: PageVisitor) -> None:
    visitor = administrator
    sent = visitor.judge("fever", "d7", "1", back="q=fever&k1=1.2", rank=3)
    assert sent.headers["location"] == "/?q=fever#r-3"
    page = visitor.get("/?q=FEVER&from.year=1997&to.year=1997").text
    assert page.count('aria-pressed="true" title="Relevant"') == 1
    assert "1 judgment of 1 person for 1 query." in visitor.get("/judgments").text
    visitor.judge("fever", "d7", "")
    assert "There are none yet" in visitor.get("/judgments").text


def test_judgments_need_the_token_of_the_page_and_a_document(administrator: PageVisitor) -> None:
    visitor = administrator
    form = {"q": "fever", "id": "d1", "grade": "1"}
    assert visitor.post("/judge", data=form).status_code == 403
    assert visitor.post("/judge", data={**form, "csrf": "x"}).status_code == 403
    assert visitor.judge("fever", "nobody", "1").status_code == 422
    assert visitor.judge("fever", "d1", "7").status_code == 422
    assert "There are none yet" in visitor.get("/judgments").text


def test_judgments_are_files_that_the_commands_on_the_page_read(
    administrator: PageVisitor, index: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    visitor = administrator
    for docno, grade in (("d4", "1"), ("d9", "1"), ("d0", "0")):
        visitor.judge("fever in children", docno, grade)
    page = unescape(visitor.get("/judgments").text)
    for link in re.findall(r'href="(/judgments/[^"]+)" download', page):
        sent = visitor.get(link)
        name = re.findall('filename="([^"]+)"', sent.headers["content-disposition"])[0]
        (tmp_path / name).write_bytes(sent.content)
    monkeypatch.chdir(tmp_path)
    (tmp_path / index.name).symlink_to(index)
    commands = re.findall(r"rankwell (.+?)(?:\n|</code>)", page.partition("<pre")[2])
    assert len(commands) == 2
    for command in commands:
        done = CliRunner().invoke(app, command.split())
        assert done.exit_code == 0, done.output
    assert "nDCG@10" in done.output


def test_a_document_is_cited_shared_and_has_similar_ones(visitor: PageVisitor) -> None:
    page = unescape(visitor.get("/document?id=d7&q=fever").text)
    assert 'value="http://127.0.0.1/document?id=d7"' in page
    similar = re.findall(r'<li><a href="(/document\?id=d\d+)"', page)
    assert len(similar) == 5
    assert "/document?id=d7" not in similar
    assert visitor.get(similar[0]).status_code == 200
    for kind, begins in (("ris", "TY  - JOUR"), ("bibtex", "@misc{d7,")):
        assert f'href="/cite/{kind}?id=d7"' in page
        sent = visitor.get(f"/cite/{kind}?id=d7")
        assert sent.text.startswith(begins)
        assert "Fever study 7" in sent.text
        assert "attachment" in sent.headers["content-disposition"]
    assert visitor.get("/cite/word?id=d7").status_code == 404
    assert visitor.get("/cite/ris?id=nobody").status_code == 404
    assert visitor.get("/cite/ris").status_code == 404


def test_without_a_file_for_judgments_there_are_no_thumbs(index: Path) -> None:
    with visiting(index, None) as visitor:
        assert "thumbs" not in visitor.get("/?q=fever").text
        assert visitor.get("/judgments").status_code == 404
