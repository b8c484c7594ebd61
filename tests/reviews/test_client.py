"""The client for E-utilities, against a server that speaks as they do and fails as they do."""

from __future__ import annotations

import contextlib
import logging
import signal
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from email.utils import formatdate
from pathlib import Path

import pytest
from eutilities_server import EUtilitiesServer, article, body, cut_short, hang_up, slow, status

from rankwell.core import ParameterError, RankwellError
from rankwell.reviews import EUtilities
from rankwell.reviews.pubmed import title_term
from rankwell.reviews.pubmed.answers import AnswerCache
from rankwell.reviews.pubmed.transport import Account, Throttle, Transport

FEVER = article("11", "Fever in children")
COUGH = article("12", "Cough in children", abstract="", year=None, authors="")
EMPTY = b"<eSearchResult><Count>0</Count><RetMax>0</RetMax><IdList/></eSearchResult>"
BUSY = b'{"error":"API rate limit exceeded","count":"4"}'


@pytest.fixture
def server(server: EUtilitiesServer) -> EUtilitiesServer:
    server.articles = {document.id: document for document in (FEVER, COUGH)}
    return server


def test_a_search_gives_ids_in_the_services_order(client: EUtilities) -> None:
    found = client.search("cough in children")
    assert found.ids == ("12", "11")
    assert found.count == 2


def test_articles_come_in_the_order_asked_for_and_unknown_ones_are_left_out(client: EUtilities) -> None:
    assert client.fetch(["12", "999", "11", "12"]) == {"12": COUGH, "11": FEVER}


def test_nothing_is_asked_twice_not_even_by_another_client(
    client: EUtilities, server: EUtilitiesServer, tmp_path: Path
) -> None:
    client.search("fever")
    client.fetch(["11", "999"])
    count = len(server.requests)
    with EUtilities(AnswerCache(tmp_path / "cache"), client.transport, Account("other@example.org")) as second:
        assert second.search("fever").ids == ("11",)
        assert second.fetch(["11", "999"]) == {"11": FEVER}
    assert len(server.requests) == count


def test_only_articles_that_are_not_there_yet_are_fetched(client: EUtilities, server: EUtilitiesServer) -> None:
    client.fetch(["11"])
    client.fetch(["11", "12"])
    assert [form["id"] for form in server.asked("efetch.fcgi")] == ["11", "12"]


def test_many_articles_are_fetched_in_batches(client: EUtilities, server: EUtilitiesServer) -> None:
    server.articles = {str(number): article(str(number), f"Title {number}") for number in range(1, 451)}
    assert len(client.fetch(list(server.articles))) == 450
    assert [form["id"].count(",") + 1 for form in server.asked("efetch.fcgi")] == [200, 200, 50]


def test_dates_limit_a_search_by_publication(client: EUtilities, server: EUtilitiesServer) -> None:
    client.search("fever", since="1990", until="2015-03")
    form = server.asked("esearch.fcgi")[0]
    assert (form["datetype"], form["mindate"], form["maxdate"]) == ("pdat", "1990", "2015/03")


@pytest.mark.parametrize(
    "trouble",
    [
        pytest.param(status(429, BUSY), id="rate limit"),
        pytest.param(status(500), id="internal error"),
        pytest.param(status(502, b"<html>Bad Gateway</html>"), id="bad gateway"),
        pytest.param(status(503), id="unavailable"),
        pytest.param(cut_short, id="cut body"),
        pytest.param(hang_up, id="no answer"),
        pytest.param(body(b""), id="empty body"),
        pytest.param(body(b"<eSearchResult><Count>1</Count><IdList>"), id="malformed XML"),
        pytest.param(body(b"<html><body>We are down</body></html>"), id="a page"),
        pytest.param(body(b"<eSearchResult><IdList/></eSearchResult>"), id="no count"),
        pytest.param(body(b"<eSearchResult><ERROR>Search Backend failed: timeout</ERROR></eSearchResult>"), id="ERROR"),
    ],
)
def test_trouble_that_may_pass_is_asked_again(
    client: EUtilities, server: EUtilitiesServer, pauses: list[float], trouble
) -> None:
    server.faults = [trouble, trouble]
    assert client.search("fever").ids == ("11",)
    assert len(server.requests) == 3
    assert pauses == [1.0, 2.0]


