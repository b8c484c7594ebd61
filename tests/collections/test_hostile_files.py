"""Files that are very large or made to hurt: memory stays small, work stays linear, nothing outside is touched."""

from __future__ import annotations

import csv
import gzip
import os
import re
import tracemalloc
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from counted_work import CountedPattern, CountedText, count_calls

from rankwell.collections import Problems, Reading, open_collection, read_documents, read_queries
from rankwell.collections.formats import trec
from rankwell.core import Document, FormatError

MEGABYTE = 1 << 20


def json_line(number: int) -> bytes:
    return b'{"id": "%d", "title": "title %d", "text": "some words of a text", "year": 2020}\n' % (number, number)


def csv_line(number: int) -> bytes:
    return b'%d,title %d,"some words, of a text",2020\n' % (number, number)


def sgml_lines(number: int) -> bytes:
    return b"<DOC>\n<DOCNO>%d</DOCNO>\n<TEXT>\nsome words of a text\n</TEXT>\n</DOC>\n" % number


@pytest.mark.parametrize(
    ("name", "header", "line", "count"),
    [
        ("d.jsonl", b"", json_line, 100_000),
        pytest.param("d.csv", b"id,title,text,year\n", csv_line, 30_000, marks=pytest.mark.slow),
        pytest.param("d.sgml", b"", sgml_lines, 10_000, marks=pytest.mark.slow),
    ],
)
def test_reading_takes_the_same_memory_however_many_documents(
    tmp_path: Path, name: str, header: bytes, line: Callable[[int], bytes], count: int
) -> None:
    with (tmp_path / name).open("wb") as file:
        file.write(header)
        file.writelines(map(line, range(count)))
    next(read_documents(tmp_path / name))  # what is loaded once is not counted
    tracemalloc.start()
    try:
        assert sum(1 for _ in read_documents(tmp_path / name)) == count
        assert tracemalloc.get_traced_memory()[1] < 4 * MEGABYTE
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize(
    "name", ["d.jsonl", *(pytest.param(name, marks=pytest.mark.slow) for name in ("d.csv", "d.tsv", "c.tsv", "d.sgml"))]
)
def test_a_document_of_50_megabytes_is_a_document(tmp_path: Path, name: str) -> None:
    text = "word " * (10 * MEGABYTE)
    shapes = {
        "d.jsonl": '{{"id": "1", "text": "{}"}}\n',
        "d.csv": "id,text\n1,{}\n",
        "d.tsv": "id\ttext\n1\t{}\n",
        "c.tsv": "1\t{}\n",
        "d.sgml": "<DOC><DOCNO>1</DOCNO><TEXT>{}</TEXT></DOC>\n",
    }
    (tmp_path / name).write_text(shapes[name].format(text))
    [document] = read_documents(tmp_path / name)
    assert document.id == "1"
    assert document.fields["text"].strip() == text.strip()


def test_a_field_may_be_longer_than_the_csv_module_likes(tmp_path: Path) -> None:
    csv.field_size_limit(131_072)  # its default, which is one for the whole process
    text = "word " * 50_000
    (tmp_path / "d.csv").write_text(f"id,text\n1,{text}\n")
    [document] = read_documents(tmp_path / "d.csv")
    assert document.fields["text"] == text


SKIPPING = Reading(problems=Problems(skip=True))


def assert_linear(read: Callable[[int], object], pieces: int = 400) -> None:
    """Twice the pieces take about twice the calls and twice the steps of regular expressions; not four times."""
    once, twice = (count_calls(lambda count=count: read(count)) for count in (pieces, 2 * pieces))
    assert twice <= 2.2 * once
    once, twice = (count_steps(lambda count=count: read(count)) for count in (pieces, 2 * pieces))
    assert 0 < twice <= 2.2 * once


def count_steps(work: Callable[[], object]) -> int:
    """How many characters the readers of SGML compare or look at while they work."""
    patterns, texts = list[CountedPattern](), list[CountedText]()
    records = trec.sgml_records

    def counted(pattern: re.Pattern[str]) -> CountedPattern:
        patterns.append(CountedPattern(pattern))
        return patterns[-1]

    def counted_records(*given: Any) -> Iterator[tuple[int, str]]:
        for number, body in records(*given):
            texts.append(CountedText(body))
            yield number, texts[-1]

    with pytest.MonkeyPatch.context() as patch:
        compiling = SimpleNamespace(IGNORECASE=re.IGNORECASE, compile=lambda *told: counted(re.compile(*told)))
        patch.setattr(trec, "re", compiling)
        patch.setattr(trec, "sgml_records", counted_records)
        for name, value in vars(trec).items():
            if isinstance(value, re.Pattern):
                patch.setattr(trec, name, counted(value))
        work()
    return sum(pattern.steps for pattern in patterns) + sum(text.looked_at for text in texts)


