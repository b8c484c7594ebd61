"""Everything that reads what others wrote: files of every format, folders, databases, expressions."""

from __future__ import annotations

import shutil
import tomllib
import zipfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from made_files import MAKERS
from models.reranking.tiny_bert import write_tiny_bert
from rankwell.analysis import parse_analyzer
from rankwell.apps.search.access import Keys
from rankwell.apps.search.judgments import JudgmentsFile
from rankwell.collections import (
    Problems,
    Reading,
    read_documents,
    read_qrels,
    read_queries,
    read_run,
    write_documents,
    write_run,
)
from rankwell.collections.any_format import DOCUMENT_FORMATS, QRELS_FORMATS, QUERY_FORMATS, RUN_FORMATS
from rankwell.core import Document, RankwellError, Run
from rankwell.index import Index, IndexWriter
from rankwell.judging.grades import read_grades
from rankwell.judging.store import open_store
from rankwell.judging.study_file import read_study_file
from rankwell.models.base import PairScorer, TextEncoder, describe
from rankwell.models.base.pickles import read_pickled_weights
from rankwell.models.linear.ranking import LinearModel, Words, _load, load_linear, save_linear
from rankwell.retrieve import parse_match
from rankwell.retrieve.boolean import parse_expression
from rankwell.retrieve.filters import parse_filter
from rankwell.reviews import read_reviews
from rankwell.reviews.pubmed.transport import articles, search_result
from rankwell.reviews.references import read_references
from rankwell.reviews.screening.files import read_records
from rankwell.reviews.screening.store import open_project
from rankwell.studies.file.pipeline_line import parse_line
from rankwell.studies.file.reading import parse_study
from rankwell.vectors import Embeddings, embed, verify_vectors

HERE = Path(__file__).parents[1]
SHIPPED = HERE.parent / "src" / "rankwell" / "studies" / "shipped"


@dataclass(frozen=True)
class Target:
    """Something to feed with variants of its seeds. Only a RankwellError may come out of `feed`."""

    name: str
    seeds: Sequence[bytes]
    feed: Callable[[bytes], None]


DOCUMENTS = [
    Document("d1", {"title": "On fever", "text": "a b c"}, {"year": 2020}),
    Document("d 2", {"text": "é <b> &"}),
]
PUBMED = (
    b"<PubmedArticleSet><PubmedArticle><MedlineCitation><PMID>1</PMID><Article><ArticleTitle>t</ArticleTitle><Abstract>"
    b"<AbstractText>a</AbstractText></Abstract></Article></MedlineCitation></PubmedArticle></PubmedArticleSet>\n"
)
# What torch writes for {"a": two numbers}.
PICKLE = (
    b"\x80\x02}q\x00X\x01\x00\x00\x00aq\x01ctorch._utils\n_rebuild_tensor_v2\nq\x02((X\x07\x00\x00\x00storageq"
    b"\x03ctorch\nFloatStorage\nq\x04X\x01\x00\x00\x000q\x05X\x03\x00\x00\x00cpuq\x06K\x02tq\x07QK\x00K\x02"
    b"\x85q\x08K\x01\x85q\t\x89ccollections\nOrderedDict\nq\n)Rq\x0btq\x0cRq\rs."
)
SEEDS = {
    "documents": [
        b'{"id": "1", "title": "a", "text": "a b", "metadata": {"x": 1}}\n{"id": "2", "text": "c"}\n',
        b'{"_id": "1", "title": "t", "text": "a b", "metadata": {}}\n',
        b'id,title,text,year\n1,"a, b","a\nb",2020\n2,,c,\n',
        b"id\ttext\n1\ta b\n",
        b"<DOC>\n<DOCNO>1</DOCNO>\n<HEADLINE>h</HEADLINE><TEXT>a</TEXT><!-- x -->\n</DOC>\n",
        b".I 1\n.T\na\n.A\nx\n.W\nb\n.I 2\n.W\nc\n",
        b"1\thttp://u\tt\tb\n2\tu\tt\tb\n",
        b"cord_uid,sha,title,abstract,publish_time,source_x\nab12,,t,a,2020-01-01,PMC\n",
        PUBMED,
        b"q1\td1\ta query\ta passage\n",
    ],
    "queries": [
        b"<top>\n<num> Number: 1\n<title> a\n<desc> Description:\nb\n</top>\n",
        b'<topics><topic number="1"><query>a</query><question>b</question></topic></topics>\n',
        b'{"_id": "1", "text": "a"}\n',
        b"1\ta query\n2\tanother\n",
        b"id,query\n1,a\n",
        b".I 1\n.W\na\n",
    ],
    "judgments": [
        b"1 0 d 1\n1 0% a%20b 2\n",
        b"query-id\tcorpus-id\tscore\n1\td\t1\n",
        b"1\td\t1\n",
        b"1 2 0 0\n",
        b"1 2 3\n",
        b'{"1": {"d": 1, "e": 0}}',
    ],
    "runs": [
        b"1 Q0 d 1 2.5 t\n1 Q0% a%20b 2 1.5 t\n",
        b"1\td\t1\n1\te\t2\n",
        b"q1\td1\ta query\ta passage\n",
        b'{"1": {"d": 2.5, "e": 1.5}}',
    ],
}
REFERENCES = [
    b"TY  - JOUR\r\nTI  - Exercise\r\nAU  - Doe, J\r\nPY  - 2020\r\nAB  - long\r\nDO  - 10.1000/x\r\nER  - \r\n",
    b"PMID- 123\nTI  - A title\n      that goes on\nDP  - 2020 Jan\nAU  - Doe J\n\nPMID- 124\nTI  - x\n",
    b"title,authors,year,doi\nExercise,Doe J,2020,10.1/x\n",
]


