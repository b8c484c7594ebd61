"""The same work on a real Ray cluster of three nodes: the same results, whoever dies meanwhile."""

from __future__ import annotations

import contextlib
import os
import random
import signal
import sqlite3
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from ray_nodes import PATIENCE, RayNodes, running_ray
from typer.testing import CliRunner

from rankwell.cli import app
from rankwell.index import Index
from rankwell.studies import read_numbers
from rankwell.vectors import Embeddings
from small_study import STUDY, write_collection
from tiny_models import WORDS, needs_torch, tiny_bert, topic_pairs
from waiting import wait_until

needs_torch()
# One process for all of them: two clusters that start side by side fight for ports.
pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("ray")]

QUERIES, DOCUMENTS = 40, 400


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A collection, its index, a bi-encoder, a cross-encoder that takes its time, and pairs to train with."""
    folder = tmp_path_factory.mktemp("on-ray")
    lots = random.Random(5)  # noqa: S311 -- texts, not secrets
    texts = [" ".join(lots.choices(WORDS, k=lots.randint(5, 80))) for _ in range(DOCUMENTS)]
    lines = ["id,text", *(f"d{number},{text}" for number, text in enumerate(texts))]
    (folder / "documents.csv").write_text("\n".join(lines) + "\n")
    asked = [f"q{number}\t{' '.join(lots.choices(WORDS, k=3))}\n" for number in range(QUERIES)]
    (folder / "queries.tsv").write_text("".join(asked))
    tiny_bert(folder / "bi")
    large = {"hidden_size": 192, "num_attention_heads": 4, "intermediate_size": 768, "num_labels": 1}
    tiny_bert(folder / "cross", layers=4, head="BertForSequenceClassification", **large)
    tiny_bert(folder / "other", layers=4, head="BertForSequenceClassification", seed=1, **large)
    topic_pairs(folder / "pairs", queries=12)
    return folder


@pytest.fixture(scope="module")
def ray(place: Path) -> Iterator[RayNodes]:
    with running_ray(3, {"RANKWELL_HOME": str(place / "home"), "HF_HUB_OFFLINE": "1"}) as cluster:
        yield cluster


def started(ray: RayNodes, place: Path, *words: str) -> subprocess.Popen[str]:
    command = [sys.executable, "-m", "rankwell", *words]
    return subprocess.Popen(command, cwd=place, env=ray.environment, stderr=subprocess.PIPE, text=True)


def said(ray: RayNodes, place: Path, *words: str, code: int = 0) -> str:
    """What a command says on its way."""
    process = started(ray, place, *words)
    _, told = process.communicate(timeout=PATIENCE)
    assert process.returncode == code, f"{told}\n{ray.said()}"
    return told


def here(place: Path, *words: str) -> None:
    """The same command in this process, without a cluster."""
    with contextlib.chdir(place):
        done = CliRunner().invoke(app, list(words))
    assert done.exit_code == 0, done.output


@pytest.fixture(scope="module")
def indexed(place: Path) -> Path:
    here(place, "index", "documents.csv", "--out", "index", "--quiet")
    here(place, "rank", "index", "queries.tsv", "-o", "first.trec", "-k", "60")
    return place


def reranking(out: str, *others: str) -> list[str]:
    words = ["rerank", "first.trec", "--index", "index", "--queries", "queries.tsv", "--model", "cross", "-o", out]
    return [*words, "--threads", "1", *others]


@pytest.mark.parametrize("options", [[], ["--rerank", "cross", "--depth", "10"]], ids=["BM25", "BERT"])
def test_a_ranking_on_ray_is_the_same_file(ray: RayNodes, indexed: Path, options: list[str]) -> None:
    here(indexed, "rank", "index", "queries.tsv", "-o", "here.trec", *options)
    said(ray, indexed, "rank", "index", "queries.tsv", "-o", "there.trec", "--on", ray.client_address, *options)
    assert (indexed / "here.trec").read_bytes() == (indexed / "there.trec").read_bytes()


def test_vectors_made_on_ray_are_the_same(ray: RayNodes, indexed: Path) -> None:
    encoding = ["encode", "index", "--model", "bi", "--no-graph", "--name"]
    here(indexed, *encoding, "here")
    said(ray, indexed, *encoding, "there", "--on", "ray")
    index, numbers = Index.open(indexed / "index"), np.arange(DOCUMENTS)
    one, other = (Embeddings.open(index, name).vectors(numbers) for name in ("here", "there"))
    assert np.array_equal(one, other)
    assert np.abs(one).sum(axis=1).all()


def test_a_search_for_settings_on_ray_finds_the_same(ray: RayNodes, indexed: Path) -> None:
    words = ["train", "search", "linear", "pairs", "--vary", "penalty=0.1,1,10", "--validation", "0.3", "--quiet"]
    here(indexed, *words, "--seeds", "2", "--out", "here")
    said(ray, indexed, *words, "--seeds", "2", "--out", "there", "--on", ray.address)
    values = [
        {file.parent.name: file.read_bytes() for file in (indexed / out / "cells").glob("*/values.json")}
        for out in ("here", "there")
    ]
    assert len(values[0]) == 3  # a linear model draws no lots: other seeds are the same training
    assert values[0] == values[1]
    assert not list((indexed / "there").glob(".shared-*"))


def test_a_ray_that_was_started_for_a_command_is_gone_with_it(ray: RayNodes, indexed: Path) -> None:
    own = indexed / "own"  # where no cluster is known of
    own.mkdir()
    here(indexed, "rank", "index", "queries.tsv", "-o", "alone.trec", "-k", "10")
    with tempfile.TemporaryDirectory(prefix="rw-") as short:
        known = {name: value for name, value in ray.environment.items() if not name.startswith("RAY_")}
        alone = replace(ray, environment={**known, "HOME": str(own), "RAY_TMPDIR": short})
        said(alone, indexed, "rank", "index", "queries.tsv", "-o", "started.trec", "-k", "10", "--on", "ray:threads=1")
        left = subprocess.run(["ps", "-eo", "args"], capture_output=True, text=True, check=True).stdout
        assert f"{short}/ray/session" not in left
    assert (indexed / "started.trec").read_bytes() == (indexed / "alone.trec").read_bytes()


def scored(place: Path) -> int:
    """How many scores have been kept so far."""
    found = 0
    for file in (place / "home" / "scores").glob("*.sqlite3"):
        with sqlite3.connect(file) as connection:
            found += connection.execute("SELECT count(*) FROM scores").fetchone()[0]
        connection.close()
    return found


def wait_for_scores(process: subprocess.Popen[str], place: Path, more_than: int) -> None:
    wait_until(lambda: process.poll() is not None or scored(place) > more_than, "scores", patience=PATIENCE, pause=0.05)
    assert process.poll() is None, process.communicate()


def test_killing_one_of_three_workers_changes_nothing_in_the_file(ray: RayNodes, indexed: Path) -> None:
    process = started(ray, indexed, *reranking("killed.trec", "--on", ray.address))
    # One that is at work: Ray writes the method into the title. An idle one has no chunk to give away.
    busy = wait_until(lambda: ray.processes("ray::Worker.run"), "a busy worker", patience=PATIENCE, pause=0.001)
    os.kill(busy[0], signal.SIGKILL)
    _, told = process.communicate(timeout=PATIENCE)
    assert process.returncode == 0, told
    assert "a chunk is given to another worker" in told
    here(indexed, *reranking("local.trec", "--no-cache"))
    assert (indexed / "killed.trec").read_bytes() == (indexed / "local.trec").read_bytes()


def test_a_study_on_ray_has_the_same_numbers_though_a_worker_is_killed(ray: RayNodes, place: Path) -> None:
    """With a model that is named by its path from here, whose worker dies after the first cells."""
    write_collection(place / "data")
    rows = '{ BERT = "bm25 | cross-encoder(./cross)", both = "fuse(bm25, words)", "k1 $k1" = "bm25(k1=$k1)" }'
    table = f'[[table]]\nname = "main"\ntitle = "Words and BERT"\nmeasures = ["nDCG@10"]\nrows = {rows}\n'
    (place / "small.toml").write_text(STUDY[: STUDY.index("[[table]]")] + table)
    words = ["study", "run", "small.toml", "--data", "data", "--threads", "1", "--quiet", "--out"]
    here(place, *words, "studied-here", "--jobs", "1")
    process = started(ray, place, *words, "studied", "--on", ray.address)
    cells = place / "studied" / "cells"
    wait_until(
        lambda: process.poll() is not None or list(cells.glob("*/cell.json")), "a cell", patience=PATIENCE, pause=0.001
    )
    assert process.poll() is None, process.communicate()
    os.kill(ray.processes("ray::Worker")[0], signal.SIGKILL)
    _, told = process.communicate(timeout=PATIENCE)
    assert process.returncode == 0, f"{told}\n{ray.said()}"
    assert read_numbers(place / "studied")["tables"] == read_numbers(place / "studied-here")["tables"]
    assert not list(cells.glob("*.part")) + list(cells.glob(".shared-*"))


def test_ctrl_c_ends_all_workers_and_keeps_the_scores(ray: RayNodes, indexed: Path) -> None:
    before = scored(indexed)
    process = started(ray, indexed, *reranking("never.trec", "--on", ray.address, "--max-tokens", "62"))
    wait_for_scores(process, indexed, before)
    process.send_signal(signal.SIGINT)
    _, told = process.communicate(timeout=PATIENCE)
    assert process.returncode == 3, told
    assert "the scores so far are kept" in told
    assert not (indexed / "never.trec").exists()
    wait_until(lambda: not ray.processes("ray::Worker"), "all workers end", patience=PATIENCE, pause=0.1)


def test_a_worker_with_other_weights_is_refused(ray: RayNodes, indexed: Path) -> None:
    """The folder changes between here and there: as when machines have different files under one name."""
    program = f"""
