"""Adapt a bi-encoder to a collection without any label.

Queries are made from the documents (`pseudo_queries`), or are the user's own. The untrained hybrid finds candidates for
each, a cross-encoder that already ranks scores them (the teacher), and the bi-encoder learns from both: the document
that a query was made from against those of other queries, and the teacher's order of the candidates. Held-out queries,
judged by the teacher, choose the weight of the vectors and say whether the adapted search is better; if not, the old
one stays.
"""

from __future__ import annotations

import random
import re
import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from rankwell.core import Judgments, ParameterError, Progress, Queries, RankwellError, Run, sigmoid
from rankwell.core.parameters import POSITIVE, Number, Text, Whole, check_parameters, known_settings, like, param
from rankwell.core.run import unit
from rankwell.evaluation import Comparison, compare
from rankwell.index import Index
from rankwell.models.base.folder import ModelFolder
from rankwell.models.bi_encoder.training import TEACHER, BiEncoderSettings, train_bi_encoder
from rankwell.models.cross_encoder.ranking import CrossEncoder
from rankwell.models.explanation import aligned
from rankwell.models.learning.pairs import Pair, Pairs, open_pairs
from rankwell.models.learning.pairs_writer import PairsWriter
from rankwell.models.learning.trainer import needs_training
from rankwell.pipelines import RankerOptions, write_options
from rankwell.training.pseudo_queries import KINDS, PseudoQueries, PseudoQuery, count_kinds, held_out, texts
from rankwell.training.recipe import MEASURE, Rankers, RecipeFolder, TextBudget, encode, sample_of, text_budget

KIND = "adapt"
UNTRAINED, TRAINED = "hybrid, untrained", "hybrid, adapted"
FEWEST = 50  # documents
MOST_HELD_OUT = 100
CENTRAL = 0.5  # weight of vectors in the search that finds candidates
TEACHER_TOKENS = 256  # that the teacher reads at most
POOL = 10  # documents of each search that the teacher judges
GRADES = 100  # the highest grade: the teacher's probability in percent
SHARPNESS = 5.0  # the teacher's scores from 0 to 1 are multiplied by this before their softmax
ASKED = 50  # queries that the teacher sees between two looks at the clock
TEACHING, TRAINING = 0.35, 0.9  # of the budget: until the teacher ends, until training ends


@dataclass(frozen=True, kw_only=True)
class AdaptSettings:
    """Settings of `adapt`; the same for every collection."""

    model: str = param("minilm-l6", "Bi-encoder to start from.", Text())
    teacher: str = param("ms-marco-minilm-l12", "Cross-encoder that scores candidates; none: no teacher.", Text())
    kinds: str = param(",".join(KINDS), "What queries are made from: some of title,sentence,phrase.", Text())
    queries: int = param(2000, "Number of queries to make.", Whole(20))
    candidates: int = param(6, "Candidates of each query that the teacher scores.", Whole(1))
    depth: int = param(30, "Depth of the search to draw them from.", Whole(1))
    negatives: int = param(2, "Candidates of each query in a batch; they change from epoch to epoch.", Whole(1))
    teacher_mix: float = param(
        0.5, "Share of the teacher's own score; the rest is the untrained hybrid's.", Number(0, 1)
    )
    teacher_share: float = like(BiEncoderSettings, "teacher_share", default=0.5)
    epochs: float = param(2.0, "Passes over the queries.", POSITIVE)
    lr: float = param(2e-5, "Highest learning rate.", POSITIVE)
    batch_size: int = like(BiEncoderSettings, "batch_size")
    max_tokens: int | None = param(
        None, "Tokens that the model reads (default: enough for 90 % of the text).", Whole(8), example=256
    )
    budget: str | None = param(None, "Time for everything: 45m or 2h; fewer queries and steps where needed.", Text())
    seed: int = like(BiEncoderSettings, "seed")
    threads: int | None = like(BiEncoderSettings, "threads")

    def __post_init__(self) -> None:
        check_parameters(self)
        unknown = [kind for kind in self.made_from if kind not in KINDS]
        if unknown or not self.made_from:
            raise ParameterError("kinds", expected=f"some of {','.join(KINDS)}", found=self.kinds)
        self.minutes  # noqa: B018 -- refuse what is no time

    @property
    def made_from(self) -> tuple[str, ...]:
        """The kinds of queries."""
        return tuple(kind.strip() for kind in self.kinds.split(",") if kind.strip())

    @property
    def minutes(self) -> float | None:
        """The budget in minutes."""
        if self.budget is None:
            return None
        told = re.fullmatch(r"(\d+(?:\.\d+)?)([mh])", self.budget)
        if told is None or not float(told[1]):
            raise ParameterError("budget", expected="minutes or hours, such as 45m or 2h", found=self.budget)
        return float(told[1]) * (60 if told[2] == "h" else 1)