@pytest.mark.parametrize(
    "trouble",
    [
        pytest.param(body(b"<PubmedArticleSet><PubmedArticle><MedlineCitation>"), id="malformed XML"),
        pytest.param(body(b"<eFetchResult><ERROR>Cannot retrieve data</ERROR></eFetchResult>"), id="ERROR"),
        pytest.param(body(b"Service unavailable"), id="plain text"),
        pytest.param(body(b'<!DOCTYPE a [<!ENTITY a "b">]><PubmedArticleSet>&a;</PubmedArticleSet>'), id="entities"),
        pytest.param(cut_short, id="cut body"),
    ],
)
def test_broken_answers_to_a_fetch_are_asked_again_and_never_kept(
    client: EUtilities, server: EUtilitiesServer, trouble
) -> None:
    server.faults = [trouble]
    assert client.fetch(["11"]) == {"11": FEVER}
    assert len(server.requests) == 2


def test_a_slow_answer_is_given_up_and_asked_again(
    server: EUtilitiesServer, tmp_path: Path, pauses: list[float]
) -> None:
    server.faults = [slow(1.0)]
    transport = Transport(server.url, Throttle(1000), timeout=0.2, sleep=pauses.append)
    with EUtilities(AnswerCache(tmp_path), transport, Account()) as impatient:
        assert impatient.search("fever").ids == ("11",)
    assert pauses == [1.0]


def test_the_server_says_how_long_to_wait(client: EUtilities, server: EUtilitiesServer, pauses: list[float]) -> None:
    date = formatdate(time.time() + 30, usegmt=True)
    server.faults = [status(429, Retry_After="7"), status(503, Retry_After=date), status(503, Retry_After="soon")]
    client.search("fever")
    assert pauses[0] == 7.0
    assert 25 < pauses[1] <= 30
    assert pauses[2] == 4.0


def test_no_server_makes_us_wait_for_hours(client: EUtilities, server: EUtilitiesServer, pauses: list[float]) -> None:
    server.faults = [status(429, Retry_After="86400")]
    client.search("fever")
    assert pauses == [120.0]


def test_patience_ends_with_the_last_trouble(client: EUtilities, server: EUtilitiesServer) -> None:
    server.faults = [status(500)] * 4
    with pytest.raises(RankwellError, match=r"esearch.fcgi: no answer after 4 attempts: status 500"):
        client.search("fever")
    assert client.search("fever").ids == ("11",), "a failure must not be kept"


def test_a_question_that_is_wrong_is_not_asked_again(client: EUtilities, server: EUtilitiesServer) -> None:
    server.faults = [status(400, b'{"error":"API key invalid"}')]
    with pytest.raises(RankwellError, match=r'status 400 Bad Request: \{"error":"API key invalid"\}'):
        client.search("fever")
    server.faults = [body(b"<eSearchResult><ERROR>Empty term and query_key - nothing todo</ERROR></eSearchResult>")]
    with pytest.raises(RankwellError, match="PubMed says: Empty term"):
        client.search("fever")
    assert len(server.requests) == 2


def test_a_search_without_results_is_an_answer(client: EUtilities, server: EUtilitiesServer) -> None:
    remarks = b"<ErrorList><PhraseNotFound>abcXYZ</PhraseNotFound></ErrorList></eSearchResult>"
    server.faults = [body(EMPTY.replace(b"</eSearchResult>", remarks))]
    found = client.search("abcXYZ")
    assert (found.ids, found.count, found.remarks) == ((), 0, ("PhraseNotFound: abcXYZ",))
    assert client.search("abcXYZ") == found
    assert len(server.requests) == 1


def test_an_empty_term_asks_nobody(client: EUtilities, server: EUtilitiesServer) -> None:
    assert client.search("  ").ids == ()
    assert not server.requests


