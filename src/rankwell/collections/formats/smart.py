"""SMART files of the classic collections: `.I 1 .T title .A author .W text`, and their kinds of judgments."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from rankwell.collections.columns import ColumnChoice
from rankwell.collections.format import DocumentFormat, QrelsFormat, QueryFormat
from rankwell.collections.reading import Reading, output, text_lines
from rankwell.core import NOTHING, Document, FormatError, Judgment, Judgments, Query, RankwellError

log = logging.getLogger(__name__)

FIELDS = {"T": "title", "W": "text"}
METADATA = {"A": "author", "B": "source", "K": "keywords", "N": "entry", "C": "classes"}
LETTERS = {name: letter for letter, name in {**FIELDS, **METADATA}.items()}


def _is_smart(_: Path, start: str) -> bool:
    return start.lstrip().startswith(".I ")


def _read_documents(path: Path, reading: Reading, _: ColumnChoice) -> Iterator[Document]:
    """The documents. Where a text repeats its title in its first lines (Cranfield does), the title is dropped."""
    for docno, sections in _records(path, reading):
        title = sections.get("T", [])
        if title and sections.get("W", [])[: len(title)] == title:
            sections["W"] = sections["W"][len(title) :]
        values = {letter: text for letter, lines in sections.items() if (text := _joined(lines))}
        fields = {name: values[letter] for letter, name in FIELDS.items() if letter in values}
        metadata = {name: values[letter] for letter, name in METADATA.items() if letter in values}
        yield Document(docno, fields, metadata or NOTHING)


def _record(document: Document) -> tuple[str, list[tuple[str, Any]]]:
    """The id and the values to write; a text that equals its title is written twice, since readers drop the first."""
    values: list[tuple[str, Any]] = [*document.fields.items(), *document.metadata.items()]
    title, text = (_joined(document.fields.get(name, "").splitlines()) for name in ("title", "text"))
    return document.id, [*values, ("text", text)] if text and text == title else values


def _write_documents(path: Path, documents: Iterable[Document]) -> None:
    _write_records(path, map(_record, documents))


# Title and text are fields; author, source, keywords are metadata; cross references (.X) are ignored.
DOCUMENTS = DocumentFormat("smart", _is_smart, _read_documents, _write_documents, (".smart", ".all"))


def _read_queries(path: Path, reading: Reading, *, running: bool = False) -> Iterator[Query]:
    """The queries; `running` numbers them from 1 and not by their `.I`, as Cranfield's judgments do."""
    for number, (qid, sections) in enumerate(_records(path, reading), 1):
        text = next(filter(None, (_joined(sections.get(letter, [])) for letter in "WTQ")), "")
        yield Query(str(number) if running else qid, {"text": text} if text else {})


def _write_queries(path: Path, queries: Iterable[Query]) -> None:
    _write_records(path, ((query.id, [("text", query.text())]) for query in queries))


QUERIES = QueryFormat("smart", _is_smart, _read_queries, _write_queries, (".qry", ".que"))
CRANFIELD_QUERIES = replace(
    QUERIES,
    name="cranfield",
    recognises=lambda path, start: _is_smart(path, start) and path.name.startswith("cran."),
    read=partial(_read_queries, running=True),
)


def _judgments(
    name: str,
    widths: tuple[int, ...],
    is_own: Callable[[Path, list[list[str]]], bool],
    grade_of: Callable[[list[str]], int | None],
    written: Callable[[int], str],
) -> QrelsFormat:
    """A format of `qid docno 0 0` or `qid docno grade`; `grade_of` reads the grade of a line."""

    def recognises(path: Path, start: str) -> bool:
        rows = [line.split() for line in start.splitlines()[:50] if line.strip()]
        shaped = all(len(row) in widths and row[0].isdecimal() and row[1].isdecimal() for row in rows)
        return bool(rows) and shaped and is_own(path, rows)

    def read(path: Path, reading: Reading) -> Iterator[Judgment]:
        for number, line in text_lines(path, reading):
            parts = line.split()
            grade = grade_of(parts) if len(parts) in widths else None
            if grade is not None:
                yield Judgment(_number(parts[0]), _number(parts[1]), grade)
            elif parts:
                shape = f"{' or '.join(map(str, widths))} columns, query and document first"
                reading.report(path, number, f"a line of {name} judgments ({shape})", line)

    def write(path: Path, judgments: Judgments) -> None:
        with output(path) as file:
            for qid, docno, grade in judgments.rows():
                if not all(part.isdecimal() and _number(part) == part for part in (qid, docno)):
                    raise RankwellError(f"{path}: expected ids that are numbers, found {qid!r}, {docno!r}")
                file.write(f"{qid} {docno} {written(grade)}\n".encode())

    return QrelsFormat(name, recognises, read, write, (".rel",))


