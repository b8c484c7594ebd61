"""Ids with blanks are written to TREC's files and come back; files of others are read as they are."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from collection_strategies import runs, same_bits
from hypothesis import given
from hypothesis import strategies as st

from rankwell.collections import (
    Problems,
    Reading,
    open_collection,
    read_documents,
    read_qrels,
    read_queries,
    read_run,
    write_qrels,
    write_run,
)
from rankwell.core import Document, FormatError, Judgments, Run

# Blanks, percent signs with and without digits after them, and what makes a comment of a line.
ODD_IDS = st.lists(
    st.sampled_from([" ", "%", "%20", "%25", "2", "0", "#", "\ufeff", "a", "é", "%E9", "\u2003"]),
    min_size=1,
    max_size=8,
).map("".join)


@given(runs(ODD_IDS, ODD_IDS))
def test_runs_come_back_whatever_blanks_their_ids_have(run: Run) -> None:
    with TemporaryDirectory() as folder:
        path = Path(folder) / "x.trec"
        write_run(path, run)
        assert same_bits(read_run(path, "trec"), run)


@given(st.dictionaries(ODD_IDS, st.dictionaries(ODD_IDS, st.integers(0, 3), min_size=1), max_size=4))
def test_judgments_come_back_whatever_blanks_their_ids_have(grades: dict[str, dict[str, int]]) -> None:
    with TemporaryDirectory() as folder:
        path = Path(folder) / "x.qrels"
        write_qrels(path, Judgments.from_dict(grades))
        assert read_qrels(path, "trec").to_dict() == grades


def test_only_lines_whose_ids_need_it_are_marked(tmp_path: Path) -> None:
    write_run(tmp_path / "x.trec", Run.from_dict({"q": {"a b": 4, "a%20b": 3, "c": 2, "100%": 1}}, tag="t"))
    assert (tmp_path / "x.trec").read_text().splitlines() == [
        "q Q0% a%20b 1 4.0 t",
        "q Q0% a%2520b 2 3.0 t",
        "q Q0 c 3 2.0 t",
        "q Q0 100% 4 1.0 t",
    ]
    write_qrels(tmp_path / "x.qrels", Judgments([("my q", "a", 1), ("q", "b", 0)]))
    assert (tmp_path / "x.qrels").read_text() == "my%20q 0% a 1\nq 0 b 0\n"


def test_ids_such_as_addresses_are_written_as_they_are_where_no_id_has_a_blank(tmp_path: Path) -> None:
    address = "https://example.org/a%20paper"
    write_run(tmp_path / "x.trec", Run.from_dict({"q": {address: 1}}, tag="t"))
    assert (tmp_path / "x.trec").read_text() == f"q Q0 {address} 1 1.0 t\n"
    assert read_run(tmp_path / "x.trec").to_dict() == {"q": {address: 1.0}}


def test_files_of_others_are_read_as_they_are(tmp_path: Path) -> None:
    (tmp_path / "x.trec").write_text("q%20 Q0 a%20b 1 2.0 t\nq%20 0 %41 2 1.0 t\n")
    assert read_run(tmp_path / "x.trec").to_dict() == {"q%20": {"a%20b": 2.0, "%41": 1.0}}
    (tmp_path / "x.qrels").write_text("q%20 0 a%20b 1\n")
    assert read_qrels(tmp_path / "x.qrels").to_dict() == {"q%20": {"a%20b": 1}}


def test_a_document_with_a_blank_that_stands_twice_is_found(tmp_path: Path) -> None:
    (tmp_path / "x.trec").write_text("q Q0% a%20b 1 2.0 t\nq Q0 a%20b 2 1.5 t\nq Q0% a%20b 3 1.0 t\n")
    with pytest.raises(FormatError, match=r'x.trec:3: expected each document once.*"a b" a second time'):
        read_run(tmp_path / "x.trec")
    kept = read_run(tmp_path / "x.trec", reading=Reading(problems=Problems(skip=True)))
    assert kept.to_dict() == {"q": {"a b": 2.0, "a%20b": 1.5}}


@pytest.mark.parametrize("name", ["%ff", "%C3", "%"])
def test_a_marked_id_that_is_no_text_is_one_line(tmp_path: Path, name: str) -> None:
    (tmp_path / "x.trec").write_text(f"q Q0% {name} 1 2.0 t\n")
    reading = Reading(problems=Problems(skip=True))
    read_run(tmp_path / "x.trec", "trec", reading=reading)
    (tmp_path / "x.qrels").write_text(f"q 0% {name} 1\n")
    read_qrels(tmp_path / "x.qrels", "trec", reading=reading)


@pytest.mark.parametrize("name", ["a\nb", "a\x7f", "a\x85b", "x" * 513, "é" * 257])
def test_what_cannot_be_an_id_is_told_with_its_line_when_it_is_read(tmp_path: Path, name: str) -> None:
    lines = [json.dumps({"_id": each, "text": "fever"}) for each in ("first", name, "last")]
    (tmp_path / "x.jsonl").write_text("\n".join(lines))
    told = r"x\.jsonl:2: expected an id: a text of 1 to 512 bytes without control characters, found"
    for read in (lambda **how: list(read_documents(tmp_path / "x.jsonl", **how)), _documents_of_a_collection(tmp_path)):
        with pytest.raises(FormatError, match=told):
            read()
        kept = read(reading=Reading(problems=Problems(skip=True)))
        assert [document.id for document in kept] == ["first", "last"]
    with pytest.raises(FormatError, match=told):
        read_queries(tmp_path / "x.jsonl")
    assert list(read_queries(tmp_path / "x.jsonl", reading=Reading(problems=Problems(skip=True)))) == ["first", "last"]


def _documents_of_a_collection(folder: Path) -> Callable[..., list[Document]]:
    return lambda **how: list(open_collection(folder / "x.jsonl").documents(**how))
