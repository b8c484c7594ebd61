"""Encode the documents of an index that have no vector yet, and write their vectors: each batch is a commit."""

from __future__ import annotations

import contextlib
import logging
import re
from collections.abc import Callable, Iterator
from dataclasses import replace
from itertools import islice
from pathlib import Path
from typing import Any, Self

import numpy as np

from rankwell.core import SILENT, Floats, ParameterError, Progress, RankwellError, Template, sync_folder
from rankwell.index import Index
from rankwell.index.manifest import WriterLock
from rankwell.models.base import load_text_encoder
from rankwell.vectors.embeddings import Embeddings, check_encoder, chosen_folder, opened
from rankwell.vectors.quantise import unit
from rankwell.vectors.rows import FOLDER, NOTHING, STORAGES, Documents, Keys, Manifest, Rows, write_chunk, write_merged
from rankwell.vectors.search import Encoder, Graph, build_graph, can_connect

logger = logging.getLogger(__name__)

PORTION = 1024  # documents encoded before they are written
NAMES = re.compile(r"[\w][\w.+-]*")
SETTINGS = ("pooling", "layer", "normalise", "max_tokens", "precision", "query_prompt", "document_prompt")
OURS = re.compile(r"\d{8}\.(vectors|graph)|[0-9a-f-]+\.keys|\..+\.part")
MOST_CHUNKS = 8
MOST_DEAD = 0.5


class VectorWriter:
    """The only writer of a folder of vectors."""

    def __init__(self, folder: Path, fresh: Manifest | None = None) -> None:
        self.folder = folder
        self._lock = WriterLock(folder)
        try:
            self.manifest = Manifest.read(folder, fresh)
        except BaseException:
            self._lock.release()
            raise

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
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
        kept = there if there is not None and len(chosen) >= MOST_DEAD * there.rows else None
        if kept is not None and self.manifest.connected:
            return
        before = None if kept is None else Graph(self.folder, kept, rows.dimensions)
        with self._writing():
            self._commit(graph=build_graph(self._path("graph"), rows, chosen, before, progress), connected=True)

    def clean(self, keys: set[str]) -> None:
        """Remove files of no commit: from a writer that died, or from before a merge. `keys` are files to keep."""
        kept = self.manifest.files | keys
        for file in self.folder.iterdir():
            if OURS.fullmatch(file.name) and file.name not in kept:
                with contextlib.suppress(OSError):  # where a mapped file cannot be removed, the next writer tries again
                    file.unlink()

    def _commit(self, **changes: Any) -> None:
        following = replace(self.manifest, commit=self.manifest.commit + 1, **changes)
        sync_folder(self.folder)
        following.write(self.folder)
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


def embed(
    index: Index | Path | str,
    encoder: Encoder | str,
    *,
    field: str | None = None,
    document: str | None = None,
    name: str | None = None,
    storage: str = STORAGES[0],
    graph: bool | None = None,
    progress: Progress = SILENT,
) -> Embeddings:
    """Encode every document of an index that has no vector yet, with a model by name or folder, or an encoder.

    The text is a `field`, a template (`document`: '{title} {abstract}'), or by default all
    fields; a document without such a text gets no vector. Vectors lie in the index's folder under `name`, by default
    made from model, pooling, layer and fields. `storage`: "int16" is half of 32-bit floats, "int8" a quarter
    and coarse. `graph`: whether to build the graph for approximate search; by default where usearch is installed.

    Each batch of documents is committed when it is encoded: after an interruption, the same call continues.

    >>> embed(index, "minilm-l6")
    """
    if not isinstance(index, Index):
        index = Index.open(index)
    if isinstance(encoder, str):
        encoder = load_text_encoder(encoder)
    template = _template(field, document)
    if template is not None:
        template.check(index.fields)
    if storage not in STORAGES:
        raise ParameterError("storage", expected=" or ".join(STORAGES), found=storage)
    folder = index.path / FOLDER / _checked(name or default_name(encoder, template))
    fresh = Manifest(
        model=_model(encoder),
        encoder={name: getattr(encoder, name) for name in SETTINGS if getattr(encoder, name, None) is not None},
        made_with=encoder.fingerprint(),
        dimensions=encoder.dimensions,
        field=field,
        document=None if template is None else template.text,
        storage=storage,
    )
    with VectorWriter(folder, fresh) as writer:
        _check_same(folder, writer.manifest, fresh, encoder)
        documents = Documents(index, template, folder)
        writer.begin()
        keys = documents.keys()
        writer.clean(documents.files())
        _encode(writer, documents, keys, encoder, progress)
        writer.merge(keys[index.live])
        if graph or (graph is None and can_connect()):
            writer.connect(keys[index.live])
        writer.clean(documents.files())
    return Embeddings.open(index, folder.name)


