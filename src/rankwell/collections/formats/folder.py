"""A folder of mixed files: each text is a document, each record of a table or bibliography, too."""

from __future__ import annotations

import logging
import os
from collections.abc import Iterable, Iterator, Sequence
from datetime import UTC, datetime
from functools import partial
from pathlib import Path, PurePosixPath

from rankwell.collections.columns import ColumnChoice
from rankwell.collections.contents import LONGEST_TEXT
from rankwell.collections.format import DocumentFormat
from rankwell.collections.formats.texts import KINDS, MARKDOWN, TextKind
from rankwell.collections.reading import Reading, head, output, whole_text
from rankwell.core import Document, FormatError, MissingExtraError, Phrase, RankwellError

log = logging.getLogger(__name__)

PLAIN = (".txt", ".text", ".rst")
SUFFIXES = (*PLAIN, ".md")  # of files that are written
TEXTS = (*PLAIN, *(ending for kind in KINDS for ending in kind.endings))
# Endings of files whose records are documents; the content tells which of them it is.
RECORDS = (
    *(".csv", ".tsv", ".tab", ".psv", ".json", ".jsonl", ".ndjson", ".parquet", ".xlsx", ".xlsm", ".xlsb", ".xls"),
    *(".ods", ".sqlite", ".sqlite3", ".db", ".ris", ".nbib", ".bib", ".ciw", ".enw", ".xml", ".mbox", ".eml"),
)


def folder_of(formats: Sequence[DocumentFormat]) -> DocumentFormat:
    """The format of a folder of files in these formats. Ids are paths; `path#ID` for the records of a file."""

    def recognises(path: Path, _: str) -> bool:
        return path.is_dir() and next(_files(path), None) is not None

    return DocumentFormat("folder", recognises, partial(_read, formats), _write)


def _read(formats: Sequence[DocumentFormat], path: Path, reading: Reading, choice: ColumnChoice) -> Iterator[Document]:
    files = sorted(_files(path))
    if not files:
        raise RankwellError(f"{path}: expected files of text ({', '.join(TEXTS)}) or records, found none")
    if others := sum(1 for _ in _all_files(path)) - len(files):
        log.warning("%s: %d files of other kinds are passed over", path, others)
    done = 0
    reading.progress.watch(lambda: done, len(files))
    for done, file in enumerate(files, 1):  # noqa: B007 -- watched
        docno = file.relative_to(path).as_posix()
        if not docno.isprintable():  # surrogates stand for bytes that are not UTF-8
            reading.report(path, None, "file names of readable characters", docno.encode(errors="replace").decode())
            continue
        if not reading.wanted(file):
            continue
        reading.place.line, reading.place.by_content = None, False
        facts = {"path": docno, "modified": _modified(file)}
        for document in _documents(formats, file, docno, reading, choice):
            yield document._replace(metadata={**facts, **document.metadata})


def _documents(
    formats: Sequence[DocumentFormat], file: Path, docno: str, reading: Reading, choice: ColumnChoice
) -> Iterator[Document]:
    """The documents of one file; a problem where it cannot be read."""
    within = reading.within
    try:
        kind = _kind(file)
        if kind is not None:
            yield from kind.documents(file, within, choice, docno)
        elif _ending(file) in PLAIN:
            text = whole_text(file, within, LONGEST_TEXT)
            yield Document(docno, {"text": text} if text.strip() else {}, {"type": "text"})
        else:
            for document in _format(formats, file).read(file, within, choice):
                reading.place.line, reading.place.by_content = within.place.line, within.place.by_content
                own = document.id == file.name and document.metadata.get("type")  # it is one text after all
                yield document._replace(id=docno if own else f"{docno}#{document.id}")
    except MissingExtraError:
        raise
    except RankwellError as error:
        if not isinstance(error, FormatError):
            error = FormatError(file, None, expected="a file that can be read", found=Phrase(str(error)))
        reading.problems.add(error)


def _kind(file: Path) -> TextKind | None:
    """What kind of text a file is, by its content; Markdown, and what is damaged, by its ending."""
    if _ending(file) in (*PLAIN, *RECORDS):
        return None
    if _ending(file) in MARKDOWN.endings:
        return MARKDOWN
    start = head(file)
    by_content = (kind for kind in KINDS if kind is not MARKDOWN and kind.recognises(file, start))
    by_ending = (kind for kind in KINDS if _ending(file) in kind.endings)
    return next(by_content, None) or next(by_ending, None)


def _format(formats: Sequence[DocumentFormat], file: Path) -> DocumentFormat:
    start = head(file)
    known = next((known for known in formats if known.recognises(file, start)), None)
    if known is None:
        found = Phrase("something else" if start.strip() else "an empty file")
        raise FormatError(file, None, expected="records in a known format", found=found)
    return known


def _modified(file: Path) -> str:
    return datetime.fromtimestamp(file.stat().st_mtime, UTC).strftime("%Y-%m-%d")


def _ending(file: Path) -> str:
    return Path(file.name.lower().removesuffix(".gz")).suffix


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
    """Files of known kinds below the folder, without hidden files and folders."""
    return (file for file in _all_files(folder) if _ending(file) in (*TEXTS, *RECORDS))


def _all_files(folder: Path) -> Iterator[Path]:
    for inner, folders, files in os.walk(folder, onerror=_cannot_be_read):
        folders[:] = [name for name in folders if not name.startswith(".")]
        for name in files:
            file = Path(inner, name)
            if not name.startswith(".") and file.is_file():
                yield file


def _cannot_be_read(error: OSError) -> None:
    raise RankwellError(f"{error.filename}: cannot be read: {error.strerror}") from error
