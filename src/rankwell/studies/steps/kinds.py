"""The kinds of steps in a pipeline line: how each is checked, and the stage that it becomes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import MappingProxyType
from typing import Any

from rankwell import retrieve
from rankwell.collections import read_run
from rankwell.core import Judgments, ParameterError, Pipeline, RankwellError, Run, Stage, Top, fingerprint
from rankwell.core.fingerprint import fingerprint_file
from rankwell.core.parameters import Number, Text, Whole
from rankwell.index import Index, Scoring
from rankwell.models.base.encoders import POOLINGS
from rankwell.models.explanation import Interpolate
from rankwell.models.families import reranker, usual_depth
from rankwell.models.reranking.passages import Passages
from rankwell.models.reranking.reranker import DEPTH, NullReranker, Reranker, RerankSettings
from rankwell.studies.file.errors import LineError
from rankwell.studies.file.pipeline_line import TOP
from rankwell.studies.steps.step import REQUIRED, Chain, Step, StepContext, StepKind, by_name, declared, setting

CROSS_ENCODER, BI_ENCODER = "cross-encoder", "bi-encoder"  # what a step uses a model as
CUT = TOP
WORDS, FEEDBACK, VECTORS, FUSE, INTERPOLATE, JUDGED = "bm25", "rm3", "dense", "fuse", "interpolate", "judged"
RANDOM, NULL = "random", "null"
STORED = RUN, SYSTEM = ("run", "system")  # steps that read a stored run
COSINE = "cosine"
FORMS = (COSINE, "sum")
OF_VECTORS = ("model", "pooling", "layer", "document", "precision")
OLD_QUERY = MappingProxyType({"query": "query_field"})
RRF = retrieve.ReciprocalRank.name
MODELLED = (CROSS_ENCODER, INTERPOLATE)  # steps that re-rank with a model
RERANKERS = (*MODELLED, RANDOM, NULL)
EVERYTHING = 1_000_000  # deeper than any run
FEWEST = 2  # pipelines to fuse


def stage_of(chain: Chain, context: StepContext) -> Stage:
    """Combine a chain's steps into one stage."""
    stages = [STEPS[step.kind].stage(step, context, chain[:place]) for place, step in enumerate(chain)]
    return stages[0] if len(stages) == 1 else Pipeline(tuple(stages))


def _bm25(step: Step | None, context: StepContext, _before: Chain = ()) -> retrieve.BM25:
    """BM25 with the settings of a step, or with the defaults."""
    if step is None:
        return retrieve.BM25(context.index, threads=context.threads)
    return retrieve.BM25(context.index, **step.settings, weights=dict(step.weights) or None, threads=context.threads)


def _tfidf(step: Step, context: StepContext, _before: Chain) -> Stage:
    given = {name: value for name, value in step.settings.items() if name != "form"}
    kind = retrieve.CosineTfIdf if step["form"] == COSINE else retrieve.SumTfIdf
    return kind(context.index, **given)


def _rm3(step: Step, context: StepContext, before: Chain) -> Stage:
    """RM3 over the line's bm25, or over a default one where the line begins with something else."""
    first = next((earlier for earlier in before if earlier.kind == WORDS), None)
    return retrieve.RM3(_bm25(first, context), **step.settings)


def _random(step: Step, context: StepContext, before: Chain) -> Stage:
    """The documents of the steps before in random order; alone a sample of all documents."""
    return retrieve.RandomRanker(step["seed"], () if before else tuple(context.index.documents), step["k"])


@dataclass(frozen=True)
class Stored(Stage):
    """A run file as a stage: its documents for the queries."""

    file: Path
    index: Index = field(repr=False)
    strangers: bool = False  # whether it may have documents that the collection lacks

    def apply(self, run: Run) -> Run:
        """Read the run of these queries from the file."""
        stored, known = read_run(self.file), self.index.documents
        scores = {qid: dict(stored[qid]) if qid in stored else {} for qid in run.qids}
        lost = next((docno for of_query in scores.values() for docno in of_query if docno not in known), None)
        if lost is not None and not self.strangers:
            raise RankwellError(f"{self.file}: expected documents of the collection, found {lost}, which it lacks")
        return replace(Run.from_dict(scores, tag=stored.tag), queries=run.queries, documents=known)


