"""A Model Context Protocol (MCP) server of an index: the tools search, get and why."""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from rankwell import __version__
from rankwell.core import MissingExtraError, ParameterError, RankwellError
from rankwell.index import SearchIndex, open_index
from rankwell.pipelines import Explained, RankerOptions, RerankOptions
from rankwell.retrieve import parse_match

MOST = 100  # documents of one answer
LONGEST = 2000  # characters of a query
PATH = "/mcp"
LOOPBACK = ("127.0.0.1", "localhost", "::1")


@dataclass
class IndexTools:
    """What the tools do: every call sees the index at its last commit."""

    address: Path | str
    first: RankerOptions
    second: RerankOptions | None = None

    def __post_init__(self) -> None:
        self._index = open_index(self.address)
        self._seen = self._index.last_commit()

    @property
    def index(self) -> SearchIndex:
        """The index at its last commit."""
        mark = self._index.last_commit()
        if mark != self._seen:
            self._index, self._seen = open_index(self.address), mark
        return self._index

    def search(self, query: str, k: int = 10, filter: str | None = None) -> list[dict[str, Any]]:
        """Search the index: the k best documents (at most 100) for a query in plain words.

        `filter` is a condition on metadata, such as "year>=2020 and source=PMC". Each result has the document's id,
        its score, its title and the passage that fits best; `get` has the whole document.
        """
        if not 1 <= k <= MOST:
            raise ParameterError("k", expected=f"a number from 1 to {MOST}", found=k)
        index, explained = self._explained(query, k, filter)
        words = parse_match(self.first.match).words(query)
        results = []
        for rank, (docno, score) in enumerate(explained.ranking(k), 1):
            stored = index.documents[docno]
            passage = index.snippet(docno, words, fields=[name for name in index.fields if name != "title"])
            row = {"rank": rank, "id": docno, "score": score, "title": stored.fields.get("title", "")}
            results.append({**row, "passage": passage.text, "metadata": dict(stored.metadata)})
        return results

    def get(self, id: str) -> dict[str, Any]:
        """Get a whole document of the index by its id: its fields and its metadata."""
        stored = self.index.documents.get(id)
        if stored is None:
            raise RankwellError(f"expected the id of a document, found {id!r}, which the index lacks")
        return {"id": id, "fields": dict(stored.fields), "metadata": dict(stored.metadata)}

    def why(self, query: str, id: str) -> dict[str, Any]:
        """Explain why a document stands where it does for a query: the terms that matched, its rank in each stage."""
        self.get(id)
        _, explained = self._explained(query, MOST, None)
        return explained.why(id, parse_match(self.first.match).words(query)).for_json()

    def _explained(self, query: str, k: int, condition: str | None) -> tuple[SearchIndex, Explained]:
        if len(query) > LONGEST:
            raise ParameterError("query", expected=f"at most {LONGEST} characters", found=f"{len(query)} characters")
        index, again = self.index, self.second
        deep = k if again is None else again.deep(k)
        both = " and ".join(f"({part})" for part in (self.first.filter, condition) if part)
        first = replace(self.first, k=deep, filter=both or None, threads=1)
        return index, Explained(index, first, again, query)


def create_server(tools: IndexTools) -> Any:
    """The server of the official SDK with these tools, all of which only read."""
    try:
        from mcp.server import MCPServer
        from mcp.server.mcpserver.exceptions import ToolError
        from mcp.types import ToolAnnotations
    except ImportError as error:
        raise MissingExtraError("rankwell serve --mcp", extra="mcp") from error

    def one_line_errors(tool: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(tool)
        def call(*args: Any, **given: Any) -> Any:
            try:
                return tool(*args, **given)
            except RankwellError as error:
                raise ToolError(str(error)) from error

        return call

    fields = ", ".join(tools.index.fields)
    about = f"Search an index of {len(tools.index):,} documents (fields: {fields}), and read what is found."
    server = MCPServer("rankwell", instructions=about, version=__version__, log_level="WARNING")
    for tool in (tools.search, tools.get, tools.why):
        reads = ToolAnnotations(read_only_hint=True, open_world_hint=False)
        server.tool(annotations=reads)(one_line_errors(tool))
    return server
