"""What all re-rankers share: their options, the documents that they score, and the order of the new run."""

from __future__ import annotations

import logging
from abc import abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field, fields, replace
from functools import cached_property
from itertools import pairwise
from pathlib import Path
from typing import Any, ClassVar, NamedTuple, Self, TypeVar

import numpy as np

from rankwell.core import (
    Booleans,
    Document,
    Floats,
    Judgments,
    ParameterError,
    Phrase,
    Progress,
    Stage,
    Template,
    fingerprint,
)
from rankwell.core.parameters import Text, Whole, check_parameters, like, param
from rankwell.core.records import has_column, is_frame
from rankwell.core.run import Run, Values
from rankwell.core.stage import Given
from rankwell.index import SearchIndex
from rankwell.models.base.folder import PRECISIONS
from rankwell.models.base.tokens import Texts
from rankwell.models.reranking.passages import DocumentTexts, Passages, check_fields, document_texts, query_texts
from rankwell.models.reranking.scores import PairScores, ScoreCache, Scorer, Tally, reported, wanted_at_once

log = logging.getLogger(__name__)

BLOCK = 1024  # pairs with texts in memory at once; more where one query has more
LOGIT: str = "logit"
PROBABILITY: str = "probability"
KINDS: tuple[str, ...] = (LOGIT, PROBABILITY)
MISSING = ("error", "below")
DEPTH, DUO_DEPTH = 100, 20  # documents per query; a duo model compares each with each
STEP = 2.0**-10  # step between two documents that were not scored: small beside any score, visible with four digits
LAST_PLACES = 2.0**-22  # relative step for large scores, which would absorb the other: two units in the last place

Kind = TypeVar("Kind", bound="Reranker")


class Candidate(NamedTuple):
    """A document to score: its row in the run, the query, and its texts (whole, or passages)."""

    row: int
    query: str
    texts: Sequence[Texts]


class Candidates:
    """The k best documents of every query, with their texts; counts them."""

    def __init__(
        self,
        run: Run,
        k: int,
        queries: Mapping[str, str],
        documents: Mapping[str, Document],
        texts: Callable[[Document], Sequence[Texts]],
    ) -> None:
        self._run, self._k, self._queries, self._texts = run, k, queries, texts
        self.documents = documents
        self.count = int((run.ranks <= k).sum())
        self.done = 0
        self.empty = 0  # documents without a text

    def blocks(self, size: int) -> Iterator[list[Candidate]]:
        """Candidates with text in blocks of about `size` pairs; a query is never split."""
        block: list[Candidate] = []
        passed = pairs = 0
        for place, qid in enumerate(self._run.qids):
            candidates = list(self._of_query(place, self._queries.get(qid, "")))
            block += candidates
            pairs += sum(len(candidate.texts) for candidate in candidates)
            passed += min(int(self._run.offsets[place + 1] - self._run.offsets[place]), self._k)
            if pairs >= size:
                yield block
                self.done, block, pairs = passed, [], 0
        if block:
            yield block
        self.done = passed

    def _of_query(self, place: int, query: str) -> Iterator[Candidate]:
        """The candidates of one query; none where the query is blank."""
        if not query.strip():
            return
        start = int(self._run.offsets[place])
        end = min(int(self._run.offsets[place + 1]), start + self._k)
        for row, docno in enumerate(self._run.docnos[start:end].tolist(), start):
            document = self.documents.get(docno)
            if document is None:
                continue
            texts = self._texts(document)
            if texts:
                yield Candidate(row, query, texts)
            else:
                self.empty += 1


@dataclass(frozen=True, eq=False)
class Rescored:
    """New scores for some documents of a run: `scores[i]` counts where `chosen[i]`."""

    chosen: Booleans
    scores: Values

    @classmethod
    def nothing(cls, run: Run) -> Rescored:
        """No document rescored yet."""
        return cls(np.zeros(len(run), dtype=bool), np.zeros(len(run)))


