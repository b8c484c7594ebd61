from __future__ import annotations

import csv
import json
import logging
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from collection_strategies import ANY_TEXT, documents, plain
from hypothesis import given
from hypothesis import strategies as st

from rankwell.collections import Problems, Reading, open_collection, read_documents, write_documents
from rankwell.core import Document, FormatError, RankwellError

HEADER = (
    "cord_uid,sha,source_x,title,doi,pmcid,pubmed_id,license,abstract,publish_time,authors,journal,mag_id,"
    "who_covidence_id,arxiv_id,pdf_json_files,pmc_json_files,url,s2_id"
)
PDF, PMC = "document_parses/pdf_json", "document_parses/pmc_json"


def parse(*paragraphs: str) -> str:
    body = [{"text": text, "cite_spans": [], "ref_spans": [], "section": "Introduction"} for text in paragraphs]
    return json.dumps({"paper_id": "x", "metadata": {"title": ""}, "abstract": [], "body_text": body})


def write_release(folder: Path, rows: list[dict[str, str]], files: dict[str, str]) -> Path:
    with (folder / "metadata.csv").open("w", newline="", encoding="utf-8") as file:
        table = csv.DictWriter(file, HEADER.split(","))
        table.writeheader()
        table.writerows(rows)
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    return folder


@pytest.fixture
def release(tmp_path: Path) -> Path:
    rows = [
        {
            "cord_uid": "ug7v899j",
            "sha": "d1aafb70; 6b056797",
            "source_x": "PMC",
            "title": 'Clinical features of "culture-proven" infections, a study',
            "doi": "10.1186/1471-2334-1-6",
            "abstract": "OBJECTIVE: This\nretrospective review",
            "publish_time": "2001-07-04",
            "authors": "Madani, Tariq A; Al-Ghamdi, Aisha A",
            "journal": "BMC Infect Dis",
            "pdf_json_files": f"{PDF}/d1aafb70.json; {PDF}/6b056797.json",
            "pmc_json_files": f"{PMC}/PMC35282.xml.json",
            "url": "https://example.org/PMC35282/",
        },
        {"cord_uid": "02tnwd4m", "title": "Nitric oxide", "publish_time": "2000", "pdf_json_files": f"{PDF}/gone.json"},
        {
            "cord_uid": "twice",
            "title": "Surfactant",
            "abstract": "Short.",
            "authors": "A",
            "publish_time": "2000-08-15",
        },
        {
            "cord_uid": "twice",
            "title": "Surfactant protein-D",
            "source_x": "Elsevier; PMC",
            "pdf_json_files": f"{PDF}/only.json",
        },
    ]
    files = {
        f"{PDF}/d1aafb70.json": parse("from the PDF"),
        f"{PMC}/PMC35282.xml.json": parse("First paragraph.", "Second paragraph."),
        f"{PDF}/only.json": parse("A body."),
    }
    return write_release(tmp_path, rows, files)


def test_a_release_is_recognised_as_folder_and_as_table(release: Path) -> None:
    for source in (release, release / "metadata.csv"):
        assert open_collection(source).format == "cord19"
        assert [document.id for document in read_documents(source)] == ["ug7v899j", "02tnwd4m", "twice"]


def test_the_publishers_parse_is_taken_before_the_pdf(release: Path) -> None:
    first = next(read_documents(release))
    assert first.fields["body"] == "First paragraph.\nSecond paragraph."
    assert first.fields["title"] == 'Clinical features of "culture-proven" infections, a study'
    assert first.fields["abstract"] == "OBJECTIVE: This\nretrospective review"
    assert dict(first.metadata) == {
        "source": "PMC",
        "publish_time": "2001-07-04",
        "year": 2001,
        "authors": "Madani, Tariq A; Al-Ghamdi, Aisha A",
        "journal": "BMC Infect Dis",
        "doi": "10.1186/1471-2334-1-6",
        "url": "https://example.org/PMC35282/",
    }


def test_the_pdf_is_taken_where_there_is_nothing_better(release: Path) -> None:
    (release / PMC / "PMC35282.xml.json").unlink()
    assert next(read_documents(release)).fields["body"] == "from the PDF"


def test_a_paper_without_abstract_and_with_a_missing_file_has_its_title(release: Path) -> None:
    document = list(read_documents(release))[1]
    assert dict(document.fields) == {"title": "Nitric oxide"}
    assert document.metadata["year"] == 2000


def test_rows_that_share_an_id_become_one_document_with_the_fullest_fields(release: Path) -> None:
    document = list(read_documents(release))[2]
    assert dict(document.fields) == {"title": "Surfactant protein-D", "abstract": "Short.", "body": "A body."}
    assert dict(document.metadata) == {
        "source": "Elsevier; PMC",
        "authors": "A",
        "publish_time": "2000-08-15",
        "year": 2000,
    }


@pytest.mark.parametrize("name", ["../secret.json", "{outside}/secret.json", "a/../../secret.json"])
def test_a_table_cannot_name_files_outside_of_its_folder(tmp_path: Path, name: str) -> None:
    (tmp_path / "secret.json").write_text(parse("secret"))
    (tmp_path / "release").mkdir()
    rows = [{"cord_uid": "1", "title": "T", "pdf_json_files": name.format(outside=tmp_path)}]
    [document] = read_documents(write_release(tmp_path / "release", rows, {}))
    assert dict(document.fields) == {"title": "T"}


