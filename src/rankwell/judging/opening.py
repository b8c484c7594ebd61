"""Create a study from its file and the data it names, and open studies; database libraries are loaded late."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING

from rankwell.collections import Reading, read_any_qrels, read_any_queries, read_run
from rankwell.collections.collection import scan_documents
from rankwell.core import Document, Judgments, MissingExtraError, ParameterError, RankwellError, Run

if TYPE_CHECKING:
    from rankwell.judging.store import Store
    from rankwell.judging.study_file import StudyFile


LAST_RANKS = {"high": 20, "medium": 80, "low": 100}
OUTSIDE = "outside"
STRATA = (*LAST_RANKS, OUTSIDE)


def strata(run: Run, judgments: Judgments) -> dict[str, str]:
    """The stratum of every query with a known relevant passage."""
    best: dict[str, int] = {}
    for qid, ranking in run.rankings():
        relevant = set(judgments.relevant(qid))
        first = next((rank for rank, docno in enumerate(ranking.docnos.tolist(), 1) if docno in relevant), None)
        if first is not None:
            best[qid] = first
    return {qid: stratum_of(best.get(qid)) for qid in judgments if judgments.relevant(qid)}


def stratum_of(rank: int | None) -> str:
    """The stratum of a query whose best known relevant passage has this rank."""
    return next((name for name, last in LAST_RANKS.items() if rank is not None and rank <= last), OUTSIDE)


def sample_queries(by_query: Mapping[str, str], sizes: Mapping[str, int], seed: int = 0) -> list[str]:
    """A random sample of queries with the given number of each stratum, in their original order."""
    there = Counter(by_query.values())
    for name, size in sizes.items():
        if name not in STRATA:
            raise ParameterError("sample", expected=f"strata named {', '.join(STRATA)}", found=name)
        if not 0 <= size <= there[name]:
            raise ParameterError(
                f"sample: {name}", expected=f"0 to {there[name]:,}, the queries of that stratum", found=size
            )
    random = Random(seed)  # noqa: S311 -- a sample that can be drawn again
    drawn: set[str] = set()
    for name in STRATA:
        drawn.update(random.sample([qid for qid, of in by_query.items() if of == name], sizes.get(name, 0)))
    return [qid for qid in by_query if qid in drawn]


Pool = dict[str, dict[str, int | None]]  # query -> passage -> best rank in any run, None where no run has it


def pool_of_runs(runs: Iterable[Run], depth: int) -> Pool:
    """The passages in the top `depth` of any run, best ranked first."""
    if depth < 1:
        raise ParameterError("depth", expected="a number of passages, at least 1", found=depth)
    best: dict[str, dict[str, int]] = {}
    for run in runs:
        for qid, ranking in run.top(depth).rankings():
            ranks = best.setdefault(qid, {})
            for rank, docno in enumerate(ranking.docnos.tolist(), 1):
                ranks[docno] = min(rank, ranks.get(docno, rank))
    return {qid: dict(sorted(ranks.items(), key=lambda item: (item[1], item[0]))) for qid, ranks in best.items()}


def only_unjudged(pool: Pool, judgments: Judgments) -> Pool:
    """The unjudged passages of the pool, for queries with any judgment."""
    return {
        qid: {docno: rank for docno, rank in passages.items() if docno not in judgments[qid]}
        for qid, passages in pool.items()
        if qid in judgments
    }


SHOWN = 5  # ids in an error

ReadDocuments = Callable[[str, frozenset[str], Reading], Iterator[Document]]


@dataclass(frozen=True)
class Material:
    """The texts of queries and passages, the pool, and the earlier judgments."""

    queries: Mapping[str, str]
    passages: Mapping[str, Mapping[str, str]]
    pool: Pool
    originals: Judgments
    strata: Mapping[str, str]


def read_material(file: StudyFile, documents: ReadDocuments | None = None, reading: Reading | None = None) -> Material:
    """Read the study's queries, pool and texts. `documents` looks texts up by id (default: scan the collection)."""
    reading = reading or Reading()
    for name, what in (("queries", "queries"), ("collection", "a collection with the texts")):
        if getattr(file, name) is None:
            raise RankwellError(f"{file.path}: expected {what}, found none: add `{name}` to the file, or give --{name}")
    originals = read_any_qrels(file.place(file.qrels)) if file.qrels else Judgments()
    pool, by_query = _pool(file, originals, reading)
    pool = {qid: passages for qid, passages in pool.items() if passages}
    if not pool:
        raise RankwellError(f"{file.path}: expected passages to judge, found none: everything is judged already")
    queries = _query_texts(file, pool)
    wanted = frozenset(docno for passages in pool.values() for docno in passages)
    source = file.place(file.collection or "")
    passages = _passages(source, (documents or scan_documents)(source, wanted, reading), wanted, file.fields)
    return Material(queries, passages, pool, originals.only(pool), by_query)


