"""`rankwell review rank` and `rankwell review simulate` as users type them."""

from __future__ import annotations

import csv
import json
from io import StringIO
from pathlib import Path

import pytest
from click.testing import Result
from typer.testing import CliRunner

from rankwell.cli import app
from rankwell.collections import read_run, write_documents, write_qrels
from rankwell.collections.formats.jsonl import write_json_rows
from rankwell.core import Document, Judgments, RankwellError, home

TOPICS = ("asthma", "fever", "measles")
DESIGNS = ("a randomised trial with placebo", "a case report", "a letter to the editor", "a cohort study")


def rankwell(*words: str) -> Result:
    return CliRunner().invoke(app, ["review", *words])


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Three reviews of 16 records, which included the trials."""
    monkeypatch.chdir(tmp_path)
    documents = [
        Document(f"{topic}{n}", {"title": f"{DESIGNS[n % 4]} number {n}", "text": f"patients with {topic}"})
        for topic in TOPICS
        for n in range(16)
    ]
    write_documents("reviews/corpus.jsonl", documents, "beir")
    write_json_rows(Path("reviews/queries.jsonl"), ({"_id": topic, "text": f"Drugs for {topic}"} for topic in TOPICS))
    grades = {topic: {f"{topic}{n}": int(n % 4 == 0) for n in range(16)} for topic in TOPICS}
    write_qrels("reviews/qrels/test.tsv", Judgments.from_dict(grades), "beir")


def test_reviews_are_replayed_with_several_rankers() -> None:
    done = rankwell(
        *("simulate", "reviews", "--ranker", "learner", "--ranker", "random", "--ranker", "bm25", "--ranker", "linear"),
        *("--starts", "3", "--output", "csv", "--html", "page.html", "--pictures", "pictures"),
    )
    assert done.exit_code == 0, done.output
    rows = list(csv.DictReader(StringIO(done.stdout)))
    found = {(row["review"], row["ranker"], row["measure"]): float(row["mean"]) for row in rows}
    assert len(found) == (3 + 1) * 4 * 5
    everything = "mean of all reviews"
    assert found[everything, "learner", "WSS@95"] > found[everything, "random", "WSS@95"]
    assert found[everything, "linear", "WSS@100"] == pytest.approx(1 - 3 / 14, abs=0.01)
    assert "each review is ranked by a model of the other reviews" in done.stderr
    assert Path("page.html").read_text(encoding="utf-8").count("<svg") == 4
    assert sorted(file.name for file in Path("pictures").iterdir()) == [
        *(f"recall-{topic}.png" for topic in TOPICS[:2]),
        "recall-mean-of-all-reviews.png",
        "recall-measles.png",
    ]


@pytest.mark.usefixtures("use_models")
def test_a_model_reads_the_records_once_and_the_learner_uses_it() -> None:
    words = ("simulate", "reviews", "--ranker", "learner", "--ranker", "learner+bert", "--bert", "minilm-l3")
    first = rankwell(*words, "--starts", "2", "--output", "json", "--quiet")
    assert first.exit_code == 0, first.output
    assert {row["ranker"] for row in json.loads(first.stdout)} == {"learner", "learner+bert"}
    (kept,) = (home() / "vectors").iterdir()
    before = kept.stat().st_mtime_ns
    assert rankwell(*words, "--starts", "2", "--output", "json", "--quiet").stdout == first.stdout
    assert kept.stat().st_mtime_ns == before
    for name in ("learner", "learner+bert"):
        ranked = rankwell("rank", "reviews", "--ranker", name, "--bert", "minilm-l3", "-o", f"{name}.trec", "--quiet")
        assert ranked.exit_code == 0, ranked.output
    scores = [read_run(f"{name}.trec")["fever"].scores.tolist() for name in ("learner", "learner+bert")]
    assert scores[0] != scores[1]


def test_the_learner_is_replayed_by_default_and_the_seed_repeats_it() -> None:
    words = ("simulate", "reviews", "--starts", "2", "--recall", "0.8", "--again", "0", "--quiet", "--output", "json")
    first = rankwell(*words)
    assert first.exit_code == 0, first.output
    assert first.stderr == ""
    measures = {(row["ranker"], row["measure"]) for row in json.loads(first.stdout)}
    assert ("learner", "WSS@80") in measures
    assert rankwell(*words).stdout == first.stdout


def test_reviews_are_ranked_into_a_run_that_can_be_evaluated_and_replayed() -> None:
    done = rankwell("rank", "reviews", "--ranker", "linear", "-o", "linear.trec", "--output", "csv")
    assert done.exit_code == 0, done.output
    (row,) = csv.DictReader(StringIO(done.stdout))
    assert (row["ranker"], row["split"], row["reviews"]) == ("linear", "test", "3")
    assert (float(row["MAP"]), float(row["accuracy"])) == (1, 1)
    assert "linear.trec: 3 reviews, 48 records" in done.stderr
    assert len(read_run("linear.trec")["fever"]) == 16
    evaluated = CliRunner().invoke(app, ["evaluate", "reviews/qrels/test.tsv", "linear.trec", "-m", "AP", "-q"])
    assert "1.0000" in evaluated.stdout
    replayed = rankwell("simulate", "reviews", "--run", "linear.trec", "--starts", "2", "--output", "csv", "--quiet")
    assert "asthma,linear,WSS@100," in replayed.stdout


def test_the_test_set_is_touched_once_by_the_model_that_validation_chose() -> None:
    for topic, split in zip(TOPICS, ("train", "validation", "test"), strict=True):
        grades = {topic: {f"{topic}{n}": int(n % 4 == 0) for n in range(16)}}
        write_qrels(f"reviews/qrels/{split}.tsv", Judgments.from_dict(grades), "beir")
    done = rankwell("rank", "reviews", "--ranker", "linear", "-o", "run.trec", "--output", "csv")
    assert done.exit_code == 0, done.output
    assert "was chosen by MAP on 1 validation reviews" in done.stderr
    assert "touched once" in done.stderr
    assert read_run("run.trec").qids == ("measles",)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("simulate", "reviews", "--ranker", "b"), "ranker: expected one of learner, learner+bert, bm25, linear"),
        (("simulate", "reviews", "--ranker", "learner+bert"), "not fetched yet: rankwell models add minilm-l6"),
        (("simulate", "reviews", "--starts", "0"), "starts: expected a number from 1"),
        (("simulate", "reviews", "--recall", "95"), "recall: expected a number above 0, at most 1"),
        (("simulate", "reviews", "--again", "-1"), "again: expected a share from 0 to 1"),
        (("simulate", "reviews", "--seed", "-1"), "--seed: expected a whole number from 0"),
        (("simulate", "reviews", "--split", "dev"), "expected a split 'dev', found test"),
        (("simulate", "reviews", "--output", "xls"), "output: expected one of"),
        (("simulate", "nowhere"), "nowhere"),
        (("rank", "reviews", "--ranker", "x", "-o", "run"), "ranker: expected one of"),
    ],
)
def test_mistakes_are_one_clear_line(words: tuple[str, ...], message: str) -> None:
    done = rankwell(*words)
    assert isinstance(done.exception, RankwellError)
    assert message in str(done.exception)
    assert not Path("run").exists()
