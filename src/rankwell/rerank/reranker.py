"""What all re-rankers have in common, and what a command may ask of one."""

from __future__ import annotations

import logging
from abc import abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field, fields, replace
from functools import cached_property
from pathlib import Path
from types import MappingProxyType
from typing import Any, ClassVar, Self

from rankwell.core import Document, Judgments, ParameterError, Run, Stage, Template, fingerprint
from rankwell.core.progress import Progress
from rankwell.index import Index
from rankwell.rerank.candidates import Candidates
from rankwell.rerank.passages import Passages
from rankwell.rerank.placing import Rescored, placed
from rankwell.rerank.score_cache import ScoreCache
from rankwell.rerank.scorer import Scorer
from rankwell.rerank.tally import Tally
from rankwell.rerank.texts import check_fields, document_texts, query_texts

log = logging.getLogger(__name__)

KINDS = ("logit", "probability")
MISSING = ("error", "below")
DEPTH = 100  # documents of a query


class Reranker(Stage):
    """A stage that scores the k best documents of each query anew, and counts what it does.

    Each kind is a frozen dataclass with the parameters below, and more; how it makes scores is its `rescore`.
    """

    keeps_scores: ClassVar[bool] = True  # so that a run that was broken off goes on from there
    how: ClassVar[tuple[str, ...]] = ("cache", "threads", "quiet", "tally")  # what the result does not depend on
    of_scorer: ClassVar[tuple[str, ...]] = ()  # settings of the scorer, which its fingerprint knows of
    choices: ClassVar[Mapping[str, Sequence[str]]] = MappingProxyType({"missing": MISSING})

    model: str | Scorer
    k: int
    document: str | None
    query_field: str | None
    missing: str
    index: Index | None
    threads: int | None
    quiet: bool
    tally: Tally
    cache: bool | Path | str = False

    def __post_init__(self) -> None:
        if self.k < 1:
            raise ParameterError("k", expected="a number of documents, at least 1", found=self.k)
        for name, known in self.choices.items():
            if getattr(self, name) not in known:
                raise ParameterError(name, expected=" or ".join(known), found=getattr(self, name))
        if self.document is not None:
            Template(self.document)
        given = [name for name in (*self.of_scorer, "threads") if getattr(self, name) is not None]
        if given and not isinstance(self.model, str):
            expected = "nothing, because the model is a scorer with settings of its own"
            raise ParameterError(given[0], expected=expected, found=getattr(self, given[0]))

    @property
    def name(self) -> str:
        """A short name for runs."""
        return Path(self.model).name if isinstance(self.model, str) else type(self.model).__name__

    @abstractmethod
    def scorer(self) -> Scorer:
        """The model, loaded; once a process."""

    @abstractmethod
    def rescore(self, run: Run) -> Rescored:
        """The new scores alone."""

    def also_reads(self, qid: str) -> Iterable[str]:  # noqa: ARG002 -- most read none
        """Documents whose texts a query needs besides those of its k best."""
        return ()

    def inferences(self, run: Run) -> int:
        """How often the model is asked for the run, as far as that is known before its texts are read."""
        return int((run.ranks <= self.k).sum())

    def check(self) -> None:
        """Refuse an unknown model, one that does not rank, and fields that the index does not have."""
        scorer = self.scorer()
        scorer.scores(scorer.logits([]))  # a model that cannot rank says so here
        if self.document is not None and self.index is not None:
            Template(self.document).check(self.index.fields)

    def parameters(self) -> dict[str, Any]:
        """What the result depends on."""
        return {name: value for name, value in super().parameters().items() if name not in self.how}

    def fingerprint(self) -> str:
        """Over the weights and not their name: a folder may be filled anew."""
        chosen = {name: value for name, value in self.parameters().items() if name not in self.of_scorer}
        return fingerprint([type(self).__qualname__, self.version, {**chosen, "model": self._weights}])

    def changed(self, **changes: Any) -> Self:
        """The stage with other values for those of these parameters that it has."""
        known = {part.name for part in fields(self)}  # type: ignore[arg-type]  # subclasses are dataclasses
        return replace(self, **{name: value for name, value in changes.items() if name in known})  # type: ignore[type-var]

    def apply(self, run: Run) -> Run:
        """Re-rank the top."""
        documents = run.documents if self.index is None else self.index.documents
        return replace(placed(run, self.rescore(run)), tag=self.name, documents=documents)

    def kept_scores(self) -> AbstractContextManager[ScoreCache | None]:
        """What earlier runs left of this scorer, to be opened; nothing where it is not wanted."""
        if self.cache is False:
            return nullcontext()
        return ScoreCache(self._weights, None if self.cache is True else self.cache)

    def candidates(self, run: Run, texts: Callable[[Document], Sequence[str]]) -> Candidates:
        """The documents to score, with the texts that are made of each."""
        queries = query_texts(run, self.query_field)
        documents = document_texts(run, self.k, self.index, allow_missing=self.missing == "below")
        if self.document is not None and self.index is None:
            check_fields(Template(self.document), run, documents)
        return Candidates(run, self.k, queries, documents, texts)

    def progress(self, candidates: Candidates, total: int | None) -> Progress:
        """A display in pairs. Where nobody knows their number before, documents tell how far it is."""
        progress = Progress(f"re-ranking ({self.name})", unit="pairs", total=total, quiet=self.quiet)
        progress.watch(lambda: candidates.done, candidates.count)
        return progress

    def count_empty(self, candidates: Candidates) -> None:
        """Say at the end how many documents had nothing to read."""
        self.tally.empty += candidates.empty
        if candidates.empty:
            log.warning("%d documents have no text to score, and stay below the others", candidates.empty)

    @cached_property
    def _weights(self) -> str:
        """The scorer's fingerprint, which takes long enough to be made only once."""
        return self.scorer().fingerprint()


@dataclass(frozen=True)
class RerankWishes:
    """Everything that may be asked of a re-ranker; see `CrossEncoder`. None leaves a thing to the model.

    A kind of model takes what it can use, and calls `refuse` with the names of what it cannot.
    """

    k: int | None = None
    document: str | None = None
    query_field: str | None = None
    passages: Passages | None = None
    aggregate: str | None = None
    aggregate_as: str | None = None
    scores: str | None = None
    max_tokens: int | None = None
    query_tokens: int | None = None
    precision: str | None = None
    relevant: Judgments | str | None = field(default=None, repr=False)
    missing: str = "error"
    index: Index | None = field(default=None, repr=False)
    cache: bool | Path | str = True
    threads: int | None = None
    quiet: bool = False

    def depth(self, usual: int) -> int:
        """How many documents of a query, where a kind of model usually takes so many."""
        return usual if self.k is None else self.k

    def refuse(self, *names: str, because: str) -> None:
        """Raise where one of these was asked for."""
        usual = {part.name: part.default for part in fields(self)}
        for name in names:
            found = getattr(self, name)
            if found != usual[name]:
                raise ParameterError(name, expected=f"nothing, because {because}", found=found)