def placed(run: Run, found: Rescored) -> Run:
    """The run with its rescored documents on top, by their new scores.

    The others follow in their old order, with strictly lower scores. A query without rescored documents is unchanged.
    """
    scores = run.scores.copy()
    new = found.scores.astype(np.float32)
    for start, end in pairwise(run.offsets.tolist()):
        chosen = found.chosen[start:end]
        if not chosen.any():
            continue
        of_query = scores[start:end]
        of_query[chosen] = new[start:end][chosen]
        of_query[~chosen] = below(of_query[chosen].min(), int((~chosen).sum()))
    return run.with_scores(scores)


def below(score: np.float32, count: int) -> Floats:
    """`count` scores, strictly decreasing and all below `score`, as 32-bit floats."""
    step = max(STEP, abs(float(score)) * LAST_PLACES)
    with np.errstate(over="ignore"):  # an overflow becomes infinite, which a run refuses
        return (float(score) - step * np.arange(1, count + 1)).astype(np.float32)


@dataclass(frozen=True)
class NullReranker(Stage):
    """A control: re-ranks the top k as every re-ranker does, and changes nothing.

    Its run must score exactly what the run before it scores. Where it does not, the comparison and not the model makes
    the difference, for example because documents below the top k were thrown away.
    """

    k: int = param(DEPTH, "Number of documents to re-rank; the others stay below.", Whole(1), flags=("-k",))

    def __post_init__(self) -> None:
        check_parameters(self)

    def apply(self, run: Run) -> Run:
        """Give the top k new scores in their old order, and put the others below."""
        return placed(run, Rescored(run.ranks <= self.k, -run.ranks.astype(np.float64)))


@dataclass(frozen=True)
class RerankSettings:
    """All settings of a re-ranker; see `CrossEncoder`. None means the model's default.

    A kind of model uses the settings that it has, and calls `refuse` with the names of the others.
    """

    k: int | None = param(
        None,
        f"Number of documents to re-rank; the others stay below (default: {DEPTH}, duo models: {DUO_DEPTH}).",
        Whole(1),
        flags=("-k",),
    )
    document: str | None = param(
        None, "Template of the text that the model reads (default: all fields).", Text(), example="{title} {abstract}"
    )
    query_field: str | None = param(
        None, "Which wording of the queries (default: the first).", Text(), example="question"
    )
    passages: Passages | None = param(
        None, "Score passages: words:overlap such as 150:50, or paragraphs.", Text(), example="150:50"
    )
    aggregate: str | None = param(
        None,
        "How passage scores are combined into the document's score: first, max, mean (default) or sum; "
        "how a duo model's comparisons are: sum (default), binary, min, max or sample:M.",
        Text(),
        example="mean",
    )
    aggregate_as: str | None = param(None, "Combine passages by probability (default) or by logit.", Text(KINDS))
    scores: str | None = param(None, "Scores of the run: logit (default) or probability.", Text(KINDS))
    max_tokens: int | None = param(
        None, "Tokens of query and document together (default: the model's limit).", Whole(1)
    )
    query_tokens: int | None = param(None, "Tokens of the query at most.", Whole(1))
    precision: str | None = param(None, "Arithmetic: fp32 or int8 (default: what the model has).", Text(PRECISIONS))
    relevant: Judgments | str | None = param(
        None,
        "For models that read an example: the text of a relevant abstract, or a file of judgments.",
        Text(),
        repr=False,
    )
    missing: str = param("error", "Documents that are not found: an error, or below the others.", Text(MISSING))
    index: SearchIndex | None = field(default=None, repr=False)
    cache: bool | Path | str = True
    threads: int | None = None
    quiet: bool = False

    def stage(self, kind: type[Kind], model: str, **also: Any) -> Kind:
        """The stage of a kind with the given settings that it has, and its defaults for the rest."""
        known = {part.name for part in fields(kind)}
        asked = {part.name: getattr(self, part.name) for part in fields(self) if part.name in known}
        return kind(model, **{name: value for name, value in asked.items() if value is not None}, **also)

    def refuse(self, *names: str, because: str) -> None:
        """Raise where one of these settings was given."""
        usual = {part.name: part.default for part in fields(self)}
        for name in names:
            found = getattr(self, name)
            if found != usual[name]:
                raise ParameterError(name, expected=f"nothing, because {because}", found=found)