HOSTILE = {
    "comments that never end": "<!--",
    "tags that never end": "<a <a ",
    "tags that never close": "<a><b>",
    "ids that never end": "<DOCNO>",
    "a different tag each time": "<t{}>",
    "closing tags": "</a>",
    "attributes": "<a b='",
}


@pytest.mark.parametrize("piece", HOSTILE.values(), ids=HOSTILE)
def test_a_hostile_document_costs_no_more_than_its_size(tmp_path: Path, piece: str) -> None:
    def read(count: int) -> list[Document]:
        body = "".join(piece.format(number) for number in range(count))
        (tmp_path / "d.sgml").write_text(f"<DOC>\n<DOCNO>1</DOCNO>\n<TEXT>x</TEXT>\n{body}\n</DOC>\n")
        return list(read_documents(tmp_path / "d.sgml", "trec"))

    assert [document.id for document in read(10)] == ["1"]
    assert_linear(read)


@pytest.mark.parametrize("piece", ["<a", "<num>", "<a     ", "&amp", "</top", "<title> x\n"])
def test_a_hostile_topic_costs_no_more_than_its_size(tmp_path: Path, piece: str) -> None:
    def read(count: int) -> object:
        (tmp_path / "q.topics").write_text(f"<top>\n<num> 1\n<title> {piece * count}\n</top>\n")
        return read_queries(tmp_path / "q.topics", "trec", reading=SKIPPING)

    assert_linear(read)


def test_quotes_on_every_line_cost_no_more_than_their_size(tmp_path: Path) -> None:
    def read(count: int) -> list[Document]:
        (tmp_path / "d.csv").write_text("id,text\n" + '1,"a\n' * (count + 1))
        return list(read_documents(tmp_path / "d.csv", reading=SKIPPING))

    once, twice = (count_calls(lambda count=count: read(count)) for count in (1000, 2000))
    assert twice <= 2.2 * once


def test_counting_finds_a_pattern_that_looks_to_the_end_again_and_again() -> None:
    def steps(pattern: str, count: int) -> int:
        counted = CountedPattern(re.compile(pattern))
        assert counted.search("<a " * count) is None
        return counted.steps

    assert steps(r"<[^<>]*>", 200) < 2.2 * steps(r"<[^<>]*>", 100)
    assert steps(r"<[^>]*>", 200) > 3.5 * steps(r"<[^>]*>", 100)


BOMB = """<?xml version="1.0"?>
<!DOCTYPE topics [
<!ENTITY a "aaaaaaaaaa">
<!ENTITY b "&a;&a;&a;&a;&a;&a;&a;&a;&a;&a;">
]>
<topics><topic number="1"><query>&b;</query></topic></topics>
"""


@pytest.mark.parametrize("text", [BOMB, BOMB.replace("<!ENTITY a", "<!ENTITY\na SYSTEM").replace("&b;", "&a;")])
def test_entities_in_topics_are_refused(tmp_path: Path, text: str) -> None:
    (tmp_path / "q.xml").write_text(text)
    with pytest.raises(FormatError, match=r"q\.xml:\d: expected topics without entity declarations"):
        read_queries(tmp_path / "q.xml")


def test_links_that_go_round_in_a_circle_do_not_trap_the_folder_reader(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    (tmp_path / "a" / "one.txt").write_text("x")
    (tmp_path / "a" / "round").symlink_to(tmp_path)
    (tmp_path / "gone.txt").symlink_to(tmp_path / "nowhere")
    assert [document.id for document in open_collection(tmp_path).documents()] == ["a/one.txt"]


def test_file_names_that_are_not_utf8_are_told(tmp_path: Path) -> None:
    (tmp_path / "good.txt").write_text("x")
    try:
        (tmp_path / os.fsdecode(b"caf\xe9.txt")).write_text("x")
    except OSError:
        pytest.skip("this file system has only UTF-8 names")
    with pytest.raises(FormatError, match="expected file names of readable characters"):
        list(read_documents(tmp_path))


def test_files_are_closed_after_reading(tmp_path: Path) -> None:
    (tmp_path / "d.jsonl").write_bytes(gzip.compress(json_line(1)))

    def open_files() -> Iterator[str]:
        folder = Path("/proc/self/fd")
        for file in folder.iterdir() if folder.is_dir() else ():
            if file.is_symlink() and tmp_path in file.readlink().parents:
                yield file.name

    for _ in range(5):
        list(read_documents(tmp_path / "d.jsonl"))
        next(read_documents(tmp_path / "d.jsonl"))
    assert list(open_files()) == []
