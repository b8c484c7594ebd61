"""Fine-tune on judged queries: from documents with labels to a hybrid search that is better, and by how much.

Some judged queries are held out. On the others a bi-encoder learns with hard negatives of BM25 and of its own
vectors, and a cross-encoder (if asked for) with those of the trained hybrid. The held-out queries choose the step that
is kept, the weight of the vectors, and the depth and the share of the re-ranker. Test queries are looked at once.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime
from functools import cached_property
from itertools import islice
from pathlib import Path
from typing import Any

from rankwell.core import Judgments, ParameterError, Progress, Queries, RankwellError, Run, Stage
from rankwell.core.parameters import POSITIVE, Number, Text, Whole, check_parameters, known_settings, like, param
from rankwell.evaluation import Comparison, compare, parse_measure
from rankwell.index import Index
from rankwell.models.base.catalogue import task_of
from rankwell.models.base.export import PAIRS
from rankwell.models.base.folder import ModelFolder
from rankwell.models.bi_encoder.training import BiEncoderSettings, train_bi_encoder
from rankwell.models.cross_encoder.ranking import CrossEncoder
from rankwell.models.cross_encoder.training import CrossEncoderSettings, train_cross_encoder
from rankwell.models.explanation import Interpolate
from rankwell.models.learning.pairs import Pairs, open_pairs
from rankwell.models.learning.trainer import needs_training
from rankwell.pipelines import RankerOptions, RerankOptions, write_options
from rankwell.pipelines.tuning import split, tune
from rankwell.retrieve.fusion import ReciprocalRank
from rankwell.training.labelled import Labelled, Negatives, Sources
from rankwell.training.pairs import write_labelled
from rankwell.training.recipe import MEASURE, Rankers, RecipeFolder, TextBudget, encode, sample_of, text_budget

log = logging.getLogger(__name__)

KIND = "finetune"
FEWEST = 10  # judged queries
DEPTHS, SHARES = (10, 20, 30), (0.1, 0.2, 0.3, 0.5, 0.7, 1.0)  # of the re-ranker
SEEN = 200  # queries whose tokens are counted
BM25, ZERO_SHOT, UNTRAINED = "BM25", "vectors, untrained", "hybrid, untrained"
VECTORS, HYBRID, RERANKED = "vectors, trained", "hybrid, trained", "hybrid, trained, re-ranked"
JUDGED = "judged"


@dataclass(frozen=True, kw_only=True)
class FinetuneSettings:
    """Settings of `finetune`.

    The defaults are those that were better than BM25 and than an untrained hybrid on held-out queries of SciFact.
    """

    model: str = param("minilm-l6", "Bi-encoder to start from; none: train the re-ranker alone.", Text())
    reranker: str | None = param(
        None, "Also fine-tune this cross-encoder and re-rank with it.", Text(), example="ms-marco-minilm-l12"
    )
    measure: str = param(MEASURE, "Measure that chooses steps, weights and depth.", Text(), flags=("--measure", "-m"))
    held_out: float = param(
        0.2, "Share of the judged queries that choose, and are not trained on.", Number(0, 1, above=True, below=True)
    )
    candidates: str = param(
        "all",
        "Documents to rank: all, or judged (each query's own judged documents).",
        Text(("all", JUDGED)),
    )
    negatives: int = param(4, "Hard negatives of each relevant document.", Whole(1))
    mining_depth: int = param(40, "Depth to which hard negatives are looked for.", Whole(1))
    max_tokens: int | None = param(
        None, "Tokens that a model reads (default: enough for 90 % of the text).", Whole(8), example=256
    )
    epochs: float = param(4.0, "Passes over the training queries.", POSITIVE)
    lr: float = param(5e-5, "Highest learning rate of the bi-encoder.", POSITIVE)
    batch_size: int = like(BiEncoderSettings, "batch_size")
    rerank_epochs: float = param(2.0, "Passes over the training queries for the re-ranker.", POSITIVE)
    rerank_lr: float = param(2e-5, "Highest learning rate of the re-ranker.", POSITIVE)
    loss: str = like(CrossEncoderSettings, "loss", default="softmax", help="Loss of the re-ranker.")
    freeze: str = like(CrossEncoderSettings, "freeze", help="Weights of the re-ranker that stay as they are.")
    seed: int = like(BiEncoderSettings, "seed")
    threads: int | None = like(BiEncoderSettings, "threads")

    def __post_init__(self) -> None:
        check_parameters(self)
        parse_measure(self.measure)
        if self.starts is None and self.reranker is None:
            raise ParameterError("model", expected="a bi-encoder, or a re-ranker to train", found="none of both")

    @property
    def starts(self) -> str | None:
        """The bi-encoder to start from; None where there is none."""
        return None if self.model == "none" else self.model


@dataclass(frozen=True)
class Judged:
    """Queries with judgments."""

    queries: Queries
    judgments: Judgments

    @classmethod
    def of(cls, queries: Queries, judgments: Judgments) -> Judged:
        """Those queries that have a relevant document."""
        known = judgments.only(qid for qid in judgments if qid in queries and judgments.relevant(qid))
        return cls(queries.only(known), known)

    def only(self, qids: Any) -> Judged:
        """Those with these ids."""
        return Judged(self.queries.only(qids), self.judgments.only(qids))


@dataclass(frozen=True)
class Finetuned:
    """The result: the comparison on held-out queries, on test queries where there are some, and the chosen search."""

    folder: Path
    index: Path
    pipeline: Path  # the chosen search, for --pipeline and Pipeline.load
    chosen: Mapping[str, Any]
    read: Mapping[str, TextBudget]  # how much of the documents the models read
    held_out: Comparison
    test: Comparison | None = None


@dataclass(frozen=True)
class Finetune:
    """The recipe over one index: each method is a step, done once in the folder."""

    folder: RecipeFolder
    index: Index
    train: Judged
    settings: FinetuneSettings

    def run(self, test: Judged | None = None) -> Finetuned:
        """All steps; the comparison on test queries where there are some."""
        needs_training(KIND)
        if self.settings.starts is not None:
            self._train_vectors()
        if self.settings.reranker is not None:
            self._train_reranker()
        chosen, compared = self._chosen(), self._compared(self.held_out)
        models = {"bi-encoder": self.settings.starts, "re-ranker": self.settings.reranker}
        read = {name: self.budget(model, pairs=name != "bi-encoder") for name, model in models.items() if model}
        tested = None if test is None else self._tested(test)
        self._write_pipeline(chosen)
        return Finetuned(self.folder.path, self.index.path, self.folder.pipeline, chosen, read, compared, tested)

    def _write_pipeline(self, chosen: Mapping[str, Any]) -> None:
        """Write the chosen search as a pipeline file."""
        first, second = RankerOptions(), RerankOptions()
        if "vectors" in chosen:
            first = RankerOptions(hybrid=True, vectors=chosen["vectors"], vector_weight=chosen["weight"])
        if "model" in chosen:
            tokens = self.budget(str(self.settings.reranker), pairs=True).tokens
            how = {"depth": chosen["depth"], "interpolate": chosen["share"], "max_tokens": tokens}
            second = RerankOptions(rerank=chosen["model"], **how)
        write_options(self.folder.pipeline, first, second)

    @cached_property
    def _parts(self) -> tuple[Judged, Judged]:
        qids = list(self.train.judgments)
        if len(qids) < FEWEST:
            raise RankwellError(
                f"finetune: expected {FEWEST} judged queries or more, found {len(qids)}: judge more of them "
                "(rankwell assess), or use rankwell adapt, which needs none"
            )
        folds = min(len(qids), max(2, round(1 / self.settings.held_out)))
        one = split(qids, folds, self.settings.seed)[0]
        return self.train.only(one.training), self.train.only(one.held_out)

    @property
    def learnt(self) -> Judged:
        """The queries to train on."""
        return self._parts[0]

    @property
    def held_out(self) -> Judged:
        """The queries that choose."""
        return self._parts[1]

    @cached_property
    def start(self) -> str:
        """The name of the untrained vectors, which are made where the index has none."""
        return str(self.folder.step("start", lambda: encode(self.index, str(self.settings.starts), self.folder)))

    @property
    def tuned(self) -> str:
        """The name of the trained vectors."""
        return self.folder.vectors

    def rankers(self, judged: Judged) -> Rankers:
        """The rankers, over all documents or over each query's own."""
        candidates = judged.judgments if self.settings.candidates == JUDGED else None
        return Rankers(self.index, candidates)

    def budget(self, model: str, *, pairs: bool) -> TextBudget:
        """The tokens that a model reads."""
        some = " ".join(text for text in islice(self.train.queries.texts().values(), SEEN))
        asked = len(some.split()) // min(SEEN, max(1, len(self.train.queries))) if pairs else 0
        name = f"tokens-{'pairs' if pairs else 'texts'}"
        told = self.folder.step(
            name, lambda: asdict(text_budget(sample_of(self.index), model, self.settings.max_tokens, beside=asked))
        )
        return TextBudget(**told)

    def _train_vectors(self) -> None:
        """Train the bi-encoder, and give the index its vectors."""
        settings, start = self.settings, str(self.settings.starts)
        tokens = self.budget(start, pairs=False).tokens
        if self.folder.has("vectors"):
            return

        def mine(judged: Judged) -> Run:
            rankers = self.rankers(judged)
            return ReciprocalRank()(rankers.words(judged.queries), rankers.vectors(self.start)(judged.queries))

        training, validation = self._pairs("pairs", mine)
        wanted = BiEncoderSettings(
            epochs=settings.epochs,
            lr=settings.lr,
            batch_size=settings.batch_size,
            max_tokens=tokens,
            measure=settings.measure,
            seed=settings.seed,
            threads=settings.threads,
        )
        out = self.folder / "bi-encoder"
        result = train_bi_encoder(
            training, out, model=start, settings=wanted, validation=validation, resume=True, quiet=self.folder.quiet
        )
        encode(self.index, str(result.folder.model), self.folder, self.tuned)
        self.folder.step("vectors", lambda: {"steps": result.steps, "best": result.best, **result.measures})

    def _train_reranker(self) -> None:
        """Train the cross-encoder on what the first stage finds."""
        settings, start = self.settings, str(self.settings.reranker)
        if self.folder.has("reranker"):
            return
        tokens = self.budget(start, pairs=True).tokens
        training, validation = self._pairs("rerank-pairs", lambda judged: self._first(judged)(judged.queries))
        wanted = CrossEncoderSettings(
            epochs=settings.rerank_epochs,
            lr=settings.rerank_lr,
            loss=settings.loss,
            list_size=settings.negatives + 1 if settings.candidates != JUDGED else 16,
            freeze=settings.freeze,
            max_tokens=tokens,
            measure=settings.measure,
            seed=settings.seed,
            threads=settings.threads,
        )
        out = self.folder / "cross-encoder"
        result = train_cross_encoder(
            training, out, model=start, settings=wanted, validation=validation, resume=True, quiet=self.folder.quiet
        )
        self.folder.step("reranker", lambda: {"steps": result.steps, "best": result.best, **result.measures})

    def _pairs(self, name: str, mine: Any) -> tuple[Pairs, Pairs]:
        """Pairs of the queries to train on, and of those that choose."""
        if self.settings.candidates == JUDGED:
            negatives = Negatives((("judged", -1),), self.settings.mining_depth)
        else:
            negatives = Negatives((("hard", self.settings.negatives),), self.settings.mining_depth)
        made = []
        for part, judged in (("training", self.learnt), ("validation", self.held_out)):
            path = self.folder / f"{name}-{part}"
            if not self.folder.has(path.name):
                run = None if self.settings.candidates == JUDGED else mine(judged)
                sources = Sources(self.index.documents, judged.queries, judged.judgments, run)
                with Progress(f"making {part} pairs", unit="pairs", quiet=self.folder.quiet) as progress:
                    written = write_labelled(
                        path, sources, Labelled(negatives, seed=self.settings.seed), progress=progress
                    )
                counts = dict(written.record["counts"])
                self.folder.step(path.name, counts.copy)
            made.append(open_pairs(path))
        return made[0], made[1]

    def _weight(self, name: str) -> float:
        """The weight of vectors that the held-out queries choose."""

        def choose() -> dict[str, Any]:
            held = self.held_out
            tuned = self.rankers(held).choose_weight(
                name, held.queries, held.judgments, self.settings.measure, self.settings.seed
            )
            return {"weight": tuned.best.setting["weight"], "cross_validated": tuned.cross_validated}

        step = "weight" if name == self.tuned else "weight-untrained"
        return float(self.folder.step(step, choose)["weight"])

    def _first(self, judged: Judged) -> Stage:
        """The search before re-ranking: the trained hybrid, or BM25 where no bi-encoder is trained."""
        rankers = self.rankers(judged)
        return rankers.words if self.settings.starts is None else rankers.hybrid(self.tuned, self._weight(self.tuned))

    def _reranked(self, first: Stage, depth: int, share: float) -> Stage:
        model = str(self.folder / "cross-encoder" / "model")
        tokens = self.budget(str(self.settings.reranker), pairs=True).tokens
        stage = CrossEncoder(model, k=depth, index=self.index, max_tokens=tokens, quiet=True)
        return first >> Interpolate(stage, share, depth)

    def _rerank_setting(self) -> dict[str, Any]:
        """The depth and the share of the re-ranker that the held-out queries choose."""

        def choose() -> dict[str, Any]:
            held = self.held_out
            first = self._first(held)
            grid = {"depth": DEPTHS if self.settings.candidates != JUDGED else (100,), "share": SHARES}
            tuned = tune(
                lambda depth, share: self._reranked(first, depth, share),
                grid,
                held.queries,
                held.judgments,
                self.settings.measure,
                folds=min(5, len(held.judgments)),
                seed=self.settings.seed,
            )
            return {**tuned.best.setting, "cross_validated": tuned.cross_validated}

        return dict(self.folder.step("rerank-setting", choose))

    def _chosen(self) -> dict[str, Any]:
        """The chosen search."""
        chosen: dict[str, Any] = {}
        if self.settings.starts is not None:
            chosen |= {"vectors": self.tuned, "weight": self._weight(self.tuned)}
        if self.settings.reranker is not None:
            setting = self._rerank_setting()
            chosen |= {"model": str((self.folder / "cross-encoder" / "model").resolve())}
            chosen |= {"depth": setting["depth"], "share": setting["share"]}
        return chosen

    def _tested(self, test: Judged) -> Comparison:
        """The comparison on test queries; a second look is allowed, and said."""
        now = datetime.now(UTC).isoformat(timespec="minutes")
        first = self.folder.step("test", lambda: {"at": now, "queries": len(test.judgments)})
        if first["at"] != now:
            log.warning("the test queries were looked at before, %s: choose nothing by them", first["at"])
        return self._compared(test)

    def _compared(self, judged: Judged) -> Comparison:
        """All searches on some queries; the last untrained one is what the others are compared with."""
        rankers, runs = self.rankers(judged), dict[str, Run]()
        queries = judged.queries
        if self.settings.starts is not None:
            runs[UNTRAINED] = rankers.hybrid(self.start, self._weight(self.start))(queries)
            runs[BM25] = rankers.words(queries)
            runs[ZERO_SHOT] = rankers.vectors(self.start)(queries)
            runs[VECTORS] = rankers.vectors(self.tuned)(queries)
            runs[HYBRID] = rankers.hybrid(self.tuned, self._weight(self.tuned))(queries)
        else:
            runs[BM25] = rankers.words(queries)
        if self.settings.reranker is not None:
            setting = self._rerank_setting()
            first = self._first(judged)
            start = str(self.settings.reranker)
            if task_of(ModelFolder.find(start)) == PAIRS:
                zero = CrossEncoder(start, k=setting["depth"], index=self.index, quiet=True)
                runs["re-ranked, untrained"] = (first >> zero)(queries)
            runs["re-ranked, trained"] = self._reranked(first, setting["depth"], 1.0)(queries)
            runs[RERANKED] = self._reranked(first, setting["depth"], setting["share"])(queries)
        return compare(judged.judgments, runs, [self.settings.measure])


def finetune(
    index: Index,
    queries: Queries,
    judgments: Judgments,
    out: Path | str,
    *,
    settings: FinetuneSettings | None = None,
    test: tuple[Queries, Judgments] | None = None,
    quiet: bool = False,
    **changes: Any,
) -> Finetuned:
    """Fine-tune a bi-encoder, and a cross-encoder where the settings name one, on judged queries.

    The folder `out` gets the models and the chosen search (`pipeline.toml`); the index gets the vectors. After an
    interruption the same call continues.

    >>> tuned = finetune(index, queries, judgments, "run", epochs=2)
    >>> print(tuned.held_out)
    >>> run = Pipeline.load(tuned.pipeline, tuned.index)(queries)
    """
    settings = replace(settings or FinetuneSettings(), **known_settings(FinetuneSettings, changes))
    train = Judged.of(queries, judgments)
    told = {**asdict(settings), "index": str(index.path.resolve()), "queries": len(train.judgments)}
    folder = RecipeFolder.open(out, KIND, told, quiet=quiet)
    return Finetune(folder, index, train, settings).run(None if test is None else Judged.of(*test))