def refresh(
    index: Index,
    name: str | None = None,
    *,
    graph: bool | None = None,
    progress: Progress = SILENT,
    through: Callable[[Encoder], Encoder] | None = None,
) -> Embeddings:
    """Bring existing vectors up to date with their index, with the model that made them.

    `through` wraps that model in the encoder to use, for encoding on other machines.
    """
    there = opened(index, chosen_folder(index, name))
    encoder = there.encoder()
    return embed(
        index,
        encoder if through is None else through(encoder),
        document=there.document,
        name=there.name,
        storage=there.storage,
        graph=graph,
        progress=progress,
    )


def connect(index: Index, name: str | None = None, progress: Progress = SILENT) -> Embeddings:
    """Build the graph for approximate search over existing vectors, or add missing vectors to it."""
    folder = chosen_folder(index, name)
    with VectorWriter(folder) as writer:
        documents = Documents(index, writer.manifest.template, folder)
        writer.connect(documents.keys()[index.live], progress)
        writer.clean(documents.files())
    return Embeddings.open(index, folder.name)


def _encode(writer: VectorWriter, documents: Documents, keys: Keys, encoder: Encoder, progress: Progress) -> None:
    """Encode the documents without a vector."""
    index, rows = documents.index, writer.rows()
    lacking = np.flatnonzero(index.live & (keys != NOTHING) & (rows.find(keys) < 0))
    if progress is not SILENT:
        progress.total = len(lacking)
    texts, cut_before = documents.texts(lacking), _cut(encoder)
    portions = max(PORTION, int(getattr(encoder, "at_once", PORTION)))  # more where many workers share them
    while portion := dict(islice(texts, portions)):
        numbers = list(portion)
        vectors = encoder.encode(list(portion.values()), progress)
        if vectors.shape != (len(numbers), encoder.dimensions):
            expected = f"{len(numbers)} vectors of {encoder.dimensions} numbers"
            raise RankwellError(f"{encoder.model}: expected {expected}, found {vectors.shape}")
        writer.add(keys[numbers], unit(vectors))
    if _cut(encoder) > cut_before:
        longer = _cut(encoder) - cut_before
        logger.warning("%d of %d documents are longer than %s reads: cut", longer, len(lacking), encoder.model)


def _template(field: str | None, document: str | None) -> Template | None:
    """The template for a field or a template's text; None for all fields."""
    if field is not None and document is not None:
        raise ParameterError("document", expected="a field or a template, not both", found=document)
    text = document if field is None else f"{{{field}}}"
    return None if text is None else Template(text)


def _cut(encoder: Encoder) -> int:
    """Number of truncated documents so far, if the encoder counts them."""
    return int(getattr(getattr(encoder, "truncated", None), "documents_cut", 0))


def default_name(encoder: Encoder, template: Template | None) -> str:
    """The default name of vectors: minilm-l6-mean, bge-small-en-cls-layer11-title."""
    layer = getattr(encoder, "layer", -1)
    parts = [
        Path(_model(encoder)).name,
        getattr(encoder, "pooling", None),
        f"layer{layer}" if layer != -1 else None,
        None if template is None else "+".join(template.fields),
    ]
    return re.sub(r"[^\w.+-]+", "-", "-".join(part for part in parts if part)).lstrip(".-+")


def _model(encoder: Encoder) -> str:
    """The model's name; the full path of a folder, because commands run in different folders."""
    folder = Path(encoder.model).expanduser()
    return str(folder.resolve()) if folder.is_dir() else encoder.model


def _checked(name: str) -> str:
    if not NAMES.fullmatch(name):
        raise ParameterError("name", expected="letters, digits and . + - _", found=name)
    return name


def _check_same(folder: Path, there: Manifest, asked: Manifest, encoder: Encoder) -> None:
    """Raise where the existing vectors were made with other settings."""
    check_encoder(folder, there, encoder)
    for what in ("document", "storage"):
        before, now = getattr(there, what), getattr(asked, what)
        if before != now:
            raise RankwellError(
                f"{folder}: expected {what} {before or 'all fields'} as before, found {now or 'all fields'}: "
                "choose another --name"
            )
