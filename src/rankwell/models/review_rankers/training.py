"""Train a review ranker: its settings, examples with titles, abstracts and relevant abstracts, tokens, batches."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from itertools import chain
from pathlib import Path
from typing import Any, NamedTuple

from rankwell.core import SILENT, Integers, ParameterError, Progress, RankwellError
from rankwell.core.parameters import Flag, Number, Text, Whole, like, param
from rankwell.models.base.folder import ModelFolder
from rankwell.models.base.torch_model import padded_tensors
from rankwell.models.cross_encoder.training import CrossEncoderSettings
from rankwell.models.learning.pair_batches import WINDOW, PairBatches, TokenisedPairs, label_columns, tokens_in_a_row
from rankwell.models.learning.pairs import Pairs
from rankwell.models.learning.settings import USUAL_TOKENS
from rankwell.models.learning.starting_model import HEAD, copy_tokenizer, freeze, load_body
from rankwell.models.learning.trainer import Job, Start, Training, pair_ranker, with_budget
from rankwell.models.review_rankers import architectures, graph
from rankwell.models.review_rankers.architectures import QA, QTA, Architecture, Example, RelevantAbstracts, architecture
from rankwell.models.review_rankers.ranking import ExampleTokens, taken_apart

log = logging.getLogger(__name__)

TITLE, ABSTRACT = "title", "abstract"
USUAL_DROPOUT = 0.1  # of a head whose encoder names none


@dataclass(frozen=True, kw_only=True)
class ArchitectureSettings(CrossEncoderSettings):
    """The settings of a review ranker. Defaults are those of the systematic-review study (table 4.1).

    `freeze="head"` keeps all of BERT as it is, and puts a head of three layers on top.
    """

    kind: str = param(architectures.ARCHITECTURES[0], "Review ranker.", Text(architectures.ARCHITECTURES))
    texts: str | None = param(
        None,
        "What interactions read: QA (query and abstract, the default) or QTA (with the title).",
        Text((QA, QTA)),
    )
    clean: bool = param(False, "Clean the texts first: links, numbers, stop words, lemmas.", Flag())
    least_words: int = param(0, "Do not train on abstracts with fewer words.", Whole())
    most_words: int | None = param(None, "Read at most so many words of an abstract.", Whole(1))
    shared: bool = param(False, "One encoder for all inputs, instead of one for each.", Flag())
    head_ratio: float = param(
        0.75, "With freeze=head: size of each layer of the head relative to the one before.", Number(0, 1, above=True)
    )
    measure: str = like(CrossEncoderSettings, "measure", default="AP")
    lr: float = like(CrossEncoderSettings, "lr", default=1e-4)
    warmup: float = like(CrossEncoderSettings, "warmup", default=0.2)
    max_tokens: int | None = like(
        CrossEncoderSettings, "max_tokens", help=f"Tokens of each input (default: {USUAL_TOKENS})."
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        architecture(self.kind, self.texts)
        architectures.InputReading(self.clean, self.most_words)
        if self.most_words is not None and self.least_words > self.most_words:
            expected = f"a number of words from 0 to {self.most_words}"
            raise ParameterError("least_words", expected=expected, found=self.least_words)

    @property
    def architecture(self) -> Architecture:
        """Which of the four."""
        return architecture(self.kind, self.texts)

    def record(self) -> graph.ArchitectureRecord:
        """What the model's folder says of itself."""
        same = {part.name: getattr(self, part.name) for part in fields(graph.ArchitectureRecord)}
        return graph.ArchitectureRecord(**{**same, "max_tokens": self.max_tokens or 0})


class ExampleRow(NamedTuple):
    """A pair with its document in parts."""

    query_id: str
    document_id: str
    label: float
    example: Example


