"""Documents on disk that can be fetched in any order: a partner for a false pair may be anywhere in a collection."""

from __future__ import annotations

import tempfile
from array import array
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from types import TracebackType
from typing import IO, Self

import orjson

from rankwell.core import Document


class Spool(Mapping[str, Document]):
    """The fields of all documents, by number and by id, in a file that vanishes with the spool.

    Memory holds the ids and 8 bytes a document. `fields` counts the documents that have each field.
    """

    def __init__(self, documents: Iterable[Document], folder: Path | str | None = None) -> None:
        self.fields: Counter[str] = Counter()
        self._numbers: dict[str, int] = {}
        self._ends = array("q", [0])
        self._file: IO[bytes] = tempfile.TemporaryFile(dir=folder)  # noqa: SIM115 -- closed with the spool
        for document in documents:
            if document.id in self._numbers:  # the first one counts, as in an index
                continue
            texts = {name: text for name, text in document.fields.items() if text.strip()}
            self.fields.update(texts.keys())
            record = orjson.dumps([document.id, texts])
            self._file.write(record)
            self._numbers[document.id] = len(self._numbers)
            self._ends.append(self._ends[-1] + len(record))
        self._file.flush()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._file.close()

    def __len__(self) -> int:
        return len(self._numbers)

    def __iter__(self) -> Iterator[str]:
        return iter(self._numbers)

    def __contains__(self, docno: object) -> bool:
        return docno in self._numbers

    def __getitem__(self, docno: str) -> Document:
        return self.at(self._numbers[docno])

    def at(self, number: int) -> Document:
        """The document with this number, from 0, in the order in which they came."""
        start = self._ends[number]
        self._file.seek(start)
        docno, fields = orjson.loads(self._file.read(self._ends[number + 1] - start))
        return Document(docno, fields)
