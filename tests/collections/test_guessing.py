from __future__ import annotations

import gzip
from pathlib import Path

import pytest

from rankwell.collections import open_collection, read_documents, read_qrels, read_queries, read_run
from rankwell.collections.reading import HEAD, head
from rankwell.core import FormatError, ParameterError, RankwellError

DOCUMENTS = {
    "jsonl": '{"id": "1", "text": "a"}\n',
    "csv": "id,text\n1,a\n",
    "tsv": "id\ttext\n1\ta\n",
    "csv-semicolon": "id;text\n1;a\n",
    "trec": "<DOC>\n<DOCNO>1</DOCNO>\n<TEXT>\na\n</TEXT>\n</DOC>\n",
    "smart": ".I 1\n.W\na\n",
    "msmarco-passage": "1\ta\n",
    "msmarco-document": "1\thttp://x.example\tt\ta\n",
}


@pytest.mark.parametrize("format", DOCUMENTS)
@pytest.mark.parametrize("dress", ["plain", "gz", "bom", "crlf", "bom crlf gz"])
def test_documents_are_recognised_by_content_in_any_dress(tmp_path: Path, format: str, dress: str) -> None:
    text = DOCUMENTS[format].encode()
    text = text.replace(b"\n", b"\r\n") if "crlf" in dress else text
    text = b"\xef\xbb\xbf" + text if "bom" in dress else text
    (tmp_path / "x").write_bytes(gzip.compress(text) if "gz" in dress else text)
    assert open_collection(tmp_path / "x").format == format
    [document] = read_documents(tmp_path / "x")
    assert document.id == "1"
    assert document.fields.get("text", document.fields.get("body")) == "a"


QUERIES = [
    '{"_id": "1", "text": "a"}\n',
    "<top>\n<num> Number: 1\n<title> a\n</top>\n",
    '<topics>\n<topic number="1">\n<query>a</query>\n</topic>\n</topics>\n',
    ".I 1\n.W\na\n",
    "qid,query\n1,a\n",
    "1\ta\n",
]
JUDGMENTS = ["query-id\tcorpus-id\tscore\n1\t2\t1\n", "1\t2\t1\n", "1 0 2 1\n", "1\t0\t2\t1\n", "1 2 0 0.0\n"]
RUNS = ["1 Q0 2 1 -1 t\n", "1\t2\t1\n"]


@pytest.mark.parametrize("dress", ["plain", "gz", "bom", "crlf", "bom crlf gz"])
def test_queries_judgments_and_runs_are_recognised_in_any_dress(tmp_path: Path, dress: str) -> None:
    path = tmp_path / "x"
    for kind, texts in (("queries", QUERIES), ("qrels", JUDGMENTS), ("run", RUNS)):
        for text in texts:
            data = text.replace("\n", "\r\n").encode() if "crlf" in dress else text.encode()
            data = b"\xef\xbb\xbf" + data if "bom" in dress else data
            path.write_bytes(gzip.compress(data) if "gz" in dress else data)
            if kind == "queries":
                assert read_queries(path).texts() == {"1": "a"}, text
            elif kind == "qrels":
                assert read_qrels(path).to_dict() == {"1": {"2": 1}}, text
            else:
                assert read_run(path).to_dict() == {"1": {"2": -1.0}}, text


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("just some words\n", '"just some words"'),
        ("\x89PNG\r\n\x1a\n\x00\x00", '"\ufffdPNG"'),
        ("[1, 2]\n", '"[1, 2]"'),
    ],
)
def test_what_is_no_collection_is_answered_with_what_was_tried(tmp_path: Path, text: str, shown: str) -> None:
    path = tmp_path / "x"
    path.write_bytes(text.encode("latin-1"))
    with pytest.raises(RankwellError) as caught:
        read_documents(path)
    assert str(caught.value) == (
        f"{path}: cannot tell the format of these documents: tried beir, bibtex, cord19, csv, csv-semicolon, docx, "
        f"eml, endnote-xml, enw, epub, folder, html, json, jsonl, markdown, mbox, msmarco-document, msmarco-passage, "
        f"msmarco-top1000, nbib, odt, parquet, pdf, pptx, pubmed-xml, ris, smart, spreadsheet, sqlite, table, trec, "
        f"tsv, wos, "
        f"found {shown} in line 1; name it with --format (--from in convert)"
    )


def test_judgments_are_not_taken_for_queries_nor_queries_for_judgments(tmp_path: Path) -> None:
    (tmp_path / "qrels.tsv").write_text("query-id\tcorpus-id\tscore\n1\t2\t1\n")
    (tmp_path / "queries.tsv").write_text("1\twhat is it\n")
    (tmp_path / "table.tsv").write_text("qid\tquery\n1\twhat is it\n")
    with pytest.raises(RankwellError, match="cannot tell the format of these queries"):
        read_queries(tmp_path / "qrels.tsv")
    for name in ("queries.tsv", "table.tsv"):
        with pytest.raises(RankwellError, match="cannot tell the format of these judgments"):
            read_qrels(tmp_path / name)