BlockScores = Callable[[list[Candidate], PairScores], Values | Floats]


@dataclass(frozen=True)
class Reranker(Stage):
    """A stage that scores the k best documents of each query anew, and counts what it does.

    Each kind is a frozen dataclass with these parameters and more. It says how its model is loaded (`scorer`) and how
    blocks of candidates are scored (`_scoring`).
    """

    keeps_scores: ClassVar[bool] = True  # so that an interrupted run can continue
    how: ClassVar[tuple[str, ...]] = ("cache", "threads", "quiet", "tally")  # parameters that do not affect the result
    of_scorer: ClassVar[tuple[str, ...]] = ()  # settings of the scorer, which are part of its fingerprint
    choices: ClassVar[Mapping[str, Sequence[str]]] = {"missing": MISSING}

    model: str | Scorer
    k: int = like(RerankSettings, "k", default=DEPTH)
    document: str | None = like(RerankSettings, "document")
    query_field: str | None = like(RerankSettings, "query_field")
    missing: str = like(RerankSettings, "missing", kw_only=True)
    index: SearchIndex | None = field(default=None, repr=False, kw_only=True)
    cache: bool | Path | str = field(default=True, repr=False, compare=False, kw_only=True)
    threads: int | None = field(default=None, repr=False, compare=False, kw_only=True)
    quiet: bool = field(default=False, repr=False, compare=False, kw_only=True)
    tally: Tally = field(default_factory=Tally, repr=False, compare=False, kw_only=True)

    def __post_init__(self) -> None:
        self._check_model()
        if self.k < 1:
            raise ParameterError("k", expected="a number of documents, at least 1", found=self.k)
        for name, known in self.choices.items():
            if getattr(self, name) not in known:
                raise ParameterError(name, expected=" or ".join(known), found=getattr(self, name))
        if self.document is not None:
            Template(self.document)
        if not isinstance(self.model, str):
            self._refuse((*self.of_scorer, "threads"), "the model is a scorer with settings of its own")

    def __call__(self, given: Given) -> Run:
        """Re-rank a run; raises for queries, which have no documents to re-rank."""
        told: Any = given
        if not isinstance(told, Run) and not (is_frame(told) and has_column(told, "docno")):
            name = type(self).__name__
            found = Phrase(f"{type(told).__name__}: put a ranker before it, BM25(index) >> {name}(...)")
            raise ParameterError("run", expected="a run to re-rank", found=found)
        return super().__call__(given)

    def _check_model(self) -> None:
        """A path as text; raise for what is neither a name nor a scorer."""
        if isinstance(self.model, Path):
            object.__setattr__(self, "model", str(self.model))
        if isinstance(self.model, str) or hasattr(self.model, "logits"):
            return
        found = Phrase(f"{type(self.model).__name__}: {type(self).__name__}(model, index=index)")
        raise ParameterError("model", expected="a name or folder of a model first, or a scorer", found=found)

    def _refuse(self, names: Iterable[str], because: str) -> None:
        """Raise where one of these parameters was given."""
        for name in names:
            if getattr(self, name) is not None:
                raise ParameterError(name, expected=f"nothing, because {because}", found=getattr(self, name))

    @property
    def name(self) -> str:
        """A short name for run tags."""
        return Path(self.model).name if isinstance(self.model, str) else type(self.model).__name__

    @abstractmethod
    def scorer(self) -> Scorer:
        """The model, loaded once per process."""

    def _loaded(self, load: Callable[..., Scorer], **settings: Any) -> Scorer:
        return load(self.model, threads=self.threads, **settings) if isinstance(self.model, str) else self.model

    def texts_of(self, document: Document) -> Sequence[Texts]:
        """The texts of a document to score; none where it has no text."""
        return self._texts(document)

    @cached_property
    def _texts(self) -> DocumentTexts:
        return DocumentTexts(None if self.document is None else Template(self.document))

    def _scoring(self, run: Run, candidates: Candidates) -> BlockScores:
        """A function from a block of candidates to their scores."""
        raise NotImplementedError

    def rescore(self, run: Run) -> Rescored:
        """Compute the new scores without placing the documents."""
        scorer, candidates, rescored = self.scorer(), self.candidates(run, self.texts_of), Rescored.nothing(run)
        scores_of, progress = self._scoring(run, candidates), self._progress(run, candidates)
        with reported(scorer, self.tally), progress, self.kept_scores() as cache:
            score = PairScores(scorer, cache, self.tally, progress)
            for block in candidates.blocks(max(BLOCK, wanted_at_once(scorer, BLOCK))):
                rows = [candidate.row for candidate in block]
                rescored.scores[rows] = scores_of(block, score)
                rescored.chosen[rows] = True
                self.tally.documents += len(rows)
        self.tally.empty += candidates.empty
        if candidates.empty:
            log.warning("%d documents have no text to score, and stay below the others", candidates.empty)
        return rescored

    def _progress(self, run: Run, candidates: Candidates) -> Progress:  # noqa: ARG002 -- only duo looks at the run
        """A progress display in pairs; in documents where the number of pairs is unknown."""
        total = candidates.count if getattr(self, "passages", None) is None else None
        progress = Progress(f"re-ranking ({self.name})", unit="pairs", total=total, quiet=self.quiet)
        progress.watch(lambda: candidates.done, candidates.count)
        return progress

    def also_reads(self, qid: str) -> Iterable[str]:  # noqa: ARG002 -- most need none
        """Further documents whose texts a query needs, besides its k best."""
        return ()

    def inferences(self, run: Run) -> int:
        """Number of model inferences for the run, as far as it is known before reading texts."""
        return int((run.ranks <= self.k).sum())

    def check(self) -> None:
        """Refuse an unknown model, one that does not rank, and fields that the index lacks."""
        scorer = self.scorer()
        scorer.scores(scorer.logits([]))  # raises for a model that cannot rank
        if self.document is not None and self.index is not None:
            Template(self.document).check(self.index.fields)

    def parameters(self) -> dict[str, Any]:
        """The parameters that affect the result."""
        return {name: value for name, value in super().parameters().items() if name not in self.how}

    def fingerprint(self) -> str:
        """A fingerprint of the weights instead of the model's name: a folder's content may change."""
        chosen = {name: value for name, value in self.parameters().items() if name not in self.of_scorer}
        return fingerprint([type(self).__qualname__, self.version, {**chosen, "model": self._weights}])

    def changed(self, **changes: Any) -> Self:
        """The stage with new values for those of these parameters that it has."""
        known = {part.name for part in fields(self)}
        return replace(self, **{name: value for name, value in changes.items() if name in known})

    def apply(self, run: Run) -> Run:
        """Re-rank the top k of each query."""
        documents = run.documents if self.index is None else self.index.documents
        return replace(placed(run, self.rescore(run)), tag=self.name, documents=documents)

    def kept_scores(self) -> AbstractContextManager[ScoreCache | None]:
        """Open the score cache of this scorer; None where it is switched off, or slower than the scorer."""
        if self.cache is False or not self.keeps_scores or getattr(self.scorer(), "outruns_cache", False):
            return nullcontext()
        return ScoreCache(self._weights, None if self.cache is True else self.cache)

    def candidates(self, run: Run, texts: Callable[[Document], Sequence[Texts]]) -> Candidates:
        """The documents to score, with the texts of each."""
        queries = query_texts(run, self.query_field)
        documents = document_texts(run, self.k, self.index, allow_missing=self.missing == "below")
        if self.document is not None and self.index is None:
            check_fields(Template(self.document), run, documents)
        return Candidates(run, self.k, queries, documents, texts)

    @cached_property
    def _weights(self) -> str:
        """The scorer's fingerprint, computed once because it is slow."""
        return self.scorer().fingerprint()
