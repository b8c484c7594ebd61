"""Score examples with a trained review ranker through ONNX Runtime."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from functools import lru_cache
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from rankwell.core import ParameterError, RankwellError, fingerprint
from rankwell.core.arrays import Floats
from rankwell.core.files import home
from rankwell.core.fingerprint import fingerprint_file
from rankwell.core.progress import SILENT, Progress
from rankwell.models.base import Truncation, find_model
from rankwell.models.base.opening import check_threads, run_all
from rankwell.models.base.runtime import SLOWER, open_session
from rankwell.models.base.tokens import Pair, PairTokens, Texts, TextTokens, Tokenizer, Tokens
from rankwell.models.reranking.record import RECORD
from rankwell.models.reranking.scores import OneLogit
from rankwell.models.review_rankers.graph import GRAPH, HEAD, ArchitectureRecord, write_graph
from rankwell.models.review_rankers.inputs import Architecture, Example, Input

WholeNumbers = npt.NDArray[np.signedinteger[Any]]
SEGMENTS = 2  # a token's type is twice the place of its input, and 1 more in the second of two texts


class ExampleTokens:
    """Makes the tokens of examples: `max_tokens` for each input, `query_tokens` of them for a query beside a text."""

    def __init__(
        self, architecture: Architecture, tokenizer: Tokenizer, max_tokens: int, query_tokens: int | None
    ) -> None:
        self.architecture = architecture
        self.max_tokens = max_tokens
        self._pairs = PairTokens(tokenizer, max_tokens, query_tokens)
        self._texts = TextTokens(tokenizer, max_tokens)
        self.query_tokens = self._pairs.query_tokens

    @property
    def truncated(self) -> Truncation:
        """Statistics of truncated texts so far, over all inputs."""
        one, other = self._pairs.truncated, self._texts.truncated
        return Truncation(
            one.texts + other.texts,
            one.queries_cut + other.queries_cut,
            one.documents_cut + other.documents_cut,
            one.tokens_dropped + other.tokens_dropped,
        )

    def __call__(self, examples: Sequence[Example]) -> list[Tokens]:
        """The tokens of each example."""
        given = [self.architecture.given(example) for example in examples]
        columns = [self._column([row[place] for row in given]) for place in range(len(self.architecture.inputs))]
        return [_in_a_row(parts) for parts in zip(*columns, strict=True)]

    def _column(self, inputs: Sequence[Input]) -> list[Tokens]:
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


log = logging.getLogger(__name__)


class ArchitectureScorer(OneLogit):
    """A `Scorer` whose pairs have a document in parts as second text, as `packed` makes it.

    A score depends on its example alone, not on the rest of the batch.
    """

    def __init__(self, model: str, *, threads: int | None = None) -> None:
        self.model, self.folder = model, find_model(model)
        self.record = ArchitectureRecord.read(self.folder)
        self._threads = check_threads(threads)
        tokenizer = Tokenizer(self.folder / "tokenizer.json")
        architecture, reading = self.record.architecture, self.record.reading
        self._tokens = ExampleTokens(architecture, tokenizer, self.record.max_tokens, self.record.query_tokens)
        self._reading = reading
        self._graph = ArchitectureGraph(_graph_file(self.folder), architecture.inputs)

    @property
    def truncated(self) -> Truncation:
        """Statistics of truncated texts so far."""
        return self._tokens.truncated

    def logits(self, pairs: Sequence[Pair], progress: Progress = SILENT) -> Floats:
        """One logit a pair: an array of one column."""
        return self.of_examples([_example(*pair) for pair in pairs], progress)

    def of_examples(self, examples: Sequence[Example], progress: Progress = SILENT) -> Floats:
        """One logit an example: an array of one column."""
        return run_all(
            examples,
            lambda some: self._tokens(list(map(self._reading, some))),
            self._graph,
            finish=lambda row: row,
            width=1,
            threads=self._threads,
            progress=progress,
        )

    def fingerprint(self) -> str:
        """Fingerprint of everything that a logit depends on besides the example."""
        files = (self._graph.file, self.folder / "tokenizer.json", self.folder / RECORD)
        return fingerprint(["architecture", self._graph.backend, *map(fingerprint_file, files)])


class ArchitectureGraph:
    """A session with the graph of an architecture. `run` may be called from several threads at once."""

    batch_tokens: int | None = None  # one example at a time

    def __init__(self, file: Path, inputs: Sequence[str]) -> None:
        import onnxruntime

        self.file: Path = file
        self.backend = f"onnxruntime {onnxruntime.__version__} without {' '.join(SLOWER)}"
        self._names = tuple(inputs)
        self._session = open_session(file)
        self._inputs = {put.name for put in self._session.get_inputs()}
        missing = [name for name in inputs if f"{name}_input_ids" not in self._inputs]
        if missing:
            raise RankwellError(f"{file}: expected an input {missing[0]}_input_ids, found {', '.join(self._inputs)}")

    def use(self, task: str) -> int:  # noqa: ARG002 -- there is but one
        """The number of outputs: one logit."""
        return 1

    def run(self, batch: Sequence[Tokens]) -> list[Floats]:
        """The logit of each example."""
        return [self._one(tokens) for tokens in batch]

    def _one(self, tokens: Tokens) -> Floats:
        given: dict[str, Any] = {}
        for name, part in zip(self._names, taken_apart(tokens.ids, tokens.types, len(self._names)), strict=True):
            values = {"input_ids": part.ids, "attention_mask": np.ones_like(part.ids), "token_type_ids": part.types}
            given |= {f"{name}_{key}": array[None] for key, array in values.items() if f"{name}_{key}" in self._inputs}
        try:
            found: Floats = self._session.run(["logits"], given)[0][0]
        except Exception as error:  # the library's errors have no common base class
            reason = str(error).splitlines()[0]
            raise RankwellError(f"{self.file}: the model failed on {len(tokens.ids)} tokens: {reason}") from error
        return found


def _example(query: str, parts: Texts) -> Example:
    """The example of a query and a document's title, abstract and relevant abstract."""
    if isinstance(parts, str):
        raise ParameterError("document", expected="a title, an abstract and a relevant abstract", found=parts)
    return Example(query, *parts)


def load_architecture(model: str, *, threads: int | None = None) -> ArchitectureScorer:
    """A cached scorer, loaded again when its folder changes."""
    status = (find_model(model) / RECORD).stat()
    return _load(model, threads, status.st_mtime_ns, status.st_ino)


@lru_cache(maxsize=4)
def _load(model: str, threads: int | None, changed: int, number: int) -> ArchitectureScorer:  # noqa: ARG001 -- they tell a folder from its successor
    return ArchitectureScorer(model, threads=threads)


def _graph_file(folder: Path) -> Path:
    """The graph in the folder, or a cached one made from its weights."""
    if (folder / GRAPH).is_file():
        return folder / GRAPH
    files = [folder / HEAD, folder / RECORD, *sorted(folder.glob("*/model.safetensors"))]
    name = fingerprint(["architecture", *(fingerprint_file(file) for file in files if file.is_file())])[:32]
    kept = home() / "exports" / name / "model.onnx"
    if not kept.is_file():
        log.warning("%s: making an ONNX file of its weights, once", folder)
        write_graph(folder, kept)
    return kept
