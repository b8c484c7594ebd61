"""The document store: whole documents in compressed blocks, and a mapping that fetches them by id."""

from __future__ import annotations

import re
import zlib
from collections import deque
from collections.abc import Iterator, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from functools import lru_cache
from itertools import pairwise
from typing import Any

import numpy as np
import orjson

from rankwell.core import Document, RankwellError
from rankwell.index.blocks import Array, BlockFile, BlockWriter

# Small enough to read one document quickly, large enough to compress well. To
# unpack one of 300 characters took 40 microseconds; 63 with blocks twice as large and 22 with half, and the store was
# 7 % smaller and 9 % larger.
BLOCK_CHARACTERS = 1 << 12
LEVEL = 1
# A block that is smaller than this (compressed) is joined with others when segments are merged.
SMALL = 512
WAITING = 8  # most blocks under compression at once
CACHED = 1024  # unpacked blocks in a reader's cache: some 10 MB
SURROGATE = re.compile("[\ud800-\udfff]")

Stored = list[Any]  # id, fields, metadata


class StoreWriter:
    """Writes documents in the given order; compression runs in a thread."""

    def __init__(self, file: BlockWriter) -> None:
        self._file = file
        self._pool = ThreadPoolExecutor(1)
        self._pending: deque[Future[bytes]] = deque()
        self._block: list[Stored] = []
        self._size = 0
        self._ends = [0]  # bytes
        self._firsts = [0]  # documents
        self.count = 0
        file.begin("store", np.uint8)

    def add(self, document: Document) -> None:
        """Add a document; its number is the former `count`."""
        self._block.append([document.id, dict(document.fields), dict(document.metadata)])
        self._size += sum(map(len, document.fields.values()))
        self.count += 1
        if self._size >= BLOCK_CHARACTERS:
            self._close_block()

    def copy(self, block: bytes, documents: int) -> None:
        """Copy a whole block of another store."""
        self._close_block()
        self._drain(0)
        self._written(block)
        self.count += documents
        self._firsts.append(self.count)

    def finish(self) -> None:
        """Write the rest, and the positions of all blocks."""
        self._close_block()
        self._drain(0)
        self.stop()
        self._file.add("store_ends", np.array(self._ends, dtype=np.uint64))
        self._file.add("store_firsts", np.array(self._firsts, dtype=np.uint32))

    def stop(self) -> None:
        """Stop the compression thread."""
        self._pool.shutdown(cancel_futures=True)

    def _close_block(self) -> None:
        if self._block:
            self._pending.append(self._pool.submit(zlib.compress, encoded(self._block), LEVEL))
            self._block, self._size = [], 0
            self._firsts.append(self.count)
            self._drain(WAITING)

    def _drain(self, left: int) -> None:
        while len(self._pending) > left:
            self._written(self._pending.popleft().result())

    def _written(self, block: bytes) -> None:
        self._file.append(block)
        self._ends.append(self._ends[-1] + len(block))


class StoreReader:
    """The documents of one segment by their number in the store."""

    def __init__(self, file: BlockFile) -> None:
        self._file = file
        # Without a reference to this reader, which would be a cycle.
        self._unpacked = lru_cache(CACHED)(lambda block: decoded(_packed(file, block)))

    def __getitem__(self, number: int) -> Document:
        firsts = self._firsts
        block = int(firsts.searchsorted(firsts.dtype.type(number), side="right")) - 1  # of its own type: else it copies
        docno, fields, metadata = self._unpacked(block)[number - int(firsts[block])]
        return Document(docno, fields, metadata)

    def blocks(self) -> Iterator[tuple[int, int, bytes]]:
        """Every block: its first document, the one after its last, and its bytes."""
        for block, (first, end) in enumerate(pairwise(self._firsts.tolist())):
            yield first, end, _packed(self._file, block)

    @property
    def _firsts(self) -> Array:
        return self._file["store_firsts"].all()


def _packed(file: BlockFile, block: int) -> bytes:
    start, end = file["store_ends"].part(block, block + 2).tolist()
    return file["store"].part(start, end).tobytes()


def decoded(block: bytes) -> list[Stored]:
    """The documents of a block."""
    documents: list[Stored] = orjson.loads(zlib.decompress(block))
    return documents


def as_stored(document: Document) -> Stored:
    """A document in the form in which a store returns it."""
    stored: Stored = orjson.loads(encoded([[document.id, dict(document.fields), dict(document.metadata)]]))[0]
    return stored


def encoded(documents: list[Stored]) -> bytes:
    """Documents as the bytes of a block, before they are compressed."""
    try:
        return orjson.dumps(documents)
    except (TypeError, ValueError):
        return orjson.dumps([_mended(document) for document in documents])


def _mended(document: Stored) -> Stored:
    """Replace lone surrogates; refuse by name what cannot be stored at all."""
    docno, fields, metadata = (_without_surrogates(part) for part in document)
    try:
        orjson.dumps(metadata)
    except (TypeError, ValueError) as error:
        raise RankwellError(f"document {docno!r}: expected metadata that JSON can hold: {error}") from error
    return [docno, fields, metadata]


def _without_surrogates(value: Any) -> Any:
    if isinstance(value, str):
        return SURROGATE.sub("\ufffd", value)
    if isinstance(value, Mapping):
        return {_without_surrogates(str(key)): _without_surrogates(part) for key, part in value.items()}
    if isinstance(value, (list, tuple)):
        return [_without_surrogates(part) for part in value]
    return value
