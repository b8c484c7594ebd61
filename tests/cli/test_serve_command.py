"""`rankwell serve` as users type it: a real process that answers, and ends well when it is told to."""

from __future__ import annotations

import json
import shutil
import signal
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.error import HTTPError
from urllib.parse import quote
from urllib.request import Request, urlopen

import pytest

from commands import rankwell
from servers import Server, started, stopped

PAPERS = """id,title,abstract
p1,Masks,Masks stop droplets.
p2,Washing,Soap destroys the envelope of the virus.
"""


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("serve")
    (folder / "papers.csv").write_text(PAPERS)
    done = rankwell("index", str(folder / "papers.csv"), "--out", str(folder / "index"), "--quiet")
    assert done.returncode == 0, done.stderr
    return folder / "index"


@pytest.fixture(autouse=True)
def index(made: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    shutil.copytree(made, tmp_path / "index")
    monkeypatch.chdir(tmp_path)


@contextmanager
def serving(*words: str) -> Iterator[Server]:
    with stopped(started(["serve", "index", *words], Path("said.txt"))) as server:
        yield server


def ask(server: Server, path: str, method: str = "GET", body: object = None, key: str = "") -> tuple[int, bytes]:
    headers = {"content-type": "application/json", **({"authorization": f"Bearer {key}"} if key else {})}
    data = None if body is None else json.dumps(body).encode()
    request = Request(server.url + path, data, headers, method=method)  # noqa: S310 -- our own server
    try:
        with urlopen(request, timeout=60) as answer:  # noqa: S310 -- our own server
            return answer.status, answer.read()
    except HTTPError as error:
        return error.code, error.read()


def test_keys_are_made_shown_once_listed_and_removed() -> None:
    made = rankwell("serve", "keys", "add", "ann", "--role", "write", "--keys", "keys.json")
    key = made.stdout.strip()
    assert key.startswith("rankwell_")
    assert "not shown again" in made.stderr
    listed = rankwell("serve", "keys", "list", "--keys", "keys.json").stdout
    assert "ann" in listed
    assert key not in listed + Path("keys.json").read_text()
    assert rankwell("serve", "keys", "remove", "ann", "--keys", "keys.json").returncode == 0
    again = rankwell("serve", "keys", "remove", "ann", "--keys", "keys.json")
    assert (again.returncode, again.stderr) == (1, 'rankwell: name: expected one of no keys, found "ann"\n')


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("serve", "nowhere"), "nowhere"),
        (("serve", "index", "--port", "70000"), "--port: expected a number from 0 to 65535"),
        (("serve", "index", "--rerank", "nix"), "nix: expected a folder with a model"),
        (("serve", "index", "--max-k", "0"), "--max-k: expected a number, at least 1"),
        (("serve", "index", "--timeout", "nan"), "--timeout: expected seconds"),
    ],
)
def test_what_cannot_be_served_is_said_in_one_line(words: tuple[str, ...], told: str) -> None:
    done = rankwell(*words)
    assert done.returncode == 1
    assert told in done.stderr
    assert "Traceback" not in done.stderr


def test_a_pipeline_that_cannot_be_served_is_said_in_one_line() -> None:
    for text, told in (
        ("k1 = 0.9\nb = 2\n", "best.toml:2: b: expected a number from 0 to 1, found 2"),
        ("depth = 5000\n", "depth: expected at most 200, found 5000"),
        ("rerank = 'nix'\n", "nix: expected a folder with a model"),
    ):
        Path("best.toml").write_text(text)
        done = rankwell("serve", "index", "--pipeline", "best.toml")
        assert done.returncode == 1
        assert told in done.stderr


@pytest.mark.slow
def test_a_server_prints_its_address_and_answers() -> None:
    with serving() as server:
        assert f"index, 2 documents: {server.url}" in server.words()
        status, body = ask(server, "/api/search?q=soap")
        assert status == 200, body
        assert [row["id"] for row in json.loads(body)["results"]] == ["p2"]
        assert ask(server, "/")[0] == 200


@pytest.mark.slow
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_to_be_told_to_stop_is_no_failure(number: signal.Signals) -> None:
    server = started(["serve", "index"], Path("said.txt"))
    server.process.send_signal(number)
    assert server.process.wait(30) == 0
    assert "Traceback" not in server.words()


@pytest.mark.slow
def test_a_key_made_while_the_server_runs_opens_it_and_what_was_written_is_there_after_it_ends() -> None:
    with serving("--keys", "keys.json") as server:
        address = "/api/documents/" + quote("a%2Fb/ü", safe="")
        assert ask(server, address, "PUT", {"fields": {"title": "Zebra"}})[0] == 403
        key = rankwell("serve", "keys", "add", "ann", "--role", "write", "--keys", "keys.json").stdout.strip()
        assert ask(server, address, "PUT", {"fields": {"title": "Zebra"}})[0] == 401
        assert ask(server, address, "PUT", {"fields": {"title": "Zebra"}}, key)[0] == 201
        assert json.loads(ask(server, address)[1])["id"] == "a%2Fb/ü"
        assert key not in server.words()
    found = json.loads(rankwell("search", "index", "zebra", "--json").stdout)
    assert [row["id"] for row in found] == ["a%2Fb/ü"]


@pytest.mark.slow
def test_what_is_hardly_http_is_refused_and_the_server_goes_on() -> None:
    with serving() as server:
        port = int(server.url.rsplit(":", 1)[1])
        flood = b"GET /health HTTP/1.1\r\nHost: localhost\r\n" + b"".join(b"x%d: y\r\n" % n for n in range(20_000))
        hostile = (
            b"\x16\x03\x01\x02\x00\x01" * 50,
            b"GET / HTTP/9.9\r\n\r\n",
            b"GET /" + b"a" * 200_000 + b" HTTP/1.1\r\n\r\n",
            flood + b"\r\n",
            b"POST /api/search HTTP/1.1\r\nHost: localhost\r\nContent-Length: -5\r\n\r\n",
            b"POST /api/search HTTP/1.1\r\nHost: localhost\r\nContent-Length: 104857600\r\n\r\n" + b"x" * 1000,
        )
        for sent in hostile:
            with socket.create_connection(("127.0.0.1", port), timeout=30) as connection:
                try:
                    connection.sendall(sent)
                    connection.recv(1000)
                except OSError:
                    pass  # hung up on: that is an answer too
            assert ask(server, "/health")[0] == 200
        assert "Traceback" not in server.words()
