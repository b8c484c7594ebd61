"""Every stage gives the same ranking in ClickHouse as on the embedded index."""

from __future__ import annotations

import random
from pathlib import Path

import numpy as np
import pytest

from rankwell import Document
from rankwell.clickhouse import push
from rankwell.core import ParameterError, RankwellError, Run
from rankwell.index import Index, IndexWriter, open_index
from rankwell.retrieve import BM25, RM3, Asked, SimilarQueries, SumTfIdf, explain_score, filtered, match_ratios, matched

WORDS = ("fever", "cough", "mice", "cell", "drug", "trial", "heart", "blood", "virus", "gene", "bone", "lung", "fox")
QUERIES = {
    "1": "fever and cough",
    "2": "mice cell gene trial",
    "3": "blood blood heart",
    "4": "virus",
    "5": "nothing of this is there",
    "6": "the",
    "7": "'; DROP TABLE postings; -- fever",
}


def documents(seed: int, count: int) -> list[Document]:
    """Short ones, so that many scores are equal."""
    chosen = random.Random(seed)  # noqa: S311 -- documents, not secrets
    made = []
    for number in range(count):
        title, text = (" ".join(chosen.choices(WORDS, k=length)) for length in (2, chosen.randint(1, 5)))
        metadata: dict[str, object] = {"year": chosen.choice([2019, 2020, 2021, None]), "source": chosen.choice("ABC")}
        kept = {name: value for name, value in metadata.items() if value is not None}
        made.append(Document(f"d{number}", {"title": title, "text": text}, kept))
    return made


@pytest.fixture(scope="module")
def embedded(tmp_path_factory: pytest.TempPathFactory) -> Index:
    folder = tmp_path_factory.mktemp("index")
    with IndexWriter(folder, metadata=["year", "source"]) as writer:
        writer.add_all(documents(1, 400))
    with IndexWriter(folder) as writer:
        writer.add_all(documents(2, 60))  # which replace as many
        writer.delete("d399")
    return Index.open(folder)


@pytest.fixture(scope="module")
def remote(embedded: Index, chdb_folder: Path) -> Index:
    address = f"chdb://{chdb_folder}?database=ranking"
    push(embedded, address, load=150)
    return open_index(address)


def same(first: Run, second: Run) -> None:
    assert first.qids == second.qids
    assert first.offsets.tolist() == second.offsets.tolist()
    assert first.docnos.tolist() == second.docnos.tolist()
    np.testing.assert_allclose(first.scores, second.scores, rtol=1e-6, atol=1e-6)


OPTIONS = [
    {},
    {"k": 3},
    {"k1": 0.0},
    {"k1": 0.9, "b": 0.4, "idf": "plain"},
    {"idf": "robertson"},
    {"idf": "robertson-raw", "distinct": True},
    {"weights": {"title": 2.0, "text": 0.5}},
    {"weights": {"title": 1.0}, "k": 5},
    {"match": "and"},
    {"match": "and", "weights": {"title": 1.0, "text": 1.0}},
    {"match": "expr:title:fever OR (cough AND NOT mice)"},
    {"match": "expr:NOT (fever OR cough)", "k": 20},
    {"match": "expr:title:fever AND NOT text:fever", "weights": {"title": 1.0, "text": 0.2}},
    {"match": "expr"},
    {"match": "and + expr:title:fox"},
    {"match": "or & expr:heart"},
    {"filter": "year>=2020"},
    {"filter": "not year<2021 and source in (A, B)"},
    {"filter": "source!=A or year=2019", "match": "and"},
    {"filter": "year and source>=B", "match": "expr:heart OR blood"},
]


@pytest.mark.parametrize("options", OPTIONS, ids=str)
def test_bm25_is_the_same(embedded: Index, remote: Index, options: dict[str, object]) -> None:
    queries = {"1": "fever AND heart", "2": "blood"} if options.get("match") == "expr" else QUERIES
    same(BM25(embedded, **options)(queries), BM25(remote, **options)(queries))


def test_documents_of_equal_score_come_by_id_however_many_there_are(embedded: Index, remote: Index) -> None:
    for k in (1, 7, 50):
        ranker = {"k1": 0.0, "k": k, "weights": {"text": 1.0}}  # a document scores by whether it holds the word
        same(BM25(embedded, **ranker)("fever"), BM25(remote, **ranker)("fever"))


