"""Work that is shared out gives what it gives here. Workers are in this process; tests with Ray are beside these."""

from __future__ import annotations

import random
import shutil
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from travelling import Here

from rankwell.core import Document, ParameterError, Queries, RankwellError, Run
from rankwell.index import Index, IndexWriter
from rankwell.models.base import TextEncoder, load_pair_scorer
from rankwell.models.cross_encoder.ranking import CrossEncoder
from rankwell.models.explanation import Interpolate
from rankwell.models.linear.training import LinearSettings
from rankwell.models.reranking.passages import Passages
from rankwell.models.reranking.reranker import Reranker, Rescored
from rankwell.models.reranking.scores import Scorer, Tally
from rankwell.pipelines import RankerOptions, RerankOptions
from rankwell.ray import RankTask, RerankOn, encoder_on, rank_on, search_on
from rankwell.ray.encoding import PairScoring
from rankwell.ray.searching import Trainings
from rankwell.retrieve import BM25
from rankwell.training import Search
from rankwell.vectors import embed, refresh
from tiny_models import WORDS, needs_torch, tiny_bert, topic_pairs

needs_torch()


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("shared-out")
    lots = random.Random(4)  # noqa: S311 -- texts, not secrets
    with IndexWriter(folder / "index") as writer:
        for number in range(60):
            words = lots.choices(WORDS, k=lots.randint(0, 90))
            writer.add(Document(f"d{number}", {"text": " ".join(words)} if words else {}))
    tiny_bert(folder / "bi")
    tiny_bert(folder / "cross", head="BertForSequenceClassification", num_labels=1)
    return folder


@pytest.fixture(scope="module")
def queries() -> Queries:
    lots = random.Random(9)  # noqa: S311 -- texts, not secrets
    texts = {f"q{number}": " ".join(lots.choices(WORDS, k=3)) for number in range(20)}
    return Queries.of({**texts, "nothing": "xyzzy"})


@pytest.fixture
def index(place: Path) -> Index:
    return Index.open(place / "index")


def test_a_reranked_run_is_the_same_and_so_is_what_is_said_of_it(
    place: Path, index: Index, queries: Queries, caplog: pytest.LogCaptureFixture
) -> None:
    first = BM25(index, k=30)(queries)
    stage = CrossEncoder(str(place / "cross"), k=10, index=index, cache=False, quiet=True, max_tokens=32)
    expected = stage(first)
    told = [record.getMessage() for record in caplog.records if "were cut" in record.getMessage()]
    again = replace(stage, tally=Tally())
    found = RerankOn(again, Here())(first)
    assert (found, found.tag) == (expected, expected.tag)
    assert (again.tally.pairs, again.tally.documents) == (stage.tally.pairs, stage.tally.documents)
    said = [record.getMessage() for record in caplog.records if "were cut" in record.getMessage()]
    assert told
    assert said == told * 2


@pytest.mark.parametrize(
    "options",
    [{"passages": Passages(20, overlap=5)}, {"scores": "probability"}, {"query_tokens": 4, "max_tokens": 24}],
    ids=["passages", "probabilities", "tokens"],
)
def test_options_of_the_reranker_hold_for_the_workers(
    place: Path, index: Index, queries: Queries, options: dict[str, Any]
) -> None:
    stage = CrossEncoder(str(place / "cross"), k=5, index=index, cache=False, quiet=True, **options)
    first = BM25(index, k=10)(queries)
    assert RerankOn(stage, Here())(first) == stage(first)
    assert Interpolate(RerankOn(stage, Here()), 0.3)(first) == Interpolate(stage, 0.3)(first)


def test_scores_of_the_workers_are_kept_for_later(place: Path, index: Index, queries: Queries, tmp_path: Path) -> None:
    stage = CrossEncoder(str(place / "cross"), k=5, index=index, cache=tmp_path, quiet=True)
    first = BM25(index, k=10)(queries)
    expected = RerankOn(stage, Here())(first)
    later = replace(stage, tally=Tally())
    assert later(first) == expected
    assert later.tally.scored == 0


def test_another_model_under_the_same_name_is_refused(place: Path, index: Index, queries: Queries) -> None:
    task = PairScoring(str(place / "cross"), {"max_tokens": 32}, load_pair_scorer(str(place / "cross")).fingerprint())
    with Here().workers(task) as workers, pytest.raises(RankwellError, match=r"worker 1: .*cross: expected the same"):
        list(workers.map([[("a", "b")]]))
    unnamed = CrossEncoder(load_pair_scorer(str(place / "cross")), index=index)
    with pytest.raises(ParameterError, match="model: expected a name or a folder, for workers to load"):
        RerankOn(unnamed, Here())(BM25(index)(queries))


@dataclass(frozen=True)
class Backwards(Reranker):
    """A re-ranker that is no cross-encoder: it looks at all documents of a query together."""

    model: str
    k: int = 5
    document: str | None = None
    query_field: str | None = None
    missing: str = "error"
    index: Index | None = field(default=None, repr=False)
    threads: int | None = None
    quiet: bool = False
    tally: Tally = field(default_factory=Tally, repr=False, compare=False)

    def scorer(self) -> Scorer:
        return load_pair_scorer(self.model)

    def also_reads(self, qid: str) -> list[str]:
        return [f"d{sum(map(ord, qid)) % 60}"]

    def rescore(self, run: Run) -> Rescored:
        documents = self.candidates(run, lambda document: list(document.fields.values())).documents
        assert all(docno in documents for docno in run.docnos[run.ranks <= self.k].tolist())
        assert all(docno in documents for qid in run.qids if len(run[qid]) for docno in self.also_reads(qid))
        self.tally.documents += self.inferences(run)
        return Rescored(run.ranks <= self.k, -run.scores.astype(np.float64))


