"""Fine-tune PARADE on pairs of queries and long documents."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, dataclass, replace
from itertools import groupby
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from rankwell.core import SILENT, Integers, ParameterError, Progress, RankwellError
from rankwell.core.parameters import Text, Whole, like, param
from rankwell.models.base.folder import ModelFolder, RankerRecord
from rankwell.models.base.tokens import PairTokens
from rankwell.models.base.torch_model import padded_tensors, save_weights
from rankwell.models.cross_encoder.training import CrossEncoderSettings
from rankwell.models.learning.data import Data
from rankwell.models.learning.pair_batches import PairBatches, TokenisedPairs, padding_and_segments, tokens_in_a_row
from rankwell.models.learning.pairs import Pair, Pairs
from rankwell.models.learning.settings import USUAL_TOKENS
from rankwell.models.learning.starting_model import copy_tokenizer, freeze, load_body
from rankwell.models.learning.trainer import Job, Start, Training, pair_ranker, with_budget
from rankwell.models.parade.ranking import PARADE, TOP_WEIGHTS, ParadeReading, write_graph
from rankwell.models.reranking.passages import Passages

AGGREGATES = ("avg", "max", "attn", "transformer")


class Split(NamedTuple):
    """A document's first pair, with the texts of its passages."""

    pair: Pair
    passages: list[str]


@dataclass(frozen=True, eq=False)
class TokenisedDocuments(TokenisedPairs):
    """Tokenised passages at `offsets`; labels, groups and ids are per document."""

    starts: Integers  # document i has the passages starts[i] to starts[i + 1]

    @classmethod
    def of_documents(
        cls, pairs: Pairs, tokens: PairTokens, reading: ParadeReading, progress: Progress = SILENT
    ) -> TokenisedDocuments:
        """Tokenise all passages to read; their texts are not stored."""
        heads: list[Pair] = []
        counts = [0]

        def texts() -> Iterator[tuple[str, str]]:
            for pair, passages in progress.track(documents_of(pairs, reading)):
                heads.append(pair._replace(document=""))
                counts.append(len(passages))
                yield from ((pair.query, passage) for passage in passages)

        in_a_row = tokens_in_a_row(texts(), tokens)
        return cls(
            np.array([pair.label for pair in heads], dtype=np.float32),
            np.array([pair.group for pair in heads], dtype=np.int64),
            [pair.query_id for pair in heads],
            [pair.document_id for pair in heads],
            *in_a_row,
            np.cumsum(counts, dtype=np.int64),
        )

    @property
    def lengths(self) -> Integers:
        """The tokens of each document in a batch, its passages padded to the longest."""
        if not len(self):
            return np.zeros(0, dtype=np.int64)
        longest = np.maximum.reduceat(np.diff(self.offsets), self.starts[:-1])
        return longest * np.diff(self.starts)


@dataclass(frozen=True)
class DocumentBatches(PairBatches):
    """Makes the input of a PARADE model: the passages of some documents in a row, and their counts."""

    pairs: TokenisedDocuments

    def inputs(self, rows: Integers) -> dict[str, Any]:
        """The model's input for these documents; documents are not padded with empty passages."""
        import torch

        starts, ends = self.pairs.starts[rows], self.pairs.starts[rows + 1]
        passages = np.concatenate([np.arange(*both) for both in zip(starts.tolist(), ends.tolist(), strict=True)])
        tokens = self.pairs.between(self.pairs.offsets[passages], self.pairs.offsets[passages + 1])
        given = padded_tensors(tokens, self.padding, segments=self.segments)
        return {**given, "counts": torch.from_numpy(ends - starts)}


def documents_of(pairs: Pairs, reading: ParadeReading) -> Iterator[Split]:
    """All documents of the pairs with their passages to read."""
    if in_passages(pairs) is None:
        yield from (Split(pair, reading.split(pair.document)) for pair in pairs.rows())
        return
    for _, of_document in groupby(pairs.rows(), lambda pair: (pair.group, pair.document_id)):
        passages = list(of_document)  # those of a document are consecutive
        yield Split(passages[0], reading.chosen([pair.document for pair in passages]))