def _pool(file: StudyFile, originals: Judgments, reading: Reading) -> tuple[Pool, Mapping[str, str]]:
    """The pool of the sampled queries, and their strata."""
    if file.pool:
        return {qid: {docno: rank for rank, docno in enumerate(of, 1)} for qid, of in file.pool.items()}, {}
    if not file.runs:
        raise RankwellError(f"{file.path}: expected runs, or a table [pool], found neither")
    if file.only_unjudged and not file.qrels:
        raise RankwellError(f"{file.path}: only_unjudged: expected qrels that say what is judged, found none")
    runs = [read_run(file.place(run), reading=reading) for run in file.runs]
    pool = pool_of_runs(runs, file.depth)
    by_query: Mapping[str, str] = {}
    if file.sample:
        sizes = {name: size for name, size in file.sample.items() if name != "seed"}
        by_query = {qid: name for qid, name in strata(runs[0], originals).items() if qid in pool}
        try:
            drawn = sample_queries(by_query, sizes, file.sample.get("seed", 0))
        except RankwellError as error:
            raise RankwellError(f"{file.path}: {error}") from error
        pool = {qid: pool[qid] for qid in drawn}
    if file.add_known:
        known = {qid: {docno: of.get(docno) for docno in originals.relevant(qid)} for qid, of in pool.items()}
        pool = {qid: passages | known[qid] for qid, passages in pool.items()}
    return (only_unjudged(pool, originals) if file.only_unjudged else pool), by_query


def _query_texts(file: StudyFile, pool: Iterable[str]) -> dict[str, str]:
    source = file.place(file.queries or "")
    queries = read_any_queries(source)
    missing = [qid for qid in pool if qid not in queries]
    if missing:
        raise RankwellError(f"{source}: expected the queries of the pool, found no {_some(missing)}")
    return {qid: queries[qid].text(file.query_field) for qid in pool}


def _passages(
    source: str, documents: Iterable[Document], wanted: frozenset[str], fields: Sequence[str]
) -> dict[str, dict[str, str]]:
    passages = {}
    for document in documents:
        chosen = fields or tuple(document.fields)
        passages[document.id] = {name: document.fields[name] for name in chosen if name in document.fields}
    missing = sorted(wanted - set(passages))
    if missing:
        raise RankwellError(f"{source}: expected the {len(wanted):,} passages of the pool, found no {_some(missing)}")
    if not any(any(texts.values()) for texts in passages.values()):
        raise RankwellError(f"{source}: expected texts in {', '.join(fields) or 'the passages'}, found none")
    return passages


def _some(ids: list[str]) -> str:
    more = f" and {len(ids) - SHOWN:,} more" if len(ids) > SHOWN else ""
    return ", ".join(ids[:SHOWN]) + more


def create_study(
    file: Path | str,
    database: Path | str,
    *,
    queries: str | None = None,
    collection: str | None = None,
    documents: ReadDocuments | None = None,
    reading: Reading | None = None,
) -> Store:
    """Create the study of a file in a new database, and open it.

    `queries` and `collection` replace those of the file; their paths are relative to the current folder.
    `documents` looks up the texts of passages by id (default: read through the collection).
    """
    try:
        from rankwell.judging.store import Store, write_study_database
        from rankwell.judging.study_file import read_study_file
    except ImportError as error:
        raise MissingExtraError("a study's database", extra="assess") from error
    given = {"queries": queries, "collection": collection}
    here = {name: Path(source) for name, source in given.items() if source is not None}
    replaced = {name: str(path.absolute()) if path.exists() else given[name] for name, path in here.items()}
    read = read_study_file(file).model_copy(update=replaced)
    return Store(write_study_database(read.study, read_material(read, documents, reading), database))


def open_study(database: Path | str) -> Store:
    """Open a study: its database's file, or its `postgresql://` address."""
    try:
        from rankwell.judging.store import open_store
    except ImportError as error:
        raise MissingExtraError("a study's database", extra="assess") from error
    return open_store(database)
