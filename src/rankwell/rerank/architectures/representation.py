"""Representation: query, title and abstract each read on its own, and compared by what is on top."""

from __future__ import annotations

from dataclasses import dataclass

from rankwell.rerank.architectures.example import Example, Input


@dataclass(frozen=True)
class Representation:
    """S3 4.7: `[CLS] query [SEP]`, `[CLS] title [SEP]` and `[CLS] abstract [SEP]`, each through a BERT of its own.

    ids    [batch, 3, tokens]   three inputs an example, each cut to its longest before it is read
    hidden [batch, tokens, h]   three times: the last layer of each BERT
    cls    [batch, 3 h]         their first rows, one behind the other
    logit  [batch, 1]           head(cls)

    No word of the query meets a word of the document before the head; and a head of one linear layer adds what each of
    the three says, so that the order of a query's documents does not depend on the query. The head of a frozen BERT
    (three layers) can compare them.
    """

    kind = "representation"
    inputs = ("query", "title", "abstract")
    reads_title = True
    reads_relevant = False

    def given(self, example: Example) -> tuple[Input, ...]:
        """Three texts."""
        return example.query, example.title, example.abstract