def in_passages(pairs: Pairs) -> str | None:
    """How the pairs were split into passages; None for pairs of whole documents."""
    made = pairs.record["made"].get("passages")
    return None if made is None else str(made)


@dataclass(frozen=True, kw_only=True)
class ParadeSettings(CrossEncoderSettings):
    """Settings for training PARADE, besides those of a cross-encoder.

    `passages` is as in `rankwell rerank`; `max_tokens` and `query_tokens` are the token limits of a passage with its
    query.
    """

    aggregate: str = param("transformer", "How a document's passages become one vector.", Text(AGGREGATES))
    passages: str = param(
        "150:50",
        "How documents are split: words:overlap or paragraphs (as the pairs were, if they are passages).",
        Text(),
    )
    most_passages: int = param(
        16, "Passages of a document at most; of more, the first, the last and some between are read.", Whole(1)
    )
    batch_size: int = like(
        CrossEncoderSettings, "batch_size", default=8, help="Batch size: documents that are run together."
    )
    max_tokens: int | None = like(
        CrossEncoderSettings, "max_tokens", help=f"Tokens of a passage and its query (default: {USUAL_TOKENS})."
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        Passages.parse(self.passages)


def _prepare(start: Start[ParadeSettings]) -> tuple[Job, ParadeSettings]:
    from rankwell.models.parade.model import ParadeModule, Sizes

    settings, folder, run = start.settings, start.folder, start.run
    split = passages_of(start.data, settings)
    body = load_body(folder, settings.dropout)
    freeze(body, settings.freeze)
    model, sizes = ParadeModule(body, settings.aggregate, settings.most_passages), Sizes.of(body.config)
    reading = ParadeReading(
        aggregate=settings.aggregate,
        passages=split,
        most=settings.most_passages,
        max_tokens=settings.max_tokens or 0,
        query_tokens=settings.query_tokens,
        heads=sizes.heads,
        epsilon=sizes.epsilon,
    )
    tokens = PairTokens(folder.load_tokenizer(), reading.max_tokens, reading.query_tokens)

    def documents(pairs: Pairs, progress: Progress) -> TokenisedDocuments:
        return TokenisedDocuments.of_documents(pairs, tokens, reading, progress)

    training, held_out = start.tokenise(tokens, documents, unit="documents", cut="passages")
    how = padding_and_segments(body.config)

    def write(model: Any, place: Path) -> None:
        model.body.save_pretrained(place)
        save_weights(model.top_weights(), place / TOP_WEIGHTS)
        copy_tokenizer(folder.path, place, reading.max_tokens)
        RankerRecord(PARADE, asdict(reading)).write(place)
        if settings.onnx:
            write_graph(ModelFolder(str(run.model), place), reading, place / "onnx" / "model.onnx")

    validation = None if held_out is None else DocumentBatches(held_out, *how)
    own_graph = replace(settings, onnx=False)
    return pair_ranker(model, DocumentBatches(training, *how), validation, own_graph, write)


def passages_of(data: Data, settings: ParadeSettings) -> Passages:
    """How documents are split; pairs of passages must have been split the same way.

    In pairs of whole documents the title is not separate from the text: it occurs once, at the start.
    """
    wanted = Passages.parse(settings.passages)
    made = {in_passages(part) for part in (data.training, data.validation) if part is not None}
    if made == {None}:
        if wanted.unit != "words":
            expected = "words and overlap such as 150:50 for pairs of whole documents"
            raise ParameterError("passages", expected=expected, found=settings.passages)
        return replace(wanted, title=False)
    if made != {repr(wanted)}:
        found = ", ".join(sorted(str(how) for how in made - {repr(wanted)}))
        raise RankwellError(f"pairs: expected whole documents, or passages made as {wanted!r}, found {found}")
    for part in (data.training, data.validation):
        if part is not None and part.record["made"].get("top_passages"):
            raise RankwellError(f"{part.folder}: expected all passages of each document, found only the best of them")
    return wanted


train_parade: Training[ParadeSettings] = Training(
    PARADE,
    "Fine-tune PARADE, which reads the passages of a long document and gives the document one score.",
    ParadeSettings,
    _prepare,
    with_budget,
)
