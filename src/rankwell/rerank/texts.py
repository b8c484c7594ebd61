"""The texts that a re-ranker reads: of the run's queries, and of its documents, whole or in passages."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, islice

from rankwell.core import Document, Queries, RankwellError, Run, Template
from rankwell.index import Index
from rankwell.rerank.passages import Passages

log = logging.getLogger(__name__)

TITLE = "title"
SHOWN = 3  # ids in an error
LOOKED_AT = 1000  # documents that are looked at to tell which fields there are

Documents = Mapping[str, Document]


@dataclass(frozen=True)
class DocumentTexts:
    """Makes the texts to score of a document: one, or its passages; none where it has no text.

    In front of passages stands the title, so that it is left out of their body; a template without it wants none.
    """

    template: Template | None = None
    passages: Passages | None = None

    def __call__(self, document: Document) -> list[str]:
        """The texts, in their order."""
        if self.passages is None:
            text = self._whole(document, ()).strip()
            return [text] if text else []
        has_title = self.passages.title and (self.template is None or TITLE in self.template.fields)
        title = document.fields.get(TITLE, "") if has_title else ""
        return self.passages.split(title, self._whole(document, (TITLE,) if title else ()))

    def _whole(self, document: Document, without: Sequence[str]) -> str:
        if self.template is not None:
            return self.template.fill(document, without)
        between = "\n\n" if self.passages else " "  # the end of a field is the end of a paragraph
        return between.join(text for name, text in document.fields.items() if name not in without)


def query_texts(run: Run, field: str | None) -> dict[str, str]:
    """The texts of the queries that have documents; a word about those without any."""
    wanted = [qid for qid, ranking in run.rankings() if len(ranking)]
    if wanted and run.queries is None:
        raise RankwellError("re-ranking: expected a run with its queries, found one without their texts")
    queries = run.queries or Queries()
    missing = [qid for qid in wanted if qid not in queries]
    if missing:
        raise RankwellError(
            f"queries: expected the texts of all {len(wanted):,} queries of the run, "
            f"found none for {len(missing):,}: {few(missing)}"
        )
    texts = {qid: queries[qid].text(field) for qid in wanted}
    blank = [qid for qid, text in texts.items() if not text.strip()]
    if blank:
        log.warning("%d queries have no text, and their documents keep their order: %s", len(blank), few(blank))
    return texts


def document_texts(run: Run, k: int, index: Index | None, *, allow_missing: bool) -> Documents:
    """Where the texts of the k best documents are: in the index, or in what travels with the run."""
    top: list[str] = run.docnos[run.ranks <= k].tolist()
    if not top:
        return {}
    if index is None and run.documents is None:
        raise RankwellError("re-ranking: expected a run with its documents, or an index; found neither")
    documents = run.documents or {} if index is None else index.documents
    missing = [docno for docno in dict.fromkeys(top) if docno not in documents]
    if missing and not allow_missing:
        raise RankwellError(
            f"documents: expected the texts of all documents to re-rank, found none for {len(missing):,} of "
            f"{len(set(top)):,}: {few(missing)}"
        )
    if missing:
        log.warning("%d documents were not found, and stay below the others: %s", len(missing), few(missing))
    return documents


def check_fields(template: Template, run: Run, documents: Documents) -> None:
    """Refuse names in a template that neither the first documents of the run nor those of the collection have."""
    known: dict[str, None] = {}
    for docno in chain(run.docnos[:LOOKED_AT].tolist(), islice(documents, LOOKED_AT)):
        known.update(dict.fromkeys(documents[docno].fields if docno in documents else ()))
        if known.keys() >= set(template.fields):
            return
    if known:
        template.check(known)


def few(names: Sequence[str]) -> str:
    """The first names, and dots where there are more."""
    return ", ".join(names[:SHOWN]) + (", ..." if len(names) > SHOWN else "")
