"""Every option of `rankwell search` and `rankwell rank` on an index in ClickHouse: the same, or a clear refusal."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path

import pytest
from click.testing import Result
from typer.testing import CliRunner

from needs import require
from rankwell.cli import app, load_command
from rankwell.clickhouse import push
from rankwell.core import RankwellError
from rankwell.index import Index
from rankwell.models.base import load_text_encoder
from rankwell.retrieve import BM25
from rankwell.vectors import embed

BI_ENCODER, CROSS_ENCODER = "minilm-l3", "ms-marco-minilm-l12"
PAPERS = """id,title,abstract,year,source
p1,Masks,"Masks stop large droplets, and some small ones.",2020,A
p2,Washing,Soap destroys the envelope of the virus.,2021,B
p3,Windows,Fresh air carries droplets away.,2022,A
p4,Physicians,Physicians were ill more often than others in the first winter.,2020,B
p5,Trains,The train to the coast leaves at nine.,,A
p6,Droplets,Droplets droplets droplets.,2021,B
"""
RERANK = ("--rerank", CROSS_ENCODER)

# For each option ways to use it.
OF_WORDS = {
    "k": [("-k", "2")],
    "match": [("--match", how) for how in ("and", "expr:title:masks OR (droplets AND NOT air)", "or & expr:droplets")]
    + [("--match", 'expr:"large droplets" OR title:"physicians" OR "droplets droplets"')],
    "filter": [("--filter", "year>=2021"), ("--filter", "not source=A or year"), ("--filter", "source in (A, C)")],
    "k1": [("--k1", "0.4"), ("--k1", "0")],
    "b": [("--b", "0.1")],
    "idf": [("--idf", name) for name in ("robertson", "robertson-raw", "plain")],
    "weights": [("--weights", "title=2,abstract=0.5"), ("--weights", "title=1,abstract=1", "--match", "and")],
    "rm3": [("--rm3",)],
    "rm3_settings": [("--rm3", "--rm3-settings", "2,3,0.4")],
    "variant": [("--variant", "soap=0.5", "--variant", "fresh air")],
    "explain": [("--explain",)],
    "as_json": [("--json",)],
}
OF_VECTORS = {
    "dense": [("--dense",), ("--dense", "--match", "and"), ("--dense", "--filter", "year=2020"), ("--match", "ann:3")],
    "hybrid": [("--hybrid",), ("--hybrid", "--rm3")],
    "vector_weight": [("--hybrid", "--vector-weight", "0.7")],
    "vectors": [("--dense", "--vectors", "meaning")],
    "hnsw": [("--dense", "--hnsw"), ("--dense", "--hnsw", "--filter", "source=A")],
}
OF_RERANKERS = {
    "rerank": [RERANK, (*RERANK, "--dense"), (*RERANK, "--explain")],
    "depth": [(*RERANK, "--depth", "2")],
    "document": [(*RERANK, "--document", "{title}: {abstract}")],
    "passages": [(*RERANK, "--passages", "5:2")],
    "aggregate": [(*RERANK, "--passages", "5:2", "--aggregate", "max")],
    "interpolate": [(*RERANK, "--interpolate", "0.5")],
    "precision": [(*RERANK, "--precision", "int8")],
    "max_tokens": [(*RERANK, "--max-tokens", "16")],
    "device": [(*RERANK, "--device", "cpu")],
}
OF_RANK = {
    "query_field": [("--query-field", "question")],
    "split": [("--split", "test")],
    "tag": [("--tag", "mine")],
    "variants_file": [("--variants-file", "variants.tsv")],
    "pipeline": [("--pipeline", "pipeline.toml")],
    "threads": [("--threads", "2")],
    "quiet": [("--quiet",)],
}
REFUSED = {
    "variants": (("--variants", "2"), r"similar queries \(--variants\).*expand queries with RM3 \(--rm3\) there"),
    "sort": (("--sort", "year"), r"sort: expected an index in a folder.*sort by relevance"),
}
ELSEWHERE = {
    "folder",  # is what changes
    "words",  # are given throughout
    "queries",
    "out",
    "on",  # tests/scale; the embedded engine has one process a folder
    "synonyms",  # become variants of the query
    "relevant",  # a text for the model, whose documents come from where they are
}


def test_no_option_is_forgotten() -> None:
    known = {*OF_WORDS, *OF_VECTORS, *OF_RERANKERS, *OF_RANK, *REFUSED, *ELSEWHERE}
    options = {option.name for command in ("search", "rank") for option in load_command(command).params}
    assert options <= known


def run(*words: str) -> Result:
    done = CliRunner().invoke(app, list(words))
    if done.exception is not None:
        raise done.exception
    return done


def same(where: str, options: Iterable[tuple[str, ...]]) -> None:
    """What a person sees."""
    for words in options:
        ours, theirs = (run("search", place, "masks stop droplets", *words).stdout for place in ("index", where))
        assert ours == theirs, words
        assert ours, words


@pytest.fixture
def filled(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, chdb: str) -> Callable[[], str]:
    """Makes the index in the folder `index`; what it returns pushes it."""
    monkeypatch.chdir(tmp_path)
    Path("papers.csv").write_text(PAPERS)
    run("index", "papers.csv", "--out", "index", "--positions", "--quiet")

    def pushed() -> str:
        push(Index.open("index"), chdb)
        return chdb

    return pushed


@pytest.mark.slow
def test_options_of_words_are_the_same(filled: Callable[[], str]) -> None:
    where = filled()
    same(where, (words for ways in OF_WORDS.values() for words in ways))


@pytest.mark.slow
def test_options_of_rank_are_the_same(filled: Callable[[], str]) -> None:
    where = filled()
    Path("queries.jsonl").write_text('{"_id": "1", "text": "masks", "question": "do masks stop droplets"}\n')
    Path("queries.tsv").write_text("1\tmasks stop droplets\n2\tsoap\n")
    Path("variants.tsv").write_text("1\tfresh air\t0.5\n")
    BM25("index", b=0.1).save("pipeline.toml")
    for words in (words for ways in OF_RANK.values() for words in ways):
        queries = "queries.jsonl" if "--query-field" in words else "queries.tsv"
        for place, out in (("index", "here.trec"), (where, "there.trec")):
            run("rank", place, queries, "-o", out, *words)
        assert Path("here.trec").read_text() == Path("there.trec").read_text()


@pytest.mark.slow
def test_options_of_models_are_the_same_or_refused(
    filled: Callable[[], str],
    models: Path,
    use_models: None,  # noqa: ARG001 -- a home with models
) -> None:
    for name in (BI_ENCODER, CROSS_ENCODER):
        require("models", there=(models / name).is_dir(), how=f"run `make setup`, or `rankwell models add {name}`")
    embed(Index.open("index"), load_text_encoder(BI_ENCODER), name="meaning")
    where = filled()
    same(where, (words for ways in (OF_VECTORS | OF_RERANKERS).values() for words in ways))
    for words, message in REFUSED.values():
        with pytest.raises(RankwellError, match=message):
            run("search", where, "masks", *words)
