"""SMART files of the classic collections: `.I 1 .T title .A author .W text`, and their kinds of judgments."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rankwell.collections.columns import ColumnChoice
from rankwell.collections.lines import output, text_lines
from rankwell.collections.reading import Reading
from rankwell.core import NOTHING, Document, FormatError, Judgment, Judgments, Query, RankwellError

log = logging.getLogger(__name__)

FIELDS = {"T": "title", "W": "text"}
METADATA = {"A": "author", "B": "source", "K": "keywords", "N": "entry", "C": "classes"}
LETTERS = {name: letter for letter, name in {**FIELDS, **METADATA}.items()}


class SmartDocuments:
    """Title and text are fields; author, source, keywords are metadata; cross references (.X) are ignored."""

    name = "smart"
    suffixes = (".smart", ".all")

    def recognises(self, path: Path, start: str) -> bool:
        """Whether the file starts with `.I`."""
        return path.is_file() and start.lstrip().startswith(".I ")

    def read(self, path: Path, reading: Reading, choice: ColumnChoice) -> Iterator[Document]:  # noqa: ARG002 -- sections name the fields
        """The documents. Where a text repeats its title in its first lines (Cranfield does), the title is dropped."""
        for docno, sections in records(path, reading):
            title = sections.get("T", [])
            if title and sections.get("W", [])[: len(title)] == title:
                sections["W"] = sections["W"][len(title) :]
            values = {letter: text for letter, lines in sections.items() if (text := _joined(lines))}
            fields = {name: values[letter] for letter, name in FIELDS.items() if letter in values}
            metadata: dict[str, Any] = {name: values[letter] for letter, name in METADATA.items() if letter in values}
            yield Document(docno, fields, metadata or NOTHING)

    def write(self, path: Path, documents: Iterable[Document]) -> None:
        """Write the documents; an error for a field without a section in SMART."""
        write_records(path, ((document.id, _with_title(document)) for document in documents))


@dataclass(frozen=True)
class SmartQueries:
    """Queries in the same layout; `running` numbers them from 1 and not by their `.I`, as Cranfield's judgments do."""

    name: str = "smart"
    running: bool = False
    suffixes: tuple[str, ...] = (".qry", ".que")

    def recognises(self, path: Path, start: str) -> bool:
        """Whether the file starts with `.I` (and, for running numbers, is Cranfield's)."""
        return (
            path.is_file() and start.lstrip().startswith(".I ") and (path.name.startswith("cran.") or not self.running)
        )

    def read(self, path: Path, reading: Reading) -> Iterator[Query]:
        """Read the queries."""
        for number, (qid, sections) in enumerate(records(path, reading), 1):
            text = next(filter(None, (_joined(sections.get(letter, [])) for letter in "WTQ")), "")
            yield Query(str(number) if self.running else qid, {"text": text} if text else {})

    def write(self, path: Path, queries: Iterable[Query]) -> None:
        """Write the default wording of every query."""
        write_records(path, ((query.id, [("text", query.text())]) for query in queries))


@dataclass(frozen=True)
class SmartQrels:
    """`qid docno 0 0` or `qid docno grade`; the function `grade` reads the grade of a line."""

    name: str
    widths: tuple[int, ...]
    grade: Callable[[list[str]], int | None]
    written: Callable[[int], str]
    suffixes: tuple[str, ...] = (".rel",)

    def recognises(self, path: Path, start: str) -> bool:
        """Whether the columns are whole numbers of this kind, with zeros after them or Cranfield's name."""
        rows = [line.split() for line in start.splitlines()[:50] if line.strip()]
        shaped = all(len(row) in self.widths and row[0].isdecimal() and row[1].isdecimal() for row in rows)
        named = "cran" in path.name.lower() if self.name == "cranfield" else _ends_in_zeros(rows)
        return path.is_file() and bool(rows) and shaped and named

    def read(self, path: Path, reading: Reading) -> Iterator[Judgment]:
        """Read the judgments."""
        for number, line in text_lines(path, reading):
            parts = line.split()
            if not parts:
                continue
            grade = self.grade(parts) if len(parts) in self.widths else None
            if grade is None:
                columns = " or ".join(map(str, self.widths))
                expected = f"a line of {self.name} judgments ({columns} columns, query and document first)"
                reading.problems.add(FormatError(path, number, expected=expected, found=line))
            else:
                yield Judgment(_number(parts[0]), _number(parts[1]), grade)

    def write(self, path: Path, judgments: Judgments) -> None:
        """Write one line for each judgment."""
        with output(path) as file:
            for qid, docno, grade in judgments.rows():
                if not all(name.isdecimal() and _number(name) == name for name in (qid, docno)):
                    raise RankwellError(f"{path}: expected ids that are numbers, found {qid!r}, {docno!r}")
                file.write(f"{qid} {docno} {self.written(grade)}\n".encode())


# Cranfield's codes run from 1 (a complete answer) to 4 (of minimum interest); -1 marks one more of minimum interest.
CRANFIELD_GRADES = {"1": 4, "2": 3, "3": 2, "4": 1, "-1": 1}
CRANFIELD_CODES = {4: 1, 3: 2, 2: 3, 1: 4}


def _cranfield_code(grade: int) -> str:
    if grade not in CRANFIELD_CODES:
        raise RankwellError(f"Cranfield's judgments hold grades 1 to 4, not {grade}")
    return str(CRANFIELD_CODES[grade])


def _relevant_only(grade: int) -> str:
    if grade != 1:
        raise RankwellError(f"SMART judgments hold relevant documents only (grade 1), not grade {grade}")
    return "0 0.000000"


CLASSIC_QRELS = SmartQrels("smart", (4, 2), lambda parts: 1, _relevant_only)  # noqa: ARG005 -- every line is relevant
CRANFIELD_QRELS = SmartQrels("cranfield", (3,), lambda parts: CRANFIELD_GRADES.get(parts[2]), _cranfield_code)


def records(path: Path, reading: Reading) -> Iterator[tuple[str, dict[str, list[str]]]]:
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
                reading.problems.add(FormatError(path, number, expected="an id after .I", found=line))
        elif not started and line.strip():
            raise FormatError(path, number, expected="a record that starts with .I", found=line)
        elif len(mark := line.rstrip()) == len(".T") and mark[0] == "." and mark[1].isupper():
            letter = mark[1]
            sections.setdefault(letter, [])
        elif letter:
            sections[letter].append(line.strip())
        elif line.strip() and name:
            reading.problems.add(FormatError(path, number, expected="a section such as .T or .W", found=line))
    if name:
        reading.place.line = started
        yield name, sections


def write_records(path: Path, rows: Iterable[tuple[str, Iterable[tuple[str, Any]]]]) -> None:
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


def _with_title(document: Document) -> list[tuple[str, Any]]:
    """The values to write; a text that equals its title is written twice, since readers drop the first."""
    values: list[tuple[str, Any]] = [*document.fields.items(), *document.metadata.items()]
    title, text = (_joined(document.fields.get(name, "").splitlines()) for name in ("title", "text"))
    return [*values, ("text", text)] if text and text == title else values


def _joined(lines: Iterable[str]) -> str:
    """A section as one line of text: its line breaks have no meaning."""
    return " ".join(" ".join(lines).split())


def _number(text: str) -> str:
    """A number without leading zeros, which only some files have."""
    return (text.lstrip("0") or "0") if text.isdecimal() else text


def _ends_in_zeros(rows: list[list[str]]) -> bool:
    """Whether only zeros follow the query and the document."""
    return all(set(cell) <= {"0", "."} for row in rows for cell in row[2:])
