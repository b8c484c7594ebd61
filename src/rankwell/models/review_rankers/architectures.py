"""The four review rankers (systematic-review study, 4.6 to 4.9), and what they read of a query and a document.

Each input goes through a BERT of its own, or all through a shared one; a head makes one logit of their [CLS] vectors:

    ids    [batch, inputs, tokens]   the inputs of each example, each cut to its longest before it is read
    hidden [batch, tokens, h]        for each input: the last layer of its BERT
    cls    [batch, inputs h]         their first rows, one behind the other, without BERT's pooler
    logit  [batch, 1]                head(cls)

    interaction             [CLS] query [SEP] document [SEP]                       a cross-encoder in all but its head
    representation          query; title; abstract                                 each as [CLS] text [SEP]
    dual-interaction        query [SEP] document; query [SEP] relevant abstract
    triple-representation   query; abstract; relevant abstract

A head of one linear layer adds what each vector says. So in both representations the order of a query's documents does
not depend on the query, and in a dual-interaction the relevant abstract moves all documents that are given the same one
by the same amount. The head of a frozen BERT (three layers) can compare the vectors.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from hashlib import blake2b
from typing import NamedTuple

from rankwell.analysis import clean
from rankwell.core import Document, ParameterError, Template

QA, QTA = "QA", "QTA"  # the document of an interaction: its abstract, or title and abstract
TITLE = "title"
ABSTRACTS = ("abstract", "text", "body")  # where an abstract may be, in the order in which they are looked for
EXAMPLE = ""  # the id of a text that a user gave; no document has it
FEWEST = 2  # with one alone, that document itself would have none, which would reveal its label

Input = str | tuple[str, str]  # one text, or two with a separator between them


class Example(NamedTuple):
    """A query, a document, and an abstract that is known to be relevant to the query."""

    query: str
    title: str = ""
    abstract: str = ""
    relevant: str = ""

    @property
    def body(self) -> str:
        """The abstract, or the title where there is none."""
        return self.abstract if self.abstract.strip() else self.title

    @property
    def whole(self) -> str:
        """Title and abstract as one text."""
        return " ".join(part for part in (self.title, self.abstract) if part.strip())


@dataclass(frozen=True)
class Architecture:
    """An architecture: for each of its inputs, in the order of their vectors, the part of an example or two parts."""

    kind: str
    parts: Mapping[str, Input]

    @property
    def inputs(self) -> tuple[str, ...]:
        """The names of its inputs: as many encoders, unless they share one."""
        return tuple(self.parts)

    @property
    def reads_title(self) -> bool:
        """Whether it needs titles."""
        return any(name in part for part in self.parts.values() for name in ("title", "whole"))

    @property
    def reads_relevant(self) -> bool:
        """Whether it takes a relevant abstract."""
        return "relevant" in self.parts

    def given(self, example: Example) -> tuple[Input, ...]:
        """The text or the two texts of each input."""
        return tuple(
            getattr(example, part) if isinstance(part, str) else (getattr(example, part[0]), getattr(example, part[1]))
            for part in self.parts.values()
        )


PARTS: Mapping[str, Mapping[str, Input]] = {
    "interaction": {"document": ("query", "body")},
    "representation": {"query": "query", "title": "title", "abstract": "abstract"},
    "dual-interaction": {"document": ("query", "body"), "relevant": ("query", "relevant")},
    "triple-representation": {"query": "query", "abstract": "body", "relevant": "relevant"},
}
ARCHITECTURES = tuple(PARTS)


def architecture(kind: str, texts: str | None = None) -> Architecture:
    """One of the four; `texts` is QA (the default) or QTA where query and document are read together."""
    if kind not in PARTS:
        raise ParameterError("kind", expected=" or ".join(ARCHITECTURES), found=kind)
    parts = PARTS[kind]
    if "document" not in parts and texts is not None:
        told = f"nothing, because {kind} reads {', '.join(parts)} each on its own"
        raise ParameterError("texts", expected=told, found=texts)
    if texts not in (None, "", QA, QTA):
        raise ParameterError("texts", expected=f"{QA} (query, abstract) or {QTA} (query, title, abstract)", found=texts)
    return Architecture(kind, {**parts, "document": ("query", "whole")} if texts == QTA else parts)


@dataclass(frozen=True)
class InputReading:
    """How texts are prepared before they are tokenized.

    `clean`: each text is cleaned as in the systematic-review study, before two are put together. `most_words`: an
    abstract is cut to its first `most_words` words.
    """

    clean: bool = False
    most_words: int | None = None

    def __post_init__(self) -> None:
        if self.most_words is not None and self.most_words < 1:
            raise ParameterError("most_words", expected="a number from 1", found=self.most_words)

    def __call__(self, example: Example) -> Example:
        """The prepared example."""
        query, title, abstract, relevant = example
        prepared = Example(query, title, self._shortened(abstract), self._shortened(relevant))
        return Example(*map(clean, prepared)) if self.clean else prepared

    def _shortened(self, text: str) -> str:
        if self.most_words is None:
            return text
        words = text.split()
        return text if len(words) <= self.most_words else " ".join(words[: self.most_words])


@dataclass(frozen=True)
class DocumentParts:
    """Takes a document apart. A template says what its abstract is, where it is no field of a usual name."""

    template: Template | None = None

    def title(self, document: Document) -> str:
        """The title; empty where there is none."""
        return document.fields.get(TITLE, "").strip()

    def abstract(self, document: Document) -> str:
        """The abstract: by the template, or the field abstract, text or body; else all fields but the title."""
        if self.template is not None:
            return self.template.fill(document).strip()
        abstract = next((document.fields[name] for name in ABSTRACTS if name in document.fields), None)
        if abstract is None:
            abstract = " ".join(text for name, text in document.fields.items() if name != TITLE)
        return abstract.strip()

    def body(self, document: Document) -> str:
        """The abstract, or the title where there is none."""
        return self.abstract(document) or self.title(document)


@dataclass(frozen=True)
class RelevantAbstracts:
    """Known relevant abstracts: by query, then by document.

    The abstract for a document is drawn by a hash of seed, query and document: it depends on nothing
    else, and is the same on every machine. With `one` it is drawn by seed and query, so that all documents of a query
    are compared with the same abstract, except that abstract itself. The systematic-review study drew over its whole
    set, where a document may get itself.
    """

    known: Mapping[str, Mapping[str, str]] = field(repr=False)
    seed: int = 0
    one: bool = False

    def choose(self, query_id: str, document_id: str, text: str = "") -> str | None:
        """A relevant abstract of the query that is neither the document nor a copy of its text; None without any."""
        of_query = self.known.get(query_id, {})
        others = [name for name, known in of_query.items() if name != document_id and known != text]
        who = "" if self.one else document_id
        return of_query[min(others, key=lambda name: self._lot(query_id, who, name))] if others else None

    def enough(self, query_id: str) -> bool:
        """Whether the query has enough abstracts for each document to get another one."""
        return len(set(self.known.get(query_id, {}).values())) >= FEWEST

    def _lot(self, *names: str) -> bytes:
        text = "\0".join(("relevant", str(self.seed), *names)).encode("utf-8", "surrogatepass")
        return blake2b(text, digest_size=8).digest()
