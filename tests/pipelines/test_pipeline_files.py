"""A pipeline is a file: Python and commands write and read the same one."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import pytest

from commands import rankwell, succeeds
from rankwell.core import Document, Pipeline, RankwellError, Run, Stage
from rankwell.index import Index, IndexWriter
from rankwell.models.cross_encoder.ranking import CrossEncoder
from rankwell.models.explanation import Interpolate
from rankwell.models.reranking.passages import Passages
from rankwell.retrieve import BM25, RM3, Dense, Hybrid
from rankwell.retrieve.fusion import WeightedSum

MODEL = "ms-marco-minilm-l12"


@pytest.fixture
def index(tmp_path: Path) -> Index:
    with IndexWriter(tmp_path / "papers", metadata=["year"]) as writer:
        for docno, words in {
            "d1": "fever in children",
            "d2": "fever fever cough",
            "d3": "masks and more masks",
        }.items():
            writer.add(Document(docno, {"title": words, "abstract": f"about {words}"}, {"year": int(docno[1])}))
    return Index.open(tmp_path / "papers")


@pytest.mark.usefixtures("use_models")
def test_what_is_saved_is_loaded(index: Index, tmp_path: Path) -> None:
    weighted = BM25(index, k1=0.9, b=0.3, idf="robertson", weights={"title": 0.25, "abstract": 0.75}, match="and", k=50)
    dense = Dense(index, "mine", k=100)
    model = CrossEncoder(MODEL, k=20, document="{title}", passages=Passages(50, 10), aggregate="max", max_tokens=100)
    for stage in (
        weighted,
        BM25(index, filter="year>=2", k=7),
        RM3(BM25(index), fb_docs=5, fb_terms=20, original_query_weight=0.25),
        dense,
        Hybrid((BM25(index, k=100), dense)).top(50),
        Hybrid((BM25(index, k=100), dense), WeightedSum((0.4, 0.6))).top(100),
        (weighted >> model).top(10),
        BM25(index) >> Interpolate(CrossEncoder(MODEL, k=30), 0.3),
    ):
        stage.save(tmp_path / "best.toml")
        loaded = Pipeline.load(tmp_path / "best.toml", index)
        loaded.save(tmp_path / "again.toml")
        assert (tmp_path / "again.toml").read_text() == (tmp_path / "best.toml").read_text()
        known = [repr(step) for step in stage.stages]
        assert known[-1] in [repr(step) for step in loaded.stages]
        assert all(repr(step) in known for step in loaded.stages[1:] if not repr(step).startswith("Top"))


def test_a_loaded_pipeline_ranks_as_the_saved_one(index: Index, tmp_path: Path) -> None:
    stage = RM3(BM25(index, k1=0.4, weights={"title": 1.0}), fb_docs=1).top(2)
    stage.save(tmp_path / "best.toml")
    assert Pipeline.load(tmp_path / "best.toml", str(index.path))("fever") == stage("fever")


@dataclass(frozen=True)
class Mine(Stage):
    def apply(self, run: Run) -> Run:
        return run


def test_what_options_cannot_make_is_not_saved(index: Index, tmp_path: Path) -> None:
    for stage, found in (
        (BM25(index) >> Mine(), "Mine"),
        (Mine(), "Mine"),
        (BM25(index, distinct=True), "BM25 with distinct=True"),
        (BM25(index, query_field="question"), "BM25 with query_field='question'"),
    ):
        with pytest.raises(RankwellError, match=f"parameters that commands have as options, found {found}"):
            stage.save(tmp_path / "best.toml")
    assert not (tmp_path / "best.toml").exists()


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("k1 = 0.9\n\nb = 7\n", r"best.toml:3: b: expected a number from 0 to 1, found 7"),
        ("k1 = 0.9\nkk = 3\n", r"best.toml:2: expected an option \(k\?\), found .*kk"),
        ("k1 = 0.9\nb = \n", r"best.toml:2: expected TOML"),
        ("[weights]\ntitle = 'x'\n", r"best.toml:1: weights: expected fields with numbers"),
        ("variants = 3\n", r"best.toml: expected options without variants"),
    ],
)
def test_a_mistake_in_a_file_has_its_line(index: Index, tmp_path: Path, text: str, expected: str) -> None:
    (tmp_path / "best.toml").write_text(text)
    with pytest.raises(RankwellError, match=expected):
        Pipeline.load(tmp_path / "best.toml", index)


def test_a_missing_file_is_said(index: Index, tmp_path: Path) -> None:
    with pytest.raises(RankwellError, match=r"nowhere.toml: expected a pipeline file, found none"):
        Pipeline.load(tmp_path / "nowhere.toml", index)


@pytest.fixture
def judged(index: Index, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "queries.tsv").write_text("q1\tfever\nq2\tmasks\nq3\tcough fever\nq4\tchildren\n")
    (tmp_path / "qrels.txt").write_text("q1 0 d1 1\nq2 0 d3 1\nq3 0 d2 1\nq4 0 d1 1\n")
    assert len(index) == 3
    return tmp_path


def ranked(*options: str) -> Run:
    from rankwell.collections import read_run

    succeeds("rank", "papers", "queries.tsv", "--out", "some.run", "--quiet", *options)
    return read_run(Path("some.run"))


def test_tune_writes_a_file_that_rank_and_search_take(judged: Path) -> None:
    assert judged.is_dir()
    succeeds(
        "tune", "papers", "queries.tsv", "qrels.txt", "--k1", "0.1,0.2", "--folds", "2", "--rm3", "--save", "best.toml"
    )
    text = Path("best.toml").read_text()
    assert "k1 = 0.1\n" in text
    assert "rm3 = true\n" in text
    assert "k = 100\n" in text
    assert ranked("--pipeline", "best.toml") == ranked("--k1", "0.1", "--rm3", "-k", "100")
    found = succeeds("search", "papers", "fever", "--pipeline", "best.toml", "--json")
    assert found == succeeds("search", "papers", "fever", "--k1", "0.1", "--rm3", "--json")


def test_options_of_the_command_come_before_those_of_the_file(judged: Path) -> None:
    (judged / "best.toml").write_text("k1 = 0.1\nb = 0\nk = 1\n")
    assert ranked("--pipeline", "best.toml", "--k1", "1.2", "-k", "1000") == ranked("--b", "0")
    # Even where the command says the default.
    assert ranked("--pipeline", "best.toml", "--b", "0.75") == ranked("--k1", "0.1", "-k", "1")


def test_a_search_shows_as_many_documents_as_ever(judged: Path) -> None:
    (judged / "best.toml").write_text("k = 1\n")
    assert succeeds("search", "papers", "fever", "--pipeline", "best.toml", "--json").count('"rank"') == 2


def test_tuning_begins_with_a_file(judged: Path) -> None:
    (judged / "best.toml").write_text("k1 = 0.1\nb = 0\nk = 1\n")
    said = succeeds(
        "tune", "papers", "queries.tsv", "qrels.txt", "--pipeline", "best.toml", "--k1", "0.5,0.6", "--folds", "2"
    )
    assert "options: --k1 0.5 --b 0.0 -k 1" in said or "b=0.0" in said
    said = succeeds(
        "tune", "papers", "queries.tsv", "qrels.txt", "--pipeline", "best.toml", "--folds", "2", "--save", "2.toml"
    )
    assert "k1" in said  # the usual values, around the file's
    assert "k = 1\n" in Path("2.toml").read_text()


def test_a_command_names_the_line_of_a_mistake(judged: Path) -> None:
    (judged / "best.toml").write_text("k1 = 0.1\nb = 2\n")
    done = rankwell("search", "papers", "fever", "--pipeline", "best.toml")
    assert done.returncode != 0
    assert done.stderr.strip().endswith("best.toml:2: b: expected a number from 0 to 1, found 2")
