"""Small things that people stumbled over, each with the output that they should have seen."""

from __future__ import annotations

import io
import re
from pathlib import Path

import numpy as np
import pytest

from commands import rankwell, succeeds
from rankwell import Index, read_run
from rankwell.cli import COMMANDS, load_command
from rankwell.core import MissingExtraError, Progress
from rankwell.models.base.sources import _megabytes
from rankwell.models.explanation import PassageScore, RerankExplanation
from rankwell.pipelines import Explanation, parse_variant
from rankwell.vectors import embed, embeddings

PAPERS = {"d1": "masks stop droplets", "d2": "respirators stop droplets", "d3": "soap and water"}


@pytest.fixture
def papers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    Index.build("papers", PAPERS)
    return tmp_path


def test_variants_of_a_user_are_searched_by_the_commands(papers: Path) -> None:
    assert "d2" not in succeeds("search", "papers", "masks")
    found = succeeds("search", "papers", "masks", "--variant", "respirators=0.5", "--variant", "soap")
    assert [line.split()[1] for line in found.splitlines() if re.match(r" +\d+\. ", line)] == ["d3", "d1", "d2"]
    (papers / "queries.tsv").write_text("q1\tmasks\nq2\tsoap\n")
    (papers / "variants.tsv").write_text("q1\trespirators\t0.5\n\nq1\tsoap\n")
    succeeds("rank", "papers", "queries.tsv", "-o", "run.trec", "--variants-file", "variants.tsv", "--quiet")
    ranked = read_run("run.trec")
    assert (set(ranked["q1"].docnos), set(ranked["q2"].docnos)) == ({"d1", "d2", "d3"}, {"d3"})
    (papers / "variants.tsv").write_text("q1 respirators\n")
    done = rankwell("rank", "papers", "queries.tsv", "-o", "run.trec", "--variants-file", "variants.tsv")
    assert "variants.tsv:1: expected a query id, a text and perhaps a weight, separated by tabs" in done.stderr


@pytest.mark.parametrize(
    ("text", "parsed"),
    [("flu=0.5", ("flu", 0.5)), ("flu", ("flu", 1.0)), ("a=b", ("a=b", 1.0)), ("x=1=2", ("x=1", 2.0))],
)
def test_a_variant_may_have_a_weight(text: str, parsed: tuple[str, float]) -> None:
    assert parse_variant(text) == parsed


def test_an_explanation_shows_the_score_that_ranked() -> None:
    from rankwell.cli.search import _explanation_lines

    read = RerankExplanation("d1", -10.04, (PassageScore("a text", -10.04, 4.36e-05),))
    assert _explanation_lines(Explanation([], [], read)) == ["read (-10.0400, as a probability 4.4e-05): a text"]


@pytest.mark.parametrize("command", COMMANDS)
def test_help_names_no_python_types_and_cuts_no_summary(command: str) -> None:
    texts = [succeeds(command, "--help")]
    texts += [succeeds(command, inner, "--help") for inner in getattr(load_command(command), "commands", {})]
    for text in texts:
        assert "list[" not in text
        assert not re.search(r"^  \w\S* +.*\.\.\.$", text.partition("Commands:")[2], re.MULTILINE)


def test_the_help_of_reviews_names_all_that_they_do() -> None:
    first = succeeds("review", "--help").partition("Options:")[0]
    assert all(word in first for word in ("find", "rank", "screen", "simulate"))


def test_approximate_search_without_its_library_names_the_extra(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Vectors:
        model, dimensions = "letters", 2

        def encode(self, texts: list[str], _: object = None) -> np.ndarray:
            return np.array([[len(text), 1.0] for text in texts], dtype=np.float32)

        encode_queries = encode

        def fingerprint(self) -> str:
            return "letters"

    kept = embed(Index.build(tmp_path / "papers", PAPERS), Vectors(), graph=False)
    monkeypatch.setattr(embeddings, "can_connect", lambda: False)
    with pytest.raises(MissingExtraError, match=r"--hnsw.*rankwell\[ann\]"):
        _ = kept.graph


def test_a_wheel_is_counted_once_while_pip_has_a_copy(tmp_path: Path) -> None:
    (tmp_path / "pip").mkdir()
    for place in (tmp_path / "model.whl", tmp_path / "pip" / "model.whl"):
        place.write_bytes(b"0" * 3_000_000)
    assert _megabytes(tmp_path) == 3


def test_the_status_of_a_study_that_nobody_has_judged_says_what_to_do(papers: Path) -> None:
    (papers / "queries.tsv").write_text("q1\tmasks\n")
    succeeds("rank", "papers", "queries.tsv", "-o", "run.trec", "--quiet")
    study = 'title = "T"\nqueries = "queries.tsv"\ncollection = "papers"\nruns = ["run.trec"]\ndepth = 2\n'
    (papers / "study.toml").write_text(study)
    succeeds("assess", "create", "study.toml", "--quiet")
    done = rankwell("assess", "status", "study.db")
    assert done.stdout == ""
    assert "nobody has judged yet: rankwell assess invite makes a code" in done.stderr


def test_a_thousand_bad_records_are_ten_lines(papers: Path) -> None:
    good = '{"id": "a", "text": "good"}\n'
    (papers / "bad.jsonl").write_text(good + "no json\n" * 300)
    done = rankwell("convert", "bad.jsonl", "good.csv", "--skip-bad", "--quiet")
    assert len(done.stderr.splitlines()) == 11
    assert "left out 300 bad records (290 more are not shown)" in done.stderr


def test_progress_of_slow_steps_says_seconds_a_step_and_the_last_loss() -> None:
    stream = io.StringIO()
    with Progress("training", unit="steps", total=10, stream=stream) as progress:
        progress._started -= 50
        progress.note = "loss 0.4321"
        progress.count = 5
        progress._show()
    assert stream.getvalue().startswith("training: 50%, 5 steps, 10.0 s each, loss 0.4321, 50 s left")


def test_intervals_of_the_readme_stay_on_the_scale(papers: Path) -> None:
    (papers / "qrels.txt").write_text("q1 0 p1 2\nq1 0 p3 1\nq2 0 p2 1\n")
    (papers / "old.trec").write_text("q1 Q0 p2 1 2.0 old\nq1 Q0 p1 2 1.0 old\nq2 Q0 p2 1 1.0 old\n")
    (papers / "new.trec").write_text("q1 Q0 p1 1 2.0 new\nq1 Q0 p3 2 1.0 new\nq2 Q0 p2 1 1.0 new\n")
    table = succeeds("compare", "qrels.txt", "old.trec", "new.trec", "-m", "nDCG@10", "--output", "csv")
    numbers = [float(cell) for row in table.splitlines()[1:] for cell in row.split(",")[2:7] if cell]
    assert all(-1 <= number <= 1 for number in numbers)
