"""Writing vectors: chunk by chunk, each of them a commit, so that a kill loses no more than the last few documents."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from types import TracebackType
from typing import Self

import numpy as np

from rankwell.core import RankwellError
from rankwell.core.arrays import Floats
from rankwell.core.files import sync_folder
from rankwell.core.progress import SILENT, Progress
from rankwell.dense.documents import Keys
from rankwell.dense.graph import Graph, build_graph
from rankwell.dense.manifest import NAME, FileEntry, Manifest, read_manifest, write_manifest
from rankwell.dense.rows import Rows, write_chunk, write_merged
from rankwell.index.lock import WriterLock

OURS = re.compile(r"\d{8}\.(vectors|graph)|[0-9a-f-]+\.keys|\..+\.part")
MOST_CHUNKS = 8
MOST_DEAD = 0.5


class VectorWriter:
    """The one writer of a folder of vectors."""

    def __init__(self, folder: Path, fresh: Manifest | None = None) -> None:
        self.folder = folder
        self._lock = WriterLock(folder)
        try:
            self.manifest = read_manifest(folder) if (folder / NAME).exists() or fresh is None else fresh
        except BaseException:
            self._lock.release()
            raise

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._lock.release()

    def rows(self) -> Rows:
        """The vectors so far."""
        return Rows(self.folder, self.manifest)

    def begin(self) -> None:
        """Be there, if only with no vector yet."""
        if not self.manifest.commit:
            with self._writing():
                self._commit()

    def add(self, keys: Keys, vectors: Floats) -> None:
        """Write vectors of length 1, and commit them."""
        with self._writing():
            entry = write_chunk(self._path("vectors"), keys, vectors, self.manifest.storage)
            self._commit(chunks=(*self.manifest.chunks, entry), connected=False)

    def merge(self, live: Keys) -> None:
        """Make one file of many, or of one that has mostly vectors of documents that are gone."""
        rows = self.rows()
        kept = np.isin(rows.keys, live)
        if len(self.manifest.chunks) <= MOST_CHUNKS and kept.sum() >= MOST_DEAD * rows.count:
            return
        with self._writing():
            entry = write_merged(self._path("vectors"), rows, kept) if kept.any() else None
            self._commit(chunks=(entry,) if entry else ())

    def connect(self, live: Keys, progress: Progress = SILENT) -> None:
        """Have a graph of all vectors of live documents; one that is mostly dead is made anew."""
        rows, there = self.rows(), self.manifest.graph
        chosen = np.flatnonzero(np.isin(rows.keys, live))
        if there is not None and self.manifest.connected and len(chosen) >= MOST_DEAD * there.rows:
            return
        keeping = there is not None and len(chosen) >= MOST_DEAD * there.rows
        before = Graph(self.folder, there, rows.dimensions) if keeping and there is not None else None
        with self._writing():
            self._commit(graph=build_graph(self._path("graph"), rows, chosen, before, progress), connected=True)

    def clean(self, keys: set[str]) -> None:
        """Remove what no commit names: of a writer that died, or of before a merge. `keys` are files to keep."""
        kept = self.manifest.files | keys
        for file in self.folder.iterdir():
            if OURS.fullmatch(file.name) and file.name not in kept:
                with contextlib.suppress(OSError):  # where a mapped file cannot be removed, the next writer tries again
                    file.unlink()

    def _commit(
        self,
        chunks: tuple[FileEntry, ...] | None = None,
        graph: FileEntry | None = None,
        *,
        connected: bool | None = None,
    ) -> None:
        manifest = self.manifest
        following = replace(
            manifest,
            commit=manifest.commit + 1,
            chunks=manifest.chunks if chunks is None else chunks,
            graph=manifest.graph if graph is None else graph,
            connected=manifest.connected if connected is None else connected,
        )
        sync_folder(self.folder)
        write_manifest(self.folder, following)
        self.manifest = following

    def _path(self, kind: str) -> Path:
        """A file of a number that was not used before; one that a dead writer left is in nobody's way."""
        number = self.manifest.next
        self.manifest = replace(self.manifest, next=number + 1)
        path = self.folder / f"{number:08d}.{kind}"
        path.unlink(missing_ok=True)
        return path

    @contextlib.contextmanager
    def _writing(self) -> Iterator[None]:
        """A full disk is said in one line; what was committed before stays."""
        try:
            yield
        except OSError as error:
            self.clean({file.name for file in self.folder.glob("*.keys")})
            kept = f"{self.manifest.rows:,} vectors of before are kept"
            raise RankwellError(f"{self.folder}: not written: {error.strerror}; {kept}") from error
