"""TF-IDF against the worked example, and against a naive way over random corpora."""

from __future__ import annotations

import math
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rankwell.analysis import Analyzer
from rankwell.core import Document, ParameterError, Run
from rankwell.index import Index, IndexWriter
from rankwell.retrieve import RM3, CosineTfIdf, SumTfIdf
from rankwell.retrieve import baselines as tfidf
from rankwell.retrieve.baselines import plain_idf

WORDS = Analyzer(stopwords="none", stemmer=False)


def build(path: Path, *commits: list[Document]) -> Index:
    for documents in commits:
        with IndexWriter(path, WORDS, metadata=["year"]) as writer:
            writer.add_all(documents)
    return Index.open(path)


def texts(*given: str) -> list[Document]:
    return [Document(f"d{number}", {"text": text}) for number, text in enumerate(given, 1)]


def test_the_worked_example_of_s3(tmp_path: Path) -> None:
    # the systematic-review study 2.2.4: a word once among 11, in one of three documents: 1/11 * log10(3/1) = 0.043.
    index = build(tmp_path, texts("fox a b c d e f g h i j", "dog", "cat"))
    run = SumTfIdf(index, tf="share", idf="plain", base=10)("fox")
    assert run.to_dict() == {"1": {"d1": pytest.approx(0.0434, abs=1e-4)}}
    assert plain_idf(3, 1) / math.log(10) == pytest.approx(0.477, abs=1e-3)


def test_the_sum_counts_and_weighs(tmp_path: Path) -> None:
    index = build(tmp_path, texts("fox fox dog", "dog", "cat", "cow"))
    assert SumTfIdf(index)("fox dog").to_dict()["1"] == pytest.approx(
        {"d1": 2 * math.log(4 / 2) + math.log(4 / 3), "d2": math.log(4 / 3)}
    )
    assert SumTfIdf(index)("dog dog").to_dict()["1"]["d2"] == pytest.approx(2 * math.log(4 / 3))


def test_the_cosine_of_a_document_with_itself_is_1(tmp_path: Path) -> None:
    index = build(tmp_path, texts("quick brown fox fox", "lazy dog", "brown dog"))
    run = CosineTfIdf(index)("quick brown fox fox")
    assert run["1"].docnos[0] == "d1"
    assert run["1"].scores[0] == pytest.approx(1)


def test_words_that_all_documents_hold_have_no_direction(tmp_path: Path) -> None:
    index = build(tmp_path, texts("fox", "fox"))
    assert CosineTfIdf(index)("fox").to_dict()["1"] == {"d1": 0.0, "d2": 0.0}


def test_match_and_filter_choose_the_documents(tmp_path: Path) -> None:
    documents = [
        Document("a", {"title": "fox", "text": "dog"}, {"year": 2019}),
        Document("b", {"title": "dog", "text": "cat"}, {"year": 2020}),
        Document("c", {"title": "cow"}, {"year": 2021}),
    ]
    index = build(tmp_path, documents)

    def found(query: str, **how: str) -> list[str]:
        return sorted(SumTfIdf(index, **how)(query)["1"].docnos.tolist())  # type: ignore[arg-type]

    assert found("fox dog") == ["a", "b"]
    assert found("fox dog", match="and") == ["a"]
    assert found("dog", field="title") == ["b"]
    assert found("fox dog", filter="year>=2020") == ["b"]
    assert found("dog", match="expr:NOT fox") == ["b", "c"]  # c holds no dog, and gets 0
    assert found("", match="or") == []


def test_ties_at_the_cut_fall_to_the_higher_id(tmp_path: Path) -> None:
    index = build(tmp_path, texts("fox", "fox", "fox", "dog"))
    assert SumTfIdf(index, k=2)("fox")["1"].docnos.tolist() == ["d3", "d2"]


def test_rm3_takes_any_ranker_by_terms(tmp_path: Path) -> None:
    index = build(tmp_path, texts("fox den", "den cub", "dog", "cow"))
    assert RM3(SumTfIdf(index))("fox")["1"].docnos.tolist() == ["d1", "d2"]


@pytest.mark.parametrize("wrong", [{"tf": "log"}, {"idf": "bm25"}, {"base": 1.0}, {"k": 0}, {"match": "xor"}])
def test_unknown_parameters_are_refused(wrong: dict[str, object], tmp_path: Path) -> None:
    index = build(tmp_path, texts("fox"))
    with pytest.raises(ParameterError, match=next(iter(wrong))):
        SumTfIdf(index, **wrong)  # type: ignore[arg-type]


def test_an_unknown_field_is_refused_before_anything_runs(tmp_path: Path) -> None:
    index = build(tmp_path, texts("fox"))
    with pytest.raises(ParameterError, match=r'field: expected one of .*found "title"'):
        CosineTfIdf(index, field="title")("fox")


LETTERS = st.lists(st.sampled_from("vwxyz"), max_size=6).map(" ".join)


@settings(max_examples=40, deadline=None)  # an index each
@given(
    corpus=st.lists(LETTERS, min_size=1, max_size=8),
    more=st.lists(LETTERS, max_size=3),
    query=LETTERS,
    chunk=st.sampled_from([1, 3, 1000]),
)
def test_both_equal_the_naive_way(
    corpus: list[str], more: list[str], query: str, chunk: int, tmp_path_factory: pytest.TempPathFactory
) -> None:
    first, second = texts(*corpus), [Document(f"m{number}", {"text": text}) for number, text in enumerate(more)]
    # The first document is written again, so that a deleted one stands in the first segment.
    index = build(tmp_path_factory.mktemp("index"), first, [*second, first[0]])
    bags = {document.id: Counter(document.fields["text"].split()) for document in (*first, *second)}
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(tfidf, "CHUNK", chunk)
        for stage, naive in ((SumTfIdf(index), naive_sum), (CosineTfIdf(index), naive_cosine)):
            expected = {
                docno: naive(bags, query, bag) for docno, bag in bags.items() if bag.keys() & set(query.split())
            }
            assert stage(query).to_dict()["1"] == pytest.approx(expected, abs=1e-6)


def holders(bags: dict[str, Counter[str]], term: str) -> int:
    return sum(term in bag for bag in bags.values())


def naive_sum(bags: dict[str, Counter[str]], query: str, bag: Counter[str]) -> float:
    return sum(bag[term] * math.log(len(bags) / (holders(bags, term) + 1)) for term in query.split() if term in bag)


def naive_cosine(bags: dict[str, Counter[str]], query: str, bag: Counter[str]) -> float:
    terms = [term for term in set().union(*bags.values()) if holders(bags, term)]
    idf = np.array([math.log(len(bags) / holders(bags, term)) for term in terms])
    asked = np.array([query.split().count(term) for term in terms]) * idf
    there = np.array([bag[term] for term in terms]) * idf
    lengths = float(np.linalg.norm(asked) * np.linalg.norm(there))
    return float(asked @ there) / lengths if lengths else 0.0


def test_queries_without_terms_stay_in_the_run(tmp_path: Path) -> None:
    run = CosineTfIdf(build(tmp_path, texts("fox")))({"1": "", "2": "unicorn", "3": "fox"})
    assert isinstance(run, Run)
    assert run.qids == ("1", "2", "3")
    assert np.diff(run.offsets).tolist() == [0, 0, 1]