def run_file(step: Step, source: Path | None) -> Path:
    """The file of a stored run; raises where it is missing."""
    file = (source or Path()) / Path(step["file"]).expanduser()
    if not file.is_file():
        raise RankwellError(f"{file}: expected a stored run, found nothing there")
    return file


def fingerprint_of_run(step: Step, source: Path | None) -> str:
    """A fingerprint of the content of a stored run."""
    return fingerprint_file(run_file(step, source))


def _stored(step: Step, context: StepContext, _before: Chain) -> Stage:
    return Stored(run_file(step, context.source), context.index, strangers=step.kind == SYSTEM)


@dataclass(frozen=True)
class Pool(Stage):
    """All judged documents of each query with the same score, for measuring re-rankers by AUC."""

    judgments: Judgments = field(repr=False)
    index: Index = field(repr=False)

    def apply(self, run: Run) -> Run:
        """The judged documents that are in the index."""
        known = self.index.documents
        scores = {qid: {docno: 0.0 for docno in self.judgments.get(qid, {}) if docno in known} for qid in run.qids}
        return replace(Run.from_dict(scores, tag=JUDGED), queries=run.queries, documents=known)


def _check_dense(step: Step) -> None:
    if step["layer"] < 1 and step["layer"] != -1:
        raise ParameterError("layer", expected="a number from 1, or -1 for the last", found=step["layer"])


def _dense(step: Step, context: StepContext, _before: Chain) -> Stage:
    """Dense retrieval over vectors, which must exist: they are made once and shared by all pipelines."""
    vectors = vectors_name(step, context.models)
    given: dict[str, Any] = {name: value for name, value in step.settings.items() if name not in OF_VECTORS}
    if given["match"] is not None:
        given["match"] = _with_vectors(retrieve.parse_match(given["match"]), vectors)
    return retrieve.Dense(context.index, vectors, **given, threads=context.threads)


def _with_vectors(match: retrieve.Match, name: str) -> retrieve.Match:
    """The match function with `Nearest` on these vectors, because an index may have several."""
    if isinstance(match, retrieve.Nearest):
        return replace(match, vectors=name)
    if isinstance(match, (retrieve.Union, retrieve.Intersection)):
        return replace(match, parts=tuple(_with_vectors(part, name) for part in match.parts))
    return match


def vectors_name(step: Step, models: Mapping[str, str]) -> str:
    """The name of the step's vectors in the index; `models` are the folders of those that the study trained."""
    encoder = {name: step[name] for name in OF_VECTORS}
    if step["model"] in models:
        encoder["trained"] = Path(models[step["model"]]).parent.name  # the cell: another training has other vectors
    return "study-" + fingerprint(encoder)[:16]


def _reranker(step: Step, context: StepContext, _before: Chain = ()) -> Reranker:
    """The re-ranker that the model's folder describes; most are cross-encoders."""
    model = context.model(step["model"])
    given = {name: value for name, value in step.settings.items() if name not in ("model", "depth")}
    given["passages"] = None if step["passages"] is None else Passages.parse(step["passages"])
    depth = step["depth"] or (None if usual_depth(model) < DEPTH else EVERYTHING)
    here: dict[str, Any] = {"index": context.index, "cache": context.scores, "threads": context.threads}
    return reranker(model, RerankSettings(k=depth, **given, **here, quiet=True))


@dataclass(frozen=True)
class Known(Stage):
    """A re-ranker whose run is already known."""

    run: Run

    def apply(self, run: Run) -> Run:  # noqa: ARG002 -- the re-ranker got it
        """Return the known run."""
        return self.run


def _interpolated(step: Step, first: Run, beside: tuple[Run, ...]) -> Run:
    """Mix the re-ranked top with the run before; what the cross-encoder did not read stays below."""
    depth, (reranked,) = step.beside[0][0]["depth"], beside
    return Interpolate(Known(reranked.top(depth or EVERYTHING)), step["alpha"], depth).apply(first)


