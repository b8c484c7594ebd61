"""After `rankwell doctor --warm`, no search compiles anything."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

SEARCHES = """
import sys
from pathlib import Path
import numpy as np
from rankwell import Document
from rankwell.vectors.search import exact
from rankwell.vectors.search import kernels as of_vectors
from rankwell.vectors.rows import Manifest
from rankwell.vectors.quantise import unit
from rankwell.vectors.embedding import VectorWriter
from rankwell.index import Index, IndexWriter, Scoring
from rankwell.index.compiled import kernels

folder, generator = Path(sys.argv[1]), np.random.default_rng(0)
words = [f"w{number}" for number in range(50)]
for part in range(3):  # as many segments, one with deleted documents
    with IndexWriter(folder / "index", positions=True) as writer:
        for number in range(400 * (part + 1)):
            fields = {"title": words[number % 50], "text": " ".join(generator.choice(words, 300 if number else 3000))}
            writer.add(Document(f"{part}-{number}", fields))
        if part:
            writer.delete("0-7")
kernels(), of_vectors()
index = Index.open(folder / "index")
queries = [words[3], f"{words[1]} {words[2]}", "nothing", " ".join(words)]
for match in ("or", "and"):
    for weights in (None, {"title": 1.5}, {"title": 2.0, "text": 0.5}):
        for within in (None, np.arange(300), index.live):
            for prune in (True, False):
                for k in (1, 10, 2000):
                    scoring = Scoring(k1=0.9, b=0.4, match=match, weights=weights)
                    index.search(queries, k, scoring, within=within, prune=prune, threads=2)
for dimensions in (7, 384):
    vectors = unit(generator.standard_normal((900, dimensions)).astype(np.float32))
    place = folder / f"vectors-{dimensions}"
    with VectorWriter(place, Manifest("test", {}, "test", dimensions)) as writer:
        for part in (slice(0, 600), slice(600, 900)):
            writer.add(np.arange(1 + part.start, 1 + part.stop, dtype=np.uint64), vectors[part])
        rows = writer.rows()
    for threads in (1, 2):
        for allowed in (None, np.arange(900) % 2 == 0):
            for few in (1, 5):
                list(exact(rows, vectors[:few], 3, allowed, threads))
from rankwell.collections import read_qrels, read_run, write_run
from rankwell.collections.formats import trec_lines
from rankwell.core import run_lines
from rankwell.evaluation import evaluate
from rankwell.retrieve import BM25

run_lines.WORTH_LOADING = trec_lines.WORTH_READING = 0
write_run(folder / "run.trec", BM25(index, k=100)({"q1": words[3], "q2": words[4]}))
(folder / "qrels").write_text("q1 0 1-3 1\\nq2 0 2-4 1\\n")
evaluate(read_qrels(folder / "qrels"), read_run(folder / "run.trec"))
print(len(of_vectors().scan.signatures))
"""


def run(command: list[str], **extra: str) -> str:
    done = subprocess.run(command, capture_output=True, text=True, check=False, env={**os.environ, **extra})
    assert done.returncode == 0, done.stderr
    return done.stdout


def files(home: Path) -> dict[str, int]:
    return {str(file): file.stat().st_mtime_ns for file in home.rglob("*.nb[ic]")}


@pytest.mark.slow
def test_warming_compiles_everything_that_searches_need(
    tmp_path: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    home = tmp_path_factory.getbasetemp() / "home"  # that of other tests, which have compiled some of it
    doctor = [sys.executable, "-m", "rankwell", "doctor"]
    said = run([*doctor, "--warm"], RANKWELL_HOME=str(home)).splitlines()
    assert [line.split(":")[0] for line in said] == ["search", "vectors", "runs"]
    assert all(re.search(r"compiled (\d+ functions|before, loaded) in [\d.]+ s$", line) for line in said)
    before = files(home)
    assert run([sys.executable, "-c", SEARCHES, str(tmp_path)], RANKWELL_HOME=str(home)) == "1\n"
    assert files(home) == before
    again = run([*doctor, "--warm"], RANKWELL_HOME=str(home)).splitlines()
    assert all("compiled before, loaded in" in line for line in again)
    assert files(home) == before
    assert re.search(
        r"Kernels\n +search +compiled\n +vectors +compiled\n +runs +compiled\n", run(doctor, RANKWELL_HOME=str(home))
    )


def test_a_home_that_cannot_be_written_to_keeps_no_kernels(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    command = [sys.executable, "-m", "rankwell", "doctor", "--warm"]
    environment = {**os.environ, "RANKWELL_HOME": str(tmp_path / "file")}
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=environment)
    assert done.returncode != 0
    assert "set RANKWELL_HOME to a folder that you may write to" in done.stderr
    assert "Traceback" not in done.stderr
