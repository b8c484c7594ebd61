"""The four review rankers: interaction, representation, dual-interaction and triple-representation."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType

from rankwell.core import ParameterError
from rankwell.models.review_rankers.inputs import QA, QTA, Architecture, Example, Input, check_texts


@dataclass(frozen=True)
class DualInteraction:
    """The Dual-Interaction ranker (systematic-review study, 4.8): two inputs, each through a BERT.

    `[CLS] query [SEP] document [SEP]` and `[CLS] query [SEP] relevant abstract [SEP]`

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
        """Whether the title is read, as in QTA."""
        return self.texts == QTA

    def given(self, example: Example) -> tuple[Input, ...]:
        """The pairs of query and document, and of query and relevant abstract."""
        document = example.whole if self.reads_title else example.body
        return (example.query, document), (example.query, example.relevant)


@dataclass(frozen=True)
class Interaction:
    """The Interaction ranker (systematic-review study, 4.6): one input through BERT.

    `[CLS] query [SEP] abstract [SEP]` (QA), or title and abstract after the query (QTA)

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
        """Whether the title is read, as in QTA."""
        return self.texts == QTA

    def given(self, example: Example) -> tuple[Input, ...]:
        """The pair of query and document."""
        return ((example.query, example.whole if self.reads_title else example.body),)


@dataclass(frozen=True)
class Representation:
    """The Representation ranker (systematic-review study, 4.7): three inputs, each through a BERT of its own.

    `[CLS] query [SEP]`, `[CLS] title [SEP]` and `[CLS] abstract [SEP]`

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
        """Query, title and abstract."""
        return example.query, example.title, example.abstract


@dataclass(frozen=True)
class TripleRepresentation:
    """The Triple-Representation ranker (systematic-review study, 4.9): three inputs, each through a BERT.

    `[CLS] query [SEP]`, `[CLS] abstract [SEP]` and `[CLS] relevant abstract [SEP]`

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
        """Query, abstract and relevant abstract."""
        return example.query, example.body, example.relevant


# Architectures that read query and document together take QA or QTA.
TOGETHER: Mapping[str, Callable[[str], Architecture]] = MappingProxyType(
    {Interaction.kind: Interaction, DualInteraction.kind: DualInteraction}
)
APART: Mapping[str, Architecture] = MappingProxyType(
    {Representation.kind: Representation(), TripleRepresentation.kind: TripleRepresentation()}
)
ARCHITECTURES = (Interaction.kind, Representation.kind, DualInteraction.kind, TripleRepresentation.kind)


def architecture(kind: str, texts: str | None = None) -> Architecture:
    """One of the four; `texts` is QA (the default) or QTA where query and document are read together."""
    if kind in TOGETHER:
        return TOGETHER[kind](texts or QA)
    if kind not in APART:
        raise ParameterError("kind", expected=" or ".join(ARCHITECTURES), found=kind)
    found = APART[kind]
    if texts is not None:
        told = f"nothing, because {kind} reads {', '.join(found.inputs)} each on its own"
        raise ParameterError("texts", expected=told, found=texts)
    return found
