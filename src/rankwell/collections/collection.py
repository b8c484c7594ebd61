"""A collection: documents, queries and judgments under one name."""

from __future__ import annotations

import logging
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

from rankwell.collections import python_docs
from rankwell.collections.any_format import DOCUMENT_FORMATS, GUESS, for_reading, read_qrels, read_queries
from rankwell.collections.columns import ColumnChoice
from rankwell.collections.formats import beir, databases, msmarco, smart
from rankwell.collections.reading import Reading, consistent, once, with_good_ids
from rankwell.core import NOTHING, Document, Judgment, Judgments, MissingExtraError, Queries, Query, RankwellError

BUNDLED = "rankwell:python"
IRDS = "irds:"  # an id of the ir_datasets catalogue follows
DEFAULT_SPLITS = ("test", "dev", "train")  # the default split is the first of these that exists

ROUND = re.compile(r"(?:rnd|round|covid_d)([1-9])")

log = logging.getLogger(__name__)

DocumentReader = Callable[[Reading, ColumnChoice], Iterator[Document]]
QueryReader = Callable[[Reading], Queries]
JudgmentReader = Callable[[Reading], Judgments]


@dataclass(frozen=True)
class Collection:
    """The source of documents, queries and judgments, which are read on demand.

    >>> open_collection("rankwell:python").splits
    ('test',)
    """

    name: str
    format: str
    read_documents: DocumentReader
    read_queries: Mapping[str, QueryReader] = field(default_factory=dict)
    read_judgments: Mapping[str, JudgmentReader] = field(default_factory=dict)

    def documents(self, reading: Reading | None = None, columns: ColumnChoice = GUESS) -> Iterator[Document]:
        """Read the documents one at a time."""
        reading = reading or Reading()
        return with_good_ids(self.read_documents(reading, columns), self.name, reading)

    @property
    def splits(self) -> tuple[str, ...]:
        """The names of the splits that have judgments."""
        return tuple(self.read_judgments)

    def queries(self, split: str | None = None, reading: Reading | None = None) -> Queries:
        """The queries: all, or those of a split: its own file's, else those that have judgments in it."""
        if not self.read_queries:
            raise RankwellError(f"{self.name}: expected queries, found only documents")
        names = tuple(self.read_queries)
        if len(names) > 1:
            return self.read_queries[self._split(split, names, "queries of a split")](reading or Reading())
        queries = self.read_queries[names[0]](reading or Reading())
        return queries.only(self.judgments(split, reading)) if split and self.read_judgments else queries

    def judgments(self, split: str | None = None, reading: Reading | None = None) -> Judgments:
        """The judgments of a split (default: test, else dev, else train)."""
        if not self.read_judgments:
            raise RankwellError(f"{self.name}: expected judgments, found none")
        return self.read_judgments[self._split(split, self.splits, "a split")](reading or Reading())

    def _split(self, split: str | None, names: tuple[str, ...], what: str) -> str:
        """The split of that name, or the usual one: test, dev, train, or the last of several (a study's last round)."""
        if split and split not in names:
            raise RankwellError(f"{self.name}: expected {what} {split!r}, found {', '.join(names)}")
        usual = split or next((name for name in DEFAULT_SPLITS if name in names), None)
        if usual is None and len(names) > 1:
            log.warning("%s: %s is taken of %s (--split names another)", self.name, names[-1], ", ".join(names))
        return usual or names[-1]


def open_collection(source: Path | str, format: str | None = None) -> Collection:
    """A collection by name (`rankwell:python`, `irds:beir/scifact/test`), a database, or any file or folder.

    >>> papers = open_collection("papers.csv")
    >>> next(papers.documents()).id
    'p1'
    """
    name = str(source)
    if name == BUNDLED:
        return _bundled()
    if name.startswith("rankwell:"):
        raise RankwellError(f"{name}: expected {BUNDLED}, the one bundled collection")
    if name.startswith(IRDS):
        return _irds(name)
    if databases.is_address(name):
        address = databases.parse_address(name)
        return Collection(address.shown, address.scheme, partial(databases.read_address, name))
    path = Path(source)
    if path.is_dir() and format in (None, "cranfield") and (path / "cran.qry").is_file():
        return _cranfield(path)
    if path.is_dir() and format in (None, "msmarco-passage", "msmarco-document") and (table := _msmarco_file(path)):
        return _msmarco(path, table)
    known = for_reading(path, format, DOCUMENT_FORMATS, "documents")
    folder = path if path.is_dir() else path.parent
    queries: dict[str, QueryReader] = {}
    qrels: dict[str, JudgmentReader] = {}
    if known.name == "beir" and (path.is_dir() or path == beir.corpus_file(folder)):
        queries = {"": _queries(beir.queries_file(folder), "beir")} if beir.queries_file(folder).is_file() else {}
        qrels = {_stem(file): _judgments(file) for file in _tables(folder / "qrels", "*")}
    elif known.name == "cord19":
        queries = {_round(file): _queries(file) for file in sorted(folder.glob("topics*.xml"))}
        qrels = {_round(file): _judgments(file, drop_negative=True) for file in sorted(folder.glob("qrels*.txt"))}
    return Collection(name, known.name, partial(known.read, path), queries, qrels)


def scan_documents(source: str, wanted: frozenset[str], reading: Reading) -> Iterator[Document]:
    """Read the wanted documents of a collection from its beginning until all are found."""
    missing = set(wanted)
    for document in open_collection(source).documents(reading):
        if document.id in missing:
            yield document
            missing.discard(document.id)
            if not missing:
                return


