"""The documents of an index as vectors know them: by a key of 64 bits, which is a hash of id and text.

Segments of an index never change, so the keys of one are worked out once and kept in a file beside the vectors. They
tell which documents have a vector already, whatever was added, replaced, deleted or merged in the meantime.
"""

from __future__ import annotations

import contextlib
import hashlib
import secrets
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt

from rankwell.core import Document, RankwellError, Template
from rankwell.core.arrays import Integers
from rankwell.index import Index
from rankwell.index.blocks import BlockFile, BlockWriter
from rankwell.index.segment import Segment

Keys = npt.NDArray[np.uint64]

KIND = "keys"
NOTHING = 0  # the key of a document without text: it has no vector, and needs none


@dataclass(frozen=True)
class Documents:
    """All documents of an index, by number."""

    index: Index
    template: Template | None  # all fields without one
    folder: Path

    def keys(self) -> Keys:
        """The key of each document."""
        parts = [self._kept(segment) for segment, _ in self.index.segments]
        return np.concatenate([np.zeros(0, dtype=np.uint64), *parts])

    def texts(self, documents: Integers) -> Iterator[tuple[int, str]]:
        """The texts of these documents, in the order in which they are stored, which is the quickest to read."""
        for segment, base in self.index.segments:
            own = documents[(documents >= base) & (documents < base + segment.documents)] - base
            for number in own[np.argsort(segment.stored[own], kind="stable")].tolist():
                yield base + number, self._text(segment.store[int(segment.stored[number])])

    def files(self) -> set[str]:
        """The names of the files that hold the keys of this index."""
        return {_name(segment) for segment, _ in self.index.segments}

    def _text(self, document: Document) -> str:
        return document.text().strip() if self.template is None else self.template.fill(document)

    def _kept(self, segment: Segment) -> Keys:
        """The keys of a segment, from its file or worked out (and kept, where that can be written)."""
        path = self.folder / _name(segment)
        with contextlib.suppress(RankwellError, KeyError):  # a lost or damaged file is made again
            found = BlockFile(path, KIND)[KIND].all()
            if len(found) == segment.documents:
                return found
        keys = np.zeros(segment.documents, dtype=np.uint64)
        order = np.argsort(segment.stored, kind="stable")
        for number, place in zip(order.tolist(), segment.stored[order].tolist(), strict=True):
            document = segment.store[place]
            keys[number] = key_of(document.id, self._text(document))
        with contextlib.suppress(OSError):
            _write(path, keys)
        return keys


def key_of(docno: str, text: str) -> int:
    """The key of a document: a hash of its id and its text."""
    if not text:
        return NOTHING
    content = f"{docno}\0{text}".encode("utf-8", "surrogatepass")
    return int.from_bytes(hashlib.blake2b(content, digest_size=8).digest(), "little") or 1


def _name(segment: Segment) -> str:
    return f"{Path(segment.entry.name).stem}-{segment.entry.checksum:08x}.{KIND}"


def _write(path: Path, keys: Keys) -> None:
    temporary = path.with_name(f".{path.name}.{secrets.token_hex(4)}.part")
    try:
        with BlockWriter(temporary, KIND) as file:
            file.add(KIND, keys)
            file.finish({})
        temporary.replace(path)
    finally:
        temporary.unlink(missing_ok=True)
