"""`rankwell serve --mcp`: real processes, asked with the client of the official SDK."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

from commands import rankwell
from inbox import free_port
from rankwell.core import Document
from rankwell.index import Index, IndexWriter
from rankwell.retrieve import BM25
from servers import Server, stopped
from waiting import wait_until

pytestmark = pytest.mark.long


@pytest.fixture(autouse=True)
def _needed(bridge) -> None:
    bridge("mcp", "mcp")


def asked(address: Any, ask: Callable[[Any], Awaitable[None]]) -> None:
    import anyio
    from mcp import Client

    async def talk() -> None:
        async with Client(address) as client:
            await ask(client)

    anyio.run(talk)


def over_stdio(*words: str | Path) -> Any:
    from mcp import StdioServerParameters, stdio_client

    command = ["-m", "rankwell", "serve", *map(str, words), "--mcp"]
    return stdio_client(StdioServerParameters(command=sys.executable, args=command, env=dict(os.environ)))


def test_the_tools_search_get_and_explain(index: Index) -> None:
    async def ask(client: Any) -> None:
        tools = {tool.name: tool for tool in (await client.list_tools()).tools}
        assert list(tools) == ["search", "get", "why"]
        assert all(tool.annotations.read_only_hint for tool in tools.values())
        assert "the k best documents" in tools["search"].description
        assert client.instructions.startswith("Search an index of 4 documents (fields: title, abstract)")

        found = (await client.call_tool("search", {"query": "fever in children", "k": 2})).structured_content["result"]
        ours = BM25(index)("fever in children").top(2)["1"]
        assert [(row["id"], row["score"]) for row in found] == list(ours)
        assert found[0]["passage"] == "Fever is common in children and mostly harmless."
        newer = await client.call_tool("search", {"query": "fever", "filter": "year>=2022"})
        assert [row["id"] for row in newer.structured_content["result"]] == ["d4"]

        document = (await client.call_tool("get", {"id": "d3"})).structured_content
        assert document["fields"] == {"title": "Masks", "abstract": "Masks stop large droplets."}
        assert document["metadata"] == {"year": 2021}

        why = (await client.call_tool("why", {"query": "fever", "id": "d2"})).structured_content
        assert why["terms"][0]["term"] == "fever"
        assert why["stages"][0]["rank"] == 3

    asked(over_stdio(index.path), ask)


def test_mistakes_are_told_in_one_line_and_new_documents_are_seen(index: Index) -> None:
    async def ask(client: Any) -> None:
        for tool, given, expected in (
            ("get", {"id": "d9"}, "expected the id of a document, found 'd9'"),
            ("search", {"query": "fever", "k": 1000}, "k: expected a number from 1 to 100, found 1000"),
            ("search", {"query": "fever", "filter": "colour=red"}, "colour"),
        ):
            answer = await client.call_tool(tool, given)
            assert answer.is_error
            assert expected in answer.content[0].text
        with IndexWriter(index.path) as writer:
            writer.add(Document("d9", {"title": "Zebras"}))
        answer = await client.call_tool("search", {"query": "zebras"})
        assert [row["id"] for row in answer.structured_content["result"]] == ["d9"]

    asked(over_stdio(index.path), ask)


@pytest.mark.usefixtures("use_models")
def test_a_pipeline_of_a_file_answers(index: Index, tmp_path: Path) -> None:
    (tmp_path / "best.toml").write_text('k1 = 0.4\nrerank = "ms-marco-minilm-l12"\ndepth = 3\n')

    async def ask(client: Any) -> None:
        why = (await client.call_tool("why", {"query": "fever", "id": "d4"})).structured_content
        assert [stage["stage"] for stage in why["stages"]] == ["BM25", "ms-marco-minilm-l12"]
        assert why["stages"][0]["score"] == BM25(index, k1=0.4)("fever").to_dict()["1"]["d4"]

    asked(over_stdio(index.path, "--pipeline", tmp_path / "best.toml"), ask)


def test_the_same_over_http(index: Index, tmp_path: Path) -> None:
    async def ask(client: Any) -> None:
        answer = await client.call_tool("search", {"query": "masks"})
        assert [row["id"] for row in answer.structured_content["result"]] == ["d3"]

    port, said = free_port(), tmp_path / "said"
    command = [sys.executable, "-m", "rankwell", "serve", str(index.path), "--mcp-http", "--port", str(port)]
    with said.open("wb") as file:
        server = Server(subprocess.Popen(command, stderr=file), f"http://127.0.0.1:{port}/mcp", said)
    with stopped(server):
        wait_until(lambda: server.process.poll() is not None or listens(port), server.words)
        asked(server.url, ask)
    assert server.words().startswith(server.url)
    assert server.process.returncode == 0


def listens(port: int) -> bool:
    with socket.socket() as door:
        return door.connect_ex(("127.0.0.1", port)) == 0


def test_over_http_it_is_not_opened_to_others(index: Index) -> None:
    for options in (["--host", "0.0.0.0"], ["--private"]):  # noqa: S104 -- it is refused
        done = rankwell("serve", index.path, "--mcp-http", *options)
        assert done.returncode != 0
        assert "--mcp-http: expected this machine only" in done.stderr
