"""Fine-tune a bi-encoder: queries and documents as vectors, relevant ones close together."""

from __future__ import annotations

import hashlib
import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import orjson

from rankwell.core import SILENT, Floats, Integers, ParameterError, Progress, RankwellError
from rankwell.core.parameters import POSITIVE, Number, Text, Whole, like, param
from rankwell.models.base.encoders import POOLINGS
from rankwell.models.base.folder import ModelFolder
from rankwell.models.base.sentence_folder import POOLING_MODES
from rankwell.models.base.tokens import TextTokens, Tokens
from rankwell.models.base.torch_model import padded_tensors
from rankwell.models.learning.pair_batches import WINDOW, PairLabels, label_columns, padding_and_segments
from rankwell.models.learning.pairs import Pairs
from rankwell.models.learning.settings import USUAL_TOKENS, RankerSettings
from rankwell.models.learning.starting_model import HEAD, copy_tokenizer, freeze, load_body
from rankwell.models.learning.trainer import Job, Start, Training, with_budget
from rankwell.models.learning.validation import ranking_measures, validation_measures

if TYPE_CHECKING:
    from rankwell.models.learning.kept_layers import KeptLayers

log = logging.getLogger(__name__)

KIND = "bi-encoder"
FEWEST = 2  # relevant pairs: a single one has no negatives
VALIDATED = 64  # texts encoded together in validation


class TextTable:
    """Tokenised texts; equal texts share an entry."""

    def __init__(self, tokens: TextTokens) -> None:
        self._tokens = tokens
        self._places: dict[bytes, int] = {}
        self._ids: list[np.ndarray[Any, np.dtype[np.int32]]] = []
        self.kept: KeptLayers | None = None

    def __len__(self) -> int:
        return len(self._ids)

    def __getitem__(self, place: int) -> np.ndarray[Any, np.dtype[np.int32]]:
        return self._ids[place]

    def add(self, texts: Sequence[str]) -> list[int]:
        """Tokenise new texts and return the entries of all."""
        digests = [hashlib.blake2b(text.encode(errors="replace"), digest_size=16).digest() for text in texts]
        new = {digest: text for digest, text in zip(digests, texts, strict=True) if digest not in self._places}
        for digest, tokens in zip(new, self._tokens(list(new.values())), strict=True):
            self._places[digest] = len(self._ids)
            self._ids.append(tokens.ids.astype(np.int32))
        return [self._places[digest] for digest in digests]

    def inputs(self, places: Sequence[int], padding: int) -> dict[str, Any]:
        """The model's input for some texts, padded to the longest: tokens, or the kept outputs of its lower layers."""
        texts = (self._ids[place].astype(np.int64) for place in places)
        tokens = padded_tensors([Tokens(ids, np.zeros_like(ids)) for ids in texts], padding, segments=False)
        return tokens if self.kept is None else self.kept.hidden(places, tokens)

    @property
    def lengths(self) -> list[int]:
        """The tokens of each text."""
        return [len(ids) for ids in self._ids]


TEACHER = "teacher"  # column of pairs: another model's score, whose softmax over a query's documents is the target
NEVER = -1e4  # the logit of a document that does not count for a query


@dataclass(frozen=True, eq=False)
class PairTexts(PairLabels):
    """Pairs with texts in a table: `queries[i]` and `documents[i]` are the entries of pair i.

    `teacher` has another model's scores of the pairs, where there are some.
    """

    table: TextTable
    queries: Integers
    documents: Integers
    teacher: Floats | None = None

    @classmethod
    def of(cls, pairs: Pairs, table: TextTable, prompt: str, progress: Progress = SILENT) -> PairTexts:
        """Tokenise the texts of all pairs; `prompt` precedes queries."""
        queries: list[int] = []
        documents: list[int] = []
        for batch in pairs.batches(["query", "document"], WINDOW):
            queries += table.add([prompt + text for text in batch["query"].to_pylist()])
            documents += table.add(batch["document"].to_pylist())
            progress.advance(len(batch))
        places = np.array([queries, documents], dtype=np.int64)
        teacher = np.array(pairs.column(TEACHER), dtype=np.float32) if TEACHER in pairs.columns else None
        return cls(*label_columns(pairs), table, places[0], places[1], teacher)