# Cranfield's codes run from 1 (a complete answer) to 4 (of minimum interest); -1 marks one more of minimum interest.
CRANFIELD_GRADES = {"1": 4, "2": 3, "3": 2, "4": 1, "-1": 1}


def _cranfield_code(grade: int) -> str:
    if not 1 <= grade <= 4:  # noqa: PLR2004 -- the grades above
        raise RankwellError(f"Cranfield's judgments hold grades 1 to 4, not {grade}")
    return str(5 - grade)


def _relevant_only(grade: int) -> str:
    if grade != 1:
        raise RankwellError(f"SMART judgments hold relevant documents only (grade 1), not grade {grade}")
    return "0 0.000000"


CRANFIELD_QRELS = _judgments(
    "cranfield",
    (3,),
    lambda path, _: "cran" in path.name.lower(),
    lambda parts: CRANFIELD_GRADES.get(parts[2]),
    _cranfield_code,
)
# Every line is relevant; only zeros follow the query and the document.
QRELS = _judgments(
    "smart",
    (4, 2),
    lambda _, rows: all(set(cell) <= {"0", "."} for row in rows for cell in row[2:]),
    lambda _: 1,
    _relevant_only,
)


def _records(path: Path, reading: Reading) -> Iterator[tuple[str, dict[str, list[str]]]]:
    """Each record's id and the lines of its sections by letter."""
    name, letter, started = "", "", 0
    sections: dict[str, list[str]] = {}
    for number, line in text_lines(path, reading):
        if line.startswith(".I") and not line[2:3].isalpha():
            if name:
                reading.place.line = started
                yield name, sections
            name, letter, started, sections = _number(line[2:].strip()), "", number, {}
            if not name:
                reading.report(path, number, "an id after .I", line)
        elif not started and line.strip():
            raise FormatError(path, number, expected="a record that starts with .I", found=line)
        elif len(mark := line.rstrip()) == len(".T") and mark[0] == "." and mark[1].isupper():
            letter = mark[1]
            sections.setdefault(letter, [])
        elif letter:
            sections[letter].append(line.strip())
        elif line.strip() and name:
            reading.report(path, number, "a section such as .T or .W", line)
    if name:
        reading.place.line = started
        yield name, sections


def _write_records(path: Path, rows: Iterable[tuple[str, Iterable[tuple[str, Any]]]]) -> None:
    """Write records with a line for each section; white space becomes single spaces, with a warning."""
    changed = 0
    with output(path) as file:
        for name, values in rows:
            if not name or name.split() != [name] or _number(name) != name:
                raise RankwellError(f"{path}: expected ids without white space or zeros in front, found {name!r}")
            lines = [f".I {name}"]
            for key, value in values:
                if key not in LETTERS:
                    raise RankwellError(
                        f"{path}: {key!r} of {name!r} has no place in a SMART file ({', '.join(LETTERS)} have)"
                    )
                text = _joined(str(value).splitlines())
                changed += text != str(value)
                if text.startswith("."):
                    raise RankwellError(
                        f"{path}: {key!r} of {name!r} starts with a full stop, which SMART files cannot hold"
                    )
                lines += [f".{LETTERS[key]}", text]
            file.write(("\n".join(lines) + "\n").encode())
    if changed:
        log.warning("%s: line breaks and double spaces in %d texts were written as single spaces", path, changed)


def _joined(lines: Iterable[str]) -> str:
    """A section as one line of text: its line breaks have no meaning."""
    return " ".join(" ".join(lines).split())


def _number(text: str) -> str:
    """A number without leading zeros, which only some files have."""
    return (text.lstrip("0") or "0") if text.isdecimal() else text