@pytest.mark.parametrize("text", ["{", "[]", '{"body_text": [1]}', '{"body_text": [{"text": 1}]}', "{}"])
def test_a_damaged_parse_is_named(tmp_path: Path, text: str) -> None:
    rows = [{"cord_uid": "1", "title": "T", "pdf_json_files": f"{PDF}/a.json"}]
    write_release(tmp_path, rows, {f"{PDF}/a.json": text})
    with pytest.raises(FormatError, match=r"a\.json: expected a parsed paper with body_text"):
        list(read_documents(tmp_path))
    reading = Reading(problems=Problems(skip=True))
    assert [dict(document.fields) for document in read_documents(tmp_path, reading=reading)] == [{"title": "T"}]
    assert reading.problems.count == 1


def test_bad_rows_are_left_out_and_counted_once(tmp_path: Path) -> None:
    write_release(tmp_path, [{"cord_uid": "1", "title": "T"}, {"title": "no id"}, {"cord_uid": "1", "title": "Tt"}], {})
    with (tmp_path / "metadata.csv").open("a") as file:
        file.write("too,few\n")
    with pytest.raises(FormatError, match=r"metadata\.csv:3: expected a cord_uid, found none"):
        list(read_documents(tmp_path))
    reading = Reading(problems=Problems(skip=True))
    assert plain(list(read_documents(tmp_path, reading=reading))) == [("1", {"title": "Tt"}, {})]
    assert [problem.line for problem in reading.problems.found] == [3, 5]


def test_topics_and_judgments_beside_the_table_are_opened_with_it(release: Path) -> None:
    (release / "topics-rnd5.xml").write_text('<topics><topic number="1"><query>x</query></topic></topics>')
    (release / "qrels-round5.txt").write_text("1 0 twice 2\n1 0 02tnwd4m -1\n")
    collection = open_collection(release)
    assert collection.queries().texts() == {"1": "x"}
    assert collection.judgments().to_dict() == {"1": {"twice": 2}}
    assert collection.queries("round5").texts() == {"1": "x"}


def test_a_round_has_one_name_for_topics_and_judgments_and_the_last_is_taken(
    release: Path, caplog: pytest.LogCaptureFixture
) -> None:
    for number in (1, 5):
        topic = f'<topics><topic number="{number}"><query>round {number}</query></topic></topics>'
        (release / f"topics-rnd{number}.xml").write_text(topic)
        (release / f"qrels-covid_d{number}_j0.5-{number}.txt").write_text(f"{number} 0 twice 2\n")
    collection = open_collection(release)
    assert collection.splits == ("round1", "round5")
    assert collection.queries().texts() == {"5": "round 5"}
    assert collection.judgments().to_dict() == {"5": {"twice": 2}}
    assert "round5 is taken of round1, round5 (--split names another)" in caplog.text
    assert collection.queries("round1").texts() == {"1": "round 1"}
    assert collection.judgments("round1").to_dict() == {"1": {"twice": 2}}
    with pytest.raises(RankwellError, match="expected queries of a split 'round2', found round1, round5"):
        collection.queries("round2")


@pytest.mark.parametrize(
    "file",
    [
        "comm_use_subset/comm_use_subset/pdf_json/6b056797.json",
        "comm_use_subset/pmc_json/PMC35282.xml.json",
        "comm_use_subset/comm_use_subset/d1aafb70.json",
    ],
)
def test_bodies_of_the_first_releases_are_found(tmp_path: Path, file: str) -> None:
    columns = ["cord_uid", "sha", "title", "pmcid", "full_text_file"]
    row = ["1", "d1aafb70; 6b056797", "T", "PMC35282", "comm_use_subset"]
    (tmp_path / "metadata.csv").write_text("\n".join(",".join(cells) for cells in (columns, row)) + "\n")
    (tmp_path / file).parent.mkdir(parents=True)
    (tmp_path / file).write_text(parse("The body."))
    [document] = read_documents(tmp_path)
    assert dict(document.fields) == {"title": "T", "body": "The body."}


def test_bodies_that_are_not_here_are_counted(release: Path, caplog: pytest.LogCaptureFixture) -> None:
    list(read_documents(release))
    assert "the parsed bodies of 1 papers are not here" in caplog.text


# Ids name files. Paragraphs are lines; the rest of the metadata has no column.
METADATA = st.fixed_dictionaries({}, optional={"authors": ANY_TEXT, "journal": ANY_TEXT, "source": ANY_TEXT})


@given(
    documents(
        ANY_TEXT.filter(lambda text: bool(text.strip())), ("title", "abstract", "body"),
        ids=st.from_regex(r"\A[a-z0-9_-]{1,8}\Z"), metadata=METADATA,
    )
)  # fmt: skip
def test_documents_come_back(found: list[Document]) -> None:
    with TemporaryDirectory() as folder:
        write_documents(folder, found, "cord19")
        assert plain(list(read_documents(folder, "cord19"))) == plain(found)


def test_a_year_alone_comes_back_as_time_of_publication(tmp_path: Path) -> None:
    write_documents(tmp_path, [Document("1", {"title": "T"}, {"year": 2020})], "cord19")
    [document] = read_documents(tmp_path)
    assert dict(document.metadata) == {"publish_time": "2020", "year": 2020}


def test_what_cord19_cannot_hold_is_refused_or_said(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    with pytest.raises(RankwellError, match="CORD-19 holds title, abstract and body, not text"):
        write_documents(tmp_path, [Document("1", {"text": "x"})], "cord19")
    with pytest.raises(RankwellError, match="expected an id of letters and digits, since it names a file"):
        write_documents(tmp_path, [Document("../1", {"body": "x"})], "cord19")
    with caplog.at_level(logging.WARNING):
        write_documents(tmp_path, [Document("1", {"title": "x"}, {"stars": 5})], "cord19")
    assert "CORD-19 has no column for stars" in caplog.text
