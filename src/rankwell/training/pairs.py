"""Write folders of pairs: from judgments, from documents alone, or unlabelled for a teacher."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from itertools import islice
from pathlib import Path
from typing import Any, ClassVar, NoReturn

from rankwell.collections import Collection, Reading, documents_of, open_collection, read_any_qrels, read_any_queries
from rankwell.core import (
    SILENT,
    Document,
    Judgments,
    ParameterError,
    Phrase,
    Progress,
    Queries,
    RankwellError,
    Run,
    Template,
)
from rankwell.core.parameters import Text, Whole, check_parameters, chosen, known_settings, like, param
from rankwell.core.stage import as_run
from rankwell.evaluation.given import as_judgments
from rankwell.index import Index, is_index
from rankwell.models.learning.folders import check_new_folder, room_beside
from rankwell.models.learning.pairs import UNLABELLED, Pair, Pairs
from rankwell.models.learning.pairs_writer import PairsWriter
from rankwell.models.reranking.passages import DocumentTexts, Passages
from rankwell.training.labelled import EXTRA, Around, Labelled, LabelledPair, Negatives, Sources, bm25_run
from rankwell.training.self_supervised import SelfSupervised, Spool, UnlabelledPair

LABELLED, SELF_SUPERVISED = "labelled", "self-supervised"
KINDS = (LABELLED, UNLABELLED, SELF_SUPERVISED)


def make_pairs(
    out: Path | str,
    documents: Any,
    queries: Queries | Path | str | None = None,
    judgments: Judgments | Path | str | None = None,
    *,
    run: Run | None = None,
    kind: str = LABELLED,
    split: str | None = None,
    reading: Reading | None = None,
    progress: Progress = SILENT,
    **options: Any,
) -> Pairs:
    """Make training pairs and write them into a new folder.

    `documents` is an index, or anything that `Index.build` takes; queries and judgments may be files, and come from the
    collection where they are not given. Hard negatives come from `run`, or from BM25. `kind` is "labelled" (from
    judgments), "unlabelled" (for a teacher to score) or "self-supervised" (from titles and abstracts). `options` are
    those of `PairOptions`.

    >>> make_pairs("pairs", index, queries, judgments, negatives="hard:1,random:1")
    """
    check_new_folder(out)
    wanted, given = PairOptions(**known_settings(PairOptions, options)), documents
    if isinstance(documents, str | Path):
        documents = Index.open(documents) if is_index(Path(documents)) else open_collection(documents)
    asked, judged = Queries(), Judgments()
    if kind != SELF_SUPERVISED:
        asked = _queries(queries, documents, split)
        judged = judged if kind == UNLABELLED else _judgments(judgments, documents, split)
    how = reading or Reading()
    told = [value if isinstance(value, str | Path) else type(value).__name__ for value in (given, queries, judgments)]
    source = dict(zip(("collection", "queries", "qrels"), map(str, told), strict=True), split=split)
    with Spool(how.progress.track(documents_of(documents, reading=how)), room_beside(out)) as spool:
        sources = Sources(spool, asked, judged, run)
        return write_pairs(out, sources, wanted, kind=kind, source=source, progress=progress)


def write_pairs(
    out: Path | str,
    sources: Sources,
    wanted: PairOptions,
    *,
    kind: str = LABELLED,
    source: Mapping[str, Any] | None = None,
    progress: Progress = SILENT,
) -> Pairs:
    """Write pairs of that kind; without a run BM25 finds the hard negatives. `source` is for the record."""
    if kind not in KINDS:
        raise ParameterError("kind", expected=" or ".join(KINDS), found=kind)
    documents, queries, judgments, run = sources
    if kind == SELF_SUPERVISED and isinstance(documents, Spool):
        name = str((source or {}).get("collection", ""))
        settings = wanted.self_supervised()
        return write_self_supervised(out, documents, settings, source=name, limit=wanted.limit, progress=progress)
    queries = queries if kind == UNLABELLED else queries.only(judgments)
    negatives = Negatives.parse(wanted.negatives, wanted.depth)
    if run is None and "hard" in negatives.kinds:
        run = bm25_run(documents.values(), queries, negatives.depth, wanted.query_field, room_beside(out))
    if kind == UNLABELLED:
        return write_unlabelled(out, documents, queries, run, wanted.unlabelled(), source=source, progress=progress)
    sources = Sources(documents, queries, judgments, run)
    return write_labelled(out, sources, wanted.labelled(), source=source, progress=progress)


def _queries(given: Queries | Path | str | None, documents: Any, split: str | None) -> Queries:
    if given is None and isinstance(documents, Collection):
        return documents.queries(split)
    if isinstance(given, str | Path):
        return read_any_queries(str(given), split)
    if isinstance(given, Judgments):
        found = Phrase("judgments: make_pairs(out, documents, queries, judgments)")
        raise ParameterError("queries", expected="queries, or their file", found=found)
    if not isinstance(given, Queries):
        return as_run(given).queries or Queries() if given is not None else _missing("queries")
    return given


def _judgments(given: Judgments | Path | str | None, documents: Any, split: str | None) -> Judgments:
    if given is None and isinstance(documents, Collection):
        return documents.judgments(split)
    if isinstance(given, str | Path):
        return read_any_qrels(str(given), split)
    return _missing("judgments") if given is None else as_judgments(given)


def _missing(what: str) -> NoReturn:
    raise ParameterError(what, expected=f"{what}, or a collection that has some in place of documents", found="none")


def write_self_supervised(
    out: Path | str,
    documents: Spool,
    settings: SelfSupervised,
    *,
    source: str = "",
    limit: int | None = None,
    progress: Progress = SILENT,
) -> Pairs:
    """Write self-supervised pairs from the documents' texts, at most `limit`."""
    made = {"collection": source, **settings.made(), "abstract": settings.abstract_field(documents)}
    pairs = islice(settings.pairs(documents, limit), limit)
    return _write(out, pairs, settings, made, progress)