def _cranfield(path: Path) -> Collection:
    documents = next(iter(sorted(path.glob("cran.all*"))), None)
    if documents is None:
        raise RankwellError(f"{path}: expected a file cran.all beside cran.qry, found none")
    tables = [file for file in sorted(path.glob("cranqrel*")) if "readme" not in file.name]
    qrels = {_stem(file): _judgments(file, "cranfield") for file in tables}
    queries = {"": _queries(path / "cran.qry", "cranfield")}
    return Collection(str(path), "cranfield", partial(smart.DOCUMENTS.read, documents), queries, qrels)


def _msmarco(path: Path, file: Path) -> Collection:
    known = msmarco.PASSAGES if file.name.startswith("collection") else msmarco.DOCUMENTS
    queries = {_split(name): _queries(name, "tsv") for name in _tables(path, "*queries*")}
    qrels = {_split(name): _judgments(name, "trec") for name in _tables(path, "*qrels*")}
    return Collection(str(path), known.name, partial(known.read, file), queries, qrels)


def _irds(name: str) -> Collection:
    """Any collection of the ir_datasets catalogue: `irds:beir/scifact/test`."""
    return Collection(
        name,
        "irds",
        lambda _reading, _choice: map(_irds_document, _irds_rows(name, "docs")),
        {"": lambda reading: Queries(once(map(_irds_query, _irds_rows(name, "queries")), name, reading))},
        {"test": lambda reading: Judgments(consistent(map(_irds_judgment, _irds_rows(name, "qrels")), name, reading))},
    )


def _irds_document(row: Any) -> Document:
    """Strings other than id and URL are fields; the rest is metadata."""
    values = {key: value for key, value in row._asdict().items() if key != "doc_id" and value not in (None, "")}
    fields = {key: value for key, value in values.items() if isinstance(value, str) and key != "url"}
    metadata = {key: value for key, value in values.items() if key not in fields}
    return Document(str(row.doc_id), fields, metadata or NOTHING)


def _irds_query(row: Any) -> Query:
    """Every string but the id is a wording."""
    texts = {
        key: value for key, value in row._asdict().items() if key != "query_id" and isinstance(value, str) and value
    }
    return Query(str(row.query_id), texts)


def _irds_judgment(row: Any) -> Judgment:
    return Judgment(str(row.query_id), str(row.doc_id), int(row.relevance))


def _irds_rows(name: str, kind: str) -> Iterator[Any]:
    """The rows of one kind; ir_datasets downloads missing data."""
    try:
        import ir_datasets
    except ImportError as error:
        raise MissingExtraError(name, extra="irds") from error
    try:
        dataset = ir_datasets.load(name.removeprefix(IRDS))
    except KeyError as error:
        raise RankwellError(f"{name}: expected an id of the ir_datasets catalogue, found none of that name") from error
    if not getattr(dataset, f"has_{kind}")():
        raise RankwellError(f"{name}: expected a dataset with {kind}, found one without")
    try:
        yield from getattr(dataset, f"{kind}_iter")()
    except (OSError, RuntimeError) as error:
        reason = str(error).partition("\n")[0] or type(error).__name__
        raise RankwellError(f"{name}: its {kind} could not be read: {reason}") from error


def _bundled() -> Collection:
    folder = Path(str(python_docs.DATA))
    queries, qrels = _queries(folder / "queries.tsv", "tsv"), _judgments(folder / "qrels.tsv", "beir")
    return Collection(
        BUNDLED, "python", lambda _reading, _choice: python_docs.python_documents(), {"": queries}, {"test": qrels}
    )


def _queries(path: Path, format: str | None = None) -> QueryReader:
    return lambda reading: read_queries(path, format, reading=reading)


def _judgments(path: Path, format: str | None = None, *, drop_negative: bool = False) -> JudgmentReader:
    return lambda reading: read_qrels(path, format, drop_negative=drop_negative, reading=reading)


def _tables(folder: Path, pattern: str) -> list[Path]:
    return sorted(file for file in folder.glob(f"{pattern}.tsv*") if file.name.endswith((".tsv", ".tsv.gz")))


def _msmarco_file(folder: Path) -> Path | None:
    names = ("collection.tsv", "collection.tsv.gz", "msmarco-docs.tsv", "msmarco-docs.tsv.gz")
    return next((folder / name for name in names if (folder / name).is_file()), None)


def _stem(path: Path) -> str:
    return path.name.removesuffix(".gz").rpartition(".")[0] or path.name


def _round(path: Path) -> str:
    """`round5` of TREC-COVID's `topics-rnd5.xml` and `qrels-covid_d5_j0.5-5.txt`; else the file's name."""
    number = ROUND.search(path.name)
    return f"round{number[1]}" if number else _stem(path)


def _split(path: Path) -> str:
    """`dev` of `queries.dev.tsv` and of `msmarco-docdev-queries.tsv`."""
    stem = _stem(path).replace("msmarco-doc", "")
    return stem.replace("queries", "").replace("qrels", "").strip(".-") or "test"


def read_any_queries(source: str, split: str | None = None) -> Queries:
    """Queries of a file in any format, or of a collection (a folder, rankwell:python, irds:ID)."""
    return read_queries(source) if Path(source).is_file() else open_collection(source).queries(split)


def read_any_qrels(source: str, split: str | None = None) -> Judgments:
    """Judgments of a file in any format, or of a collection."""
    return read_qrels(source) if Path(source).is_file() else open_collection(source).judgments(split)
