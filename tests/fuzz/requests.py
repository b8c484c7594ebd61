"""Every request that the three applications answer, with every body. A fault is a status of 500 or more."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any
from urllib.parse import quote_from_bytes, urlencode

from starlette.testclient import TestClient

from apps.search.serving_api import key, make_index, served, settings_for
from fuzz.targets import REFERENCES, Target
from judging.small_studies import make_study
from rankwell.apps.assess.application import create_application as create_judging
from rankwell.apps.screening.application import create_application as create_screening
from rankwell.apps.search.settings import ServeSettings
from rankwell.core import RankwellError
from rankwell.reviews import Reference
from rankwell.reviews.screening.store import open_project

FORM = {"content-type": "application/x-www-form-urlencoded"}
UNAVAILABLE = 503  # a documented refusal: too many searches at once, not ready
LEAVING = ("/me/delete", "/me/sign-out", "/sign-out")  # who is gone tries nothing more: another one does
VALUES = {
    "answer": "2",
    "code": "abcd-efgh",
    "email": "a@example.org",
    "token": "x",
    "note": "why",
    "english": "8",
    "verdict": "same",
    "reason": "",
    "title": "Colds",
    "reasons": "a\nb",
    "criteria": "c",
    "page": "1",
    "agreed": "yes",
    "sure": "yes",
    "days": "7",
    "places": "3",
    "grade": "1",
    "id": "p1",
    "q": "droplets",
}


Made = tuple[dict[str, Any], Iterator[Target]]  # applications by name, and their targets


class FaultError(Exception):
    """The server failed."""


def request_targets(folder: Path, stack: ExitStack) -> Iterator[Target]:
    """A target for each request of each application; an error where a route has none."""
    for make in (_search, _judging, _screening):
        apps, found = make(folder, stack)
        made = list(found)
        names = {re.sub(r"{\w+}", "{}", target.name) for target in made}
        for name, app in apps.items():
            missing = {f"{name}: {route}" for route in routes(app)} - names
            if missing:
                raise LookupError(f"no target for {', '.join(sorted(missing))}: add it to tests/fuzz/requests.py")
        yield from made


OURS = ("/static/{}", "/favicon.ico", "/openapi.json")  # files, which read nothing that was sent


def routes(app: Any) -> Iterator[str]:
    """Method and path of everything that an application answers; `{}` stands for any name in a path."""
    for route in app.routes:
        if hasattr(route, "original_router"):  # how FastAPI keeps the routes of a router
            yield from routes(route.original_router)
            continue
        path = re.sub(r"{[^}]+}", "{}", route.path)
        yield from (f"{method} {path}" for method in route.methods - {"HEAD"} if path not in OURS)


def _check(response: Any, sent: object) -> None:
    if response.status_code >= 500 and response.status_code != UNAVAILABLE:
        raise FaultError(f"{response.status_code} for {sent!r:.300}: {response.text[:200]}")
    if response.status_code >= 400:
        raise RankwellError(f"status {response.status_code}")


def _search(folder: Path, stack: ExitStack) -> Made:
    settings = settings_for(make_index(folder / "papers"), judgments=folder / "thumbs.jsonl")
    client = stack.enter_context(served(settings))
    site: Any = client.app
    return {"REST": site.api, "search page": site.page}, _search_targets(client, settings)


def _search_targets(client: TestClient, settings: ServeSettings) -> Iterator[Target]:
    headers = {**key(settings, "admin"), "content-type": "application/json"}

    def body(method: str, path: str) -> Callable[[bytes], None]:
        return lambda data: _check(client.request(method, path, content=data, headers=headers), (method, path))

    asked = b'{"q": "droplets", "k": 5, "match": "or", "filter": "year>=2020", "explain": true, "facets": ["year"]}'
    yield Target(
        "REST: POST /api/search",
        [asked, b'{"q": "droplets", "rm3": true, "rm3_settings": "10,10,0.5"}'],
        body("POST", "/api/search"),
    )
    document = b'{"fields": {"title": "a", "abstract": "b"}, "metadata": {"year": 2020, "source": "PMC"}}'
    yield Target("REST: PUT /api/documents/{id}", [document], body("PUT", "/api/documents/new"))
    batch = (
        b'{"documents": [{"id": "n1", "fields": {"title": "a"}, "metadata": {"year": 1}}, {"id": "n2", "fields": {}}]}'
    )
    yield Target("REST: POST /api/documents", [batch], body("POST", "/api/documents"))
    yield Target(
        "REST: POST /api/judgments", [b'{"query": "q", "id": "p1", "grade": 1}'], body("POST", "/api/judgments")
    )

    def address(pattern: str, method: str = "GET", sign: dict[str, str] | None = None) -> Callable[[bytes], None]:
        def feed(data: bytes) -> None:
            path = pattern + quote_from_bytes(data, safe="/=&%+:;,.-_~!*'()@?")
            try:
                response = client.request(method, path[:8000], headers=sign or {})
            except ValueError:  # no address for httpx
                return
            _check(response, path)

        return feed

    query = b"q=droplets&k=5&match=or&filter=year%3E%3D2020&weights=title%3D2&explain=1&facets=year&offset=2"
    yield Target("REST: GET /api/search", [query], address("/api/search?"))
    yield Target("REST: GET /api/search/stream", [query], address("/api/search/stream?"))
    yield Target("REST: GET /api/documents/{id}", [b"p1", b"a%20b"], address("/api/documents/"))
    yield Target("REST: DELETE /api/documents/{id}", [b"n1", b"%ff"], address("/api/documents/", "DELETE", headers))
    yield Target("REST: GET /api/judgments", [b"format=qrels"], address("/api/judgments?", sign=headers))
    for path in ("/api/index", "/health", "/ready", "/metrics"):
        yield Target(f"REST: GET {path}", [b"a=1"], address(f"{path}?"))
    page = b"q=droplets&match=or&page=1"
    for path in ("/", "/compare", "/document", "/why", "/judgments", "/sign-in"):
        yield Target(f"search page: GET {path}", [page + b"&id=p1"], address(f"{path}?", sign=headers))
    yield Target("search page: GET /judgments/{kind}", [b"qrels", b"x"], address("/judgments/", sign=headers))
    yield Target("search page: GET /cite/{kind}", [b"ris?id=p1", b"bibtex?id=p1"], address("/cite/"))
    token = re.findall(r'name="csrf" value="([^"]+)"', client.get("/sign-in").text)[0]
    forms = {"/judge": ["q", "id", "grade", "query"], "/sign-in": ["key", "back"], "/sign-out": ["back"]}
    yield from _forms("search page", client, forms, token, sign=headers)


def _forms(
    name: str,
    client: TestClient,
    forms: dict[str, list[str]],
    token: str,
    values: dict[str, str] = VALUES,
    *,
    sign: dict[str, str] | None = None,
) -> Iterator[Target]:
    headers = {**(sign or {}), **FORM}
    for path, fields in forms.items():
        seed = urlencode({field: values.get(field, "1") for field in fields}).encode()

        def feed(data: bytes, path: str = re.sub(r"{\w+}", "1", path)) -> None:
            own = data if data.startswith(b"csrf=") else f"csrf={token}&".encode() + data
            _check(client.post(path, content=own, headers=headers, follow_redirects=False), (path, data))

        yield Target(f"{name}: POST {path}", [seed], feed)


def _paths(app: Any) -> dict[str, list[str]]:
    """The fields of each form of an application, from its description."""
    described = app.openapi()
    forms: dict[str, list[str]] = {}
    for path, methods in described["paths"].items():
        if "post" in methods:
            content = (
                methods["post"].get("requestBody", {}).get("content", {}).get("application/x-www-form-urlencoded", {})
            )
            name = content.get("schema", {}).get("$ref", "").rpartition("/")[2]
            fields = list(described.get("components", {}).get("schemas", {}).get(name, {}).get("properties", {}))
            forms[path] = fields or ["page"]
    return forms


def _pages(name: str, client: TestClient, app: Any) -> Iterator[Target]:
    for path, methods in app.openapi()["paths"].items():
        if "get" in methods:
            names = [one["name"] for one in methods["get"].get("parameters", ()) if one["in"] == "query"]
            seed = urlencode({field: VALUES.get(field, "1") for field in names} or {"page": "1"}).encode()

            def feed(data: bytes, path: str = path) -> None:
                query = quote_from_bytes(data, safe="=&%+:;,.-_~!*'()@?/")
                usual = "all.csv" if "export" in path else "1"
                here = re.sub(r"{\w+}", usual if len(data) % 2 else quote_from_bytes(data[:20], safe=""), path)
                _check(client.get(f"{here}?{query}"[:8000], follow_redirects=False), path)

            yield Target(f"{name}: GET {path}", [seed], feed)


def _judging(folder: Path, stack: ExitStack) -> Made:
    store = stack.enter_context(make_study(folder / "judged.db"))
    app = create_judging(store, key=b"k" * 32, base_url="http://judge.example.org", describe=True)
    app.state.site.tries.count = 10**9  # else nearly all would be refused as too many

    def join() -> tuple[TestClient, str]:
        client = TestClient(app, base_url="http://judge.example.org", raise_server_exceptions=False)
        code = store.invitations.invite(administrator=True)
        client.post("/sign-in/code", data={"csrf": _token_of(client, "/sign-in"), "code": code})
        token = _token_of(client, "/me")
        for path, fields in (("/welcome", {"agreed": "yes", "english": "8"}), ("/begin", {})):
            client.post(path, data={"csrf": token, **fields})
        return client, token

    def leave(path: str) -> Callable[[bytes], None]:
        def feed(data: bytes) -> None:
            client, token = join()
            own = f"csrf={token}&".encode() + data
            _check(client.post(path, content=own, headers=FORM, follow_redirects=False), (path, data))

        return feed

    def found() -> Iterator[Target]:
        client, token = join()
        forms = _paths(app)
        yield from _forms("judging", client, {path: forms[path] for path in forms if path not in LEAVING}, token)
        yield from (Target(f"judging: POST {path}", [b"sure=yes", b"sure="], leave(path)) for path in LEAVING)
        yield from _pages("judging", client, app)

    return {"judging": app}, found()


def _token_of(client: TestClient, path: str) -> str:
    return str(re.findall(r'name="csrf" value="([^"]+)"', client.get(path).text)[0])


def _screening(folder: Path, stack: ExitStack) -> Made:
    project = open_project(folder / "screened.db", title="Colds", reviewers=("Ada", "Bob"))
    project.import_references("a.ris", [Reference(title=f"Paper {n}", abstract="cold") for n in range(6)])
    app = create_screening(project, key=b"k" * 32, describe=True)
    app.state.site.tries.count = 10**9
    client = stack.enter_context(TestClient(app, base_url="http://s.example.org", raise_server_exceptions=False))
    client.get(app.state.site.link(project.reviewers()[0]))
    return {"screening": app}, _screening_targets(client, app)


def _screening_targets(client: TestClient, app: Any) -> Iterator[Target]:
    token = _token_of(client, "/settings")
    forms = {path: fields for path, fields in _paths(app).items() if path != "/import"}
    yield from _forms("screening", client, forms, token, {**VALUES, "answer": "include"})
    yield from _pages("screening", client, app)

    def upload(data: bytes) -> None:
        name, _, content = data.partition(b"\n")
        files = {"files": (name.decode("latin-1")[:60] or "x.ris", content)}
        _check(client.post("/import", data={"csrf": token}, files=files, follow_redirects=False), data)

    yield Target("screening: POST /import", [b"a.ris\n" + REFERENCES[0], b"b.csv\n" + REFERENCES[2]], upload)
