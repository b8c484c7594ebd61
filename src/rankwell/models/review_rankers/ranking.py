"""Re-ranking with one of the systematic-review study's four architectures, through ONNX Runtime."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from itertools import pairwise
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from rankwell.core import SILENT, Document, Floats, Judgments, Progress, Run, Template, fingerprint, fingerprint_file
from rankwell.core.errors import ParameterError, RankwellError
from rankwell.core.parameters import like
from rankwell.models.base.device import refuse_gpu
from rankwell.models.base.encoders import OneLogit, Transformer
from rankwell.models.base.export import PAIRS, kept_graph
from rankwell.models.base.folder import RANKER_RECORD, ModelFolder, RankerRecord
from rankwell.models.base.loading import loads_model
from rankwell.models.base.runtime import INPUTS, OnnxModel
from rankwell.models.base.tokens import Pair, PairTokens, Texts, TextTokens, Tokenizer, Tokens, Truncation
from rankwell.models.reranking import reranker
from rankwell.models.reranking.passages import few
from rankwell.models.reranking.reranker import Candidate, Candidates, Reranker, RerankSettings
from rankwell.models.reranking.scores import PairScores, Scorer
from rankwell.models.review_rankers import architectures
from rankwell.models.review_rankers.architectures import Architecture, DocumentParts, Example, RelevantAbstracts
from rankwell.models.review_rankers.graph import GRAPH, HEAD, ArchitectureRecord, write_graph

log = logging.getLogger(__name__)

WholeNumbers = np.ndarray[Any, np.dtype[np.signedinteger[Any]]]
Relevant = Judgments | Mapping[str, str] | str
SEGMENTS = 2  # a token's type is twice the place of its input, and 1 more in the second of two texts


class ExampleTokens:
    """Makes the tokens of examples: `max_tokens` for each input, `query_tokens` of them for a query beside a text."""

    def __init__(
        self,
        architecture: Architecture,
        tokenizer: Tokenizer,
        max_tokens: int,
        query_tokens: int | None,
        reading: architectures.InputReading | None = None,
    ) -> None:
        self._architecture, self._reading = architecture, reading or architectures.InputReading()
        self._pairs = PairTokens(tokenizer, max_tokens, query_tokens)
        self._texts = TextTokens(tokenizer, max_tokens)

    @property
    def truncated(self) -> Truncation:
        """Statistics of truncated texts so far, over all inputs."""
        return self._pairs.truncated + self._texts.truncated

    def __call__(self, examples: Sequence[Example]) -> list[Tokens]:
        """The tokens of each example."""
        given = [self._architecture.given(self._reading(example)) for example in examples]
        columns = [self._column([row[place] for row in given]) for place in range(len(self._architecture.inputs))]
        return [_in_a_row(parts) for parts in zip(*columns, strict=True)]

    def _column(self, inputs: Sequence[architectures.Input]) -> list[Tokens]:
        """The tokens of one input of every example: all are pairs, or none is."""
        pairs = [one for one in inputs if not isinstance(one, str)]
        return self._pairs(pairs) if pairs else self._texts([one for one in inputs if isinstance(one, str)])


def taken_apart(ids: WholeNumbers, types: WholeNumbers, inputs: int) -> list[Tokens]:
    """The tokens of each input."""
    bounds = np.searchsorted(types, SEGMENTS * np.arange(inputs + 1)).tolist()  # as inputs follow one another
    wide = [array.astype(np.int64, copy=False) for array in (ids, types % SEGMENTS)]
    return [Tokens(*(array[start:end] for array in wide)) for start, end in pairwise(bounds)]


def _in_a_row(parts: Sequence[Tokens]) -> Tokens:
    ids = np.concatenate([part.ids for part in parts])
    types = np.concatenate([part.types + SEGMENTS * place for place, part in enumerate(parts)])
    return Tokens(ids, types)


class ArchitectureScorer(OneLogit, Transformer):
    """A `Scorer` whose pairs have a document in parts as second text: title, abstract and relevant abstract.

    A score depends on its example alone, not on the rest of the batch.
    """

    _model: ArchitectureGraph

    @loads_model
    def __init__(self, model: str, *, threads: int | None = None) -> None:
        super().__init__(model, threads)
        self.record = record = ArchitectureRecord.read(self._folder.path)
        tokenizer, budgets = Tokenizer(self._folder.tokenizer_file), (record.max_tokens, record.query_tokens)
        self._tokens = ExampleTokens(record.architecture, tokenizer, *budgets, record.reading)
        self._model = ArchitectureGraph(_graph_file(self._folder.path), record.architecture.inputs)

    def logits(self, pairs: Sequence[Pair], progress: Progress = SILENT) -> Floats:
        """One logit a pair: an array of one column."""
        return self.of_examples([_example(*pair) for pair in pairs], progress)

    def of_examples(self, examples: Sequence[Example], progress: Progress = SILENT) -> Floats:
        """One logit an example: an array of one column."""
        return self._rows(examples, progress)

    def fingerprint(self) -> str:
        """Fingerprint of everything that a logit depends on besides the example."""
        files = (self._model.file, self._folder.tokenizer_file, self._folder.path / RANKER_RECORD)
        return fingerprint(["architecture", self._model.backend, *map(fingerprint_file, files)])


class ArchitectureGraph(OnnxModel):
    """A session with the graph of an architecture, whose inputs have names such as `query_input_ids`."""

    def __init__(self, file: Path, inputs: Sequence[str]) -> None:
        self._names = tuple(inputs)
        super().__init__(file)
        self.use(PAIRS)

    def _check_inputs(self) -> None:
        missing = [name for name in self._names if f"{name}_input_ids" not in self._inputs]
        if missing:
            found = ", ".join(self._inputs)
            raise RankwellError(f"{self.file}: expected an input {missing[0]}_input_ids, found {found}")

    def _feed(self, tokens: Tokens) -> dict[str, Any]:
        fed: dict[str, Any] = {}
        for name, part in zip(self._names, taken_apart(tokens.ids, tokens.types, len(self._names)), strict=True):
            values = zip(INPUTS, (part.ids, np.ones_like(part.ids), part.types), strict=True)
            fed |= {f"{name}_{key}": array[None] for key, array in values if f"{name}_{key}" in self._inputs}
        return fed


def _example(query: str, parts: Texts) -> Example:
    if isinstance(parts, str):
        raise ParameterError("document", expected="a title, an abstract and a relevant abstract", found=parts)
    return Example(query, *parts)


def load_architecture(model: str, *, threads: int | None = None) -> ArchitectureScorer:
    """A cached scorer, loaded again when its folder changes."""
    refuse_gpu(model, "which ONNX Runtime runs")
    status = (ModelFolder.find(model).path / RANKER_RECORD).stat()
    return _load(model, threads, status.st_mtime_ns, status.st_ino)


@lru_cache(maxsize=4)
def _load(model: str, threads: int | None, changed: int, number: int) -> ArchitectureScorer:  # noqa: ARG001 -- they tell a folder from its successor
    return ArchitectureScorer(model, threads=threads)


def _graph_file(folder: Path) -> Path:
    """The graph in the folder, or a cached one made from its weights."""
    if (folder / GRAPH).is_file():
        return folder / GRAPH
    files = [folder / HEAD, folder / RANKER_RECORD, *sorted(folder.glob("*/model.safetensors"))]
    parts = ["architecture", *(fingerprint_file(file) for file in files if file.is_file())]
    message = f"{folder}: making an ONNX file of its weights, once"
    return kept_graph(parts, message, lambda file: write_graph(folder, file))


@dataclass(frozen=True)
class ArchitectureRanker(Reranker):
    """Re-ranks the k best documents of each query with a model of `rankwell train architecture`.

    Documents below k stay below, in their old order, and so do documents without text. `document`: a template of
    the text that is read as the abstract; without one the field abstract, text or body.

    `relevant`, for architectures that read a relevant abstract: judgments, of whose relevant documents one is drawn for
    each query; or one text for all queries; or one a query. A document is never compared with itself. Queries
    without any take the first stage's best document in its place (for that document, the second), and a warning says
    how many they are.

    >>> BM25(index) >> ArchitectureRanker("run/model", k=50, relevant="the text of a relevant abstract")
    """

    choices: ClassVar[Mapping[str, Sequence[str]]] = {"scores": reranker.KINDS, **Reranker.choices}

    relevant: Relevant | None = like(RerankSettings, "relevant", repr=False)
    scores: str = like(RerankSettings, "scores", default=reranker.LOGIT)

    def scorer(self) -> Scorer:
        """The model, loaded once per process."""
        return self._loaded(load_architecture)

    def check(self) -> None:
        """Raise an error for a model that cannot be loaded, missing fields, and `relevant` for a model without it."""
        super().check()
        kind = self._record.architecture
        if self.relevant is not None and not kind.reads_relevant:
            expected = f"nothing, because {self.model} ({kind.kind}) reads no relevant abstract"
            raise ParameterError("relevant", expected=expected, found=self.relevant)

    def also_reads(self, qid: str) -> Iterable[str]:
        """The documents that are relevant to the query by the judgments."""
        return self.relevant.relevant(qid) if isinstance(self.relevant, Judgments) and qid in self.relevant else ()

    def _scoring(self, run: Run, candidates: Candidates) -> reranker.BlockScores:
        examples = _Examples(run, candidates.documents, self._parts, self._known(run, candidates.documents))

        def scores_of(block: list[Candidate], score: PairScores) -> Floats:
            scores = score([examples.pair(candidate) for candidate in block])
            return score.scorer.probabilities(scores) if self.scores == reranker.PROBABILITY else scores

        return scores_of

    @property
    def _record(self) -> ArchitectureRecord:
        record: ArchitectureRecord = getattr(self.scorer(), "record")  # noqa: B009 -- a scorer that stands for another has it too
        return record

    @cached_property
    def _parts(self) -> DocumentParts:
        return DocumentParts(None if self.document is None else Template(self.document))

    def texts_of(self, document: Document) -> list[str]:
        """Whether there is a text to read; the texts themselves depend on the query."""
        text = self._parts.body(document)
        return [text] if text else []

    def _known(self, run: Run, documents: Mapping[str, Document]) -> RelevantAbstracts | None:
        """The relevant abstracts of the run's queries; None where the model reads none."""
        if not self._record.architecture.reads_relevant:
            return None
        qids = [qid for qid, ranking in run.rankings() if len(ranking)]
        known = {qid: dict(self._known_of(qid, documents)) for qid in qids}
        without = [qid for qid in qids if not known[qid]]
        if without:
            log.warning(
                "%d of %d queries have no known relevant abstract: the first stage's best document takes its place: %s",
                len(without),
                len(qids),
                few(without),
            )
        return RelevantAbstracts(known, self._record.seed, one=True)

    def _known_of(self, qid: str, documents: Mapping[str, Document]) -> Iterator[tuple[str, str]]:
        """Document ids and abstracts that are known to be relevant to a query."""
        if isinstance(self.relevant, Judgments):
            for docno in self.also_reads(qid):
                text = self._parts.body(documents[docno]) if docno in documents else ""
                if text:
                    yield docno, text
        elif self.relevant is not None:
            text = self.relevant if isinstance(self.relevant, str) else self.relevant.get(qid, "")
            if text.strip():
                yield architectures.EXAMPLE, text


