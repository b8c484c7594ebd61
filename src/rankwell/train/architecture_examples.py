"""Pairs as examples of an architecture: with titles, abstracts and relevant abstracts, then as tokens and batches."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from rankwell.core import Progress, RankwellError
from rankwell.core.arrays import Integers
from rankwell.core.progress import SILENT
from rankwell.rerank.architectures import Architecture, Example, Reading, RelevantAbstracts
from rankwell.rerank.architectures.tokens import ExampleTokens, taken_apart
from rankwell.train.architecture_settings import ArchitectureSettings
from rankwell.train.pair_tokens import WINDOW, PairBatches, TokenisedPairs
from rankwell.train.pairs import Pairs

log = logging.getLogger(__name__)

TITLE, ABSTRACT = "title", "abstract"


class Row(NamedTuple):
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

    def tokenised(self, tokens: ExampleTokens, reading: Reading, progress: Progress = SILENT) -> TokenisedPairs:
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


def read_rows(pairs: Pairs) -> Iterator[Row]:
    """Every pair; where the abstract has no column of its own, the document's text is taken for it."""
    abstract = ABSTRACT if ABSTRACT in pairs.columns else "document"
    titled = [TITLE] if TITLE in pairs.columns else []
    for batch in pairs.batches(["query_id", "document_id", "label", "query", abstract, *titled], WINDOW):
        columns = [batch[name].to_pylist() for name in ("query_id", "document_id", "label", "query", abstract)]
        titles = batch[TITLE].to_pylist() if titled else [""] * len(batch)
        for query_id, document_id, label, query, text, title in zip(*columns, titles, strict=True):
            yield Row(query_id, document_id, label, Example(query, title, text))


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
