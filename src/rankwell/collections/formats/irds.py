"""Any collection of the ir_datasets catalogue, by its id: `irds:beir/scifact/test`."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from rankwell.core import NOTHING, Document, Judgment, MissingExtraError, Query, RankwellError

PREFIX = "irds:"


def dataset(name: str) -> Any:
    """The ir_datasets dataset of that id."""
    try:
        import ir_datasets
    except ImportError as error:
        raise MissingExtraError(f"{PREFIX}{name}", extra="irds") from error
    try:
        return ir_datasets.load(name)
    except KeyError as error:
        raise RankwellError(
            f"{PREFIX}{name}: expected an id of the ir_datasets catalogue, found none of that name"
        ) from error


def documents(name: str) -> Iterator[Document]:
    """The documents: strings other than id and URL are fields; the rest is metadata."""
    for row in _rows(name, "docs"):
        values = {key: value for key, value in row._asdict().items() if key != "doc_id" and value not in (None, "")}
        fields = {key: value for key, value in values.items() if isinstance(value, str) and key != "url"}
        metadata = {key: value for key, value in values.items() if key not in fields}
        yield Document(str(row.doc_id), fields, metadata or NOTHING)


def queries(name: str) -> Iterator[Query]:
    """The queries: every string but the id is a wording."""
    for row in _rows(name, "queries"):
        texts = {
            key: value for key, value in row._asdict().items() if key != "query_id" and isinstance(value, str) and value
        }
        yield Query(str(row.query_id), texts)


def judgments(name: str) -> Iterator[Judgment]:
    """The judgments of the dataset."""
    for row in _rows(name, "qrels"):
        yield Judgment(str(row.query_id), str(row.doc_id), int(row.relevance))


def _rows(name: str, kind: str) -> Iterator[Any]:
    """The rows of one kind; ir_datasets downloads missing data."""
    found = dataset(name)
    if not getattr(found, f"has_{kind}")():
        raise RankwellError(f"{PREFIX}{name}: expected a dataset with {kind}, found one without")
    try:
        yield from getattr(found, f"{kind}_iter")()
    except (OSError, RuntimeError) as error:
        reason = str(error).partition("\n")[0] or type(error).__name__
        raise RankwellError(f"{PREFIX}{name}: its {kind} could not be read: {reason}") from error
