"""Write vectors chunk by chunk, each a commit; the manifest lists their files."""

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
from rankwell.index.manifest import WriterLock
from rankwell.vectors.graph import Graph, build_graph
from rankwell.vectors.manifest import NAME, FileEntry, Manifest, read_manifest, write_manifest
from rankwell.vectors.rows import Keys, Rows, write_chunk, write_merged

OURS = re.compile(r"\d{8}\.(vectors|graph)|[0-9a-f-]+\.keys|\..+\.part")
MOST_CHUNKS = 8
MOST_DEAD = 0.5


class VectorWriter:
    """The only writer of a folder of vectors."""

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
        """The vectors written so far."""
        return Rows(self.folder, self.manifest)

    def begin(self) -> None:
        """Commit an empty set of vectors, if there is none yet."""
        if not self.manifest.commit:
            with self._writing():
                self._commit()

    def add(self, keys: Keys, vectors: Floats) -> None:
        """Write vectors of length 1, and commit them."""
        with self._writing():
            entry = write_chunk(self._path("vectors"), keys, vectors, self.manifest.storage)
            self._commit(chunks=(*self.manifest.chunks, entry), connected=False)

    def merge(self, live: Keys) -> None:
        """Merge many files into one, or rewrite one with mostly vectors of deleted documents."""
        rows = self.rows()
        kept = np.isin(rows.keys, live)
        if len(self.manifest.chunks) <= MOST_CHUNKS and kept.sum() >= MOST_DEAD * rows.count:
            return
        with self._writing():
            entry = write_merged(self._path("vectors"), rows, kept) if kept.any() else None
            self._commit(chunks=(entry,) if entry else ())

    def connect(self, live: Keys, progress: Progress = SILENT) -> None:
        """Build a graph of all vectors of live documents, or add to it; rebuild one with mostly dead vectors."""
        rows, there = self.rows(), self.manifest.graph
        chosen = np.flatnonzero(np.isin(rows.keys, live))
        if there is not None and self.manifest.connected and len(chosen) >= MOST_DEAD * there.rows:
            return
        keeping = there is not None and len(chosen) >= MOST_DEAD * there.rows
        before = Graph(self.folder, there, rows.dimensions) if keeping and there is not None else None
        with self._writing():
            self._commit(graph=build_graph(self._path("graph"), rows, chosen, before, progress), connected=True)

    def clean(self, keys: set[str]) -> None:
        """Remove files of no commit: from a writer that died, or from before a merge. `keys` are files to keep."""
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
        """A path with an unused number, which does not clash with files of a dead writer."""
        number = self.manifest.next
        self.manifest = replace(self.manifest, next=number + 1)
        path = self.folder / f"{number:08d}.{kind}"
        path.unlink(missing_ok=True)
        return path

    @contextlib.contextmanager
    def _writing(self) -> Iterator[None]:
        """Turn a full disk into a one-line error; earlier commits stay."""
        try:
            yield
        except OSError as error:
            self.clean({file.name for file in self.folder.glob("*.keys")})
            kept = f"{self.manifest.rows:,} vectors of before are kept"
            raise RankwellError(f"{self.folder}: not written: {error.strerror}; {kept}") from error