@dataclass(frozen=True)
class ArchitectureExamples:
    """The examples of one side, of training or of validation: relevant abstracts come from its own pairs alone.

    Where the architecture reads relevant abstracts, queries with fewer than two are left out: with one, the document
    that it is would be told from the others by having none. With `one` all documents of a query meet the same one.
    """

    pairs: Pairs
    relevant: RelevantAbstracts | None

    @classmethod
    def of(cls, pairs: Pairs, settings: ArchitectureSettings, *, training: bool) -> ArchitectureExamples:
        """What can be used of pairs; refused where the architecture needs a column that they have not."""
        kind = settings.architecture
        check_columns(pairs, kind)
        known = _known(pairs) if kind.reads_relevant else {}
        relevant = RelevantAbstracts(known, settings.seed, one=not training) if kind.reads_relevant else None
        least = settings.least_words if training else 0
        rows = [
            place
            for place, row in enumerate(read_rows(pairs))
            if len(row.example.body.split()) >= least and (relevant is None or relevant.enough(row.query_id))
        ]
        if len(rows) < len(pairs):
            what = "training" if training else "validation"
            log.warning("%s: %s of %s pairs are left out: %s", what, *_left_out(pairs, rows, least))
        return cls(pairs if len(rows) == len(pairs) else pairs.take(rows), relevant)

    def __iter__(self) -> Iterator[Example]:
        for query_id, document_id, _, example in read_rows(self.pairs):
            known = self.relevant if self.relevant and self.relevant.enough(query_id) else None
            chosen = known.choose(query_id, document_id, example.body) if known else None
            yield example._replace(relevant=chosen or "")

    def tokenised(self, tokens: ExampleTokens, progress: Progress = SILENT) -> TokenisedPairs:
        """The tokens of every example; texts are not kept."""
        return TokenisedPairs(*label_columns(self.pairs), *tokens_in_a_row(self, tokens, progress))


@dataclass(frozen=True)
class ExampleBatches(PairBatches):
    """Makes the input of a model of some examples: [examples, inputs, tokens], padded to the longest input of all."""

    count: int = 1  # inputs an example

    def inputs(self, rows: Integers) -> dict[str, Any]:
        """What the model is given for these examples."""
        examples = self.pairs.between(self.pairs.offsets[rows], self.pairs.offsets[rows + 1])
        parts = (taken_apart(tokens.ids, tokens.types, self.count) for tokens in examples)
        inputs = padded_tensors(list(chain.from_iterable(parts)), self.padding, segments=True)
        return {name: tensor.reshape(len(rows), self.count, -1) for name, tensor in inputs.items()}


def check_columns(pairs: Pairs, kind: Architecture) -> None:
    """Refuse pairs without titles where the architecture reads them."""
    if kind.reads_title and TITLE not in pairs.columns:
        raise RankwellError(
            f"{pairs.folder}: expected a column {TITLE} for {kind.kind} to read, found {', '.join(pairs.columns)}: "
            "make the pairs with rankwell train pairs --parts"
        )


def examples_to_score(pairs: Pairs, settings: ArchitectureSettings) -> Iterator[Example]:
    """An example for every pair, none left out; a query with fewer than two relevant abstracts has none for any."""
    kind = settings.architecture
    check_columns(pairs, kind)
    known = RelevantAbstracts(_known(pairs) if kind.reads_relevant else {}, settings.seed, one=True)
    return iter(ArchitectureExamples(pairs, known))


def read_rows(pairs: Pairs) -> Iterator[ExampleRow]:
    """Every pair; where the abstract has no column of its own, the document's text is taken for it."""
    abstract = ABSTRACT if ABSTRACT in pairs.columns else "document"
    titled = [TITLE] if TITLE in pairs.columns else []
    for batch in pairs.batches(["query_id", "document_id", "label", "query", abstract, *titled], WINDOW):
        columns = [batch[name].to_pylist() for name in ("query_id", "document_id", "label", "query", abstract)]
        titles = batch[TITLE].to_pylist() if titled else [""] * len(batch)
        for query_id, document_id, label, query, text, title in zip(*columns, titles, strict=True):
            yield ExampleRow(query_id, document_id, label, Example(query, title, text))


def _known(pairs: Pairs) -> Mapping[str, Mapping[str, str]]:
    """The relevant abstracts of each query."""
    known: dict[str, dict[str, str]] = {}
    for row in read_rows(pairs):
        if row.label > 0 and row.example.body.strip():
            known.setdefault(row.query_id, {})[row.document_id] = row.example.body
    return known


