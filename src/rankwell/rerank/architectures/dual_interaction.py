"""Dual-Interaction: the query read with the document, and once more with an abstract that is known to be relevant."""

from __future__ import annotations

from dataclasses import dataclass

from rankwell.rerank.architectures.example import QA, QTA, Example, Input, check_texts


@dataclass(frozen=True)
class DualInteraction:
    """S3 4.8: `[CLS] query [SEP] document [SEP]` and `[CLS] query [SEP] relevant abstract [SEP]`, each through a BERT.

    ids    [batch, 2, tokens]   two inputs an example
    hidden [batch, tokens, h]   twice: the last layer of each BERT
    cls    [batch, 2 h]         their first rows, one behind the other
    logit  [batch, 1]           head(cls)

    A head of one linear layer adds what each half says: then the relevant abstract moves all documents of a query that
    are given the same one by the same amount, and cannot change their order.
    """

    texts: str = QA

    kind = "dual-interaction"
    inputs = ("document", "relevant")
    reads_relevant = True

    def __post_init__(self) -> None:
        check_texts(self.texts)

    @property
    def reads_title(self) -> bool:
        """With QTA."""
        return self.texts == QTA

    def given(self, example: Example) -> tuple[Input, ...]:
        """The query with each."""
        document = example.whole if self.reads_title else example.body
        return (example.query, document), (example.query, example.relevant)
