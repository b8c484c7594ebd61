"""The stored documents of an index as a mapping, each fetched when it is asked for."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from rankwell.core import Document
from rankwell.index.segment import Segment


class StoredDocuments(Mapping[str, Document]):
    """Documents by id; iterating goes through them segment by segment."""

    def __init__(self, segments: Sequence[Segment]) -> None:
        self._segments = segments

    def __getitem__(self, docno: str) -> Document:
        for segment in self._segments:
            number = segment.find(docno)
            if number is not None:
                return segment.store[int(segment.stored[number])]
        raise KeyError(docno)

    def __contains__(self, docno: object) -> bool:
        return isinstance(docno, str) and any(segment.find(docno) is not None for segment in self._segments)

    def __iter__(self) -> Iterator[str]:
        for segment in self._segments:
            for number, docno in enumerate(segment.docnos.all()):
                if segment.dead is None or not segment.dead[number]:
                    yield docno

    def __len__(self) -> int:
        return sum(segment.entry.live for segment in self._segments)

    def __repr__(self) -> str:
        return f"StoredDocuments({len(self)} documents)"