def targets(folder: Path) -> Iterator[Target]:
    """All targets; what they need is made in the folder."""
    yield from _formats(folder)
    yield from _texts(folder)
    yield from _models(folder)
    yield from _indexes(folder)
    yield from _databases(folder)


def _file(folder: Path, name: str, read: Callable[[Path], Any]) -> Callable[[bytes], None]:
    """Write the input to a file, and read that."""
    path = folder / name

    def feed(data: bytes) -> None:
        path.write_bytes(data)
        read(path)

    return feed


def _formats(folder: Path) -> Iterator[Target]:
    def reading(skip: bool) -> Reading:
        return Reading(problems=Problems(skip=skip))

    for kind, (read, formats) in KINDS.items():
        files = seeds(kind, folder)
        for name in (None, *(known.name for known in formats)):

            def both(path: Path, read: Any = read, name: str | None = name) -> None:
                with_problems = False
                try:
                    read(place_of(path, name), name, reading=reading(False))
                except RankwellError:
                    with_problems = True
                if with_problems:
                    read(place_of(path, name), name, reading=reading(True))

            (folder / "read").mkdir(exist_ok=True)
            yield Target(f"{kind}: {name or 'guessed'}", files, _file(folder / "read", "x.txt", both))
    yield Target("references", REFERENCES, _file(folder, "x", read_references))
    yield Target("records to screen", [*REFERENCES, *SEEDS["documents"]], _file(folder, "x.ris", read_records))
    table = b"review_id,review_title,review_date,title,year,authors,label\nCD1,T,2013-11-05,P,1992,D,1\n"
    review = (
        b'{"id": "CD1", "title": "T", "date": "2013-11-05", "included": [{"title": "P", "year": 1}], "excluded": ["N"]}'
    )
    yield Target("reviews: table", [table], _file(folder, "x.csv", read_reviews))
    yield Target("reviews: JSON", [review, b"[" + review + b"]"], _file(folder, "x.json", read_reviews))
    yield Target("grades", [b"qid\tdocno\tassessor\tgrade\nq\td\ta\t1\n"], _file(folder, "x.tsv", read_grades))
    pubmed = b'<?xml version="1.0"?><eSearchResult><Count>1</Count><IdList><Id>1</Id></IdList></eSearchResult>'
    yield Target("PubMed's search results", [pubmed], lambda data: _ignored(search_result(data)))
    yield Target("PubMed's articles", [PUBMED], lambda data: _ignored(articles(data)))


