"""How a PARADE model reads a document: which passages, how many of them, and how many tokens of each."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from rankwell.core import FormatError, ParameterError
from rankwell.encode.folder import ModelFolder
from rankwell.encode.tokens import PairTokens, Tokens
from rankwell.rerank.passages import Passages
from rankwell.rerank.ranker_record import RECORD, RankerRecord, read_record

PARADE = "parade"
BREAK = "\x1e"  # between the passages of a document that is one text; to Python a blank, so that no passage has one


@dataclass(frozen=True)
class ParadeReading:
    """The settings that a model was trained with, and must be used with.

    Of a document with more than `most` passages the first, the last, and others at equal distances between them are
    read (PARADE's authors take the first, the last, and others at random).
    """

    aggregate: str
    passages: Passages
    most: int
    max_tokens: int
    query_tokens: int | None
    heads: int  # of attention between passages
    epsilon: float  # of layer norms

    def __post_init__(self) -> None:
        if self.most < 1:
            raise ParameterError("most passages", expected="a number from 1", found=self.most)

    @classmethod
    def of_folder(cls, folder: ModelFolder) -> ParadeReading:
        """As `ranker.json` says it."""
        record = read_record(folder.path)
        if record is None or record.kind != PARADE:
            found = "none" if record is None else record.kind
            raise FormatError(folder.path / RECORD, None, expected=f"a ranker of the kind {PARADE}", found=found)
        return cls.parse(record.settings, folder)

    @classmethod
    def parse(cls, settings: Mapping[str, Any], folder: ModelFolder) -> ParadeReading:
        """From the record's settings."""
        try:
            return cls(**{**settings, "passages": Passages(**settings["passages"])})
        except (KeyError, TypeError) as error:
            expected = f"the settings of a {PARADE} model"
            raise FormatError(folder.path / RECORD, None, expected=expected, found=str(error)) from error

    def record(self) -> RankerRecord:
        """What `ranker.json` says."""
        return RankerRecord(PARADE, asdict(self))

    def chosen(self, passages: Sequence[str]) -> list[str]:
        """The passages that are read."""
        if len(passages) <= self.most:
            return list(passages)
        places = np.linspace(0, len(passages) - 1, self.most).round().astype(int)
        return [passages[place] for place in places]

    def split(self, text: str) -> list[str]:
        """The passages of a document that is given as one text; one, without words, where it has none."""
        return text.split(BREAK) if BREAK in text else self.chosen(self.passages.split("", text)) or [""]


def padded(rows: Sequence[Tokens], padding: int) -> Tokens:
    """Several rows as one array each, filled up to the longest."""
    longest = max(len(row.ids) for row in rows)
    ids = np.full((len(rows), longest), padding, dtype=np.int64)
    types, mask = np.zeros_like(ids), np.zeros_like(ids)
    for place, row in enumerate(rows):
        length = len(row.ids)
        ids[place, :length], types[place, :length], mask[place, :length] = row.ids, row.types, 1
    return Tokens(ids, types, mask)


class ParadeTokens:
    """Makes `[CLS] query [SEP] passage [SEP]` of every passage of a document."""

    def __init__(self, tokens: PairTokens, reading: ParadeReading, padding: int) -> None:
        self.tokens, self._reading, self._padding = tokens, reading, padding

    def __call__(self, pairs: Sequence[tuple[str, str]]) -> list[Tokens]:
        """The token ids of each pair of query and document: [passages, tokens]."""
        split = [self._reading.split(document) for _, document in pairs]
        flat = [(query, passage) for (query, _), parts in zip(pairs, split, strict=True) for passage in parts]
        made = iter(self.tokens(flat))
        return [padded([next(made) for _ in parts], self._padding) for parts in split]