def write_labelled(
    out: Path | str,
    sources: Sources,
    settings: Labelled,
    *,
    source: Mapping[str, Any] | None = None,
    progress: Progress = SILENT,
) -> Pairs:
    """Write pairs of queries and judged documents; `source` describes the data for the record."""
    made = _made(settings, sources.documents, sources.run, source)
    return _write(out, settings.pairs(sources), settings, made, progress)


def _made(
    settings: Labelled | Unlabelled, documents: Mapping[str, Document], run: Run | None, source: Any
) -> dict[str, Any]:
    """The record of pairs of queries and documents; a template must fit the documents."""
    if settings.document is not None and isinstance(documents, Spool):
        Template(settings.document).check(documents.fields)
    return {**(source or {}), **settings.made(), "run": None if run is None else run.fingerprint()}


def _write(
    out: Path | str,
    pairs: Iterable[LabelledPair | UnlabelledPair],
    settings: Labelled | SelfSupervised | Unlabelled,
    made: Mapping[str, Any],
    progress: Progress,
) -> Pairs:
    writer = PairsWriter(out, made=made, seed=settings.seed, extra=settings.columns)
    with writer:
        for one in progress.track(pairs):
            writer.add(one.pair, **one.columns)
        writer.made["left_out"] = {reason: count for reason, count in settings.skipped.items() if count}
    return writer.open()


@dataclass(frozen=True)
class Unlabelled:
    """Settings of pairs made without judgments.

    `documents` is the number per query: `hard` are from the top `depth` of a run, `random` any. Texts are made as for
    labelled pairs. What is drawn for a query depends only on the seed and the query's id.
    """

    columns: ClassVar[Mapping[str, str]] = EXTRA

    documents: Negatives = field(default_factory=Negatives)
    document: str | None = like(Labelled, "document")
    passages: Passages | None = like(Labelled, "passages")
    query_field: str | None = like(Labelled, "query_field")
    seed: int = like(Labelled, "seed")
    skipped: Counter[str] = field(default_factory=Counter, repr=False, compare=False)

    def __post_init__(self) -> None:
        if "judged" in self.documents.kinds:
            raise ParameterError("negatives", expected="hard and random ones, without judgments", found="judged")
        if self.document is not None:
            Template(self.document)

    def made(self) -> dict[str, Any]:
        """The settings as a dictionary, for the record."""
        return {
            "kind": UNLABELLED,
            "documents": str(self.documents),
            "depth": self.documents.depth,
            "document": self.document,
            "passages": None if self.passages is None else repr(self.passages),
            "query_field": self.query_field,
        }

    def pairs(self, documents: Mapping[str, Document], queries: Queries, run: Run | None) -> Iterator[LabelledPair]:
        """The pairs query by query; `skipped` then counts unused input by reason."""
        if "hard" in self.documents.kinds and run is None:
            raise RankwellError("unlabelled pairs: expected a run to take documents from, found none")
        everything = list(documents) if "random" in self.documents.kinds else []
        for query in queries.values():
            text = query.text(self.query_field)
            ranked = [] if run is None or query.id not in run else run[query.id].docnos[: self.documents.depth].tolist()
            if not text.strip() or not (ranked or everything):
                self.skipped["queries without a text" if not text.strip() else "queries without a ranking"] += 1
                continue
            around = Around([docno for docno in ranked if docno in documents], [], everything, ())
            chooser = random.Random(f"{self.seed}/{query.id}")  # noqa: S311 -- reproducible, no secret
            for docno, _ in self.documents.drawn(around, 1, chooser):
                for number, passage in enumerate(self._texts(documents[docno])):
                    yield LabelledPair(Pair(query.id, docno, text, passage, 0.0), UNLABELLED, number)

    @cached_property
    def _texts(self) -> DocumentTexts:
        return DocumentTexts(None if self.document is None else Template(self.document), self.passages)