def _check_interpolation(step: Step) -> None:
    kinds = [within.kind for chain in step.beside for within in chain]
    if kinds != [CROSS_ENCODER]:
        given = ", ".join(kinds) or "none"
        raise LineError(f"expected one cross-encoder in interpolate(...), found {given}", step.place)


def _check_fusion(step: Step) -> None:
    if len(step.beside) < FEWEST:
        raise LineError(f"expected two lines or more in fuse(...), found {len(step.beside)}", step.place)
    weights = _fusion(step).weights
    if weights is not None and len(weights) != len(step.beside):
        raise LineError(f"expected {len(step.beside)} weights, one a line, found {len(weights)}", step.place)


def _fusion(step: Step) -> retrieve.Fusion:
    given = {name: step[name] for name in ("normalise", "k") if step[name] is not None}
    try:
        weights = None if step["weights"] is None else [float(part) for part in step["weights"].split("/")]
    except ValueError:
        expected = "numbers with / between them, such as 0.7/0.3"
        raise LineError(f'weights: expected {expected}, found "{step["weights"]}"', step.place) from None
    return retrieve.fusion(step["method"], weights, **given)


MODEL = "{}: a short name, a folder, a hub id, or a model of this study."
FILE = by_name(setting("file", "The run's file.", default=REQUIRED))
ABOUT_DEPTH = "Number of documents to re-rank; the others stay below (default: all; duo models: 20)."

_KINDS = (
    StepKind(
        WORDS,
        "BM25 over all fields, or over the named ones with their weights: bm25(title=0.25, abstract=0.6)",
        by_name(declared(retrieve.BM25, "k1", "b", "idf", "match", "filter", "query_field", "k")),
        old_names=OLD_QUERY,
        check=lambda step: Scoring(step["k1"], step["b"], step["idf"], dict(step.weights) or None),
        stage=_bm25,
        begins=True,
        takes_weights=True,
    ),
    StepKind(
        "tfidf",
        "TF-IDF: the cosine of the vector space model, or the sum of tf * idf",
        by_name(
            setting("form", "The cosine of the vector space model, or the sum of tf * idf.", Text(FORMS), COSINE),
            declared(retrieve.CosineTfIdf, "field", "match", "query_field", "k"),
        ),
        main=("form",),
        old_names=OLD_QUERY,
        stage=_tfidf,
        begins=True,
    ),
    StepKind(
        VECTORS,
        "a bi-encoder: documents by the cosine of their vector with the query's",
        by_name(
            setting("model", MODEL.format("A bi-encoder"), default=REQUIRED),
            setting("pooling", "How token vectors become one (default: the model's own way).", Text(tuple(POOLINGS))),
            setting("layer", "Which layer's vectors, from 1; -1 is the last.", Whole(-1), -1),
            declared(RerankSettings, "document", "precision"),
            declared(retrieve.Dense, "match", "filter", "method", "query_field", "k"),
        ),
        main=("model",),
        old_names=OLD_QUERY,
        role=BI_ENCODER,
        check=_check_dense,
        stage=_dense,
        begins=True,
    ),
    StepKind(
        RUN,
        "a stored run, which lies in the collection's folder or anywhere else: run('runs/BM25.trec')",
        FILE,
        main=("file",),
        stage=_stored,
        begins=True,
    ),
    StepKind(
        SYSTEM,
        "a stored run of a whole search engine: documents that the collection lacks stay in it, and nothing follows",
        FILE,
        main=("file",),
        stage=_stored,
        begins=True,
    ),
    StepKind(
        JUDGED,
        "all judged documents of each query in no order, for a re-ranker to tell apart",
        {},
        stage=lambda _step, context, _before: Pool(context.judgments, context.index),
        begins=True,
    ),
    StepKind(
        RANDOM,
        "documents in random order: of the step before, or of the whole collection",
        by_name(declared(retrieve.RandomRanker, "seed", "k")),
        main=("seed",),
        stage=_random,
        begins=True,
        follows=True,
    ),
    StepKind(
        FUSE,
        "make one run of several: fuse(bm25, dense(MODEL), method=rrf)",
        by_name(
            setting(
                "method",
                "Reciprocal rank fusion, sum of scores, or CombMNZ.",
                Text(tuple(retrieve.FUSIONS)),
                RRF,
            ),
            setting("weights", "One number for each line: 'weights=0.7/0.3'."),
            setting("normalise", "How scores are brought to one scale (sum, mnz).", Text(tuple(retrieve.NORMALISERS))),
            setting("k", "The constant of reciprocal rank fusion.", Number()),
        ),
        check=_check_fusion,
        stage=lambda step, context, _: retrieve.Hybrid(
            tuple(stage_of(chain, context) for chain in step.beside), _fusion(step)
        ),
        combine=lambda step, _first, beside: _fusion(step)(*beside),
        begins=True,
    ),
    StepKind(
        CUT,
        "keep the best documents of each query: top 100",
        by_name(setting("k", "Number of documents for each query.", Whole(1), REQUIRED)),
        main=("k",),
        stage=lambda step, _context, _before: Top(step["k"]),
        follows=True,
    ),
    StepKind(
        FEEDBACK,
        "pseudo-relevance feedback: the best documents so far lend terms to a second BM25 search",
        by_name(declared(retrieve.RM3)),
        old_names=MappingProxyType({"documents": "fb_docs", "terms": "fb_terms", "weight": "original_query_weight"}),
        stage=_rm3,
        follows=True,
    ),
    StepKind(
        CROSS_ENCODER,
        "re-rank what came before with a model that reads query and document together",
        by_name(
            setting("model", MODEL.format("A cross-encoder"), default=REQUIRED),
            declared(RerankSettings, "document", "passages", "aggregate", "precision", "max_tokens", "query_field"),
            setting("depth", ABOUT_DEPTH, Whole(1)),
        ),
        main=("model",),
        old_names=MappingProxyType({**OLD_QUERY, "tokens": "max_tokens"}),
        role=CROSS_ENCODER,
        stage=_reranker,
        follows=True,
    ),
    StepKind(
        INTERPOLATE,
        "mix a cross-encoder with the run before it: interpolate(cross-encoder(MODEL), 0.5)",
        by_name(declared(Interpolate, "alpha")),
        main=("alpha",),
        check=_check_interpolation,
        stage=lambda step, context, _: Interpolate(_reranker(step.beside[0][0], context), step["alpha"]),
        combine=_interpolated,
        follows=True,
    ),
    StepKind(
        NULL,
        "a control: re-rank what came before and change nothing",
        by_name(setting("depth", "Number of documents to re-rank; the others stay below (default: all).", Whole(1))),
        main=("depth",),
        stage=lambda step, _context, _before: NullReranker(step["depth"] or EVERYTHING),
        follows=True,
    ),
)
STEPS: Mapping[str, StepKind] = MappingProxyType({kind.name: kind for kind in _KINDS})