def _left_out(pairs: Pairs, rows: Sequence[int], least: int) -> tuple[str, str, str]:
    reasons = [f"abstracts of fewer than {least} words"] if least else []
    before, after = len(set(pairs.column("query_id"))), len(set(pairs.take(rows).column("query_id")) if rows else ())
    if after < before:
        reasons.append(f"{before - after:,} of {before:,} queries with fewer than two relevant abstracts")
    return f"{len(pairs) - len(rows):,}", f"{len(pairs):,}", ", ".join(reasons)


def _prepare(start: Start[ArchitectureSettings]) -> tuple[Job, ArchitectureSettings]:
    settings, folder, data = start.settings, start.folder, start.data
    kind, budgets = settings.architecture, (settings.max_tokens or 0, settings.query_tokens)
    tokens = ExampleTokens(kind, folder.load_tokenizer(), *budgets, settings.record().reading)

    def tokenised(pairs: Pairs, progress: Progress) -> TokenisedPairs:
        examples = ArchitectureExamples.of(pairs, settings, training=pairs is data.training)
        if not len(examples.pairs):
            what = "to train on" if pairs is data.training else "to measure with"
            of = " of a query with two relevant abstracts" if kind.reads_relevant else ""
            raise RankwellError(f"{pairs.folder}: expected pairs {what}{of} for {kind.kind} to read, found none")
        return examples.tokenised(tokens, progress)

    training, held_out = start.tokenise(tokens, tokenised)
    how = (int(folder.config.get("pad_token_id") or 0), True, len(kind.inputs))
    # The graph is written with the model: what `onnx` stands for elsewhere knows nothing of several encoders.
    return pair_ranker(
        load_architecture_model(folder, settings),
        ExampleBatches(training, *how),
        None if held_out is None else ExampleBatches(held_out, *how),
        replace(settings, onnx=False),
        lambda model, place: write_architecture(model, place, folder, settings),
    )


def load_architecture_model(folder: ModelFolder, settings: ArchitectureSettings) -> Any:
    """The encoders, all begun from the same weights and frozen as asked, and a new head."""
    from rankwell.models.review_rankers.model import ArchitectureModule, head

    inputs = settings.architecture.inputs
    encoders = {name: _encoder(folder, settings) for name in ([graph.SHARED] if settings.shared else inputs)}
    config = next(iter(encoders.values())).config
    dropout = getattr(config, "hidden_dropout_prob", None) if settings.dropout is None else settings.dropout
    width = len(inputs) * int(config.hidden_size)
    dropout = USUAL_DROPOUT if dropout is None else float(dropout)
    top = head(width, frozen=settings.freeze == HEAD, dropout=dropout, ratio=settings.head_ratio)
    return ArchitectureModule(encoders, inputs, top)


def write_architecture(model: Any, place: Path, folder: ModelFolder, settings: ArchitectureSettings) -> None:
    """Leave the finished model: encoders, head, tokenizer, record, and the graph where it is wanted."""
    from safetensors.torch import save_file

    for name, encoder in model.encoders.items():
        encoder.save_pretrained(place / name)
        copy_tokenizer(folder.path, place / name, settings.max_tokens)
    save_file({name: tensor.contiguous() for name, tensor in model.head.state_dict().items()}, place / graph.HEAD)
    encoder.config.save_pretrained(place)  # what every model's folder says of its layers
    copy_tokenizer(folder.path, place, settings.max_tokens)
    settings.record().write(place)
    if settings.onnx:
        try:
            graph.write_graph(place, place / graph.GRAPH)
        except RankwellError as error:  # the weights are worth more than their copy
            log.warning("%s: no ONNX file was made: %s", place, error)


def _encoder(folder: ModelFolder, settings: ArchitectureSettings) -> Any:
    """The body alone: [CLS] is taken as the last layer has it, so there is no pooler."""
    body = load_body(folder, settings.dropout)
    if getattr(body, "pooler", None) is not None:
        body.pooler = None
    freeze(body, settings.freeze)
    return body


train_architecture: Training[ArchitectureSettings] = Training(
    "architecture",
    "Train a review ranker: interaction, representation, dual-interaction or triple-representation.",
    ArchitectureSettings,
    _prepare,
    with_budget,
)