def _made(folder: Path) -> Iterator[bytes]:
    """Files of the zoo, as seeds."""
    for name, make in MAKERS.items():
        if name != "folder":
            make(folder / f"seed-{name}")
            yield (folder / f"seed-{name}").read_bytes()
    for file in tomllib.loads((HERE / "collections" / "zoo" / "made.toml").read_text(encoding="utf-8")).values():
        if "content" in file:
            yield file["content"].lstrip("\n").encode(file.get("encoding", "utf-8"))


# How each kind of file is read, and in which formats: a new format is a new target.
KINDS: dict[str, tuple[Callable[..., Any], Sequence[Any]]] = {
    "documents": (lambda path, name, **how: list(read_documents(path, name, **how)), DOCUMENT_FORMATS),
    "queries": (read_queries, QUERY_FORMATS),
    "judgments": (read_qrels, QRELS_FORMATS),
    "runs": (read_run, RUN_FORMATS),
}


def seeds(kind: str, folder: Path) -> list[bytes]:
    """Good files of a kind, at least one for each format."""
    if kind == "runs":
        write_run(folder / "seed.rwrun", Run.from_dict({"q1": {"d1": 2.5, "d2": 1.5}, "q2": {"d1": 1.0}}))
        return [*SEEDS[kind], (folder / "seed.rwrun").read_bytes()]
    if kind != "documents":
        return SEEDS[kind]
    write_documents(folder / "seed.parquet", DOCUMENTS, "parquet")
    return [*SEEDS[kind], (folder / "seed.parquet").read_bytes(), *_made(folder)]


def place_of(path: Path, name: str | None) -> Path:
    """What is read: the file, or the folder that it is in."""
    return path.parent if name == "folder" else path


def _ignored(_: Any) -> None: ...


def _texts(folder: Path) -> Iterator[Target]:
    """Small languages, and settings."""

    def text(parse: Callable[[str], Any]) -> Callable[[bytes], None]:
        return lambda data: _ignored(parse(data.decode("utf-8", "replace")))

    studies = [file.read_bytes() for file in sorted(SHIPPED.glob("*.toml"))]
    yield Target("study files", studies, text(parse_study))
    yield Target("pipeline lines", [b"bm25 k1=0.9 b=0.4 k=100 >> rerank minilm depth=50"], text(parse_line))
    judging = b'title = "Two"\nqueries = "q.tsv"\ncollection = "c.jsonl"\nruns = ["f.trec"]\ndepth = 2\n'
    yield Target("files of judging studies", [judging], _file(folder, "x.toml", read_study_file))
    yield Target("expressions", [b'(masks AND NOT title:"fresh air") OR soap~ "a b"'], text(parse_expression))
    yield Target(
        "filters",
        [b'year>=2021 and (source=PMC or not source="a b")', b"year>=2021 and source=PMC"],
        text(parse_filter),
    )
    yield Target("matches", [b"and", b"expr:a AND b", b"ann:100", b"or+and"], text(parse_match))
    yield Target("analyzers", [b"english:lucene:porter", b"german", b"cjk:none:none"], text(parse_analyzer))
    judged = b'{"time":"2026-01-01T00:00:00+00:00","qid":"a","query":"b","docno":"d","grade":1}\n'
    yield Target("the search page's judgments", [judged, judged * 2], _file(folder, "x.jsonl", _judgments))
    keys = b'{"version": 1, "keys": [{"name": "a", "role": "read", "sha256": "00", "made": "2026"}]}'
    yield Target("the file of keys", [keys], _file(folder, "keys.json", lambda path: Keys(path).all()))


def _judgments(path: Path) -> None:
    kept = JudgmentsFile(path)
    try:
        kept.qrels(), kept.queries()
    finally:
        kept.close()


