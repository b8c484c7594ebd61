"""The manifest, which lists the files and settings of an index; and the lock of its only writer."""

from __future__ import annotations

import hashlib
import os
import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from itertools import chain, islice
from pathlib import Path
from typing import Any

import orjson

from rankwell.analysis import Analyzer
from rankwell.core import Document, ParameterError, Phrase, RankwellError, atomic_write, make_folder

NAME = "manifest"
MAGIC = "rankwell-index"
VERSION = 1


@dataclass(frozen=True)
class SegmentEntry:
    """A segment at one commit: its file, and its deleted documents."""

    name: str
    size: int
    checksum: int
    documents: int
    live: int
    holders: Mapping[str, int]  # field -> live documents with it
    tokens: Mapping[str, int]  # field -> tokens in them
    dead: str | None = None  # the file that marks the deleted documents
    dead_size: int = 0
    dead_checksum: int = 0


@dataclass(frozen=True)
class Manifest:
    """The segments of an index, and how its documents are analysed."""

    analyzer: Mapping[str, Any]
    fields: tuple[str, ...] | None = None  # None: all fields of the documents
    metadata: tuple[str, ...] = ()
    positions: bool = False
    commit: int = 0
    next: int = 1  # the number of the next file
    segments: tuple[SegmentEntry, ...] = ()

    @property
    def files(self) -> set[str]:
        """All files of this commit, besides the manifest."""
        return {name for entry in self.segments for name in (entry.name, entry.dead) if name}

    @property
    def known_fields(self) -> tuple[str, ...]:
        """The indexed fields: the chosen ones, or those found in documents."""
        if self.fields is not None:
            return self.fields
        return tuple(dict.fromkeys(name for segment in self.segments for name in segment.holders if name))

    def fingerprint(self) -> str:
        """A fingerprint of the commit's content, which the checksums in the manifest cover."""
        return hashlib.sha256(_body(self)).hexdigest()


def read_manifest(folder: Path) -> Manifest:
    """Read and check the manifest of an index."""
    path = folder / NAME
    try:
        head, _, body = path.read_bytes().partition(b"\n")
    except (FileNotFoundError, NotADirectoryError):
        raise RankwellError(f"{folder}: expected an index, found {_instead(folder)}") from None
    except OSError as error:
        raise RankwellError(f"{path}: cannot be read: {error.strerror}") from error
    words = head.decode("ascii", "replace").split(" ")
    if words[0] != MAGIC or len(words) != 4:  # noqa: PLR2004 -- magic, version, length, checksum
        raise RankwellError(f"{path}: expected the manifest of an index, found something else")
    if words[1].isdigit() and int(words[1]) > VERSION:
        raise RankwellError(
            f"{path}: written by a newer Rankwell (format {words[1]}, this one reads {VERSION}): please update"
        )
    if words[1:] != [str(VERSION), str(len(body)), f"{zlib.crc32(body):08x}"]:
        raise RankwellError(f"{path}: damaged: length or checksum does not fit")
    return _parsed(orjson.loads(body))


def write_manifest(folder: Path, manifest: Manifest) -> None:
    """Commit this manifest; afterwards it is on the disk, or nothing has changed."""
    body = _body(manifest)
    with atomic_write(folder / NAME) as file:
        file.write(f"{MAGIC} {VERSION} {len(body)} {zlib.crc32(body):08x}\n".encode() + body)


def _body(manifest: Manifest) -> bytes:
    return orjson.dumps(asdict(manifest), option=orjson.OPT_INDENT_2)


def _parsed(body: dict[str, Any]) -> Manifest:
    segments = tuple(SegmentEntry(**entry) for entry in body.pop("segments"))
    fields = body.pop("fields")
    metadata = tuple(body.pop("metadata"))
    return Manifest(**body, fields=None if fields is None else tuple(fields), metadata=metadata, segments=segments)


def _instead(folder: Path) -> str:
    if not folder.exists():
        return "nothing there"
    return "a folder without a manifest" if folder.is_dir() else "a file"