def test_rm3_and_similar_queries_are_the_same(embedded: Index, remote: Index) -> None:
    for options in ({}, {"match": "and"}, {"weights": {"title": 1.0, "text": 0.5}}, {"filter": "year=2020"}):
        first, second = BM25(embedded, **options), BM25(remote, **options)
        same(RM3(first, fb_docs=5, fb_terms=4)(QUERIES), RM3(second, fb_docs=5, fb_terms=4)(QUERIES))
        variants = {"1": [("virus cough", 0.5)]}
        same(SimilarQueries(first, variants)(QUERIES), SimilarQueries(second, variants)(QUERIES))


def test_a_stage_takes_an_address(embedded: Index, remote: Index) -> None:
    ranker = BM25(f"{remote.path}")  # type: ignore[arg-type]  # an address in place of an index
    same(BM25(embedded)(QUERIES), ranker(QUERIES))
    assert ranker.fingerprint() == BM25(remote).fingerprint()
    assert BM25(str(embedded.path)).fingerprint() == BM25(embedded).fingerprint()  # type: ignore[arg-type]


def test_within_takes_documents_by_number(remote: Index) -> None:
    found = BM25(remote, k=5)("fever")
    numbers = [remote.number(docno) for docno in found.docnos.tolist()[1:3]]
    assert BM25(remote, within=numbers)("fever").docnos.tolist() == found.docnos.tolist()[1:3]
    assert len(BM25(remote, within=[])("fever")) == 0


def test_matches_are_counted_the_same(embedded: Index, remote: Index) -> None:
    asked = {qid: Asked(text) for qid, text in QUERIES.items()}
    for match in ("or", "and", "expr:NOT fever"):
        assert match_ratios(match, asked, embedded) == match_ratios(match, asked, remote)
    assert int(filtered("year=2020", embedded).sum()) == int(filtered("year=2020", remote).sum())
    assert not matched("or", Asked("unheard"), remote).any()


def test_documents_terms_snippets_and_explanations_are_the_same(embedded: Index, remote: Index) -> None:
    assert len(remote) == len(embedded)
    assert set(remote.documents) == set(embedded.documents)
    for docno in ("d0", "d59", "d398"):
        assert remote.documents[docno] == embedded.documents[docno]
        assert remote.terms_of(docno) == embedded.terms_of(docno)
        assert remote.snippet(docno, "fever") == embedded.snippet(docno, "fever")
        assert explain_score(BM25(remote), "fever cell", docno) == explain_score(BM25(embedded), "fever cell", docno)
    assert "d399" not in remote.documents
    assert remote.number("d399") is None


def test_statistics_are_those_of_all_live_documents(embedded: Index, remote: Index) -> None:
    assert remote.average_lengths == embedded.average_lengths
    for field in ("", "title", "text"):
        for word in (*WORDS, "unheard"):
            assert remote.statistics(word, field).documents == embedded.statistics(word, field).documents


def test_facets_are_the_same(embedded: Index, remote: Index) -> None:
    for name in ("year", "source"):
        ours, theirs = embedded.columns[name], remote.columns[name]
        mask, chosen = (matched("or", Asked("fever"), index) for index in (embedded, remote))
        assert theirs.facet(chosen) == ours.facet(mask)
        assert theirs.is_facet(len(remote)) == ours.is_facet(len(embedded))


def test_what_is_not_there_is_refused_by_name(remote: Index) -> None:
    with pytest.raises(ParameterError, match="title, text"):
        BM25(remote, weights={"body": 1.0})("fever")
    with pytest.raises(ParameterError, match="year, source"):
        BM25(remote, filter="month=2")("fever")
    with pytest.raises(ParameterError, match="a number"):
        BM25(remote, filter="year=soon")("fever")
    with pytest.raises(RankwellError, match="no positions"):
        BM25(remote, match='expr:"fever cough"')("fever")
    with pytest.raises(RankwellError, match="TF-IDF: expected an index in a folder"):
        SumTfIdf(remote)("fever")
    with pytest.raises(RankwellError, match="no vectors"):
        BM25(remote, match="ann:5")("fever")


def test_a_place_without_an_index_says_how_to_fill_it(chdb: str) -> None:
    with pytest.raises(RankwellError, match="rankwell push DIR"):
        open_index(chdb)