class InBatchNegatives:
    """Makes batches of relevant pairs (`positives`: their rows) and of hard negatives.

    A document known to be relevant to another query of the batch would be a false negative: such a pair is left
    out of the batch, and so is such a hard negative. `negatives` limits the hard negatives per pair; they change
    with the epoch.
    """

    def __init__(self, pairs: PairTexts, *, negatives: int, padding: int) -> None:
        self.pairs, self.negatives, self.padding = pairs, negatives, padding
        self._relevant: dict[int, set[str]] = {}
        self._others: dict[int, list[int]] = {}
        for row, (group, label) in enumerate(zip(pairs.groups.tolist(), pairs.labels.tolist(), strict=True)):
            if label > 0:
                self._relevant.setdefault(group, set()).add(pairs.document_ids[row])
            else:
                self._others.setdefault(group, []).append(row)

    @property
    def positives(self) -> list[int]:
        """The rows of the relevant pairs."""
        return np.flatnonzero(self.pairs.labels > 0).tolist()

    def __call__(self, examples: Sequence[tuple[int, int]]) -> dict[str, Any]:
        """A batch of (row, epoch): queries; then one relevant document for each, and the hard negatives."""
        rows = self._without_clashes([row for row, _ in examples])
        epochs = dict(examples)
        own = [self._hard(row, epochs[row]) for row in rows]
        groups = [int(self.pairs.groups[row]) for row in rows]
        hard = [row for some in own for row in some if not any(self._known(group, row) for group in groups)]
        together = [*rows, *dict.fromkeys(hard)]
        table = self.pairs.table
        queries = table.inputs(self.pairs.queries[rows].tolist(), self.padding)
        documents = table.inputs(self.pairs.documents[together].tolist(), self.padding)
        return {
            **{f"query_{name}": tensor for name, tensor in queries.items()},
            **{f"document_{name}": tensor for name, tensor in documents.items()},
            **({} if self.pairs.teacher is None else {TEACHER: self._taught(rows, own, together)}),
        }

    def _taught(self, rows: list[int], own: list[list[int]], together: list[int]) -> Any:
        """The teacher's scores, a row for each query: of its own documents only, the others have NEVER."""
        import torch

        scores = np.full((len(rows), len(together)), NEVER, dtype=np.float32)
        places = {row: place for place, row in reversed(list(enumerate(together)))}
        for number, (row, others) in enumerate(zip(rows, own, strict=True)):
            for one in (row, *others):
                if self.pairs.teacher is not None and one in places:
                    scores[number, places[one]] = self.pairs.teacher[one]
        return torch.from_numpy(scores)

    def _without_clashes(self, rows: list[int]) -> list[int]:
        kept: list[int] = []
        for row in rows:
            group = int(self.pairs.groups[row])
            if not any(self._known(group, other) or self._known(int(self.pairs.groups[other]), row) for other in kept):
                kept.append(row)
        return kept

    def _hard(self, row: int, epoch: int) -> list[int]:
        others = self._others.get(int(self.pairs.groups[row]), [])
        start = (epoch * self.negatives) % max(1, len(others))
        return [*others[start:], *others[:start]][: self.negatives]

    def _known(self, group: int, row: int) -> bool:
        return self.pairs.document_ids[row] in self._relevant.get(group, ())


class RelevantPairs:
    """The examples: rows of relevant pairs, each with the current epoch."""

    def __init__(self, rows: list[int]) -> None:
        self.rows, self.epoch = rows, 0

    def set_epoch(self, epoch: int) -> None:
        """Set the epoch, from 0."""
        self.epoch = epoch

    def __len__(self) -> int:
        return len(self.rows)

    def __getitem__(self, place: int) -> tuple[int, int]:
        return self.rows[place], self.epoch


