"""What `pip install rankwell` alone gives: searching and re-ranking, without torch."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from needs import require
from rankwell.collections import read_run

ROOT = Path(__file__).parents[3]
PAPERS = "id,text\np1,Masks stop large droplets.\np2,Soap destroys the virus.\np3,Fresh air carries droplets away.\n"


def run(*words: object) -> subprocess.CompletedProcess[str]:
    plain = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    return subprocess.run(list(map(str, words)), capture_output=True, text=True, check=False, env=plain)


@pytest.fixture(scope="module")
def fresh(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The programs of a new environment with the project and nothing that it does not need."""
    folder = tmp_path_factory.mktemp("fresh")
    assert run(sys.executable, "-m", "venv", folder).returncode == 0
    programs = folder / ("Scripts" if os.name == "nt" else "bin")
    constraints = ROOT / "constraints.txt"
    done = run(programs / "python", "-m", "pip", "install", "--quiet", "-c", constraints, ROOT)
    require("packages", there=done.returncode == 0, how=f"pip could not install the project: {done.stderr[-300:]}")
    return programs


@pytest.mark.long
def test_a_plain_installation_searches_and_re_ranks_without_torch(
    fresh: Path, real_model: str, models: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("papers.csv").write_text(PAPERS)
    Path("queries.tsv").write_text("q1\twhat stops droplets\n")
    assert run(fresh / "python", "-c", "import torch").returncode != 0
    rerank = ("rerank", "bm25.trec", "--index", "index", "--queries", "queries.tsv", "--model", real_model)
    for words in (
        ("index", "papers.csv", "--out", "index"),
        ("search", "index", "droplets"),
        ("rank", "index", "queries.tsv", "-o", "bm25.trec"),
        (*rerank, "-o", "bert.trec"),
        ("encode", "index", "--model", models / "minilm-l6"),  # PyTorch's weights, made an ONNX file of
        ("rank", "index", "queries.tsv", "--dense", "-o", "dense.trec"),
    ):
        done = run(fresh / "rankwell", *words)
        assert done.returncode == 0, done.stderr
    assert read_run("bert.trec")["q1"].docnos.tolist()[0] == "p1"
    assert read_run("dense.trec")["q1"].docnos.tolist()[-1] == "p2"  # the only one that is not about droplets
