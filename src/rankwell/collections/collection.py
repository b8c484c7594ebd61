"""A collection: documents, queries and judgments under one name."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

from rankwell.collections import python_docs
from rankwell.collections.any_format import (
    DOCUMENT_FORMATS,
    GUESS,
    DocumentFormat,
    consistent,
    guessed,
    named,
    once,
    read_documents,
    read_qrels,
    read_queries,
)
from rankwell.collections.columns import ColumnChoice
from rankwell.collections.formats import irds
from rankwell.collections.formats.beir import corpus_file, queries_file
from rankwell.collections.reading import Reading
from rankwell.core import Document, Judgment, Judgments, Queries, Query, RankwellError

BUNDLED = "rankwell:python"
DEFAULT_SPLITS = ("test", "dev", "train")  # the default split is the first of these that exists

DocumentReader = Callable[[Reading, ColumnChoice], Iterator[Document]]
QueryReader = Callable[[Reading], Queries]
JudgmentReader = Callable[[Reading], Judgments]


@dataclass(frozen=True)
class Collection:
    """The source of documents, queries and judgments, which are read on demand."""

    name: str
    format: str
    read_documents: DocumentReader
    read_queries: Mapping[str, QueryReader] = field(default_factory=dict)
    read_judgments: Mapping[str, JudgmentReader] = field(default_factory=dict)

    def documents(self, reading: Reading | None = None, columns: ColumnChoice = GUESS) -> Iterator[Document]:
        """Read the documents one at a time."""
        return self.read_documents(reading or Reading(), columns)

    @property
    def splits(self) -> tuple[str, ...]:
        """The names of the splits that have judgments."""
        return tuple(self.read_judgments)

    def queries(self, split: str | None = None, reading: Reading | None = None) -> Queries:
        """The queries: of one split where the collection keeps them apart, else all."""
        if not self.read_queries:
            raise RankwellError(f"{self.name}: expected queries, found only documents")
        names = tuple(self.read_queries)
        if len(names) > 1 and split and split not in names:
            raise RankwellError(f"{self.name}: expected queries of a split {split!r}, found {', '.join(names)}")
        name = next(name for name in (split or "", *DEFAULT_SPLITS, *names) if name in names)
        return self.read_queries[name](reading or Reading())

    def judgments(self, split: str | None = None, reading: Reading | None = None) -> Judgments:
        """The judgments of a split (default: test, else dev, else train)."""
        if not self.read_judgments:
            raise RankwellError(f"{self.name}: expected judgments, found none")
        name = split or next((s for s in DEFAULT_SPLITS if s in self.read_judgments), self.splits[0])
        if name not in self.read_judgments:
            raise RankwellError(f"{self.name}: expected a split {name!r}, found {', '.join(self.splits)}")
        return self.read_judgments[name](reading or Reading())


def open_collection(source: Path | str, format: str | None = None) -> Collection:
    """A collection by name (`rankwell:python`, `irds:beir/scifact/test`), or a file or folder of any format."""
    name = str(source)
    if name == BUNDLED:
        return _bundled()
    if name.startswith("rankwell:"):
        raise RankwellError(f"{name}: expected {BUNDLED}, the one bundled collection")
    if name.startswith(irds.PREFIX):
        return _irds(name)
    path = Path(source)
    if path.is_dir() and format in (None, "cranfield") and (path / "cran.qry").is_file():
        return _cranfield(path)
    if path.is_dir() and format in (None, "msmarco-passage", "msmarco-document") and _msmarco_file(path) is not None:
        return _msmarco(path)
    known = named(format, DOCUMENT_FORMATS, "documents") if format else guessed(path, DOCUMENT_FORMATS, "documents")
    return FOLDERS.get(known.name, _documents_only)(path, known)


def _documents_only(path: Path, known: DocumentFormat) -> Collection:
    return Collection(str(path), known.name, partial(known.read, path))


def _beir(path: Path, known: DocumentFormat) -> Collection:
    folder = path if path.is_dir() else path.parent
    beside = path.is_dir() or path == corpus_file(folder)
    queries = {"": _queries(queries_file(folder), "beir")} if beside and queries_file(folder).is_file() else {}
    qrels = {_stem(file): _judgments(file) for file in _tables(folder / "qrels", "*")} if beside else {}
    return Collection(str(path), known.name, partial(known.read, path), queries, qrels)


def _cord19(path: Path, known: DocumentFormat) -> Collection:
    folder = path if path.is_dir() else path.parent
    queries = {_stem(file): _queries(file) for file in sorted(folder.glob("topics*.xml"))}
    qrels = {_stem(file): _judgments(file, drop_negative=True) for file in sorted(folder.glob("qrels*.txt"))}
    return Collection(str(path), known.name, partial(known.read, path), queries, qrels)


FOLDERS: dict[str, Callable[[Path, DocumentFormat], Collection]] = {"beir": _beir, "cord19": _cord19}


def _cranfield(path: Path) -> Collection:
    documents = next(iter(sorted(path.glob("cran.all*"))), None)
    if documents is None:
        raise RankwellError(f"{path}: expected a file cran.all beside cran.qry, found none")
    qrels = {
        _stem(file): _judgments(file, "cranfield")
        for file in sorted(path.glob("cranqrel*"))
        if "readme" not in file.name
    }
    reader = partial(_read_as, documents, "smart")
    return Collection(str(path), "cranfield", reader, {"": _queries(path / "cran.qry", "cranfield")}, qrels)


def _msmarco(path: Path) -> Collection:
    file = _msmarco_file(path)
    assert file is not None  # noqa: S101 -- the caller looked
    kind = "msmarco-passage" if file.name.startswith("collection") else "msmarco-document"
    queries = {_split(name): _queries(name, "tsv") for name in _tables(path, "*queries*")}
    qrels = {_split(name): _judgments(name, "trec") for name in _tables(path, "*qrels*")}
    return Collection(str(path), kind, partial(_read_as, file, kind), queries, qrels)


def _irds(name: str) -> Collection:
    dataset = name.removeprefix(irds.PREFIX)

    def documents(reading: Reading, choice: ColumnChoice) -> Iterator[Document]:  # noqa: ARG001 -- the catalogue knows its fields
        return irds.documents(dataset)

    return Collection(
        name,
        "irds",
        documents,
        {"": _of_queries(name, lambda: irds.queries(dataset))},
        {"test": _of_rows(name, lambda: irds.judgments(dataset))},
    )


def _bundled() -> Collection:
    def documents(reading: Reading, choice: ColumnChoice) -> Iterator[Document]:  # noqa: ARG001 -- read from the interpreter
        return python_docs.python_documents()

    folder = Path(str(python_docs.DATA))
    queries = {"": _queries(folder / "queries.tsv", "tsv")}
    return Collection(BUNDLED, "python", documents, queries, {"test": _judgments(folder / "qrels.tsv", "beir")})


def _read_as(path: Path, format: str, reading: Reading, columns: ColumnChoice) -> Iterator[Document]:
    return read_documents(path, format, columns=columns, reading=reading)


def _queries(path: Path, format: str | None = None) -> QueryReader:
    return lambda reading: read_queries(path, format, reading=reading)


def _judgments(path: Path, format: str | None = None, *, drop_negative: bool = False) -> JudgmentReader:
    return lambda reading: read_qrels(path, format, drop_negative=drop_negative, reading=reading)


def _of_queries(name: str, queries: Callable[[], Iterable[Query]]) -> QueryReader:
    return lambda reading: Queries(once(queries(), name, reading))


def _of_rows(name: str, rows: Callable[[], Iterable[Judgment]]) -> JudgmentReader:
    return lambda reading: Judgments(consistent(rows(), name, reading))


def _tables(folder: Path, pattern: str) -> list[Path]:
    return sorted(file for file in folder.glob(f"{pattern}.tsv*") if file.name.endswith((".tsv", ".tsv.gz")))


def _msmarco_file(folder: Path) -> Path | None:
    names = ("collection.tsv", "collection.tsv.gz", "msmarco-docs.tsv", "msmarco-docs.tsv.gz")
    return next((folder / name for name in names if (folder / name).is_file()), None)


def _stem(path: Path) -> str:
    return path.name.removesuffix(".gz").rpartition(".")[0] or path.name


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