@dataclass(frozen=True, kw_only=True)
class BiEncoderSettings(RankerSettings):
    """Settings for training a bi-encoder, besides those of all training.

    The loss compares each query's relevant document with all others of the batch, and with `negatives` hard ones.
    With `teacher_share` a part of the loss is the divergence of the softmax over a query's own documents from that of
    the teacher's scores; its hard negatives then count in that part alone. `query_prompt` precedes queries in training
    and in search. The outputs of frozen layers (`freeze="layers:N"`) are computed once for each text and kept, which
    makes later steps cheaper; frozen layers have no dropout then.
    """

    batch_size: int = like(
        RankerSettings, "batch_size", default=32, help="Batch size in queries: the larger, the harder the task."
    )
    # In-batch negatives should be random, not of the same length.
    group_by_length: bool = like(RankerSettings, "group_by_length", default=False)
    freeze: str = like(
        RankerSettings, "freeze", help="Weights that stay as they are: none, embeddings, layers:N (the first N)."
    )
    pooling: str | None = param(
        None, "How token vectors become one (default: the model's own way).", Text(tuple(POOLINGS))
    )
    negatives: int = param(1, "Hard negatives of each query that join the batch.", Whole())
    teacher_share: float = param(
        0.0, "Share of the loss that follows a teacher's scores, which the pairs then have.", Number(0, 1)
    )
    scale: float = param(20.0, "Scale (1 / temperature) of the cosine similarities.", POSITIVE)
    max_tokens: int | None = like(RankerSettings, "max_tokens", help=f"Tokens of a text (default: {USUAL_TOKENS}).")
    query_prompt: str | None = param(
        None, "Text to put in front of queries (default: the model's own).", Text(), example="query: "
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.freeze == HEAD:
            expected = "none, embeddings or layers:N: a bi-encoder has no head"
            raise ParameterError("freeze", expected=expected, found=self.freeze)


def _complete(folder: ModelFolder, settings: BiEncoderSettings) -> BiEncoderSettings:
    """The settings with the model's own pooling and prompt as defaults."""
    prompt = folder.query_prompt if settings.query_prompt is None else settings.query_prompt
    return replace(with_budget(folder, settings), pooling=settings.pooling or folder.pooling, query_prompt=prompt)


def _prepare(start: Start[BiEncoderSettings]) -> tuple[Job, BiEncoderSettings]:
    from sentence_transformers.sentence_transformer.losses import MultipleNegativesRankingLoss

    from rankwell.models.bi_encoder.model import TextVectors
    from rankwell.models.learning.kept_layers import keep_layers

    settings, folder = start.settings, start.folder
    body = load_body(folder, settings.dropout)
    freeze(body, settings.freeze)
    padding, _ = padding_and_segments(body.config)
    tokens = TextTokens(folder.load_tokenizer(), settings.max_tokens or 0)
    table, prompt = TextTable(tokens), settings.query_prompt or ""
    training, held_out = start.tokenise(tokens, lambda pairs, progress: PairTexts.of(pairs, table, prompt, progress))
    batches = InBatchNegatives(training, negatives=settings.negatives, padding=padding)
    examples = RelevantPairs(batches.positives)
    _check(examples, settings, taught=training.teacher is not None)
    nothing: Any = None  # the loss gets vectors, and needs no model
    library = MultipleNegativesRankingLoss(nothing, scale=settings.scale)

    def loss_of(model: Any, batch: dict[str, Any]) -> Any:
        queries, documents = (
            model(**{name.removeprefix(which): part for name, part in batch.items() if name.startswith(which)}).float()
            for which in ("query_", "document_")
        )
        if settings.teacher_share:
            return taught_loss(queries, documents, batch[TEACHER], settings.scale, settings.teacher_share)
        relevant, hard = documents[: len(queries)], documents[len(queries) :]
        return library.compute_loss_from_embeddings([queries, relevant, *([hard] if len(hard) else [])], nothing)

    def validated(held: PairTexts) -> Callable[[Any], Mapping[str, float]]:
        measures = validation_measures(held, settings.measure)
        return lambda model: ranking_measures(held, cosines(model, held, padding), measures)

    def write(model: Any, place: Path) -> None:
        write_encoder(model, place, folder, settings)

    validate = None if held_out is None else validated(held_out)
    table.kept = keep_layers(body, settings.freeze, table.lengths, start.run.path)
    upper = None if table.kept is None else table.kept.upper
    model = TextVectors(body, settings.pooling or "mean", upper)
    return Job(model, examples, batches, loss_of, write, validate).decided_by(settings.measure), settings


def taught_loss(queries: Any, documents: Any, teacher: Any, scale: float, share: float) -> Any:
    """(1 - share) * in-batch negatives + share * KL(softmax(teacher) || softmax(scale * cosines)).

    In-batch negatives: - log softmax of the first documents against those of other queries; a query's own hard
    negatives are left to the teacher, who may find them relevant. `teacher` has NEVER where a document is not the
    query's own. Hinton, Vinyals and Dean, "Distilling the knowledge in a neural network", 2015, over lists.
    """
    import torch
    from torch.nn.functional import cross_entropy, normalize

    similar = scale * normalize(queries, dim=-1) @ normalize(documents, dim=-1).T
    listed, own = teacher > NEVER, torch.arange(len(queries), device=queries.device)
    others = listed.clone()
    others[own, own] = False
    contrast = cross_entropy(similar.masked_fill(others, NEVER), own)
    target = teacher.log_softmax(dim=1)
    mine = similar.masked_fill(~listed, NEVER).log_softmax(dim=1)
    divergence = (target.exp() * (target - mine)).masked_fill(~listed, 0.0).sum(dim=1).mean()
    return (1 - share) * contrast + share * divergence


def cosines(model: Any, pairs: PairTexts, padding: int) -> np.ndarray[Any, np.dtype[np.float32]]:
    """The cosine similarity of each pair; each text is encoded once."""
    import torch

    places = np.unique(np.concatenate((pairs.queries, pairs.documents)))
    order = sorted(places.tolist(), key=lambda place: -len(pairs.table[place]))
    device = next(model.parameters()).device
    vectors: dict[int, Any] = {}
    with torch.inference_mode():
        for start in range(0, len(order), VALIDATED):
            some = order[start : start + VALIDATED]
            given = {name: tensor.to(device) for name, tensor in pairs.table.inputs(some, padding).items()}
            rows = torch.nn.functional.normalize(model(**given).float(), dim=-1).cpu().numpy()
            vectors.update(zip(some, rows, strict=True))
    both = zip(pairs.queries.tolist(), pairs.documents.tolist(), strict=True)
    return np.array([vectors[query] @ vectors[document] for query, document in both], dtype=np.float32)


def write_encoder(model: Any, place: Path, folder: ModelFolder, settings: BiEncoderSettings) -> None:
    """Write a folder that transformers, sentence-transformers and Rankwell can load."""
    model.body.save_pretrained(place)
    copy_tokenizer(folder.path, place, settings.max_tokens)
    modules = [("0", "", "Transformer"), ("1", "1_Pooling", "Pooling"), ("2", "2_Normalize", "Normalize")]
    files: dict[str, Any] = {
        "modules.json": [
            {"idx": int(name), "name": name, "path": path, "type": f"sentence_transformers.models.{kind}"}
            for name, path, kind in modules
        ],
        "sentence_bert_config.json": {"max_seq_length": settings.max_tokens, "do_lower_case": False},
        "config_sentence_transformers.json": {"prompts": {"query": settings.query_prompt or ""}},
        "1_Pooling/config.json": {
            "word_embedding_dimension": int(model.body.config.hidden_size),
            **{name: pooling == model.pooling for name, pooling in POOLING_MODES.items()},
        },
    }
    for name, content in files.items():
        (place / name).parent.mkdir(exist_ok=True)
        (place / name).write_bytes(orjson.dumps(content, option=orjson.OPT_INDENT_2) + b"\n")


def _check(examples: RelevantPairs, settings: BiEncoderSettings, *, taught: bool) -> None:
    if settings.teacher_share and not taught:
        expected = "0, or pairs with a teacher's scores (rankwell adapt makes such pairs)"
        raise ParameterError("teacher_share", expected=expected, found=settings.teacher_share)
    if len(examples) < FEWEST:
        raise RankwellError(
            f"pairs: expected at least {FEWEST} relevant pairs, each against the other, found {len(examples)}"
        )
    if len(examples) < settings.batch_size:
        log.warning("%s relevant pairs are fewer than a batch of %s", len(examples), settings.batch_size)


train_bi_encoder: Training[BiEncoderSettings] = Training(
    KIND,
    "Fine-tune a bi-encoder, which makes vectors of texts, for rankwell encode and search --dense.",
    BiEncoderSettings,
    _prepare,
    _complete,
)
