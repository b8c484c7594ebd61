"""Limits: too much, too deep, too slow, too many, or not even HTTP as it should be. Each has its clean answer."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator
from concurrent.futures import Future
from pathlib import Path
from typing import Any

import pytest
from serving_api import make_index, served, settings_for
from starlette.testclient import TestClient

from rankwell.apps.search.requests import SearchRequest
from rankwell.apps.search.service import BusyError, GoneError, SearchPool


@pytest.fixture(scope="module")
def index(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_index(tmp_path_factory.mktemp("limits") / "papers")


@pytest.fixture
def client(index: Path) -> Iterator[TestClient]:
    with served(settings_for(index, max_body=10_000)) as client:
        yield client


@pytest.mark.parametrize(
    ("content", "status"),
    [
        (b"", 400),
        (b"nix", 400),
        (b'{"q": "\xff"}', 400),
        (b'{"q": ' + b"[" * 5000, 400),
        (b'{"q": "x", "k": NaN}', 400),
        (b'{"q": "x", "k1": 1e999}', 400),
        (b"[1]", 422),
        (b'"x"', 422),
        (b'{"q": 1}', 422),
        (b'{"q": "x", "k": true}', 422),
        (b'{"q": "x", "k": "10"}', 200),
        (b'{"q": "x", "weights": {"title": "1"}}', 422),
        (b'{"q": "x", "facets": [1]}', 422),
        (b'{"q": "x", "filter": null}', 200),
        (b'{"q": "x"}' + b" " * 10_000, 413),
    ],
)
def test_bodies_are_read_strictly(client: TestClient, content: bytes, status: int) -> None:
    answer = client.post("/api/search", content=content, headers={"content-type": "application/json"})
    assert answer.status_code == status
    assert answer.headers["content-type"] == "application/json"
    assert status == 200 or set(answer.json()) == {"error", "expected", "found", "where"}


@pytest.mark.parametrize("kind", ["text/plain", "application/xml", "application/x-www-form-urlencoded", None])
def test_only_json_is_taken(client: TestClient, kind: str | None) -> None:
    answer = client.post("/api/search", content=b'{"q": "x"}', headers={} if kind is None else {"content-type": kind})
    assert answer.status_code == 415


def test_a_parameter_is_given_once(client: TestClient) -> None:
    answer = client.get("/api/search?q=a&q=b")
    assert (answer.status_code, answer.json()["expected"]) == (422, "one value")


def test_a_body_without_a_declared_length_is_limited_too(client: TestClient) -> None:
    def parts() -> Iterator[bytes]:
        for _ in range(100):
            yield b" " * 1000

    answer = client.post("/api/search", content=parts(), headers={"content-type": "application/json"})
    assert (answer.status_code, answer.json()["expected"]) == (413, "at most 10,000 bytes")


@pytest.mark.parametrize(
    ("method", "address", "status"),
    [
        ("GET", "/api/search?q=%ff", 400),
        ("GET", "/api/search?" + "&".join(f"a{n}=1" for n in range(101)), 400),
        ("GET", "/api/nix", 404),
        ("GET", "/api", 404),
        ("GET", "/api/", 404),
        ("POST", "/api/index", 403),
        ("PATCH", "/health", 405),
        ("GET", "/api/documents/", 404),
        ("GET", "/api/documents/%00", 404),
        ("GET", "/api/documents/%ff", 422),
        ("GET", "/api/judgments?format=exe", 403),
    ],
)
def test_every_refusal_of_the_api_is_a_problem_and_never_a_page(
    client: TestClient, method: str, address: str, status: int
) -> None:
    answer = client.request(method, address)
    assert (answer.status_code, answer.headers["content-type"]) == (status, "application/json")
    assert set(answer.json()) == {"error", "expected", "found", "where"}


def test_answers_carry_the_headers_that_keep_browsers_safe(client: TestClient) -> None:
    for path in ("/health", "/api/search?q=x", "/api/nix"):
        headers = client.get(path).headers
        assert headers["x-content-type-options"] == "nosniff"
        assert headers["content-security-policy"].startswith("default-src 'none'")


def test_too_many_searches_at_once_are_turned_away_and_health_is_not(index: Path) -> None:
    settings = settings_for(index, threads=1, waiting=1, patience=0.3)
    with served(settings) as client:
        service = client.site.service  # type: ignore[attr-defined]
        at_work, go_on = threading.Event(), threading.Event()
        real = service.searcher.first

        def slow(*args: Any, **kwargs: Any) -> Any:
            at_work.set()
            assert go_on.wait(30)
            return real(*args, **kwargs)

        service.searcher.first = slow
        answers: list[Any] = []
        others = [threading.Thread(target=lambda: answers.append(client.get("/api/search?q=soap"))) for _ in range(2)]
        others[0].start()
        assert at_work.wait(30)
        others[1].start()  # waits, and is turned away when its patience is over
        others[1].join(30)
        assert [answer.status_code for answer in answers] == [503]
        assert answers[0].headers["retry-after"] == "1"
        assert client.get("/health").status_code == 200
        assert 'rankwell_shed_total{stage="search"} 1' in client.get("/metrics").text
        go_on.set()
        others[0].join(30)
        assert answers[1].json()["results"][0]["id"] == "p2"


def test_a_first_stage_that_takes_too_long_is_given_up(index: Path) -> None:
    with served(settings_for(index, timeout=0.2)) as client:
        service = client.site.service  # type: ignore[attr-defined]
        go_on = threading.Event()
        service.searcher.first = lambda *_, **__: go_on.wait(30)
        late = client.get("/api/search?q=soap")
        go_on.set()
        assert (late.status_code, late.headers["retry-after"]) == (503, "1")


def test_a_place_in_the_pool_is_free_again_only_when_its_thread_is() -> None:
    async def scenario() -> None:
        pool = SearchPool(threads=1, waiting=0, patience=1)
        go_on = threading.Event()
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.05):
                await pool.run(go_on.wait, 30)
        with pytest.raises(BusyError):
            await pool.run(lambda: None)
        go_on.set()
        while pool._places.locked():  # noqa: ASYNC110 -- until the thread has come to its end
            await asyncio.sleep(0.01)
        assert await pool.run(lambda: 7) == 7
        pool.close()

    asyncio.run(scenario())


def test_a_fault_of_ours_is_a_problem_without_our_insides(index: Path) -> None:
    with served(settings_for(index)) as client:
        service = client.site.service  # type: ignore[attr-defined]
        service.searcher.info = lambda: 1 / 0
        broken = client.get("/api/index")
        assert broken.status_code == 500
        assert broken.json()["error"] == "something went wrong here"
        assert "ZeroDivision" not in broken.text


def test_texts_beyond_what_a_response_holds_are_left_out_and_it_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("rankwell.apps.search.searcher.MOST_TEXT", 60)
    with served(settings_for(make_index(tmp_path / "papers"))) as client:
        found = client.get("/api/search?q=droplets").json()
        assert [bool(row["fields"]) for row in found["results"]] == [True, False, False]
        assert "left out" in found["warnings"][0]


def test_a_client_that_has_left_costs_no_model_any_more(index: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with served(settings_for(index)) as client:
        service = client.site.service  # type: ignore[attr-defined]
        endless: Future[Any] = Future()
        monkeypatch.setattr(service.searcher, "begin_rerank", lambda *_: endless)

        async def gone() -> dict[str, str]:
            return {"type": "http.disconnect"}

        request = SearchRequest(q="soap", rerank="some model")
        with pytest.raises(GoneError):
            asyncio.run(service.second(service.searcher.first(request), gone, lambda state: state))
        assert endless.cancelled()
