"""Files as they come: cut short, with control characters, in other encodings, with quotes and line breaks."""

from __future__ import annotations

import gzip
import random
from pathlib import Path

import pytest
from collection_strategies import plain

from rankwell.collections import Problems, Reading, read_documents, read_qrels, read_queries, read_run, write_documents
from rankwell.core import Document, FormatError, ParameterError, RankwellError

NUMBERS = random.Random(1).sample(range(10**9), 3000)  # noqa: S311 -- lines that do not pack into nothing
LINES = {
    "d.jsonl": b"".join(b'{"id": "%d", "text": "w%d"}\n' % (n, n * n) for n in NUMBERS),
    "d.csv": b"id,text\n" + b"".join(b"%d,w%d\n" % (n, n * n) for n in NUMBERS),
    "c.tsv": b"".join(b"%d\tw%d\n" % (n, n * n) for n in NUMBERS),
}


@pytest.mark.parametrize("name", LINES)
def test_a_gzip_file_cut_short_gives_everything_before_the_cut(tmp_path: Path, name: str) -> None:
    path = tmp_path / name
    packed = gzip.compress(LINES[name])
    path.write_bytes(packed[: len(packed) // 2])
    reading = Reading(problems=Problems(skip=True))
    found = [document.id for document in read_documents(path, reading=reading)]
    assert found == [str(number) for number in NUMBERS[: len(found)]]
    assert len(found) > 1000
    assert reading.problems.count == 1
    line = len(found) + (2 if name == "d.csv" else 1)
    with pytest.raises(FormatError) as caught:
        list(read_documents(path))
    assert str(caught.value).startswith(
        f"{path}:{line}: expected a whole gzip file, found one that is cut short or damaged in this line ("
    )


def test_a_run_and_judgments_cut_short_give_everything_before_the_cut(tmp_path: Path) -> None:
    texts = {
        "x.run": b"".join(b"1 Q0 d%d 1 %d t\n" % (n, n) for n in NUMBERS),
        "x.qrels": b"".join(b"1 0 d%d 1\n" % n for n in NUMBERS),
    }
    for name, text in texts.items():
        packed = gzip.compress(text)
        (tmp_path / name).write_bytes(packed[: len(packed) // 2])
        with pytest.raises(FormatError, match=rf"{name}:\d{{4}}: expected a whole gzip file"):
            (read_run if name == "x.run" else read_qrels)(tmp_path / name)
    reading = Reading(problems=Problems(skip=True))
    run = read_run(tmp_path / "x.run", reading=reading)
    judgments = read_qrels(tmp_path / "x.qrels", reading=reading)
    assert set(run["1"].docnos.tolist()) == {f"d{n}" for n in NUMBERS[: len(run)]}
    assert list(judgments["1"]) == [f"d{n}" for n in NUMBERS[: judgments.count]]
    assert min(len(run), judgments.count) > 1000
    assert [problem.line for problem in reading.problems.found] == [len(run) + 1, judgments.count + 1]


def test_a_gzip_file_whose_checksum_is_wrong_is_told(tmp_path: Path) -> None:
    packed = bytearray(gzip.compress(LINES["d.jsonl"]))
    packed[-6] ^= 0xFF
    (tmp_path / "d.jsonl").write_bytes(packed)
    reading = Reading(problems=Problems(skip=True))
    assert len(list(read_documents(tmp_path / "d.jsonl", reading=reading))) == len(NUMBERS)
    assert [problem.expected for problem in reading.problems.found] == ["a whole gzip file"]


def test_several_gzip_members_are_one_file(tmp_path: Path) -> None:
    (tmp_path / "c.tsv").write_bytes(gzip.compress(b"1\ta\n2\t") + gzip.compress(b"b\n"))
    assert plain(list(read_documents(tmp_path / "c.tsv"))) == [("1", {"text": "a"}, {}), ("2", {"text": "b"}, {})]


@pytest.mark.parametrize("name", ["d.csv", "d.tsv"])
def test_quotes_hold_separators_quotes_and_line_breaks(tmp_path: Path, name: str) -> None:
    between = "," if name == "d.csv" else "\t"
    text = f'id,title,text\r\n1,"a{between}b","say ""x""\r\n\r\nthen"\r\n\r\n2,c,"d\n"\r\n'.replace(",", between)
    (tmp_path / name).write_bytes(text.encode())
    assert plain(list(read_documents(tmp_path / name))) == [
        ("1", {"title": f"a{between}b", "text": 'say "x"\r\n\r\nthen'}, {}),
        ("2", {"title": "c", "text": "d\n"}, {}),
    ]


def test_a_quote_that_is_never_closed_loses_only_its_own_line(tmp_path: Path) -> None:
    rows = "".join(f"{number},text {number}\n" for number in range(3, 103))
    (tmp_path / "d.csv").write_text(f'id,text\n1,a\n2,"stray\n{rows}')
    reading = Reading(problems=Problems(skip=True))
    found = [document.id for document in read_documents(tmp_path / "d.csv", reading=reading)]
    assert found == ["1", *map(str, range(3, 103))]
    assert [problem.line for problem in reading.problems.found] == [3]


def test_lines_after_a_bad_one_keep_their_numbers(tmp_path: Path) -> None:
    (tmp_path / "d.csv").write_bytes(b'id,text\n1,"a\n\xff\nb"\n2,ok\n3\n')
    reading = Reading(problems=Problems(skip=True))
    assert [document.id for document in read_documents(tmp_path / "d.csv", reading=reading)] == ["2"]
    assert [problem.line for problem in reading.problems.found] == [3, 6]


@pytest.mark.parametrize("header", [b'"id,text\n1,a\n', b"id,\xff\n1,a\n"])
def test_a_header_that_cannot_be_read_is_an_error_and_no_crash(tmp_path: Path, header: bytes) -> None:
    (tmp_path / "d.csv").write_bytes(header)
    reading = Reading(problems=Problems(skip=True))  # the next line must not become the header
    with pytest.raises(FormatError, match=r"d\.csv:1: expected"):
        list(read_documents(tmp_path / "d.csv", "csv", reading=reading))


def test_two_columns_of_the_same_name_are_both_read(tmp_path: Path) -> None:
    (tmp_path / "d.csv").write_text("id,text,text\n1,one,two\n")
    assert plain(list(read_documents(tmp_path / "d.csv")))[0][1] == {"text": "one", "text 2": "two"}


def test_control_characters_inside_a_text_are_text(tmp_path: Path) -> None:
    text = "a\x00b\x1b[0m\x07\x0b\x0c\x85c\u2028d"
    for name in ("d.jsonl", "d.csv", "d.tsv", "d.sgml", "d.parquet"):
        write_documents(tmp_path / name, [Document("1", {"text": text})])
        assert plain(list(read_documents(tmp_path / name))) == [("1", {"text": text}, {})]
    (tmp_path / "c.tsv").write_text(f"1\t{text}\n")
    assert plain(list(read_documents(tmp_path / "c.tsv", "msmarco-passage"))) == [("1", {"text": text}, {})]


def test_an_empty_document_is_a_document(tmp_path: Path) -> None:
    (tmp_path / "d.jsonl").write_text('{"id": "1", "text": "a"}\n{"id": "2", "text": ""}\n{"id": "3"}\n')
    (tmp_path / "d.csv").write_text("id,text\n1,a\n2,\n3,\n")
    for name in ("d.jsonl", "d.csv"):
        found = plain(list(read_documents(tmp_path / name)))
        assert found == [("1", {"text": "a"}, {}), ("2", {}, {}), ("3", {}, {})]
    (tmp_path / "empty.csv").write_text("id,title\n1,\n2,\n")
    assert plain(list(read_documents(tmp_path / "empty.csv"))) == [("1", {}, {}), ("2", {}, {})]


def test_another_encoding_can_be_named(tmp_path: Path) -> None:
    (tmp_path / "d.csv").write_bytes("id,text\n1,café\n".encode("latin-1"))
    (tmp_path / "d.jsonl").write_bytes('{"id": "1", "text": "café"}\n'.encode("latin-1"))
    (tmp_path / "q.tsv").write_bytes("1\tcafé\n".encode("latin-1"))
    for name in ("d.csv", "d.jsonl"):
        [document] = read_documents(tmp_path / name, reading=Reading("latin-1"))
        assert document.fields["text"] == "café"
    assert read_queries(tmp_path / "q.tsv", reading=Reading("latin-1")).texts() == {"1": "café"}


@pytest.mark.parametrize("encoding", ["utf-61", ""])
def test_an_encoding_that_cannot_be_used_is_refused_at_once(encoding: str) -> None:
    with pytest.raises(ParameterError, match=r"^encoding: expected an encoding such as utf-8"):
        Reading(encoding)


def test_a_damaged_parquet_file_is_one_clear_line(tmp_path: Path) -> None:
    write_documents(tmp_path / "d.parquet", [Document("1", {"text": "a"})])
    whole = (tmp_path / "d.parquet").read_bytes()
    (tmp_path / "d.parquet").write_bytes(whole[: len(whole) // 2])
    with pytest.raises(FormatError, match=r"expected a Parquet file, found one that cannot be read \(") as caught:
        list(read_documents(tmp_path / "d.parquet"))
    assert "\n" not in str(caught.value)


def test_a_folder_where_a_file_is_expected_is_one_clear_line(tmp_path: Path) -> None:
    with pytest.raises(RankwellError, match="cannot be read: Is a directory"):
        list(read_documents(tmp_path, "jsonl"))


def test_columns_without_a_name_are_called_by_their_place(tmp_path: Path) -> None:
    path = tmp_path / "excel.csv"
    path.write_bytes(b'\xef\xbb\xbf;title;;abstract;\r\n0;A mask;x;"one\r\ntwo; ""three""";\r\n')
    (document,) = read_documents(path)
    assert document.fields == {"title": "A mask", "abstract": 'one\r\ntwo; "three"'}
    assert document.metadata == {"column 1": 0, "column 3": "x"}


def test_a_grade_that_is_not_whole_is_named_with_its_line_wherever_it_stands(tmp_path: Path) -> None:
    path = tmp_path / "qrels.txt"
    path.write_text("q1 0 d1 1.5\nq1 0 d2 1\n")
    with pytest.raises(FormatError, match=r"qrels.txt:1: expected 4 columns .* the grade a whole number, found"):
        read_qrels(path)


def test_files_that_are_no_text_are_passed_over_and_counted(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    (tmp_path / "sub").mkdir()
    for name in ("a.txt", "sub/b.md", "program.exe", "sub/picture.png", ".hidden.txt"):
        (tmp_path / name).write_text("words")
    assert [document.id for document in read_documents(tmp_path)] == ["a.txt", "sub/b.md"]
    assert "2 files of other kinds are passed over" in caplog.text
