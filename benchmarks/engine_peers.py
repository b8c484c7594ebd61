"""The engines side by side, each in a process of its own: build, open, search.

    python benchmarks/engine_peers.py build|search|once|rank ENGINE CORPUS FOLDER [QUERIES] [THREADS]

One thread each, if not told otherwise. All analyse English text with the same stop words and Snowball's stemmer.
Prints one JSON object.
"""

from __future__ import annotations

import json
import os
import resource
import shutil
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Protocol

import engine_corpus

for _name in ("OMP_NUM_THREADS", "NUMBA_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
    os.environ.setdefault(_name, "1")

Search = Callable[[Any], object]
DEPTHS = (10, 100, 1000)
WARM_UP = 200


class Engine(Protocol):
    """What is measured."""

    def build(self, corpus: engine_corpus.Corpus, folder: Path) -> None:
        """From text to an index on the disk."""

    def open(self, folder: Path) -> None:
        """Make it ready for a search."""

    def prepare(self, queries: Sequence[str], match: str) -> list[Any] | None:
        """The queries as the engine takes them; None where it cannot match so."""

    def search(self, query: Any, k: int, match: str) -> object:
        """The k best documents of a query, by the engine's own numbers."""

    def batch(self, queries: list[Any], k: int, match: str) -> object:
        """The same for many queries at once."""


class Rankwell:
    """Us."""

    prepared = False

    def build(self, corpus: engine_corpus.Corpus, folder: Path) -> None:
        """With the text stored beside the index."""
        from rankwell import Document
        from rankwell.index import IndexWriter

        with IndexWriter(folder) as writer:
            for docno, text in engine_corpus.texts(corpus):
                writer.add(Document(docno, {"text": text}))

    def open(self, folder: Path) -> None:
        """The last commit."""
        from rankwell.index import Index, Scoring

        self.index = Index.open(folder)
        self.scorings = {match: Scoring(match=match) for match in ("or", "and")}
        self.searchers: dict[tuple[int, str], Search] = {}

    def prepare(self, queries: Sequence[str], match: str) -> list[Any] | None:
        """Plain text; loads the kernels, which a single search does without."""
        from rankwell.index.compiled import kernels

        kernels()
        self.prepared = True
        self.index.search(queries[0], 10, self.scorings[match])
        return list(queries)

    def search(self, query: Any, k: int, match: str) -> object:
        """One at a time, analysis included; in a process that does no other search without the kernels."""
        if not self.prepared:
            return self.index.search(query, k, self.scorings[match])
        if (k, match) not in self.searchers:
            self.searchers[k, match] = self.index.searcher(k, self.scorings[match])
        return self.searchers[k, match](query)

    def batch(self, queries: list[Any], k: int, match: str) -> object:
        """All at once."""
        return self.index.search(queries, k, self.scorings[match])


class Tantivy:
    """Lucene's cousin in Rust, by its Python package."""

    def build(self, corpus: engine_corpus.Corpus, folder: Path) -> None:
        """Frequencies, no positions; text stored; merged as its policy has it."""
        import tantivy

        schema = tantivy.SchemaBuilder()
        schema.add_text_field("id", stored=True, tokenizer_name="raw", index_option="basic")
        schema.add_text_field("text", stored=True, tokenizer_name="english", index_option="freq")
        folder.mkdir(parents=True)
        index = tantivy.Index(schema.build(), path=str(folder))
        index.register_tokenizer("english", self._analyzer())
        writer = index.writer(heap_size=1_000_000_000, num_threads=1)
        for docno, text in engine_corpus.texts(corpus):
            writer.add_document(tantivy.Document(id=docno, text=text))
        writer.commit()
        writer.wait_merging_threads()

    def open(self, folder: Path) -> None:
        """A searcher."""
        import tantivy

        self.index = tantivy.Index.open(str(folder))
        self.searcher = self.index.searcher()

    def prepare(self, queries: Sequence[str], match: str) -> list[Any] | None:
        """Boolean queries of terms: made beforehand, so only the search itself is measured."""
        import tantivy

        occur = tantivy.Occur.Must if match == "and" else tantivy.Occur.Should
        analyze, query = self._analyzer().analyze, tantivy.Query
        terms = [
            [(occur, query.term_query(self.index.schema, "text", term, index_option="freq")) for term in analyze(text)]
            for text in queries
        ]
        return [query.boolean_query(of_query) for of_query in terms]

    def search(self, query: Any, k: int, match: str) -> object:  # noqa: ARG002 -- it is in the query
        """One at a time."""
        return self.searcher.search(query, k, count=False)

    def batch(self, queries: list[Any], k: int, match: str) -> object:
        """It knows no batches."""
        return [self.search(query, k, match) for query in queries]

    @staticmethod
    def _analyzer() -> Any:
        import tantivy

        from rankwell.analysis import STOPWORDS

        builder = tantivy.TextAnalyzerBuilder(tantivy.Tokenizer.simple()).filter(tantivy.Filter.lowercase())
        builder = builder.filter(tantivy.Filter.custom_stopword(sorted(STOPWORDS["lucene"])))
        return builder.filter(tantivy.Filter.stemmer("english")).build()


class Bm25s:
    """bm25s with its numba backend: scores worked out when it is built, k1 and b fixed then."""

    def build(self, corpus: engine_corpus.Corpus, folder: Path) -> None:
        """All in memory, then saved."""
        import bm25s

        tokens = self._tokens([text for _, text in engine_corpus.texts(corpus)])
        engine = bm25s.BM25(method="lucene", k1=1.2, b=0.75, backend="numba")
        engine.index(tokens, show_progress=False)
        engine.save(folder)

    def open(self, folder: Path) -> None:
        """Mapped, as we do."""
        import bm25s

        self.engine = bm25s.BM25.load(folder, mmap=True)
        self.engine.backend = "numba"

    def prepare(self, queries: Sequence[str], match: str) -> list[Any] | None:
        """Tokens, made beforehand; it has no AND."""
        return self._tokens(list(queries), ids=False) if match == "or" else None

    def search(self, query: Any, k: int, match: str) -> object:
        """One at a time."""
        return self.batch([query], k, match)

    def batch(self, queries: list[Any], k: int, match: str) -> object:  # noqa: ARG002 -- it has only one
        """All at once, one thread."""
        return self.engine.retrieve(queries, k=k, show_progress=False, n_threads=1)

    @staticmethod
    def _tokens(texts: list[str], *, ids: bool = True) -> Any:
        import bm25s
        import Stemmer

        from rankwell.analysis import STOPWORDS

        return bm25s.tokenize(
            texts,
            stopwords=sorted(STOPWORDS["lucene"]),
            stemmer=Stemmer.Stemmer("english"),
            return_ids=ids,
            show_progress=False,
        )


ENGINES: dict[str, Callable[[], Engine]] = {"rankwell": Rankwell, "bm25s": Bm25s, "tantivy": Tantivy}


def peak() -> float:
    """The most memory so far, in megabytes."""
    scale = 1e6 if sys.platform == "darwin" else 1e3
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / scale


def build(engine: Engine, corpus: engine_corpus.Corpus, folder: Path) -> dict[str, Any]:
    """Seconds (wall and CPU), memory, bytes on the disk."""
    shutil.rmtree(folder, ignore_errors=True)
    wall, cpu = time.perf_counter(), time.process_time()
    engine.build(corpus, folder)
    wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
    files = [file for file in folder.rglob("*") if file.is_file()]
    size = sum(file.stat().st_size for file in files)
    return {"wall": wall, "cpu": cpu, "memory": peak(), "bytes": size, "stored": stored_bytes(folder, files)}


def stored_bytes(folder: Path, files: Sequence[Path]) -> int:
    """Those of the documents' text."""
    if (folder / "manifest").exists():
        from rankwell.index import Index

        return int(Index.open(folder).info()["bytes"]["store"])
    return sum(file.stat().st_size for file in files if file.suffix == ".store")


def search(engine: Engine, folder: Path, queries: list[str]) -> dict[str, Any]:
    """Times of each query by match and depth, in microseconds; the time to open; memory."""
    engine.open(folder)  # loads the engine's code and the operating system's cache
    start = time.perf_counter()
    engine.open(folder)
    result: dict[str, Any] = {"open": (time.perf_counter() - start) * 1e3}
    for match in ("or", "and"):
        prepared = engine.prepare(queries, match)
        for k in DEPTHS if prepared is not None else ():
            assert prepared is not None  # noqa: S101 -- for the type checker
            engine.batch(prepared, k, match)
            wall, cpu = time.perf_counter(), time.process_time()
            engine.batch(prepared, k, match)
            wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
            for query in prepared[:WARM_UP]:
                engine.search(query, k, match)
            each = []
            for query in prepared:
                before = time.perf_counter()
                engine.search(query, k, match)
                each.append((time.perf_counter() - before) * 1e6)
            scale = 1e6 / len(prepared)
            result[f"{match} {k}"] = {"each": each, "batch": wall * scale, "batch cpu": cpu * scale}
    return {**result, "memory": peak()}


def once(engine: Engine, folder: Path, queries: list[str]) -> dict[str, Any]:
    """One search in a process that has done nothing else; the caller has the watch."""
    engine.open(folder)
    if isinstance(engine, Rankwell):
        engine.search(queries[0], 10, "or")
    else:
        prepared = engine.prepare(queries[:1], "or")
        assert prepared is not None  # noqa: S101 -- for the type checker
        engine.search(prepared[0], 10, "or")
    return {}


def rank(engine: Engine, folder: Path, queries: list[str], threads: int) -> dict[str, Any]:
    """From queries to a TREC file of the 1,000 best of each: our command, or a search and a plain write of its hits.

    A peer's lines have its own numbers of documents: reading ids of a million hits would be most of its time.
    """
    out = folder.with_name(f"{folder.name}-{threads}.trec")
    if isinstance(engine, Rankwell):
        asked = folder.with_name(f"{folder.name}.queries.tsv")
        asked.write_text("".join(f"q{number}\t{query}\n" for number, query in enumerate(queries)), encoding="utf-8")
        command = ["rank", str(folder), str(asked), "-o", str(out), "-k", "1000", "--threads", str(threads), "--quiet"]
        from rankwell.cli import app

        app(command, standalone_mode=False)
        measured = {"cpu": time.process_time()}
        engine.open(folder)
        engine.batch(queries, 1000, "or")
        start = time.process_time()
        engine.batch(queries, 1000, "or")
        measured["searching"] = time.process_time() - start
    else:
        engine.open(folder)
        prepared = engine.prepare(queries, "or")
        with out.open("w", encoding="utf-8") as file:
            for number, query in enumerate(prepared or ()):
                found: Any = engine.search(query, 1000, "or")
                for place, (score, address) in enumerate(found.hits, 1):
                    file.write(f"q{number} Q0 {address.doc} {place} {score} peer\n")
        measured = {"cpu": time.process_time()}
    with out.open("rb") as written:
        return {**measured, "lines": sum(1 for _ in written), "memory": peak()}


def main(task: str, name: str, size: str, folder: str, half: str = "", *threads: str) -> None:
    """Do one task and print what was measured."""
    place, engine = Path(folder), ENGINES[name]()
    corpus = engine_corpus.make(place, int(size), 0)
    index = place / f"{name}-{size}"
    middle = len(corpus.queries) // 2
    queries = corpus.queries[:middle] if half == "first" else corpus.queries[middle:]
    if task == "build":
        measured = build(engine, corpus, index)
    elif task == "rank":
        start = time.perf_counter()
        measured = rank(engine, index, corpus.queries, int(threads[0]))
        measured["wall"] = time.perf_counter() - start - 2 * measured.get("searching", 0.0)
    else:
        measured = {"search": search, "once": once}[task](engine, index, queries)
    print(json.dumps(measured))


if __name__ == "__main__":
    main(*sys.argv[1:])
