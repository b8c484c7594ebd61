"""Every stage and every family of models keeps the promises of `rankwell.testing`, and broken ones are found."""

from __future__ import annotations

import ast
import importlib
import inspect
import json
import pickle
import random
import re
import shutil
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import rankwell
from models.reranking.tiny_bert import HIDDEN, WORDS, write_tiny_bert
from needs import require
from on_ray.travelling import Here
from rankwell.collections import write_run
from rankwell.core import Document, FunctionStage, Judgments, Pipeline, Queries, Query, RankwellError, Run, Stage, Top
from rankwell.index import Index, IndexWriter
from rankwell.models.base import load_text_encoder
from rankwell.models.base.folder import RankerRecord, read_weights, write_weights
from rankwell.models.cross_encoder.ranking import CrossEncoder
from rankwell.models.duo.ranking import Duo
from rankwell.models.explanation import Interpolate
from rankwell.models.families import reranker
from rankwell.models.linear.ranking import Linear, LinearModel, Words, save_linear
from rankwell.models.parade.ranking import Parade
from rankwell.models.reranking.passages import Passages
from rankwell.models.reranking.reranker import NullReranker
from rankwell.models.review_rankers.architectures import ARCHITECTURES, architecture
from rankwell.models.review_rankers.graph import ArchitectureRecord
from rankwell.models.review_rankers.ranking import ArchitectureRanker
from rankwell.ray import RerankOn
from rankwell.retrieve import (
    BM25,
    RM3,
    CombMNZ,
    CosineTfIdf,
    Dense,
    Hybrid,
    RandomRanker,
    ReciprocalRank,
    SimilarQueries,
    SumTfIdf,
    WeightedSum,
)
from rankwell.reviews import EUtilities
from rankwell.reviews.pubmed.answers import AnswerCache
from rankwell.reviews.pubmed.client import PubMedRanker
from rankwell.reviews.pubmed.transport import Account, Throttle, Transport
from rankwell.studies.steps.kinds import Known, Pool, Stored
from rankwell.testing import check_model, check_stage, example_run
from rankwell.training.recipe import Restricted
from rankwell.vectors import embed
from rankwell.vectors.search import can_connect
from reviews.eutilities_server import article, serving

SOURCE = Path(rankwell.__file__).parent
QUIET = {"cache": False, "quiet": True}
PARADE = {"aggregate": "avg", "most": 3, "max_tokens": 40, "query_tokens": None, "heads": 4, "epsilon": 1e-12}


