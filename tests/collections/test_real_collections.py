"""Real files, where the data folder is there."""

from __future__ import annotations

import csv
from collections import Counter
from pathlib import Path

import pytest

from rankwell.collections import open_collection, read_documents, read_qrels, read_queries, read_run
from rankwell.core import Run

# As in the table of the data folder: documents, judged queries, judgments, grades.
COLLECTIONS = {
    "adi": (82, 35, 170, {1}),
    "cranfield": (1400, 225, 1837, {1, 2, 3, 4}),
    "cisi": (1460, 76, 3114, {1}),
    "med": (1033, 30, 696, {1}),
    "vaswani": (11429, 93, 2083, {1}),
    "scifact": (5183, 300, 339, {1}),
    "sysrev-asreview": (10353, 5, 10353, {0, 1}),
    "sysrev-software-eng": (2993, 7, 2993, {0, 1}),
    "csfcube": (4205, 50, 6244, {0, 1, 2, 3}),
    "wikiqa": (11406, 243, None, {0, 1}),
    "trecqa": (7053, 95, None, {0, 1}),
}


@pytest.mark.parametrize("name", COLLECTIONS)
def test_a_collection_opens_with_the_figures_of_its_table(data: Path, name: str) -> None:
    collection = open_collection(data / name)
    judgments = collection.judgments("test")
    expected = COLLECTIONS[name]
    found = [document.id for document in collection.documents()]
    assert (len(found), len(judgments)) == expected[:2]
    assert len(set(found)) == len(found)
    assert expected[2] in (judgments.count, None)
    assert {row.grade for row in judgments.rows()} == expected[3]
    assert set(judgments) <= set(collection.queries())


def test_the_pool_of_deep_learning_2019_opens_with_its_runs(data: Path) -> None:
    collection = open_collection(data / "msmarco-dl19-pool")
    full = collection.judgments("full")
    assert (sum(1 for _ in collection.documents()), len(full), full.count) == (14581, 43, 9260)
    assert {row.grade for row in full.rows()} == {0, 1, 2, 3}


def test_training_judgments_are_a_split_of_their_own(data: Path) -> None:
    assert len(open_collection(data / "scifact").judgments("train")) == 809
    assert len(open_collection(data / "wikiqa").judgments("train")) == 873


def test_cranfields_original_files_equal_its_beir_version(data: Path) -> None:
    raw, beir = open_collection(data / "cranfield" / "raw"), open_collection(data / "cranfield")
    assert raw.format == "cranfield"
    # Two of the documents have no text at all.
    original = {document.id: dict(document.fields) for document in raw.documents()}
    assert original == {document.id: dict(document.fields) for document in beir.documents()}
    assert sum(not fields for fields in original.values()) == 2
    assert raw.queries().texts() == beir.queries().texts()
    assert raw.judgments() == beir.judgments()


def test_cranfields_minus_one_is_a_grade_of_one(data: Path) -> None:
    lines = (data / "cranfield" / "raw" / "cranqrel").read_text().splitlines()
    marked = [line.split()[:2] for line in lines if line.split()[2] == "-1"]
    judgments = open_collection(data / "cranfield" / "raw").judgments()
    assert len(marked) > 200
    assert {judgments[qid][docno] for qid, docno in marked} == {1}


def test_trec_covid_topics_have_three_wordings(data: Path) -> None:
    topics = read_queries(data / "eval-fixtures" / "trec-covid" / "topics.covid-round5.xml")
    assert len(topics) == 50
    assert topics.fields == ("query", "question", "narrative")
    assert topics["1"].text() == "coronavirus origin"
    assert all(set(topic.texts) == {"query", "question", "narrative"} for topic in topics.values())


def test_trec_covid_judgments_lose_only_their_negative_grades(data: Path) -> None:
    path = data / "eval-fixtures" / "trec-covid" / "qrels.covid-complete.txt"
    rows = [line.split() for line in path.read_text().splitlines()]
    assert len(rows) == 69318
    grades = Counter(int(row[3]) for row in rows)
    assert grades.keys() == {-1, 0, 1, 2}
    judgments = read_qrels(path, drop_negative=True)
    assert judgments.count == 69318 - grades[-1]
    assert Counter(row.grade for row in judgments.rows()) == {grade: grades[grade] for grade in (0, 1, 2)}
    assert read_qrels(path).count == 69318


def naive(path: Path) -> Run:
    scores: dict[str, dict[str, float]] = {}
    for line in path.read_text().splitlines():
        if line.strip() and not line.startswith("#"):
            qid, _, docno, _, score = line.split()[:5]
            scores.setdefault(qid, {})[docno] = float(score)
    return Run.from_dict(scores)


def test_every_trec_run_equals_what_a_plain_parser_reads(data: Path) -> None:
    fixtures = data / "eval-fixtures"
    paths = [
        *(data / "msmarco-dl19-pool" / "runs").glob("*.trec"),
        *fixtures.glob("trec-covid/round*-runs/*"),
        *fixtures.glob("dl-hard/*.run"),
        *fixtures.glob("trec_eval/results*"),
    ]
    assert len(paths) > 12
    for path in paths:
        assert read_run(path) == naive(path), path.name


@pytest.mark.slow
def test_msmarco_runs_and_judgments_of_pygaggle_are_read(data: Path) -> None:
    folder = data / "eval-fixtures" / "pygaggle-msmarco_ans_small"
    assert len(read_queries(folder / "queries.dev.small.tsv")) == len(read_qrels(folder / "qrels.dev.small.tsv")) == 105
    for name in ("run.dev.small.tsv", "run.monobert.ans_small.dev.tsv", "run.monot5.ans_small.dev.tsv"):
        run = read_run(folder / name)
        rows = [line.split() for line in (folder / name).read_text().splitlines()]
        for qid, ranking in list(run.rankings())[:20]:
            by_rank = sorted((int(rank), docno) for q, docno, rank in rows if q == qid)
            assert ranking.docnos.tolist() == [docno for _, docno in by_rank]


@pytest.mark.parametrize(("name", "ids"), [("Kwok_2020.csv", "id"), ("Nagtegaal_2019.csv", "record_id")])
def test_exports_of_reviewers_are_understood_without_a_word(data: Path, name: str, ids: str) -> None:
    path = data / "sysrev-asreview" / "raw" / name
    with path.open(encoding="utf-8-sig", newline="") as file:
        rows = list(csv.DictReader(file))
    documents = list(read_documents(path))
    assert [document.id for document in documents] == [row[ids] for row in rows]
    for document, row in zip(documents, rows, strict=True):
        assert document.fields.get("title", "") == row["title"]
        assert document.fields.get("abstract", "") == row["abstract"]
    label = "included" if "included" in rows[0] else "label_included"
    assert {document.metadata[label] for document in documents} == {0, 1}