@dataclass(frozen=True)
class Adapted:
    """The result: what was chosen, and the comparison on held-out queries, judged by the teacher."""

    folder: Path
    index: Path
    pipeline: Path  # the chosen search, for --pipeline and Pipeline.load
    better: bool  # whether the interval of the difference is above zero; else the untrained search stays
    chosen: Mapping[str, Any]
    read: TextBudget  # how much of the documents the model reads
    held_out: Comparison


@dataclass(frozen=True)
class Adapt:
    """The recipe over one index: each method is a step, done once in the folder."""

    folder: RecipeFolder
    index: Index
    settings: AdaptSettings
    log: tuple[str, ...] = ()
    begun: float = 0.0

    def run(self) -> Adapted:
        """All steps."""
        needs_training(KIND)
        if len(self.index) < FEWEST:
            raise RankwellError(
                f"adapt: expected {FEWEST} documents or more to learn from, found {len(self.index)}: a model that is "
                "not adapted serves so few as well (rankwell encode)"
            )
        self._train()
        return self._decide()

    @cached_property
    def start(self) -> str:
        """The name of the untrained vectors, which are made where the index has none."""
        return str(self.folder.step("start", lambda: encode(self.index, self.settings.model, self.folder)))

    @property
    def adapted(self) -> str:
        """The name of the adapted vectors."""
        return self.folder.vectors

    @property
    def rankers(self) -> Rankers:
        """The rankers of the index."""
        return Rankers(self.index)

    @cached_property
    def pseudo(self) -> tuple[list[PseudoQuery], list[PseudoQuery]]:
        """The queries to train on, and those that decide."""
        made = PseudoQueries(self.index, self.settings.made_from, self.settings.seed).make(self.settings.queries)
        if len(made) < FEWEST // 2:
            raise RankwellError(
                f"adapt: expected documents with titles or sentences to make queries from, found {len(made)} of them"
            )
        return held_out(made, 0.1, MOST_HELD_OUT)

    def budget(self) -> TextBudget:
        """The tokens that the model reads."""
        told = self.folder.step(
            "tokens", lambda: asdict(text_budget(sample_of(self.index), self.settings.model, self.settings.max_tokens))
        )
        return TextBudget(**told)

    def _train(self) -> None:
        if self.folder.has("vectors"):
            return
        settings = self.settings
        learnt, held = self.pseudo
        self.folder.step("queries", lambda: {"training": count_kinds(learnt), "held-out": count_kinds(held)})
        training, validation = self._pairs("training", learnt), self._pairs("validation", held)
        wanted = BiEncoderSettings(
            epochs=settings.epochs,
            lr=settings.lr,
            batch_size=settings.batch_size,
            negatives=settings.negatives,
            teacher_share=settings.teacher_share,
            max_tokens=self.budget().tokens,
            seed=settings.seed,
            threads=settings.threads,
        )
        steps = self.folder.step("steps", lambda: self._affordable(training, wanted))
        result = train_bi_encoder(
            training,
            self.folder / "bi-encoder",
            model=settings.model,
            settings=replace(wanted, steps=int(steps) or None),
            validation=validation,
            resume=True,
            quiet=self.folder.quiet,
        )
        encode(self.index, str(result.folder.model), self.folder, self.adapted)
        self.folder.step("vectors", lambda: {"steps": result.steps, "best": result.best, **result.measures})

    def _left(self, share: float) -> float:
        """Seconds that are left of a share of the budget."""
        if self.settings.minutes is None:
            return float("inf")
        return max(1.0, 60 * share * self.settings.minutes - (time.monotonic() - self.begun))

    def _affordable(self, training: Pairs, wanted: BiEncoderSettings) -> int:
        """The steps that fit into the budget, by the time of a few; 0 (all epochs) where there is no budget."""
        if self.settings.minutes is None:
            return 0
        import shutil

        trial, place = replace(wanted, steps=4, onnx=False), self.folder / "trial"
        shutil.rmtree(place, ignore_errors=True)
        result = train_bi_encoder(
            training, place, model=self.settings.model, settings=trial, validation=None, quiet=True
        )
        shutil.rmtree(place)
        whole = int(-(-len(self.pseudo[0]) // wanted.batch_size) * wanted.epochs)
        return max(1, min(whole, int(self._left(TRAINING) / (result.seconds / result.steps))))

    def _pairs(self, name: str, queries: Sequence[PseudoQuery]) -> Pairs:
        """The pairs of some queries, with the teacher's scores."""
        path = self.folder / f"pairs-{name}"
        if not self.folder.has(path.name):
            taught = self._taught(queries)
            made = {"kind": "adapt", "queries": count_kinds(queries), "left_out": {}}
            documents = self.index.documents
            extra = {TEACHER: "float64", "kind": "string"}
            with PairsWriter(path, made=made, seed=self.settings.seed, extra=extra) as writer:
                for query in queries:
                    for docno, score in taught.get(query.id, {}).items():
                        own = docno == query.docno
                        text = query.rest if own else documents[docno].text()
                        pair = Pair(query.id, docno, query.text, text, float(own))
                        writer.add(pair, **{TEACHER: score, "kind": query.kind})
            self.folder.step(path.name, lambda: dict(writer.open().record["counts"]))
        return open_pairs(path)

    def _taught(self, queries: Sequence[PseudoQuery]) -> dict[str, dict[str, float]]:
        """The teacher's score of each query's own document and of candidates, from 0 to SHARPNESS.

        With a budget the teacher stops in time; queries that it has not seen are left out.
        """
        settings, asked = self.settings, Queries.of(dict(texts(queries)))
        found = self.rankers.hybrid(self.start, CENTRAL)(asked)
        drawn = self._drawn(queries, found)
        teacher, taught = self._teacher(settings.candidates + 1), dict[str, dict[str, float]]()
        share = settings.teacher_mix if teacher is not None else 0.0
        at_once = len(queries) if settings.minutes is None else ASKED
        with Progress("teacher", unit="queries", total=len(queries), quiet=self.folder.quiet) as progress:
            for start in range(0, len(queries), at_once):
                if taught and self._left(TEACHING) <= 1.0:
                    break
                part = Run.from_dict(
                    {query.id: drawn[query.id] for query in queries[start : start + at_once]},
                    queries=asked,
                    documents=self.index.documents,
                )
                first = unit(part)
                second = first if teacher is None else aligned(unit(again := teacher(part)), again, part)[0]
                mixed = SHARPNESS * (share * second + (1 - share) * first)
                values = part.with_scores(mixed)
                taught |= values.to_dict()
                progress.advance(len(part.qids))
        return taught

    def _drawn(self, queries: Sequence[PseudoQuery], found: Run) -> dict[str, dict[str, float]]:
        """Candidates with the hybrid's scores: the query's own document, and some of the others near the top."""
        drawn = {}
        for query in queries:
            ranked = dict(found[query.id]) if query.id in found else {}
            own = ranked.pop(query.docno, max(ranked.values(), default=1.0))
            others = list(ranked)[: self.settings.depth]
            chooser = random.Random(f"{self.settings.seed}/{query.id}")  # noqa: S311 -- reproducible, no secret
            chosen = chooser.sample(others, min(self.settings.candidates, len(others)))
            drawn[query.id] = {query.docno: own, **{docno: ranked[docno] for docno in chosen}}
        return drawn

    def _teacher(self, depth: int) -> CrossEncoder | None:
        name = self.settings.teacher
        if name == "none":
            return None
        tokens = min(TEACHER_TOKENS, ModelFolder.find(name).longest)
        return CrossEncoder(name, k=depth, index=self.index, max_tokens=tokens, quiet=True)

    def _judged(self) -> tuple[Queries, Judgments]:
        """The held-out queries, and the teacher's probabilities of relevance as grades for the best of all searches."""
        asked = Queries.of(dict(texts(self.pseudo[1])))

        def judge() -> dict[str, dict[str, int]]:
            pool: dict[str, dict[str, float]] = {qid: {} for qid in asked}
            for name in (self.start, self.adapted):
                for weight in (0.0, 0.3, 0.5, 0.7, 1.0):
                    for qid, ranking in self.rankers.hybrid(name, weight)(asked).top(POOL).rankings():
                        pool[qid] |= dict.fromkeys(ranking.docnos.tolist(), 0.0)
            run = Run.from_dict(pool, queries=asked, documents=self.index.documents)
            teacher = self._teacher(max(map(len, pool.values())))
            if teacher is None:
                return {query.id: {query.docno: 1} for query in self.pseudo[1]}
            scored = teacher(run)
            grades = scored.with_scores(np.round(GRADES * sigmoid(scored.scores)))
            return {qid: {docno: int(grade) for docno, grade in ranking} for qid, ranking in grades.rankings()}

        graded = self.folder.step("grades", judge)
        return asked, Judgments((qid, docno, grade) for qid, found in graded.items() for docno, grade in found.items())

    def _decide(self) -> Adapted:
        """Choose the weight of old and new vectors, compare, and keep the better search."""
        asked, judgments = self._judged()

        def weight(name: str) -> float:
            def choose() -> float:
                tuned = self.rankers.choose_weight(name, asked, judgments, MEASURE, self.settings.seed)
                return float(tuned.best.setting["weight"])

            return float(self.folder.step("weight" if name == self.adapted else "weight-untrained", choose))

        weights = {name: weight(name) for name in (self.start, self.adapted)}
        runs = {UNTRAINED: self.rankers.hybrid(self.start, weights[self.start])(asked)}
        runs[TRAINED] = self.rankers.hybrid(self.adapted, weights[self.adapted])(asked)
        compared = compare(judgments, runs, [MEASURE])
        difference = compared.difference(TRAINED, MEASURE)
        better = difference is not None and difference.found.interval[0] > 0
        name = self.adapted if better else self.start
        chosen = {"vectors": name, "weight": weights[name]}
        self.folder.step("chosen", lambda: chosen)
        write_options(self.folder.pipeline, RankerOptions(hybrid=True, vectors=name, vector_weight=weights[name]))
        where = self.folder.path, self.index.path, self.folder.pipeline
        return Adapted(*where, better, chosen, self.budget(), compared)


def adapt(
    index: Index,
    out: Path | str,
    *,
    settings: AdaptSettings | None = None,
    quiet: bool = False,
    **changes: Any,
) -> Adapted:
    """Adapt a bi-encoder to the documents of an index, without labels.

    The folder `out` gets the model and the chosen search (`pipeline.toml`); the index gets the vectors, under the
    folder's name. After an interruption the same call continues.

    >>> adapted = adapt(index, "run", queries=1000)
    >>> print(adapted.better, adapted.held_out)
    """
    settings = replace(settings or AdaptSettings(), **known_settings(AdaptSettings, changes))
    told = {**asdict(settings), "index": str(index.path.resolve())}
    folder = RecipeFolder.open(out, KIND, told, quiet=quiet)
    return Adapt(folder, index, settings, begun=time.monotonic()).run()