class World:
    """An index of 40 documents, a run over it, and a small model of every family, each made when it is asked for."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    @cached_property
    def index(self) -> Index:
        lots = random.Random(4)  # noqa: S311 -- texts, not secrets
        with IndexWriter(self.folder / "index", metadata=["year"]) as writer:
            for number in range(40):
                title, abstract = (" ".join(lots.choices(WORDS, k=lots.randint(0, most))) for most in (3, 50))
                texts = {"title": title, "abstract": abstract} if number else {}
                writer.add(
                    Document(
                        f"d{number}", {name: text for name, text in texts.items() if text}, {"year": 2000 + number}
                    )
                )
        return Index.open(self.folder / "index")

    @cached_property
    def embedded(self) -> Index:
        embed(self.index, load_text_encoder(self.bi_encoder))
        return Index.open(self.index.path)

    @property
    def connected(self) -> Index:
        require("usearch", there=can_connect(), how="pip install 'rankwell[all]'")
        return self.embedded

    @cached_property
    def queries(self) -> Queries:
        texts = {"q1": "w1 w2 w3", "q2": "w7", "q3": "w1 w20 w21 w22", "q4": "xyzzy"}
        return Queries(Query(qid, {"query": text, "question": f"what is {text}"}) for qid, text in texts.items())

    @cached_property
    def run(self) -> Run:
        return BM25(self.index, k=7)(self.queries)

    @cached_property
    def run_file(self) -> Path:
        write_run(self.folder / "first.trec", self.run)
        return self.folder / "first.trec"

    @cached_property
    def cross_encoder(self) -> str:
        return write_tiny_bert(self.folder / "cross-encoder")

    @cached_property
    def next_sentence(self) -> str:
        return write_tiny_bert(self.folder / "next-sentence", "BertForNextSentencePrediction", labels=2)

    @cached_property
    def bi_encoder(self) -> str:
        return self._model("bi-encoder", architectures=["BertModel"])

    @cached_property
    def parade(self) -> str:
        folder = self._model("parade", architectures=["BertModel"])
        RankerRecord("parade", {**PARADE, "passages": {"words": 12, "overlap": 4}}).write(Path(folder))
        write_weights(Path(folder) / "aggregator.safetensors", head("head.", HIDDEN))
        return folder

    @cached_property
    def duo(self) -> str:
        folder = self._model("duo", type_vocab_size=3)
        RankerRecord("duo", {"max_tokens": 40}).write(Path(folder))
        return folder

    def review_ranker(self, kind: str) -> str:
        folder = self.folder / kind
        if not folder.exists():
            for name in architecture(kind).inputs:
                self._model(f"{kind}/{name}", architectures=["BertModel"])
            (folder / "tokenizer.json").write_bytes((folder / name / "tokenizer.json").read_bytes())
            write_weights(folder / "head.safetensors", head("0.", HIDDEN * len(architecture(kind).inputs)))
            ArchitectureRecord(kind, texts=None, max_tokens=40).write(folder)
        return str(folder)

    @cached_property
    def linear(self) -> str:
        idf, weights = np.linspace(1, 2, 20), np.linspace(-1, 1, 20)
        save_linear(LinearModel(Words(1), tuple(WORDS[:20]), idf, weights, 0.1), self.folder / "linear")
        return str(self.folder / "linear")

    def _model(self, name: str, **config: Any) -> str:
        folder = self.folder / name
        write_tiny_bert(folder)
        file = folder / "config.json"
        file.write_text(json.dumps({**json.loads(file.read_text()), **config}))
        if config.get("type_vocab_size") == 3:
            weights = dict(read_weights(folder / "model.safetensors"))
            segments = "bert.embeddings.token_type_embeddings.weight"
            weights[segments] = np.concatenate([weights[segments], weights[segments][:1] + 0.1])
            write_weights(folder / "model.safetensors", weights)
        return str(folder)


def head(prefix: str, width: int) -> dict[str, Any]:
    weights = np.random.default_rng(5).normal(0, 1, (1, width)).astype(np.float32)
    return {f"{prefix}weight": weights, f"{prefix}bias": np.zeros(1, dtype=np.float32)}


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> World:
    return World(tmp_path_factory.mktemp("world"))


@dataclass(frozen=True)
class Checked:
    """A stage, what it is checked with, and how."""

    kind: type[Stage]
    made: Callable[[World], Stage]
    given: str = "queries"  # or: run (of BM25), example (`example_run`)
    how: dict[str, Any] = field(default_factory=lambda: {"tolerance": 0})


def halved(run: Run) -> Run:
    return run.with_scores(run.scores / 2)


def ranks(run: Run) -> np.ndarray:
    return -run.ranks


VARIANTS = {"q1": [("w1 w5", 0.8), ("w30", 0.25)], "q3": [("w4 w4", 0.5)]}
STEADY = {"tolerance": 0}
CHECKED = {
    "BM25": Checked(
        BM25, lambda w: BM25(w.index, k=9), how={**STEADY, "changes": {"idf": "robertson", "match": "and"}}
    ),
    "BM25 with weights": Checked(BM25, lambda w: BM25(w.index, weights={"title": 2.0, "abstract": 0.5}, distinct=True)),
    "BM25 with a filter": Checked(BM25, lambda w: BM25(w.index, filter="year>=2010", query_field="question")),
    "BM25 with AND": Checked(BM25, lambda w: BM25(w.index, match="and")),
    "BM25 with an expression": Checked(BM25, lambda w: BM25(w.index, match="or & expr:w1 OR w2", k=30)),
    "a function": Checked(
        FunctionStage, lambda _: FunctionStage(halved), "run", {**STEADY, "changes": {"function": ranks}}
    ),
    "a function that gives scores": Checked(
        FunctionStage, lambda _: FunctionStage(ranks), "run", {**STEADY, "changes": {"function": halved}}
    ),
    "RM3": Checked(RM3, lambda w: RM3(BM25(w.index), fb_docs=3)),
    "RM3 after BM25": Checked(RM3, lambda w: RM3(BM25(w.index), fb_docs=3), given="run"),
    "RM3 of TF-IDF with AND": Checked(RM3, lambda w: RM3(SumTfIdf(w.index, match="and"), fb_docs=3)),
    "RM3 of BM25 with AND": Checked(RM3, lambda w: RM3(BM25(w.index, match="and"), fb_docs=3)),
    "similar queries": Checked(SimilarQueries, lambda w: SimilarQueries(BM25(w.index), VARIANTS)),
    "sum TF-IDF": Checked(
        SumTfIdf, lambda w: SumTfIdf(w.index, k=9), how={**STEADY, "changes": {"tf": "share", "idf": "plain"}}
    ),
    "cosine TF-IDF": Checked(CosineTfIdf, lambda w: CosineTfIdf(w.index, field="abstract", filter="year<2030")),
    "dense": Checked(Dense, lambda w: Dense(w.embedded, k=9), how={}),
    "dense with a match": Checked(Dense, lambda w: Dense(w.embedded, match="or", filter="year>2003"), how={}),
    "dense by graph": Checked(Dense, lambda w: Dense(w.connected, k=9, method="hnsw"), how={}),
    "BM25 near the query": Checked(BM25, lambda w: BM25(w.embedded, match="ann:5"), how={}),
    "hybrid RRF": Checked(Hybrid, lambda w: Hybrid((BM25(w.index), SumTfIdf(w.index)), ReciprocalRank((1.0, 0.5)))),
    "hybrid sum": Checked(Hybrid, lambda w: Hybrid((BM25(w.index), Dense(w.embedded)), WeightedSum()), how={}),
    "hybrid MNZ": Checked(
        Hybrid, lambda w: Hybrid((BM25(w.index, k=5), CosineTfIdf(w.index)), CombMNZ(None, "zscore"))
    ),
    "random": Checked(RandomRanker, lambda _: RandomRanker(3, ("a", "b", "c", "d"), k=2)),
    "random after BM25": Checked(RandomRanker, lambda _: RandomRanker(3), given="run"),
    "random after BM25, of some": Checked(RandomRanker, lambda _: RandomRanker(3, ("a", "b"), k=2), given="run"),
    "top": Checked(Top, lambda _: Top(3), given="run"),
    "pipeline": Checked(Pipeline, lambda w: BM25(w.index) >> CrossEncoder(w.cross_encoder, **QUIET) >> Top(4), how={}),
    "null re-ranker": Checked(NullReranker, lambda _: NullReranker(3), "run", {"reranks": 3}),
    "interpolate": Checked(
        Interpolate, lambda w: Interpolate(CrossEncoder(w.cross_encoder, k=3, **QUIET)), "run", {"reranks": 3}
    ),
    "interpolate, deep": Checked(
        Interpolate, lambda w: Interpolate(Linear(w.linear, k=9, **QUIET), 0.3, k=4), "run", {"reranks": 4}
    ),
    "cross-encoder": Checked(
        CrossEncoder,
        lambda w: CrossEncoder(w.cross_encoder, k=4, document="{title} {abstract}", **QUIET),
        "run",
        {"changes": {"scores": "probability", "missing": "below", "aggregate": "max", "precision": "int8"}},
    ),
    "cross-encoder with passages": Checked(
        CrossEncoder,
        lambda w: CrossEncoder(w.cross_encoder, passages=Passages(9, 3), index=w.index, **QUIET),
        "run",
        {},
    ),
    "cross-encoder in int8": Checked(
        CrossEncoder, lambda w: CrossEncoder(w.cross_encoder, k=4, precision="int8", **QUIET), "run", {}
    ),
    "cross-encoder with kept scores": Checked(
        CrossEncoder, lambda w: CrossEncoder(w.cross_encoder, cache=w.folder / "scores", quiet=True), "run", {}
    ),
    "linear": Checked(Linear, lambda w: Linear(w.linear, k=5, **QUIET), "run", STEADY),
    "PARADE": Checked(Parade, lambda w: reranker(w.parade).changed(**QUIET), "run", {}),
    "duo": Checked(Duo, lambda w: Duo(w.duo, k=3, quiet=True), "run", {"changes": {"aggregate": "min"}}),
    "duo by lot": Checked(Duo, lambda w: Duo(w.duo, k=4, aggregate="sample:2", quiet=True), "run", {}),
    **{
        kind: Checked(
            ArchitectureRanker, lambda w, kind=kind: reranker(w.review_ranker(kind)).changed(**QUIET), "run", {}
        )  # type: ignore[misc]
        for kind in ARCHITECTURES
    },
    "dual-interaction with relevant abstracts": Checked(
        ArchitectureRanker,
        lambda w: ArchitectureRanker(
            w.review_ranker("dual-interaction"),
            relevant=Judgments([("q1", "d3", 1), ("q1", "d5", 1)]),
            index=w.index,
            **QUIET,
        ),
        "run",
        {},
    ),
    "a re-ranker on a cluster": Checked(
        RerankOn, lambda w: RerankOn(CrossEncoder(w.cross_encoder, k=3, **QUIET), Here()), "run", {"reranks": 3}
    ),
    "duo on a cluster": Checked(
        RerankOn, lambda w: RerankOn(Duo(w.duo, k=3, quiet=True), Here()), "run", {"reranks": 3}
    ),
    "PARADE on a cluster": Checked(
        RerankOn, lambda w: RerankOn(reranker(w.parade).changed(k=3, **QUIET), Here()), "example", {"reranks": 3}
    ),
    "candidates of each query": Checked(
        Restricted, lambda _: Restricted(Judgments([("q1", "d3", 1), ("q1", "d5", 0), ("q2", "d3", 0)])), "run"
    ),
    "a stored run": Checked(Stored, lambda w: Stored(w.run_file, w.index)),
    "judged documents": Checked(Pool, lambda w: Pool(Judgments([("q1", "d3", 1), ("q1", "d5", 0)]), w.index)),
    "a known run": Checked(
        Known,
        lambda _: Known(example_run()),
        "example",
        {"empty": "it is made for one run of a study", "batch": "it is made for one run of a study"},
    ),
}


@pytest.mark.parametrize("name", CHECKED)
def test_a_stage_keeps_every_promise(name: str, world: World) -> None:
    checked = CHECKED[name]
    stage = checked.made(world)
    assert type(stage) is checked.kind
    given = {"queries": world.queries, "run": world.run, "example": example_run()}
    check_stage(stage, given[checked.given], **checked.how)


def test_pubmed_keeps_the_promises_of_a_stage(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    articles = [article("1", "Treatment of fever", year=2020), article("2", "Fever and its treatment", year=2009)]
    with serving(articles) as server:
        transport = Transport(server.url, Throttle(10_000), timeout=5)
        with EUtilities(AnswerCache(tmp_path / "cache"), transport, Account()) as client:
            check_stage(
                PubMedRanker(client, {"r1": "2010"}, k=3),
                {"r1": "treatment of fever", "r2": "nothing like it"},
                tolerance=0,
                pickling="NCBI's rate is kept by one client in one process",
            )


FAMILIES = ("cross_encoder", "next_sentence", "bi_encoder", "parade", "duo", "linear", *ARCHITECTURES)


@pytest.mark.parametrize("family", FAMILIES)
def test_a_model_of_each_family_keeps_every_promise(family: str, world: World) -> None:
    check_model(world.review_ranker(family) if family in ARCHITECTURES else getattr(world, family))


def stages_in_the_source() -> set[str]:
    """`module:class` of every class that descends from Stage, found in the source so that torch stays unloaded."""
    bases: dict[str, tuple[str, set[str]]] = {}
    for file in SOURCE.rglob("*.py"):
        module = ".".join(("rankwell", *file.relative_to(SOURCE).with_suffix("").parts))
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            if isinstance(node, ast.ClassDef):
                names = {re.split(r"[.\[]", ast.unparse(base))[-1] for base in node.bases}
                bases[f"{module}:{node.name}"] = (node.name, names)
    known = {"Stage"}
    while more := {name for name, parents in bases.values() if parents & known} - known:
        known |= more
    return {place for place, (_, parents) in bases.items() if parents & known}


def test_every_stage_of_the_package_is_checked() -> None:
    found = set()
    for place in stages_in_the_source():
        module, name = place.split(":")
        if module == TRANSFORMERS:
            continue
        kind = getattr(importlib.import_module(module), name)
        if isinstance(kind, type) and issubclass(kind, Stage) and not inspect.isabstract(kind):
            found.add(kind)
    assert {BM25, Linear, RerankOn} < found
    assert found == {PubMedRanker, *(checked.kind for checked in CHECKED.values())}


TRANSFORMERS = "rankwell.bridges.pyterrier"  # tests/bridges/test_pyterrier.py checks its stage, with the library


# Stages that break a promise, each in one way.


@dataclass(frozen=True)
class Fine(Stage):
    """Scores documents by the length of their id; every other stage here is this one with a mistake."""

    factor: float = 2.0

    def apply(self, run: Run) -> Run:
        return run.with_scores(run.scores * self.factor)


class Ascending(Fine):
    def apply(self, run: Run) -> Run:
        return replace(run, docnos=run.docnos[::-1], scores=run.scores[::-1]) if len(run.qids) == 1 else run


class SortsWrongly(Fine):
    def apply(self, run: Run) -> Run:
        return replace(run, scores=-run.scores)


class ForgetsQueries(Fine):
    def apply(self, run: Run) -> Run:
        return Run.from_dict({qid: of for qid, of in run.to_dict().items() if of}, queries=run.queries)


class GivesNaN(Fine):
    def apply(self, run: Run) -> Run:
        return replace(run, scores=run.scores * np.float32(np.nan))


class ChangesItsInput(Fine):
    def apply(self, run: Run) -> Run:
        run.scores[:1] += 1
        return super().apply(run)


class LosesTexts(Fine):
    def apply(self, run: Run) -> Run:
        return Run.from_dict(run.to_dict())


class LosesDocuments(Fine):
    def apply(self, run: Run) -> Run:
        return Run.from_dict(run.to_dict(), queries=run.queries)


class FailsWithoutText(Fine):
    def apply(self, run: Run) -> Run:
        for qid in run:
            (run.queries or {})[qid].text().split()[0]
        return run


class DependsOnTheBatch(Fine):
    def apply(self, run: Run) -> Run:
        return run.with_scores(run.scores / len(run.qids))


class DrawsByLot(Fine):
    def apply(self, run: Run) -> Run:
        return run.with_scores(np.random.default_rng().random(len(run)))


class CannotTravel(Fine):
    def __reduce__(self) -> Any:
        raise TypeError("an open file cannot be pickled")


class ChangesOnTheWay(Fine):
    def __reduce__(self) -> Any:
        return ChangesOnTheWay, (self.factor + 1,)


class HasNoSteps(Fine):
    def explain(self) -> str:
        return "it just works"


class ForgetsItsFactor(Fine):
    def fingerprint(self) -> str:
        return Fine().fingerprint()


class IsNamedByHand(Fine):
    def fingerprint(self) -> str:
        return "mine"


@dataclass(frozen=True, repr=False)
class ShowsAnAddress(Fine):
    def __repr__(self) -> str:
        return f"ShowsAnAddress(factor=<float at 0x{id(self):x}>)"


@dataclass(frozen=True)
class CountsItsUse(Fine):
    calls: list[int] = field(default_factory=list)

    def apply(self, run: Run) -> Run:
        self.calls.append(1)
        return super().apply(run)


@dataclass
class MayBeChanged(Stage):
    factor: float = 2.0

    def apply(self, run: Run) -> Run:
        return run


@dataclass(frozen=True)
class KeepsAFunction(Fine):
    function: Callable[[float], float] = abs


BROKEN = {
    SortsWrongly: r"expected documents by falling score, and by falling id where scores are equal, found 'd1' \(-8",
    Ascending: "expected documents by falling score",
    ForgetsQueries: "expected the queries .* to stay in the run for queries without documents",
    GivesNaN: "expected finite scores, found nan for document 'd2'",
    ChangesItsInput: "expected the run that it was given to stay as it was",
    LosesTexts: "expected the queries to travel with the run, found no text, or another one, of query 'q1'",
    LosesDocuments: "expected the documents to travel with the run, found no text of document 'd2'",
    FailsWithoutText: "expected a run for queries without text or results, found IndexError: list index out of range",
    DependsOnTheBatch: "expected the same score for document 'd2' of query 'q1' when it is ranked alone",
    DrawsByLot: "expected the same score for document .* when the stage runs again",
    CannotTravel: "expected a stage that can be pickled, so that it can be sent to a worker, found TypeError: an open",
    ChangesOnTheWay: "expected the same fingerprint after pickling",
    HasNoSteps: r"expected a line for each step from explain\(\), found it just works",
    ForgetsItsFactor: "expected another fingerprint with another factor, found the same for 2.0 and 3.0",
    IsNamedByHand: "expected a fingerprint of 16 or more hex digits, found 'mine'",
    ShowsAnAddress: "expected a repr that is the same in every process, found an address in memory",
    CountsItsUse: r"expected the same repr after use, found CountsItsUse\(factor=2.0, calls=\[\]\) and",
    MayBeChanged: "expected a frozen dataclass, found MayBeChanged that is none",
    KeepsAFunction: "expected a fingerprint, found TypeError: a fingerprint covers plain values",
}


@pytest.mark.parametrize("kind", BROKEN, ids=lambda kind: kind.__name__)
def test_a_broken_promise_is_found_and_described(kind: type[Stage]) -> None:
    with pytest.raises(AssertionError, match=f"^{kind.__name__}: {BROKEN[kind]}"):
        check_stage(kind())


def test_a_stage_that_keeps_its_promises_passes() -> None:
    check_stage(Fine())
    check_stage(Fine(0.5), "only text")
    check_stage(CannotTravel(), pickling="it holds an open file")


def test_an_exception_needs_a_promise_and_a_reason() -> None:
    with pytest.raises(TypeError, match=r"expected a promise .* and a reason, found pickling=''"):
        check_stage(Fine(), pickling="")
    with pytest.raises(TypeError, match="found speed="):
        check_stage(Fine(), speed="it is slow")


def test_a_re_ranker_that_moves_what_lies_below_is_found() -> None:
    check_stage(Fine(), reranks=3)
    with pytest.raises(AssertionError, match=r"of query 'q1' below rank 3 in their old order \(d4, d5, d6\), found"):
        check_stage(Fine(-1.0), reranks=3)
    with pytest.raises(
        AssertionError, match="expected the documents that query 'q1' had before, found d6 in one run only"
    ):
        check_stage(Top(5), reranks=3)
    with pytest.raises(AssertionError, match="expected a run with more than 9 documents for some query"):
        check_stage(Fine(), reranks=9)


def test_a_model_that_does_not_load_or_gives_no_numbers_is_found(world: World, tmp_path: Path) -> None:
    for name, message in (
        ("cross-encoder", "expected a run for the run given, found RankwellError"),
        ("bi-encoder", "none"),
    ):
        folder = shutil.copytree(getattr(world, name.replace("-", "_")), tmp_path / name)
        weights = dict(read_weights(folder / "model.safetensors"))
        weights["bert.pooler.dense.bias"] = weights["bert.embeddings.LayerNorm.bias"] = np.full(
            HIDDEN, np.nan, np.float32
        )
        write_weights(folder / "model.safetensors", weights)
        with pytest.raises(AssertionError, match=message):
            check_model(folder)
    (folder / "tokenizer.json").write_text("{}")
    with pytest.raises(AssertionError, match="expected a model that can be used, found an error"):
        check_model(folder)


def test_every_family_is_checked() -> None:
    from rankwell.models.families import RANKERS

    assert set(RANKERS) <= set(FAMILIES)


def test_a_stage_does_not_travel_to_another_commit_of_its_index(tmp_path: Path) -> None:
    with IndexWriter(tmp_path) as writer:
        writer.add(Document("d1", {"text": "fever"}))
    sent = pickle.dumps(BM25(Index.open(tmp_path)))
    with IndexWriter(tmp_path) as writer:
        writer.add(Document("d2", {"text": "cough"}))
    with pytest.raises(RankwellError, match="expected the index that the stage was made with, found another commit"):
        pickle.loads(sent)  # noqa: S301 -- our own bytes, made a moment ago
