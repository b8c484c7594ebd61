"""A folder of text files; each file is a document."""

from __future__ import annotations

import logging
import os
from collections.abc import Iterable, Iterator
from pathlib import Path, PurePosixPath

from rankwell.collections.columns import ColumnChoice
from rankwell.collections.format import DocumentFormat
from rankwell.collections.reading import Reading, output, whole_text
from rankwell.core import Document, RankwellError

log = logging.getLogger(__name__)

SUFFIXES = (".txt", ".text", ".md", ".rst")


def _read(path: Path, reading: Reading, _: ColumnChoice) -> Iterator[Document]:
    files = sorted(_files(path))
    if not files:
        raise RankwellError(f"{path}: expected text files ({', '.join(SUFFIXES)}), found none")
    if others := sum(1 for _ in _all_files(path)) - len(files):
        log.warning("%s: %d files that are not text (%s) are passed over", path, others, ", ".join(SUFFIXES))
    done = 0
    reading.progress.watch(lambda: done, len(files))
    for done, file in enumerate(files, 1):  # noqa: B007 -- watched
        docno = file.relative_to(path).as_posix()
        if not docno.isprintable():  # surrogates stand for bytes that are not UTF-8
            reading.report(path, None, "file names of readable characters", docno.encode(errors="replace").decode())
            continue
        text = whole_text(file, Reading(reading.encoding, reading.problems))
        reading.place.line = None
        yield Document(docno, {"text": text} if text.strip() else {})


def _write(path: Path, documents: Iterable[Document]) -> None:
    """Write a file for each document, named by its id, which must be a relative path with a text file's ending."""
    joined = False
    for document in documents:
        joined |= bool(document.metadata) or list(document.fields) not in ([], ["text"])
        relative = PurePosixPath(document.id)
        unsafe = relative.is_absolute() or str(relative) != document.id or not document.id.isprintable()
        if unsafe or relative.suffix not in SUFFIXES or any(part.startswith(".") for part in relative.parts):
            raise RankwellError(
                f"{path}: expected ids that are file names such as notes/one.txt, found {document.id!r}"
            )
        target = path / relative
        if target.exists():
            raise RankwellError(f"{target}: already there: write into an empty folder")
        with output(target) as file:
            file.write(document.text().encode())
    if joined:
        log.warning("%s: text files hold one text: fields were joined and metadata left out", path)


def _files(folder: Path) -> Iterator[Path]:
    """Text files below the folder, without hidden files and folders."""
    return (file for file in _all_files(folder) if file.suffix.lower() in SUFFIXES)


def _all_files(folder: Path) -> Iterator[Path]:
    for inner, folders, files in os.walk(folder, onerror=_cannot_be_read):
        folders[:] = [name for name in folders if not name.startswith(".")]
        for name in files:
            file = Path(inner, name)
            if not name.startswith(".") and file.is_file():
                yield file


def _cannot_be_read(error: OSError) -> None:
    raise RankwellError(f"{error.filename}: cannot be read: {error.strerror}") from error


# Every text file below a folder; its id is its path in the folder, its text the field `text`.
FOLDER = DocumentFormat("folder", lambda path, _: path.is_dir() and next(_files(path), None) is not None, _read, _write)
