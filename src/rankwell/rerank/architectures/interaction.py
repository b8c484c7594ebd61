"""Interaction: query and document read together, as a cross-encoder does."""

from __future__ import annotations

from dataclasses import dataclass

from rankwell.rerank.architectures.example import QA, QTA, Example, Input, check_texts


@dataclass(frozen=True)
class Interaction:
    """S3 4.6: `[CLS] query [SEP] abstract [SEP]` (QA), or title and abstract behind the query (QTA).

    ids    [batch, 1, tokens]   the one input of each example
    hidden [batch, tokens, h]   BERT's last layer
    cls    [batch, h]           its first row: [CLS]
    logit  [batch, 1]           head(cls)

    A cross-encoder in all but its head, which takes [CLS] as it is, without BERT's pooler.
    """

    texts: str = QA

    kind = "interaction"
    inputs = ("document",)
    reads_relevant = False

    def __post_init__(self) -> None:
        check_texts(self.texts)

    @property
    def reads_title(self) -> bool:
        """With QTA."""
        return self.texts == QTA

    def given(self, example: Example) -> tuple[Input, ...]:
        """The query, and the document."""
        return ((example.query, example.whole if self.reads_title else example.body),)