def write_unlabelled(
    out: Path | str,
    documents: Mapping[str, Document],
    queries: Queries,
    run: Run | None,
    settings: Unlabelled,
    *,
    source: Mapping[str, Any] | None = None,
    progress: Progress = SILENT,
) -> Pairs:
    """Write pairs of queries and the documents of a run; `source` describes the data for the record."""
    made = _made(settings, documents, run, source)
    return _write(out, settings.pairs(documents, queries, run), settings, made, progress)


@dataclass(frozen=True, kw_only=True)
class PairOptions:
    """Options for making pairs, for commands and studies: `PairOptions(negatives="hard:2").labelled()`."""

    negatives: str = param(
        str(Negatives()),
        "Negatives for each relevant document (for each query, if unlabelled), hard ones from the run: "
        "hard:4,random:1,judged:2, hard:all, or none.",
        Text(),
        example="hard:4,random:1",
    )
    depth: int = like(Negatives, "depth")
    least_grade: int = like(Labelled, "least")
    graded: bool = like(Labelled, "graded")
    document: str | None = like(Labelled, "document")
    query_field: str | None = like(Labelled, "query_field")
    passages: str | None = like(Labelled, "passages")
    top_passages: int | None = like(Labelled, "top")
    scorer: str | None = param(None, "Model that chooses passages, with top_passages: a name or folder.", Text())
    parts: bool = like(Labelled, "parts")
    title: str = like(SelfSupervised, "title")
    abstract: str | None = like(SelfSupervised, "abstract")
    false_pairs: float = like(SelfSupervised, "false_pairs")
    title_title: float = like(SelfSupervised, "title_title")
    swapped: float = like(SelfSupervised, "swapped")
    perturbations: str = like(SelfSupervised, "perturbations")
    per_document: int = like(SelfSupervised, "per_document")
    limit: int | None = param(None, "Self-supervised: at most so many pairs.", Whole(1))
    seed: int = like(Labelled, "seed")

    def __post_init__(self) -> None:
        check_parameters(self)

    def check(self, kind: str) -> None:
        """Raise where the options do not fit this kind of pairs, before anything is read."""
        {LABELLED: self.labelled, UNLABELLED: self.unlabelled, SELF_SUPERVISED: self.self_supervised}[kind]()

    def labelled(self) -> Labelled:
        """Settings of pairs from judgments."""
        from rankwell.models.cross_encoder.ranking import load_scorer

        return Labelled(
            negatives=self._negatives,
            document=self.document,
            passages=self._passages,
            top=self.top_passages,
            scorer=None if self.scorer is None else load_scorer(self.scorer),
            least=self.least_grade,
            graded=self.graded,
            query_field=self.query_field,
            parts=self.parts,
            seed=self.seed,
        )

    def unlabelled(self) -> Unlabelled:
        """Settings of unlabelled pairs for a teacher."""
        return Unlabelled(self._negatives, self.document, self._passages, self.query_field, self.seed)

    def self_supervised(self) -> SelfSupervised:
        """Settings of pairs of titles and abstracts."""
        return SelfSupervised(**chosen(self, SelfSupervised))

    @property
    def _negatives(self) -> Negatives:
        return Negatives.parse(self.negatives, self.depth)

    @property
    def _passages(self) -> Passages | None:
        return None if self.passages is None else Passages.parse(self.passages)
