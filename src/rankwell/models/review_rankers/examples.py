"""Pairs as examples of an architecture: with titles, abstracts and relevant abstracts, then as tokens and batches."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from rankwell.core import ParameterError, Progress, RankwellError
from rankwell.core.arrays import Integers
from rankwell.core.parameters import Flag, Number, Text, Whole, like, param
from rankwell.core.progress import SILENT
from rankwell.models.cross_encoder.training import CrossEncoderSettings
from rankwell.models.learning.pair_batches import WINDOW, PairBatches, TokenisedPairs
from rankwell.models.learning.pairs import Pairs
from rankwell.models.learning.settings import USUAL_TOKENS
from rankwell.models.learning.starting_model import HEAD
from rankwell.models.review_rankers.architectures import ARCHITECTURES, Interaction, architecture
from rankwell.models.review_rankers.graph import ArchitectureRecord
from rankwell.models.review_rankers.inputs import QA, QTA, Architecture, Example, InputReading, RelevantAbstracts
from rankwell.models.review_rankers.scorer import ExampleTokens, taken_apart


@dataclass(frozen=True, kw_only=True)
class ArchitectureSettings(CrossEncoderSettings):
    """The settings of a review ranker. Defaults are those of the systematic-review study (table 4.1).

    `kind`: interaction, representation, dual-interaction or triple-representation. `texts`: QA or QTA, for the two
    that read query and document together. `clean`: texts cleaned first. Documents whose abstract has fewer than
    `least_words` words are not trained on; of longer ones the first `most_words` are read. `shared`: one encoder for
    all inputs. `freeze="head"` keeps all of BERT as it is, and puts the head of three layers on top, each of
    `head_ratio` as many units as the one before. `max_tokens` is the budget of each input.
    """

    kind: str = param(Interaction.kind, "Review ranker.", Text(ARCHITECTURES))
    texts: str | None = param(
        None, "What interactions read: QA (query and abstract, the default) or QTA (with the title).", Text((QA, QTA))
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
        InputReading(self.clean, self.most_words)
        if self.most_words is not None and self.least_words > self.most_words:
            expected = f"a number of words from 0 to {self.most_words}"
            raise ParameterError("least_words", expected=expected, found=self.least_words)

    @property
    def architecture(self) -> Architecture:
        """Which of the four."""
        return architecture(self.kind, self.texts)

    @property
    def frozen(self) -> bool:
        """Whether nothing of BERT is trained."""
        return self.freeze == HEAD

    def record(self) -> ArchitectureRecord:
        """What the model's folder says of itself."""
        return ArchitectureRecord(
            self.kind,
            texts=self.texts,
            max_tokens=self.max_tokens or 0,
            query_tokens=self.query_tokens,
            clean=self.clean,
            most_words=self.most_words,
            shared=self.shared,
            seed=self.seed,
        )


log = logging.getLogger(__name__)

TITLE, ABSTRACT = "title", "abstract"


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
        """In the order of the pairs."""
        for query_id, document_id, _, example in read_rows(self.pairs):
            if self.relevant is not None:
                found = self.relevant.choose(query_id, document_id, example.body)
                yield example._replace(relevant=found or "")
            else:
                yield example

    def tokenised(self, tokens: ExampleTokens, reading: InputReading, progress: Progress = SILENT) -> TokenisedPairs:
        """The tokens of every example; texts are not kept."""
        ids, types, lengths = [np.zeros(0, np.int32)], [np.zeros(0, np.int8)], [0]
        for window in _windows(map(reading, self)):
            made = tokens(window)
            ids.append(np.concatenate([one.ids for one in made]).astype(np.int32))
            types.append(np.concatenate([one.types for one in made]).astype(np.int8))
            lengths += [len(one.ids) for one in made]
            progress.advance(len(made))
        return TokenisedPairs(
            np.concatenate(ids),
            np.concatenate(types),
            np.cumsum(lengths, dtype=np.int64),
            np.array(self.pairs.column("label"), dtype=np.float32),
            np.array(self.pairs.column("group"), dtype=np.int64),
            self.pairs.column("query_id"),
            self.pairs.column("document_id"),
        )


@dataclass(frozen=True)
class ExampleBatches(PairBatches):
    """Makes the input of a model of some examples: [examples, inputs, tokens], padded to the longest input of all."""

    count: int = 1  # inputs an example

    def inputs(self, rows: Integers) -> dict[str, Any]:
        """What the model is given for these examples."""
        import torch

        pairs = self.pairs
        bounds = zip(pairs.offsets[rows].tolist(), pairs.offsets[rows + 1].tolist(), strict=True)
        parts = [taken_apart(pairs.ids[start:end], pairs.types[start:end], self.count) for start, end in bounds]
        longest = max(len(part.ids) for example in parts for part in example)
        ids = np.full((len(rows), self.count, longest), self.padding, dtype=np.int64)
        types, mask = np.zeros_like(ids), np.zeros_like(ids)
        for row, example in enumerate(parts):
            for place, part in enumerate(example):
                here = row, place, slice(len(part.ids))
                ids[here], types[here], mask[here] = part.ids, part.types, 1
        given = {"input_ids": ids, "attention_mask": mask, "token_type_ids": types}
        return {name: torch.from_numpy(array) for name, array in given.items()}


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
    for query_id, document_id, _, example in read_rows(pairs):
        found = known.choose(query_id, document_id, example.body) if known.enough(query_id) else None
        yield example._replace(relevant=found or "")


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


def _windows(examples: Iterator[Example]) -> Iterator[list[Example]]:
    window: list[Example] = []
    for example in examples:
        window.append(example)
        if len(window) == WINDOW:
            yield window
            window = []
    if window:
        yield window