def depth_of(step: Step) -> int | None:
    """How many documents a step re-ranks; None for all that it gets."""
    step = step.beside[0][0] if step.kind == INTERPOLATE else step
    depth: int | None = step.settings.get("depth")
    return depth


def cut_before_reranking(chain: Chain) -> int | None:
    """The N of a `top N` before a step that re-ranks: what is below is lost; None without."""
    place = next((place for place, step in enumerate(chain) if place and step.kind in RERANKERS), 0)
    return min((step["k"] for step in chain[:place] if step.kind == CUT), default=None)


def control_of(chain: Chain) -> Chain | None:
    """The pipeline with a step that changes nothing in place of its first re-ranker; None without a first order."""
    place = next((place for place, step in enumerate(chain) if step.kind in MODELLED), 0)
    if not place or chain[0].kind == JUDGED:
        return None
    return (*chain[:place], Step(NULL, {"depth": depth_of(chain[place])}))


@dataclass(frozen=True)
class ModelUse:
    """A model that a step needs, its kind (cross-encoder or bi-encoder), and its precision where one is set."""

    name: str
    role: str
    precision: str | None = None


def model_of(step: Step) -> ModelUse | None:
    """The model that a step needs, or None; an interpolation needs that of its cross-encoder."""
    step = step.beside[0][0] if step.kind == INTERPOLATE else step
    role = STEPS[step.kind].role
    return None if role is None else ModelUse(step["model"], role, step["precision"])