def is_index(folder: Path) -> bool:
    """Whether a folder contains an index."""
    return (folder / NAME).is_file()


try:
    import fcntl
except ImportError:  # Windows: opening the lock file is the only protection
    fcntl = None  # type: ignore[assignment]

LOCK = "write.lock"


class WriterLock:
    """Held from its creation until `release`."""

    def __init__(self, folder: Path) -> None:
        try:
            make_folder(folder)
            self._descriptor = os.open(folder / LOCK, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
        except OSError as error:
            raise RankwellError(f"{folder}: cannot write here: {error.strerror}") from error
        try:
            if fcntl is not None:
                fcntl.flock(self._descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            os.close(self._descriptor)
            raise RankwellError(f"{folder}: another writer is at work: wait until it has finished") from error

    def release(self) -> None:
        """Release the lock for the next writer."""
        if self._descriptor >= 0:
            os.close(self._descriptor)
            self._descriptor = -1


def analyzer_of(path: Path, manifest: Manifest) -> Analyzer:
    """The analyzer of the index, if this version of Rankwell still has it."""
    try:
        return Analyzer.from_config(manifest.analyzer)
    except ParameterError as error:
        raise RankwellError(f"{path}: {error}") from error


def settled(
    path: Path,
    there: Manifest | None,
    analyzer: Analyzer | None,
    fields: Sequence[str] | None,
    metadata: Sequence[str] | None,
    *,
    positions: bool | None,
) -> Manifest:
    """The manifest to continue from: a new one with these settings, or the existing one if they agree."""
    if isinstance(fields, str) or isinstance(metadata, str):
        raise ParameterError("fields, metadata", expected="lists of names", found=fields or metadata)
    if fields is not None and (not fields or "" in fields):
        raise ParameterError("fields", expected="at least one name, and no empty one", found=list(fields))
    names = None if fields is None else tuple(dict.fromkeys(fields))
    columns = None if metadata is None else tuple(dict.fromkeys(metadata))
    if there is None:
        return Manifest((analyzer or Analyzer()).config(), names, columns or (), positions=bool(positions))
    analyzer_of(path, there)
    config = None if analyzer is None else analyzer.config()
    given = {"analyzer": config, "fields": names, "metadata": columns, "positions": positions}
    for name, value in given.items():
        kept = getattr(there, name)
        if value is not None and value != kept:
            expected = f"{kept!r}, with which {path} was made (leave it out to keep it)"
            raise ParameterError(name, expected=expected, found=value)
    return there


SAMPLE = 1000
LONGEST_VALUE = 200  # a longer value is a text, not a value to filter by


def with_metadata_names(documents: Iterable[Document]) -> tuple[list[str], Iterator[Document]]:
    """The names of plain values (numbers, short texts) in the first documents, and all the documents."""
    following = iter(documents)
    first = list(islice(following, SAMPLE))
    values = [(name, value) for document in first for name, value in document.metadata.items()]
    names = dict.fromkeys(name for name, value in values if isinstance(value, (int, float, str)))
    long = {name for name, value in values if isinstance(value, str) and len(value) > LONGEST_VALUE}
    return [name for name in names if name not in long], chain(first, following)


def new_folder(path: Any, documents: Any) -> Path:
    """The folder for a new index; what stands in its place gets a line that says what to do."""
    if not isinstance(path, str | os.PathLike):
        swapped = isinstance(documents, str | os.PathLike)
        hint = f': the folder comes first, Index.build("{documents}", ...)' if swapped else ""
        raise ParameterError("path", expected="a folder for the index", found=Phrase(f"{type(path).__name__}{hint}"))
    folder = Path(path)
    if folder.is_file():
        found = f'the file {folder}: the folder comes first, Index.build("{folder.stem}", "{folder}")'
        raise ParameterError("path", expected="a new folder for the index", found=Phrase(found))
    if is_index(folder):
        raise RankwellError(
            f"{folder}: an index is here already: open it with Index.open({str(folder)!r}), and .add(...) to it"
        )
    return folder
