"""The OpenAPI document says what the server does, and what is made from it finds no fault."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import httpx
import pytest
import schemathesis
from hypothesis import HealthCheck, given, settings
from schemathesis.specs.openapi.checks import ignored_auth, positive_data_acceptance
from serving_api import key, make_index, served, settings_for
from starlette.testclient import TestClient

from rankwell.apps.search.requests import OPTIONS
from servers import started, stopped
from waiting import wait_until

PATHS = {
    "/api/search": {"get", "post"},
    "/api/search/stream": {"get"},
    "/api/documents/{id}": {"get", "put", "delete"},
    "/api/documents": {"post"},
    "/api/index": {"get"},
    "/api/judgments": {"get", "post"},
    "/health": {"get"},
    "/ready": {"get"},
    "/metrics": {"get"},
}


@pytest.fixture
def client(tmp_path: Path) -> Any:
    folder = make_index(tmp_path / "papers")
    chosen = settings_for(folder, judgments=tmp_path / "thumbs.jsonl")
    with served(chosen) as client:
        client.headers.update(key(chosen, "admin"))
        yield client


def test_every_route_is_described_with_words_and_refusals(client: TestClient) -> None:
    described = client.get("/openapi.json").json()
    assert {path: set(methods) for path, methods in described["paths"].items()} == PATHS
    for methods in described["paths"].values():
        for operation in methods.values():
            assert operation["summary"]
            assert operation["description"]
            assert operation["operationId"]
            for status, response in operation["responses"].items():
                if int(status) >= 400:
                    schema = response["content"]["application/json"]["schema"]
                    assert schema == {"$ref": "#/components/schemas/Problem"}


def test_every_option_of_a_search_is_described_in_both_forms(client: TestClient) -> None:
    search = client.get("/openapi.json").json()["paths"]["/api/search"]
    assert {parameter["name"] for parameter in search["get"]["parameters"]} == set(OPTIONS)
    body = search["post"]["requestBody"]["content"]["application/json"]["schema"]
    assert set(body["properties"]) == set(OPTIONS)
    assert all(parameter["description"] for parameter in search["get"]["parameters"])


def test_the_description_has_this_server_s_limits(client: TestClient) -> None:
    search = client.get("/openapi.json").json()["paths"]["/api/search"]["get"]
    schemas = {parameter["name"]: parameter["schema"] for parameter in search["parameters"]}
    assert (schemas["k"]["maximum"], schemas["k"]["default"]) == (1000, 10)
    assert schemas["rerank"]["enum"] == ["none"]


@pytest.mark.slow
def test_schemathesis_knows_the_document(client: TestClient) -> None:
    schema = schemathesis.openapi.from_dict(client.get("/openapi.json").json())
    schema.validate()


@pytest.mark.slow
def test_schemathesis_finds_no_fault(tmp_path: Path) -> None:
    folder = make_index(tmp_path / "papers")
    chosen = settings_for(folder)
    secret = key(chosen, "admin")
    words = ["serve", str(folder), "--keys", str(chosen.keys), "--quiet"]
    with stopped(started(words, tmp_path / "said.txt")) as server:
        # Until then 503 is the right answer, which schemathesis takes for a fault.
        wait_until(lambda: httpx.get(f"{server.url}/ready", timeout=60).status_code == 200, server.words, pause=0.2)
        schema = schemathesis.openapi.from_url(f"{server.url}/openapi.json")
        tried = sum(_try(found.ok(), secret) for found in schema.get_all_operations())
        assert tried > 200
        assert "fault" not in server.words()


def _try(operation: Any, headers: dict[str, str]) -> int:
    """Send what is made from an operation's description; the number of requests that were sent.

    Two checks are left out. What a schema allows may still be refused: it cannot say what a filter is, or which fields
    the index has. And trying wrong keys again and again is stopped as guessing (429), where the check wants 401: below,
    every operation that needs a key is tried without and with the wrong one.
    """
    count = 0

    @settings(max_examples=40, database=None, suppress_health_check=list(HealthCheck))
    @given(operation.as_strategy())
    def send(case: Any) -> None:
        nonlocal count
        count += 1
        case.call_and_validate(headers=headers, excluded_checks=[positive_data_acceptance, ignored_auth])

    send()
    return count


def test_every_operation_that_is_described_as_closed_is_closed(tmp_path: Path) -> None:
    chosen = settings_for(make_index(tmp_path / "papers"), judgments=tmp_path / "thumbs.jsonl")
    reader, owner = key(chosen, "read"), key(chosen, "admin")
    bodies = {
        "put_document": {"fields": {"title": "Zebra"}},
        "put_documents": {"documents": [{"id": "z", "fields": {"title": "Zebra"}}]},
        "judge": {"query": "x", "id": "p2", "grade": 1},
        "delete_document": None,
        "judgments": None,
    }
    with served(chosen) as client:
        closed = {
            operation["operationId"]: (method.upper(), path.replace("{id}", "p1"))
            for path, methods in client.get("/openapi.json").json()["paths"].items()
            for method, operation in methods.items()
            if {} not in operation["security"]
        }
        assert set(closed) == set(bodies)
        for name, (method, path) in closed.items():
            for headers, status in (({}, 401), ({"X-API-Key": "wrong"}, 401), (reader, 403), (owner, 200)):
                answer = client.request(method, path, json=bodies[name], headers=headers)
                assert answer.status_code == status, (name, headers)