def test_a_reranker_of_another_kind_is_given_whole_queries(place: Path, index: Index, queries: Queries) -> None:
    stage = Backwards(str(place / "cross"), index=index, quiet=True)
    first = BM25(index, k=10)(queries)
    expected = stage(first)
    again = replace(stage, tally=Tally())
    found = RerankOn(again, Here())(first)
    assert (found, found.tag, found.qids) == (expected, "cross", first.qids)
    assert again.tally.documents == stage.tally.documents


def test_vectors_are_the_same_and_later_runs_encode_what_is_new(place: Path) -> None:
    with IndexWriter(place / "growing") as writer:
        writer.add_all(Document(f"d{number}", {"text": f"{word} fever"}) for number, word in enumerate(WORDS))
    encoder = TextEncoder(str(place / "bi"), pooling="max")
    index = Index.open(place / "growing")
    here = embed(index, encoder, name="here", graph=False)
    with encoder_on(Here(), encoder) as remote:
        there = embed(index, remote, name="there", graph=False)
    numbers = np.arange(index.size)
    assert np.array_equal(here.vectors(numbers), there.vectors(numbers))
    assert there.info() | {"name": ""} == here.info() | {"name": ""}

    with IndexWriter(place / "growing") as writer:
        writer.add(Document("new", {"text": "honey and bees"}))
    index = Index.open(place / "growing")
    with encoder_on(Here(), TextEncoder(str(place / "bi"), pooling="max")) as remote:
        assert refresh(index, "there", graph=False, through=lambda _: remote).stale == 0
    assert np.array_equal(
        refresh(index, "here", graph=False).vectors(np.arange(index.size)),
        refresh(index, "there", graph=False).vectors(np.arange(index.size)),
    )


def test_what_workers_cut_is_counted_together(place: Path) -> None:
    encoder = TextEncoder(str(place / "bi"))
    with encoder_on(Here(), encoder) as remote:
        remote.encode(["fever " * 100] * 40 + ["fever"])
        assert remote.encode([]).shape == (0, encoder.dimensions)
        assert (remote.truncated.texts, remote.truncated.documents_cut) == (41, 40)


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"match": "and"},
        {"match": "expr:fever OR (cough AND NOT salt)"},
        {"rm3": True},
        {"weights": "text=0.5"},
    ],
    ids=["or", "and", "expression", "RM3", "weights"],
)
def test_a_ranking_is_the_same(index: Index, queries: Queries, options: dict[str, Any]) -> None:
    first = RankerOptions(10, threads=1, **options)
    expected = first.ranker(index, queries.texts())(queries)
    found = rank_on(Here(), RankTask.of(index, first, None, 10), queries)
    assert (found, found.tag) == (expected, expected.tag)


def test_a_ranking_with_vectors_and_a_reranker_is_the_same(place: Path, queries: Queries) -> None:
    index = Index.open(place / "index")
    embed(index, TextEncoder(str(place / "bi")), name="vectors", graph=False)
    first = RankerOptions(20, hybrid=True, vectors="vectors", threads=1)
    second = RerankOptions(str(place / "cross"), depth=5, threads=1, quiet=True)
    expected = (first.ranker(index, queries.texts()) >> second.stage(index)).top(10)(queries)
    found = rank_on(Here(), RankTask.of(index, first, second, 10), queries)
    assert (found, found.tag) == (expected, expected.tag)


def test_an_index_that_has_changed_at_the_workers_is_refused(place: Path, queries: Queries) -> None:
    with IndexWriter(place / "changing") as writer:
        writer.add(Document("one", {"text": "fever"}))
    task = RankTask.of(Index.open(place / "changing"), RankerOptions(10), None, 10)
    with IndexWriter(place / "changing") as writer:
        writer.add(Document("two", {"text": "cough"}))
    with pytest.raises(RankwellError, match=r"worker 1: .*changing: expected the same"):
        rank_on(Here(), task, queries)


def test_a_search_is_the_same_and_runs_no_training_twice(place: Path, tmp_path: Path) -> None:
    pairs = topic_pairs(place / "pairs", queries=12)
    search = Search("linear", pairs, [{"penalty": 0.1}, {"penalty": 10.0}], base=LinearSettings(), seeds=2, folds=2)
    here = search.run(tmp_path / "here")
    there = search_on(Here(), search, tmp_path / "there")
    assert [one.by_seed for one in there.tried] == [one.by_seed for one in here.tried]
    assert there.best.setting == here.best.setting
    assert len(list((tmp_path / "there" / "cells").iterdir())) == 4


def test_a_search_needs_a_folder_and_pairs_that_all_share(tmp_path: Path) -> None:
    pairs = topic_pairs(tmp_path / "pairs", queries=8)
    task = Trainings(Search("linear", pairs, [{"penalty": 1.0}]), tmp_path, "", ".shared-sign")
    with pytest.raises(RankwellError, match="expected a folder that this machine shares"):
        task.open(1)
    (tmp_path / ".shared-sign").touch()
    task.open(1)
    shutil.rmtree(tmp_path / "pairs")
    topic_pairs(tmp_path / "pairs", queries=9)
    with pytest.raises(RankwellError, match="pairs: expected the same pairs as where the command was given"):
        task.open(1)