def test_offline_only_recorded_answers_are_given(client: EUtilities, server: EUtilitiesServer, tmp_path: Path) -> None:
    client.search("fever")
    client.fetch(["11"])
    count = len(server.requests)
    with EUtilities(AnswerCache(tmp_path / "cache"), client.transport, offline=True) as offline:
        assert offline.search("fever").ids == ("11",)
        assert offline.fetch(["11"]) == {"11": FEVER}
        with pytest.raises(RankwellError, match="offline, and the recorded answers have none for the search 'cough'"):
            offline.search("cough")
        with pytest.raises(RankwellError, match="have none for 1 articles, the first 12"):
            offline.fetch(["12"])
    assert len(server.requests) == count


def test_who_asks_is_said_to_the_service_and_to_nobody_else(
    server: EUtilitiesServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setenv("RANKWELL_NCBI_EMAIL", "someone@example.org")
    monkeypatch.setenv("RANKWELL_NCBI_API_KEY", "s3cret-key")
    server.faults = [status(400, b"no")]
    with EUtilities.open(tmp_path / "cache", base_url=server.url) as client, caplog.at_level(logging.DEBUG):
        with pytest.raises(RankwellError) as refused:
            client.search("fever")
        client.search("fever")
        client.fetch(["11"])
        shown = f"{refused.value}{refused.value.__cause__}{caplog.text}{client.account!r}{client.transport!r}"
        assert client.account.rate == 10
    for _, form in server.requests:
        assert (form["email"], form["api_key"], form["tool"]) == ("someone@example.org", "s3cret-key", "rankwell")
    kept = b"".join(file.read_bytes() for file in (tmp_path / "cache").iterdir())
    assert "s3cret" not in shown
    assert b"s3cret" not in kept
    assert b"someone@example.org" not in kept


def test_without_a_key_three_requests_a_second_are_sent() -> None:
    now, slept = [0.0], list[float]()

    def sleep(seconds: float) -> None:
        slept.append(seconds)
        now[0] += seconds

    throttle = Throttle(Account().rate, clock=lambda: now[0], sleep=sleep)
    for _ in range(7):
        throttle.wait()
    assert now[0] == pytest.approx(2.0)
    now[0] += 10
    throttle.wait()
    assert len(slept) == 6, "after a break nobody waits"


def test_searches_side_by_side_keep_the_rate_and_the_order(server: EUtilitiesServer, tmp_path: Path) -> None:
    server.faults = [slow(0.1)] * 8
    now, waited = 5.0, list[float]()  # a clock that stands still: the eighth waits for seven turns
    transport = Transport(server.url, Throttle(50, clock=lambda: now, sleep=waited.append), timeout=5)
    terms = [f"{word} {number}" for number in range(4) for word in ("fever", "cough")]
    with EUtilities(AnswerCache(tmp_path), transport, Account()) as client:
        found = client.search_all(terms)
    assert [result.ids for result in found] == [("11",), ("12",)] * 4
    assert sorted(waited) == pytest.approx([turn / 50 for turn in range(1, 8)])


def test_one_failing_search_ends_them_all_at_once(server: EUtilitiesServer, tmp_path: Path) -> None:
    server.faults = [status(500), status(500), status(404), *[status(500)] * 50]  # the first two wait for a minute
    transport = Transport(server.url, Throttle(1000), timeout=5, first_pause=60)
    with EUtilities(AnswerCache(tmp_path), transport, Account()) as client, pytest.raises(RankwellError, match="404"):
        client.search_all([f"fever {number}" for number in range(9)])


def test_what_cannot_be_a_pmid_is_refused(client: EUtilities) -> None:
    with pytest.raises(ParameterError, match="PMID: expected a number of up to nine digits"):
        client.fetch(["11&db=protein"])


def test_an_address_of_another_kind_is_refused() -> None:
    with pytest.raises(ParameterError, match="base_url"):
        Transport("file:///etc/", Throttle(1))


def test_a_damaged_answer_is_asked_for_again(client: EUtilities, server: EUtilitiesServer) -> None:
    client.search("fever")
    client.cache._file.execute("UPDATE answers SET answer = x'00'")
    assert client.search("fever").ids == ("11",)
    assert len(server.requests) == 2


KILLED_WHILE_READING = """
import os, sys
from rankwell.reviews import EUtilities
from rankwell.reviews.pubmed.answers import AnswerCache
from rankwell.reviews.pubmed.transport import Account
from rankwell.reviews.pubmed import client
from rankwell.reviews.pubmed.transport import Throttle, Transport
client.search_result = client.sending.articles = lambda answer: os.kill(os.getpid(), 9)
with EUtilities(AnswerCache(sys.argv[1]), Transport(sys.argv[2], Throttle(1000)), Account()) as killed:
    killed.search("fever") if sys.argv[3] == "search" else killed.fetch(["11", "12", "999"])
"""


@pytest.mark.slow
@pytest.mark.parametrize("what", ["search", "fetch"])
def test_an_answer_that_was_received_is_never_asked_for_again_though_a_kill_came_before_it_was_read(
    server: EUtilitiesServer, tmp_path: Path, what: str
) -> None:
    program = [sys.executable, "-c", KILLED_WHILE_READING, str(tmp_path), server.url, what]
    assert subprocess.run(program, check=False).returncode == -signal.SIGKILL
    assert len(server.requests) == 1
    with EUtilities(AnswerCache(tmp_path), Transport(server.url, Throttle(1000)), Account()) as client:
        if what == "search":
            assert client.search("fever").ids == ("11",)
        else:  # also in another order, and one by one
            assert client.fetch(["12"]) == {"12": COUGH}
            assert client.fetch(["999", "11"]) == {"11": FEVER}
        assert client.cache.received() == []
    assert len(server.requests) == 1


def test_a_broken_answer_that_was_received_before_a_kill_is_dropped_and_asked_for_again(
    server: EUtilitiesServer, tmp_path: Path
) -> None:
    request = {"page": "esearch.fcgi", "db": "pubmed", "term": "fever", "retmax": "20", "sort": "relevance"}
    with AnswerCache(tmp_path) as cache:
        cache.receive(request, b"<eSearchResult><Count>1</Count>")
        cache.receive(request, BUSY)
    with EUtilities(AnswerCache(tmp_path), Transport(server.url, Throttle(1000)), Account()) as client:
        assert client.cache.received() == []
        assert client.search("fever").ids == ("11",)
    assert len(server.requests) == 1


def test_two_clients_that_take_care_of_the_same_answer_lose_none_of_the_other(tmp_path: Path) -> None:
    with AnswerCache(tmp_path) as one, AnswerCache(tmp_path) as other:
        first = one.receive({"id": "1"}, b"first")
        other.sort(other.received()[0], [({"id": "1"}, b"first")])
        other.receive({"id": "2"}, b"second")
        one.sort(first, [({"id": "1"}, b"first")])
        assert [waiting.answer for waiting in one.received()] == [b"second"]
        assert other.get({"id": "1"}) == b"first"


def test_a_file_that_is_no_cache_is_named(tmp_path: Path) -> None:
    (tmp_path / "answers.sqlite").write_text("not a database, but a long enough text to be one " * 50)
    with pytest.raises(RankwellError, match=r"answers.sqlite: cannot be used for answers"):
        AnswerCache(tmp_path)


@pytest.mark.parametrize(
    ("title", "term"),
    [
        ("[Repair of episiotomies]. [Bulgarian]", "Repair of episiotomies Bulgarian"),
        ('"Fever" AND cough: (a) study*', "Fever and cough a study"),
        ("β-blockers, 5/10 mg?", "β-blockers 5 10 mg"),
        ("2000:2010[dp] NOT", "2000 2010 dp not"),
        ("???", ""),
    ],
)
def test_a_title_is_searched_for_as_plain_words(title: str, term: str) -> None:
    assert title_term(title) == term


def test_a_cache_is_closed_while_threads_still_ask_it(tmp_path: Path) -> None:
    cache = AnswerCache(tmp_path)
    request = {"term": "fever"}
    cache.sort(cache.receive(request, b"raw"), [(request, b"x" * 100_000)])

    def ask() -> int:
        count = 0
        with contextlib.suppress(RankwellError):
            while cache.get({"term": "fever"}):
                count += 1
        return count

    with ThreadPoolExecutor(4) as pool:
        asked = [pool.submit(ask) for _ in range(4)]
        time.sleep(0.1)
        cache.close()
    assert all(done.result() for done in asked)
    with pytest.raises(RankwellError, match="closed"):
        cache.get({"term": "fever"})
