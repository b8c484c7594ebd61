"""Triple-Representation: query, abstract and a relevant abstract each read on its own."""

from __future__ import annotations

from dataclasses import dataclass

from rankwell.rerank.architectures.example import Example, Input


@dataclass(frozen=True)
class TripleRepresentation:
    """S3 4.9: `[CLS] query [SEP]`, `[CLS] abstract [SEP]` and `[CLS] relevant abstract [SEP]`, each through a BERT.

    ids    [batch, 3, tokens]   three inputs an example
    hidden [batch, tokens, h]   three times: the last layer of each BERT
    cls    [batch, 3 h]         their first rows, one behind the other
    logit  [batch, 1]           head(cls)

    With a head of one linear layer the three vectors never meet: the order of a query's documents depends on their
    abstracts alone. The head of a frozen BERT (three layers) can compare them.
    """

    kind = "triple-representation"
    inputs = ("query", "abstract", "relevant")
    reads_title = False
    reads_relevant = True

    def given(self, example: Example) -> tuple[Input, ...]:
        """Three texts."""
        return example.query, example.body, example.relevant
