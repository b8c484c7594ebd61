"""Searching by meaning, re-ranking and serving a real cluster, as users type it."""

from __future__ import annotations

import json
from pathlib import Path
from urllib.request import urlopen

import pytest
from click.testing import Result
from typer.testing import CliRunner

from clickhouse_servers import Cluster
from needs import require
from rankwell.cli import app
from rankwell.index import Index
from rankwell.models.base import load_text_encoder
from rankwell.vectors import embed
from servers import started, stopped

pytestmark = pytest.mark.slow

BI_ENCODER, CROSS_ENCODER = "minilm-l3", "ms-marco-minilm-l12"
PAPERS = """id,title,abstract,year
p1,Masks,"Masks stop large droplets, and some small ones.",2020
p2,Washing,Soap destroys the envelope of the virus.,2021
p3,Windows,Fresh air carries droplets away.,2022
p4,Physicians,Physicians were ill more often than others in the first winter.,2020
p5,Trains,The train to the coast leaves at nine.,2023
p6,Droplets,Droplets droplets droplets.,2021
"""


def run(*words: str) -> Result:
    done = CliRunner().invoke(app, list(words))
    if done.exception is not None:
        raise done.exception
    return done


def close(first: str, second: str) -> None:
    """Two runs with the same documents in the same order, scores to 1e-5."""
    ours, theirs = ([line.split() for line in Path(name).read_text().splitlines()] for name in (first, second))
    assert [row[:4] for row in ours] == [row[:4] for row in theirs]
    assert [float(row[4]) for row in ours] == pytest.approx([float(row[4]) for row in theirs], abs=1e-5)


def test_dense_hybrid_rerank_and_serve_work_on_a_cluster(
    cluster: Cluster,
    models: Path,
    use_models: None,  # noqa: ARG001 -- a home with models
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for name in (BI_ENCODER, CROSS_ENCODER):
        require("models", there=(models / name).is_dir(), how=f"run `make setup`, or `rankwell models add {name}`")
    monkeypatch.chdir(tmp_path)
    Path("papers.csv").write_text(PAPERS)
    Path("queries.tsv").write_text("q1\tdo doctors get sick\nq2\tdo masks help against droplets\n")
    run("index", "papers.csv", "--out", "index", "--positions", "--quiet")
    embed(Index.open("index"), load_text_encoder(BI_ENCODER))
    where = cluster.address("meaning")
    run("push", "index", where, "--quiet")
    for name, words in {
        "dense": ("--dense",),
        "hnsw": ("--dense", "--hnsw", "--filter", "year<=2022"),
        "hybrid": ("--hybrid", "-k", "4"),
        "phrase": ("--match", 'expr:"large droplets" OR "droplets droplets"'),
        "reranked": ("--rerank", CROSS_ENCODER, "--depth", "3"),
    }.items():
        for place, out in (("index", f"{name}.here"), (where, f"{name}.there")):
            run("rank", place, "queries.tsv", "-o", out, "--quiet", *words)
        close(f"{name}.here", f"{name}.there")
    for place, out in (("index", "again.here"), (where, "again.there")):
        words = ("--model", CROSS_ENCODER, "--index", place, "-o", out, "--no-cache", "--quiet")
        run("rerank", "dense.here", "--queries", "queries.tsv", *words)
    close("again.here", "again.there")
    with stopped(started(["serve", where, "--rerank", CROSS_ENCODER, "--quiet"], Path("said.txt"))) as server:
        url = f"{server.url}/api/search?q=do+doctors+get+sick&dense=true&rerank={CROSS_ENCODER}&k=2"
        with urlopen(url, timeout=60) as answer:  # noqa: S310 -- our own server
            found = json.loads(answer.read())
    assert found["results"][0]["id"] == "p4"