def _models(folder: Path) -> Iterator[Target]:
    whole = Path(write_tiny_bert(folder / "whole-model"))
    for name in ("config.json", "tokenizer.json", "model.safetensors", "ranker.json", "1_Pooling/config.json"):
        seed = (
            (whole / name).read_bytes()
            if (whole / name).exists()
            else b'{"kind": "duo", "settings": {"max_tokens": 40}}'
        )

        def feed(data: bytes, name: str = name) -> None:
            model = folder / "model"
            shutil.rmtree(model, ignore_errors=True)
            shutil.copytree(whole, model)
            (model / name).parent.mkdir(exist_ok=True)
            (model / name).write_bytes(data)
            for use in (describe, PairScorer, TextEncoder):
                _quietly(lambda use=use: use(str(model)))

        yield Target(f"models: {name}", [seed], feed)
    with zipfile.ZipFile(folder / "archive", "w") as archive:
        archive.writestr("archive/data.pkl", PICKLE)
        archive.writestr("archive/data/0", b"\x00" * 8)
    pickled = (folder / "archive").read_bytes()
    read_pickled_weights(folder / "archive")
    yield Target("models: pytorch_model.bin", [pickled], _file(folder, "pytorch_model.bin", _converted))
    import numpy as np

    save_linear(LinearModel(Words(1), ("a", "b"), np.ones(2), np.ones(2), 0.1), folder / "linear")
    for file in sorted((folder / "linear").iterdir()):
        seed = file.read_bytes()

        def feed_linear(data: bytes, file: Path = file, seed: bytes = seed) -> None:
            file.write_bytes(data)
            _load.cache_clear()
            try:
                load_linear(folder / "linear")
            finally:
                file.write_bytes(seed)

        yield Target(f"models: {file.name}", [seed], feed_linear)


def _converted(path: Path) -> None:
    from rankwell.models.base.loading import loads_model

    loads_model(lambda name: read_pickled_weights(Path(name)))(str(path))


def _quietly(do: Callable[[], Any]) -> None:
    try:
        do()
    except RankwellError as error:
        if "\n" in str(error):
            raise AssertionError(f"a message of several lines: {error}") from error


def _indexes(folder: Path) -> Iterator[Target]:
    """Every file of an index with vectors: a change of it is found, or it changes nothing that can be seen."""
    from vectors.hashing_encoder import HashingEncoder

    whole = folder / "whole-index"
    with IndexWriter(whole, metadata=["year"], positions=True) as writer:
        for number in range(40):
            writer.add(Document(f"d{number}", {"text": f"w{number % 7} w{number % 5} fever"}, {"year": 2000 + number}))
    embed(Index.open(whole), HashingEncoder())
    with IndexWriter(whole) as writer:
        writer.delete("d3")
    for file in sorted(path for path in whole.rglob("*") if path.is_file() and path.stat().st_size):
        name = file.relative_to(whole)

        def feed(data: bytes, name: Path = name) -> None:
            copy = folder / "index"
            shutil.rmtree(copy, ignore_errors=True)
            shutil.copytree(whole, copy)
            (copy / name).write_bytes(data)
            _quietly(lambda: verify_vectors(Index.open(copy)))
            index = Index.open(copy)
            _quietly(index.verify)
            for number in range(index.size):
                _quietly(lambda number=number: index.document(number) if hasattr(index, "document") else None)
            _quietly(lambda: Embeddings.open(index).search(HashingEncoder().encode_queries(["fever"]), k=5))
            index.info()

        kind = name.suffix.lstrip(".") or name.name
        yield Target(f"index: {'vectors/' if 'vectors' in name.parts else ''}{kind}", [file.read_bytes()], feed)


def _databases(folder: Path) -> Iterator[Target]:
    from judging.small_studies import make_study

    make_study(folder / "study.db", 2).close()
    project = open_project(folder / "project.db", title="Colds", reviewers=())
    project.close() if hasattr(project, "close") else None

    def opened(open_one: Callable[[Path], Any], look: Callable[[Any], Any]) -> Callable[[Path], None]:
        def read(path: Path) -> None:
            for beside in ("-wal", "-shm", "-journal"):
                path.with_name(path.name + beside).unlink(missing_ok=True)
            found = open_one(path)
            try:
                look(found)
            finally:
                found.close() if hasattr(found, "close") else None

        return read

    # Opened only: what SQLite says of a damaged page later on is a fault, with a page and a line in the log.
    read_study, read_project = opened(open_store, _ignored), opened(open_project, _ignored)
    yield Target("databases: judging", [(folder / "study.db").read_bytes()], _file(folder, "x.db", read_study))
    yield Target("databases: screening", [(folder / "project.db").read_bytes()], _file(folder, "y.db", read_project))
