"""SMART files of the classic collections: `.I 1 .T title .A author .W text`, and their several kinds of judgments."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rankwell.collections.columns import ColumnChoice
from rankwell.collections.lines import text_lines
from rankwell.collections.reading import Reading
from rankwell.core.document import NOTHING, Document
from rankwell.core.errors import FormatError, RankwellError
from rankwell.core.files import atomic_write
from rankwell.core.judgments import Judgment, Judgments
from rankwell.core.query import Query

FIELDS = {"T": "title", "W": "text"}
METADATA = {"A": "author", "B": "source", "K": "keywords", "N": "entry", "C": "classes"}
LETTERS = {name: letter for letter, name in {**FIELDS, **METADATA}.items()}


class SmartDocuments:
    """Title and text are fields; author, source, keywords are metadata; cross references (.X) are passed over."""

    name = "smart"
    suffixes = (".smart", ".all")

    def recognises(self, path: Path, start: str) -> bool:
        """Whether the file starts with `.I`."""
        return path.is_file() and start.lstrip().startswith(".I ")

    def read(self, path: Path, reading: Reading, choice: ColumnChoice) -> Iterator[Document]:  # noqa: ARG002 -- sections name the fields
        """The documents. Where a text repeats its title at the start (Cranfield does), the repetition is dropped."""
        for docno, sections in records(path, reading):
            fields = {name: sections[letter] for letter, name in FIELDS.items() if sections.get(letter)}
            title = fields.get("title", "")
            if title and "text" in fields and fields["text"].startswith(title):
                fields["text"] = fields["text"][len(title) :].lstrip()
                fields = {name: text for name, text in fields.items() if text}
            metadata: dict[str, Any] = {
                name: sections[letter] for letter, name in METADATA.items() if sections.get(letter)
            }
            yield Document(docno, fields, metadata or NOTHING)

    def write(self, path: Path, documents: Iterable[Document]) -> None:
        """Only what SMART has a section for can be written."""
        write_records(path, ((document.id, {**document.fields, **document.metadata}) for document in documents))


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
        """The queries."""
        for number, (qid, sections) in enumerate(records(path, reading), 1):
            text = sections.get("W") or sections.get("T") or sections.get("Q") or ""
            yield Query(str(number) if self.running else qid, {"text": text} if text else {})

    def write(self, path: Path, queries: Iterable[Query]) -> None:
        """The default wording of every query."""
        write_records(path, ((query.id, {"text": query.text()}) for query in queries))


@dataclass(frozen=True)
class SmartQrels:
    """`qid docno 0 0` or `qid docno grade`; what a line means is told by `grade`."""

    name: str
    widths: tuple[int, ...]
    grade: Callable[[list[str]], int | None]
    written: Callable[[int], str]
    suffixes: tuple[str, ...] = (".rel",)

    def recognises(self, path: Path, start: str) -> bool:
        """Whole numbers in as many columns as this kind has, and zeros after them or Cranfield's name."""
        rows = [line.split() for line in start.splitlines()[:50] if line.strip()]
        shaped = all(len(row) in self.widths and row[0].isdecimal() and row[1].isdecimal() for row in rows)
        named = "cran" in path.name.lower() if self.name == "cranfield" else _ends_in_zeros(rows)
        return path.is_file() and bool(rows) and shaped and named

    def read(self, path: Path, reading: Reading) -> Iterator[Judgment]:
        """The judgments."""
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
        """One line a judgment."""
        with atomic_write(path) as file:
            for qid, docno, grade in judgments.rows():
                if not (qid.isdecimal() and docno.isdecimal()):
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


def records(path: Path, reading: Reading) -> Iterator[tuple[str, dict[str, str]]]:
    """Each record's id and the text of its sections by letter."""
    qid, letter = "", ""
    sections: dict[str, list[str]] = {}
    for number, line in text_lines(path, reading):
        if line.startswith(".I"):
            if qid:
                yield qid, _joined(sections)
            qid, letter, sections = _number(line[2:].strip()), "", {}
            if not qid:
                reading.problems.add(FormatError(path, number, expected="an id after .I", found=line))
        elif len(line.rstrip()) == len(".T") and line[0] == "." and line[1].isupper():
            letter = line[1]
            sections.setdefault(letter, [])
        elif letter:
            sections[letter].append(line)
        elif line.strip() and qid:
            reading.problems.add(FormatError(path, number, expected="a section such as .T or .W", found=line))
        elif line.strip() and not sections and number == 1:
            raise FormatError(path, number, expected="a record that starts with .I", found=line)
    if qid:
        yield qid, _joined(sections)


def write_records(path: Path, rows: Iterable[tuple[str, dict[str, Any]]]) -> None:
    """Records with their sections; a line of text that looks like a section mark cannot be written."""
    with atomic_write(path) as file:
        for name, values in rows:
            lines = [f".I {name}"]
            for key, value in values.items():
                if key not in LETTERS:
                    raise RankwellError(
                        f"{path}: {key!r} of {name!r} has no place in a SMART file ({', '.join(LETTERS)} have)"
                    )
                text = str(value)
                if any(line.startswith(".") for line in text.splitlines()):
                    raise RankwellError(
                        f"{path}: a line of {name!r} starts with a full stop, which SMART files cannot hold"
                    )
                lines += [f".{LETTERS[key]}", text]
            file.write(("\n".join(lines) + "\n").encode())


def _joined(sections: dict[str, list[str]]) -> dict[str, str]:
    """The files break lines at a fixed width, which means nothing: a section is one line of text."""
    return {letter: " ".join(" ".join(lines).split()) for letter, lines in sections.items()}


def _number(text: str) -> str:
    """Ids are numbers, sometimes with zeros in front in one file and without in the other."""
    return str(int(text)) if text.isdecimal() else text


def _ends_in_zeros(rows: list[list[str]]) -> bool:
    """Whether nothing but zeros follows the query and the document."""
    return all(set(cell) <= {"0", "."} for row in rows for cell in row[2:])