def test_runs_and_judgments_are_not_taken_for_each_other(tmp_path: Path) -> None:
    (tmp_path / "run").write_text("1 Q0 2 1 -1 t\n")
    (tmp_path / "qrels").write_text("1\t0\t2\t1\n")
    with pytest.raises(RankwellError, match="cannot tell the format of these judgments"):
        read_qrels(tmp_path / "run")
    with pytest.raises(RankwellError, match="cannot tell the format of these runs"):
        read_run(tmp_path / "qrels")


def test_an_empty_file_is_empty_where_its_name_tells_the_format(tmp_path: Path) -> None:
    for name in ("d.jsonl", "d.sgml", "d.all"):
        (tmp_path / name).write_bytes(b"")
        assert list(read_documents(tmp_path / name)) == []
    (tmp_path / "x.qrels").write_bytes(b"\n")
    assert len(read_qrels(tmp_path / "x.qrels")) == 0
    (tmp_path / "x.run").write_bytes(b"")
    assert len(read_run(tmp_path / "x.run")) == 0
    (tmp_path / "x").write_bytes(b"\xef\xbb\xbf")
    with pytest.raises(RankwellError, match="found an empty file; name it with --format"):
        read_documents(tmp_path / "x")


@pytest.mark.parametrize(("name", "content"), [("d.csv", b""), ("d.tsv", b"\n\n"), ("d.csv", b"\xef\xbb\xbf")])
def test_a_table_without_a_header_is_no_table(tmp_path: Path, name: str, content: bytes) -> None:
    (tmp_path / name).write_bytes(content)
    with pytest.raises(FormatError, match=f"{name}:1: expected a header that names the columns, found an empty file"):
        read_documents(tmp_path / name)


def test_folders_without_text_files_say_so(tmp_path: Path) -> None:
    with pytest.raises(RankwellError, match="found an empty folder"):
        open_collection(tmp_path)
    (tmp_path / "picture.png").write_bytes(b"")
    (tmp_path / ".hidden.txt").write_text("x")
    with pytest.raises(RankwellError, match="found a folder without any of their files"):
        open_collection(tmp_path)
    with pytest.raises(
        RankwellError, match=r"expected files of text \(\.txt, \.text, \.rst, .*\) or records, found none"
    ):
        list(read_documents(tmp_path, "folder"))


def test_a_path_that_is_not_there_says_so(tmp_path: Path) -> None:
    with pytest.raises(RankwellError) as caught:
        open_collection(tmp_path / "gone")
    assert str(caught.value) == f"{tmp_path / 'gone'}: no such file or folder"
    with pytest.raises(RankwellError, match="cannot be read: No such file or directory"):
        list(read_documents(tmp_path / "gone", "jsonl"))


def test_a_mistyped_format_is_answered_with_the_nearest(tmp_path: Path) -> None:
    with pytest.raises(ParameterError, match=r"expected one of beir, .*\(did you mean jsonl\?\), found \"jsonll\""):
        read_documents(tmp_path, "jsonll")


def test_an_unknown_bundled_collection_names_the_one_there_is() -> None:
    with pytest.raises(RankwellError, match="rankwell:perl: expected rankwell:python, the one bundled collection"):
        open_collection("rankwell:perl")


def test_a_collection_of_documents_alone_says_what_it_does_not_have(tmp_path: Path) -> None:
    (tmp_path / "d.csv").write_text("id,text\n1,a\n")
    collection = open_collection(tmp_path / "d.csv")
    with pytest.raises(RankwellError, match="expected queries, found only documents"):
        collection.queries()
    with pytest.raises(RankwellError, match="expected judgments, found none"):
        collection.judgments()


def test_a_start_that_ends_inside_a_character_is_still_told(tmp_path: Path) -> None:
    text = "1\t" + "é" * HEAD
    (tmp_path / "x").write_text(text)
    assert head(tmp_path / "x").startswith("1\té")
    assert open_collection(tmp_path / "x").format == "msmarco-passage"


def test_a_gzip_file_that_is_cut_short_is_still_told(tmp_path: Path) -> None:
    whole = gzip.compress(b"".join(b'{"id": "%d", "text": "%d"}\n' % (n, n * n * 7919) for n in range(5000)))
    (tmp_path / "x").write_bytes(whole[: len(whole) // 2])
    assert open_collection(tmp_path / "x").format == "jsonl"
