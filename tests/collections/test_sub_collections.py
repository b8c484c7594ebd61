from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from rankwell.collections import Problems, Reading, open_collection, write_documents, write_qrels, write_queries
from rankwell.collections.sample import SamplePart, sub_collections, write_sub_collections
from rankwell.core import Document, Judgments, ParameterError, Queries, RankwellError

DOCNOS = [f"d{number}" for number in range(40)]
GRADED = st.dictionaries(
    st.integers(0, 20).map("q{}".format),
    st.dictionaries(st.sampled_from([*DOCNOS, "not in the collection"]), st.integers(-1, 3), min_size=1, max_size=4),
    min_size=8,  # with fewer most of what is asked for is refused
    max_size=15,
).map(Judgments.from_dict)
PARTS = st.lists(st.tuples(st.integers(1, 3), st.integers(5, 13)), min_size=1, max_size=3).map(
    lambda sizes: [SamplePart(f"part{number}", *size) for number, size in enumerate(sizes)]
)


@given(GRADED, PARTS, st.integers(0, 5), st.randoms(use_true_random=False))
def test_parts_share_nothing_and_do_not_depend_on_the_order_of_the_input(
    graded: Judgments, parts: list[SamplePart], seed: int, shuffler: object
) -> None:
    try:
        chosen = sub_collections(DOCNOS, graded, parts, seed)
    except RankwellError:
        assume(False)  # not enough for what was asked
    for place, one in enumerate(chosen):
        assert (len(one.qids), len(one.docnos)) == (one.part.queries, one.part.documents)
        assert (one.part, one.seed) == (parts[place], seed)
        assert one.docnos <= set(DOCNOS)
        for qid in one.qids:
            relevant = set(graded.relevant(qid)) & set(DOCNOS)
            assert relevant
            assert relevant <= one.docnos
        for other in chosen[place + 1 :]:
            assert not set(one.qids) & set(other.qids)
            assert not one.docnos & other.docnos
    rows, docnos = list(graded.rows()), list(DOCNOS)
    shuffler.shuffle(rows)  # type: ignore[attr-defined]
    shuffler.shuffle(docnos)  # type: ignore[attr-defined]
    assert sub_collections(docnos, Judgments(rows), parts, seed) == chosen


JUDGMENTS = Judgments((f"q{n}", f"d{n}", 1) for n in range(20))


def test_another_seed_gives_another_sample() -> None:
    samples = {sub_collections(DOCNOS, JUDGMENTS, [SamplePart("a", 5, 10)], seed)[0].qids for seed in range(5)}
    assert len(samples) == 5


def test_only_documents_of_the_asked_grade_make_a_query_labelled() -> None:
    graded = Judgments([("low", "d1", 1), ("high", "d2", 2)])
    assert sub_collections(DOCNOS, graded, [SamplePart("a", 1, 3)], seed=1, rel=2)[0].qids == ("high",)


@pytest.mark.parametrize(
    ("parts", "expected"),
    [
        ([SamplePart("a", 21, 30)], "part a: expected 21 queries with relevant documents of their own, found 20"),
        ([SamplePart("a", 15, 20), SamplePart("b", 6, 10)], "part b: expected 6 queries .* found 5"),
        (
            [SamplePart("a", 5, 4)],
            "expected room for the relevant documents of its queries, found 5 of them and a size of 4",
        ),
        ([SamplePart("a", 5, 30), SamplePart("b", 5, 11)], "part b: expected 6 more documents, found 5 left"),
        ([SamplePart("a", 1, 1), SamplePart("a", 1, 1)], "expected a different name for every part"),
    ],
)
def test_too_little_for_what_is_asked_is_told_with_figures(parts: list[SamplePart], expected: str) -> None:
    with pytest.raises(RankwellError, match=expected):
        sub_collections(DOCNOS, JUDGMENTS, parts, seed=1)


def test_a_part_is_named_in_three_words() -> None:
    assert SamplePart.parse("train:400:100000") == SamplePart("train", 400, 100_000)


@pytest.mark.parametrize("text", ["train", "train:4", "train:0:5", "../x:1:1", ":1:1", "a:b:c", "a:-1:2", "a:1:2:3"])
def test_a_part_that_cannot_be_understood_is_refused(text: str) -> None:
    with pytest.raises(ParameterError, match="expected NAME:QUERIES:DOCUMENTS, such as train:400:100000"):
        SamplePart.parse(text)


@pytest.fixture
def source(tmp_path: Path) -> Path:
    folder = tmp_path / "source"
    documents = [Document(docno, {"title": docno, "text": f"text of {docno}"}, {"year": 2020}) for docno in DOCNOS]
    write_documents(folder, documents, "beir")
    write_queries(folder / "queries.jsonl", Queries.of({f"q{n}": f"query {n}" for n in range(15)}), "beir")
    judged = [*JUDGMENTS.rows(), ("q0", "d39", 0), ("q1", "d39", 0)]
    write_qrels(folder / "qrels" / "test.tsv", Judgments(judged), "beir")
    return folder


def test_parts_are_written_as_folders_that_open_as_collections(source: Path, tmp_path: Path) -> None:
    parts = [SamplePart("train", 6, 15), SamplePart("test", 4, 10)]
    collection = open_collection(source)
    chosen = write_sub_collections(collection, parts, tmp_path / "out", seed=7, reading=Reading())
    for sample in chosen:
        part = open_collection(tmp_path / "out" / sample.part.name)
        documents = {document.id: document for document in part.documents()}
        assert documents.keys() == sample.docnos
        assert all(documents[docno].fields["text"] == f"text of {docno}" for docno in documents)
        assert set(part.queries()) == set(sample.qids)  # five of the judged queries have no text, and are not taken
        assert set(part.judgments()) == set(sample.qids)
        assert all(row.docno in documents for row in part.judgments().rows())
        record = json.loads((tmp_path / "out" / sample.part.name / "sample.json").read_text())
        assert (record["seed"], record["source"]) == (7, str(source))
        assert record["parts"][0] == {"name": "train", "queries": 6, "documents": 15}


def test_a_folder_that_holds_something_is_not_written_into(source: Path, tmp_path: Path) -> None:
    (tmp_path / "out" / "b").mkdir(parents=True)
    (tmp_path / "out" / "b" / "mine").write_text("x")
    parts = [SamplePart("a", 1, 1), SamplePart("b", 1, 1)]
    with pytest.raises(RankwellError, match="expected an empty folder or none, found files"):
        write_sub_collections(open_collection(source), parts, tmp_path / "out", seed=1, reading=Reading())
    assert not (tmp_path / "out" / "a").exists()


def test_bad_documents_are_counted_once_however_many_parts_there_are(source: Path, tmp_path: Path) -> None:
    with (source / "corpus.jsonl").open("a") as file:
        file.write('{"no": "id"}\n{"_id": "d1", "text": "again"}\n')
    reading = Reading(problems=Problems(skip=True))
    parts = [SamplePart("a", 3, 10), SamplePart("b", 3, 30)]
    write_sub_collections(open_collection(source), parts, tmp_path / "out", seed=1, reading=reading)
    assert reading.problems.count == 2
    assert len(list(open_collection(tmp_path / "out" / "b").documents())) == 30