import shutil
from rankwell.models.cross_encoder.ranking import CrossEncoder
from rankwell.ray import connected
from rankwell.ray.encoding import PairScoring
shutil.copytree({str(indexed / "cross")!r}, {str(indexed / "swapped")!r})
here = CrossEncoder({str(indexed / "swapped")!r}).scorer().fingerprint()
shutil.copytree({str(indexed / "other")!r}, {str(indexed / "swapped")!r}, dirs_exist_ok=True)
none = dict(max_tokens=None, query_tokens=None, precision=None)
with connected({ray.address!r}) as cluster:
    with cluster.workers(PairScoring({str(indexed / "swapped")!r}, none, here)) as workers:
        list(workers.map([[("a", "b")]]))
"""
    done = ray.python(program)
    assert "RankwellError: worker" in done.stderr
    assert "expected the same as where the command was given" in done.stderr


def test_a_chunk_that_kills_its_worker_every_time_is_named(ray: RayNodes) -> None:
    program = f"""
import os, signal
from rankwell.ray import map_chunks
def deadly(number):
    if number == 5: os.kill(os.getpid(), signal.SIGKILL)
    return number
print(list(map_chunks(deadly, range(10), on={ray.address!r})))
"""
    done = ray.python(program)
    assert "5 (chunk 6): failed 3 times, the last time on worker" in done.stderr


def test_another_version_of_ray_is_told_in_one_line(ray: RayNodes, place: Path) -> None:
    program = f"""
import ray
ray.__version__ = "2.0.0"
import sys
sys.argv = ["rankwell", "rank", "index", "queries.tsv", "-o", "x.trec", "--on", {ray.address!r}]
import os
os.chdir({str(place)!r})
from rankwell.__main__ import main
main()
"""
    done = ray.python(program)
    assert done.returncode == 1
    (line,) = [line for line in done.stderr.splitlines() if line.startswith("rankwell: ")]
    assert "Version mismatch" in line


def test_losing_a_whole_machine_changes_nothing_in_the_file(ray: RayNodes, indexed: Path) -> None:
    """The last test of this cluster: one of its nodes is gone for good."""
    before = scored(indexed)
    process = started(ray, indexed, *reranking("alone.trec", "--on", ray.address, "--max-tokens", "61"))
    wait_for_scores(process, indexed, before)
    os.killpg(ray.nodes[-1].pid, signal.SIGKILL)
    _, told = process.communicate(timeout=PATIENCE)
    assert process.returncode == 0, told
    here(indexed, *reranking("local61.trec", "--no-cache", "--max-tokens", "61"))
    assert (indexed / "alone.trec").read_bytes() == (indexed / "local61.trec").read_bytes()
