"""`rankwell train pairs` and `rankwell train linear` as users type them."""

from __future__ import annotations

from pathlib import Path

import orjson
import pytest
from click.testing import Result
from typer.testing import CliRunner

from rankwell.cli import app
from rankwell.collections import read_run
from rankwell.core import RankwellError
from rankwell.models.learning.pairs import open_pairs


def run(*words: str) -> Result:
    done = CliRunner().invoke(app, list(words))
    if done.exception is not None:
        raise done.exception
    return done


@pytest.fixture
def papers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    folder = tmp_path / "papers"
    (folder / "qrels").mkdir(parents=True)
    texts = [{"_id": f"d{n}", "title": f"about topic{n % 9}", "text": f"topic{n % 9} and paper {n}"} for n in range(60)]
    (folder / "corpus.jsonl").write_bytes(b"\n".join(map(orjson.dumps, texts)))
    queries = [{"_id": f"q{n}", "text": f"what about topic{n}"} for n in range(9)]
    (folder / "queries.jsonl").write_bytes(b"\n".join(map(orjson.dumps, queries)))
    rows = [f"q{n % 9}\td{n}\t1" for n in range(30)]
    (folder / "qrels" / "train.tsv").write_text("\n".join(["query-id\tcorpus-id\tscore", *rows]))


@pytest.mark.usefixtures("papers")
def test_one_command_makes_labelled_pairs_with_hard_negatives_of_bm25() -> None:
    done = run("train", "pairs", "papers", "--split", "train", "--out", "pairs")
    found = open_pairs("pairs")
    counts = found.record["counts"]
    assert (counts["positive"], counts["queries"]) == (30, 9)
    assert set(found.column("kind")) == {"relevant", "hard"}
    assert found.record["made"]["collection"] == "papers"
    assert f"pairs: {counts['pairs']} pairs (30 positive" in done.stderr


@pytest.mark.usefixtures("papers")
def test_a_run_of_the_users_own_has_the_hard_negatives() -> None:
    Path("mine.run").write_text("q1 Q0 d59 1 3.5 mine\nq1 Q0 d58 2 2.5 mine\n")
    run("train", "pairs", "papers", "--run", "mine.run", "--negatives", "hard:all,random:1", "--out", "pairs", "-q")
    rows = open_pairs("pairs")
    hard = [d for d, kind in zip(rows.column("document_id"), rows.column("kind"), strict=True) if kind == "hard"]
    assert hard == ["d59", "d58"]
    assert rows.column("kind").count("random") == 30


@pytest.mark.usefixtures("papers")
def test_titles_and_abstracts_alone_make_pairs() -> None:
    run("train", "pairs", "papers", "--self-supervised", "--false-pairs", "0", "--perturb", "none", "--out", "pairs")
    found = open_pairs("pairs")
    assert (len(found), set(found.column("label"))) == (60, {1.0})
    assert (found.record["made"]["abstract"], found.record["made"]["perturbations"]) == ("text", [])


@pytest.mark.usefixtures("papers")
def test_a_linear_model_is_trained_and_re_ranks() -> None:
    run("train", "pairs", "papers", "--negatives", "random:3", "--out", "pairs", "-q")
    done = run("train", "linear", "pairs", "--out", "linear", "--penalty", "1,10", "--validation", "0.3")
    assert "On " in done.stdout
    assert "chosen" in done.stdout
    run("index", "papers", "--out", "index", "-q")
    run("rank", "index", "papers", "-o", "bm25.run", "-q")
    run("rerank", "bm25.run", "--index", "index", "--queries", "papers", "--model", "linear", "-o", "new.run", "-q")
    assert len(read_run("new.run")) == len(read_run("bm25.run"))


@pytest.mark.usefixtures("papers")
@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["--self-supervised", "--abstract", "summary"], "found 60 documents: title in 60, text in 60"),
        (["--negatives", "hard"], "expected hard, random or judged with a number"),
        (["--self-supervised", "--perturb", "upper-case"], "expected all, none, or some of short, stopwords, shuffle"),
        (["--document", "{abstract}"], r"expected fields of the documents \(title, text\)"),
        (["--top-passages", "2"], "with passages and a model that scores them"),
    ],
)
def test_mistakes_are_told_and_leave_nothing(words: list[str], told: str) -> None:
    with pytest.raises(RankwellError, match=told):
        run("train", "pairs", "papers", "--out", "pairs", *words)
    assert not Path("pairs").exists()


@pytest.mark.usefixtures("papers")
def test_what_is_there_is_not_overwritten() -> None:
    run("train", "pairs", "papers", "--self-supervised", "--out", "pairs", "-q")
    with pytest.raises(RankwellError, match=r"pairs: expected an empty folder or none, found 'pairs\.json' in it"):
        run("train", "pairs", "papers", "--out", "pairs")
