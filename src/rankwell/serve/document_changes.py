"""What a request wants changed in the index, and what became of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field
from typing import NamedTuple

import orjson

from rankwell.core import Document, ParameterError, RankwellError


class IndexBusyError(RankwellError):
    """Another process writes to the index; `retry_after` seconds are a good time to try again."""

    retry_after = 5


class NotWrittenError(RankwellError):
    """The disk did not take a commit: it is full, or may not be written. Nothing of the request was kept."""

    retry_after = 30


class WritesFullError(RankwellError):
    """More changes wait than the server holds."""

    def __init__(self, waiting: int, retry_after: int) -> None:
        self.retry_after = retry_after
        super().__init__(f"index: {waiting:,} changes wait to be written already: try again in {retry_after} s")


class WriterClosedError(RankwellError):
    """The server is stopping."""

    retry_after = 5


class Deletion(NamedTuple):
    """The wish that there be no document of this id."""

    id: str


Change = Document | Deletion


class Written(NamedTuple):
    """What a request changed, and the commit that keeps it: it is on the disk, and searches see it."""

    commit: int
    created: int = 0
    replaced: int = 0
    deleted: int = 0
    missing: int = 0  # documents to delete that were not there


@dataclass(eq=False)
class WriteRequest:
    """Changes that are kept together or not at all."""

    changes: Sequence[Change]
    future: Future[Written] = field(default_factory=Future)

    @property
    def characters(self) -> int:
        """About how much memory they take."""
        return sum(
            sum(map(len, change.fields.values())) if isinstance(change, Document) else 0 for change in self.changes
        )


def check_change(change: Change) -> None:
    """Refuse what the index would refuse, while it is still clear whose it is."""
    docno = change.id
    if not isinstance(docno, str) or not docno or "\0" in docno or not _whole(docno):
        raise ParameterError("id", expected="a text of at least one character and no NUL", found=docno)
    if isinstance(change, Deletion):
        return
    for name, text in change.fields.items():
        if not isinstance(name, str) or not name or not isinstance(text, str):
            raise ParameterError("fields", expected=f"texts by name in document {docno!r}", found={name: text})
        if not _whole(name) or not _whole(text):
            raise ParameterError("fields", expected=f"texts of whole characters in document {docno!r}", found=name)
    if not isinstance(change.metadata, Mapping):
        raise ParameterError("metadata", expected=f"values by name in document {docno!r}", found=change.metadata)
    try:
        orjson.dumps(dict(change.metadata))
    except (TypeError, orjson.JSONEncodeError) as error:
        expected = f"values that JSON has in document {docno!r}"
        raise ParameterError("metadata", expected=expected, found=dict(change.metadata)) from error


def _whole(text: str) -> bool:
    """Whether a text can be written: it has no half of a character."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True
