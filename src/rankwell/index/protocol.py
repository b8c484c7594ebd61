"""The interface of an index for stages, and its results: `Index` in a folder implements it, databases can too."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
import numpy.typing as npt

from rankwell.analysis import Analyzer
from rankwell.core import Document, Floats, Integers, ParameterError, Ranking, Strings
from rankwell.index.scoring import QueryTerms, Scoring, TermStatistics
from rankwell.index.snippets import Snippet, snippet_of

if TYPE_CHECKING:
    from rankwell.index.columns import Facet

NUMBER, TEXT, EMPTY = "number", "text", "none"  # the kinds of a metadata column


class Mask(Protocol):
    """A set of documents of one index: an array of truth values, or a condition that a database evaluates."""

    def __and__(self, other: Any, /) -> Mask: ...

    def __or__(self, other: Any, /) -> Mask: ...

    def __invert__(self) -> Mask: ...

    def any(self) -> object:
        """Whether the set has a document."""

    def sum(self) -> Any:
        """The number of documents in the set."""


class MetadataColumn(Protocol):
    """One value (or none) per document. A document without a value matches no comparison."""

    @property
    def kind(self) -> str:
        """The kind of the values: "number", "text", or "none" where no document has a value."""

    def present(self) -> Mask:
        """The documents with a value."""

    def compared(self, sign: str, value: str | float) -> Mask:
        """The documents whose value compares like this with another; `sign` is in `rankwell.index.columns.SIGNS`."""

    def one_of(self, values: Sequence[str | float]) -> Mask:
        """The documents with one of these values."""

    def facet(self, among: Mask, most: int = 10) -> Facet:
        """The distribution of the values over some documents. The kind of facet depends on the column alone."""

    def is_facet(self, documents: int) -> bool:
        """Whether its values are shared by documents (an address or a DOI is not)."""


@dataclass(frozen=True, eq=False)
class Hits:
    """The documents of each query, best first: those of query i are at `offsets[i]` to `offsets[i + 1]` (exclusive).

    `documents` are the index's own numbers, valid for this commit only; ids are read on demand.
    """

    offsets: Integers
    documents: Integers
    scores: Floats
    index: SearchIndex

    @cached_property
    def docnos(self) -> Strings:
        """The ids of the documents."""
        return self.index.docnos(self.documents)

    def __len__(self) -> int:
        return len(self.offsets) - 1

    def __iter__(self) -> Iterator[Ranking]:
        return (self[query] for query in range(len(self)))

    def __getitem__(self, query: int) -> Ranking:
        span = slice(*self.offsets[range(len(self))[query] + np.arange(2)])
        return Ranking(self.docnos[span], self.scores[span])


class SearchIndex(Protocol):
    """One commit of an index. Subclass it to write an index of your own (see docs/scaling.md).

    Documents have numbers, which are valid for this commit. A field is known by its name; "" is the text of all
    indexed fields together. `path` is the index's address for display.
    """

    path: Any
    analyzer: Analyzer
    fields: tuple[str, ...]
    metadata: tuple[str, ...]
    commit: int

    if TYPE_CHECKING:  # stages only read these; an index may compute or store them

        @property
        def documents(self) -> Mapping[str, Document]:
            """The stored documents by id."""

        @property
        def columns(self) -> Mapping[str, MetadataColumn]:
            """The metadata columns by name."""

        @property
        def live(self) -> Mask:
            """The documents that are not deleted."""

        @property
        def average_lengths(self) -> Mapping[str, float]:
            """The average length of each field (and of "") over the live documents with it."""

    @property
    def spellings(self) -> Mapping[str, Callable[[str], Any]]:
        """How the source wrote the numbers and dates of metadata columns: functions from text to a value, or None."""
        return {}

    def __len__(self) -> int: ...

    def fingerprint(self) -> str:
        """A fingerprint of the content: it differs for every commit."""

    def search(
        self,
        queries: str | QueryTerms | Iterable[str | QueryTerms],
        k: int = ...,
        scoring: Scoring = ...,
        *,
        within: npt.ArrayLike | Mask | None = None,
        prune: bool = True,
        threads: int = 1,
    ) -> Hits:
        """The k best documents of each query by BM25; `within` restricts them to a mask, or to document numbers."""

    def statistics(self, term: str, field: str = "") -> TermStatistics:
        """The number of live documents with a term."""

    def holding(self, term: str, field: str = "") -> Mask:
        """The documents with a term."""

    def holding_phrase(self, text: str, field: str = "") -> Mask:
        """The documents with the words of a text in a row, in that or in any field."""

    def mask(self, within: npt.ArrayLike | Mask) -> Mask:
        """A mask of this index from a mask or from document numbers."""

    def docnos(self, documents: Integers) -> Strings:
        """The ids of documents by their numbers."""

    def number(self, docno: str) -> int | None:
        """The number of a document, or None."""

    def first_ids(self, among: Mask, count: int) -> Integers:
        """The first `count` of these documents by the tie rule: by id, descending."""

    def info(self) -> dict[str, Any]:
        """Facts about the index, for display."""

    def last_commit(self) -> object:
        """A mark that changes with every commit at this address. By default it is constant."""
        return self.commit

    def check_fields(self, names: Iterable[str]) -> None:
        """Raise where a field is not in the index."""
        for name in names:
            if name not in self.fields:
                known = ", ".join(self.fields) or "none"
                raise ParameterError("field", expected=f"one of those in {self.path} ({known})", found=name)

    def terms_of(self, docno: str, field: str = "") -> Counter[str]:
        """A document's terms with their counts, from its stored text, for query expansion."""
        texts = self.documents[docno].fields
        names = [field] if field else [name for name in self.fields if name in texts]
        return Counter(term for name in names for term in self.analyzer(texts.get(name, "")))

    def snippet(
        self, docno: str, query: str | QueryTerms, characters: int = 200, fields: Sequence[str] | None = None
    ) -> Snippet:
        """A passage of a document with the positions of the query's terms in it; from these fields, or from all."""
        terms = set(self.analyzer(query) if isinstance(query, str) else query)
        texts = self.documents[docno].fields
        chosen = [texts[name] for name in fields or self.fields if name in texts]
        return snippet_of(chosen, terms, self.analyzer, characters)