def architecture_stage(model: str, record: RankerRecord, settings: RerankSettings) -> ArchitectureRanker:
    """The stage for a model's folder."""
    it_is = f"{model} is a model of the kind {record.kind}, which"
    settings.refuse("max_tokens", "query_tokens", because=f"{it_is} has its own")
    settings.refuse("passages", "aggregate", "aggregate_as", because=f"{it_is} reads documents whole")
    if not architectures.architecture(record.kind, record.settings.get("texts")).reads_relevant:
        settings.refuse("relevant", because=f"{it_is} reads no relevant abstract")
    settings.refuse("precision", because=f"{it_is} is run in fp32")
    return settings.stage(ArchitectureRanker, model)


class _Examples:
    """Makes the scorer's pairs from candidates."""

    def __init__(
        self, run: Run, documents: Mapping[str, Document], parts: DocumentParts, relevant: RelevantAbstracts | None
    ) -> None:
        self._run, self._documents, self._parts, self._relevant = run, documents, parts, relevant

    def pair(self, candidate: Candidate) -> Pair:
        """The query, and the document in parts."""
        docno = str(self._run.docnos[candidate.row])
        document = self._documents[docno]
        title, abstract = self._parts.title(document), self._parts.abstract(document)
        return candidate.query, (title, abstract, self._relevant_to(candidate.row, docno, abstract or title))

    def _relevant_to(self, row: int, docno: str, text: str) -> str:
        if self._relevant is None:
            return ""
        place = int(np.searchsorted(self._run.offsets, row, side="right")) - 1
        chosen = self._relevant.choose(self._run.qids[place], docno, text)
        return self._best_of(place, docno) if chosen is None else chosen

    def _best_of(self, place: int, docno: str) -> str:
        """The first stage's best document other than this one, if any."""
        start, end = int(self._run.offsets[place]), int(self._run.offsets[place + 1])
        for other in self._run.docnos[start:end].tolist():
            if other != docno and other in self._documents:
                text = self._parts.body(self._documents[other])
                if text:
                    return text
        return ""
