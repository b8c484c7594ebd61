"""`finetune` and `adapt` from documents to a search, with a small model that is really trained."""

from __future__ import annotations

from pathlib import Path

import orjson
import pytest

from commands import rankwell, succeeds
from rankwell.core import Judgments, Queries, RankwellError
from rankwell.index import Index
from rankwell.training.adapt import AdaptSettings, adapt
from rankwell.training.finetune import FinetuneSettings, finetune
from tiny_models import TOPICS, needs_torch, tiny_bert, topic_index

needs_torch()
pytestmark = pytest.mark.slow


def judged(count: int = 20) -> tuple[Queries, Judgments]:
    """Each topic is a query; its first document is relevant, and another one is judged not to be."""
    queries = {f"q{number}": topic for number, topic in enumerate(TOPICS[:count])}
    grades = [(f"q{number}", f"d{number}", 1) for number in range(count)]
    return Queries.of(queries), Judgments([*grades, *((f"q{n}", f"d{(n + 1) % count}", 0) for n in range(count))])


def models(folder: Path) -> tuple[str, str]:
    """A bi-encoder and a cross-encoder of a few thousand weights."""
    encoder = tiny_bert(folder / "encoder")
    ranker = tiny_bert(folder / "ranker", head="BertForSequenceClassification", num_labels=1)
    return str(encoder), str(ranker)


def test_finetune_leaves_a_search_and_what_it_is_worth(tmp_path: Path) -> None:
    index, (queries, judgments), (encoder, ranker) = topic_index(tmp_path / "index"), judged(), models(tmp_path)
    settings = FinetuneSettings(model=encoder, reranker=ranker, epochs=1, rerank_epochs=1, max_tokens=32, threads=1)
    tuned = finetune(index, queries, judgments, tmp_path / "run", settings=settings, quiet=True)
    assert tuned.held_out.baseline == "hybrid, untrained"
    assert {"BM25", "vectors, trained", "hybrid, trained", "re-ranked, trained"} <= set(tuned.held_out.evaluations)
    assert tuned.held_out.queries == 4
    out = succeeds("search", tuned.index, "honey", "--pipeline", tuned.pipeline)
    assert "d" in out
    # Everything is done: the same call only measures again.
    again = finetune(index, queries, judgments, tmp_path / "run", settings=settings, quiet=True)
    assert again.chosen == tuned.chosen


def test_a_reranker_alone_is_trained_on_each_querys_own_candidates(tmp_path: Path) -> None:
    index, (queries, judgments), (_, ranker) = topic_index(tmp_path / "index"), judged(), models(tmp_path)
    settings = FinetuneSettings(
        model="none", reranker=ranker, candidates="judged", rerank_epochs=1, max_tokens=32, measure="AP", threads=1
    )
    tuned = finetune(index, queries, judgments, tmp_path / "run", settings=settings, quiet=True)
    assert tuned.held_out.baseline == "BM25"
    assert "vectors" not in tuned.chosen


def test_finetune_wants_some_queries(tmp_path: Path) -> None:
    index, (queries, judgments), (encoder, _) = topic_index(tmp_path / "index"), judged(5), models(tmp_path)
    with pytest.raises(RankwellError, match="expected 10 judged queries or more, found 5"):
        finetune(index, queries, judgments, tmp_path / "run", settings=FinetuneSettings(model=encoder), quiet=True)


def test_adapt_decides_by_held_out_queries(tmp_path: Path) -> None:
    index, (encoder, ranker) = topic_index(tmp_path / "index", 60), models(tmp_path)
    settings = AdaptSettings(model=encoder, teacher=ranker, queries=60, epochs=1, max_tokens=32, threads=1)
    adapted = adapt(index, tmp_path / "run", settings=settings, quiet=True)
    difference = adapted.held_out.difference("hybrid, adapted", "nDCG@10")
    assert difference is not None
    assert adapted.better == (difference.found.interval[0] > 0)
    assert (adapted.chosen["vectors"] == "run") == adapted.better
    succeeds("search", adapted.index, "honey", "--pipeline", adapted.pipeline)


def test_adapt_without_a_teacher_and_with_a_budget(tmp_path: Path) -> None:
    index, (encoder, _) = topic_index(tmp_path / "index", 60), models(tmp_path)
    settings = AdaptSettings(
        model=encoder, teacher="none", teacher_share=0.0, queries=60, max_tokens=32, budget="30m", threads=1
    )
    adapt(index, tmp_path / "run", settings=settings, quiet=True)
    assert orjson.loads((tmp_path / "run" / "steps" / "steps.json").read_bytes()) >= 1


def test_the_commands_print_a_table_and_how_to_search(tmp_path: Path) -> None:
    index, (queries, judgments), (encoder, ranker) = topic_index(tmp_path / "index", 60), judged(), models(tmp_path)
    thumbs = tmp_path / "thumbs.jsonl"
    records = [
        {"time": "2026-01-01T00:00:00+00:00", "qid": qid, "query": queries[qid].text(), "docno": docno, "grade": grade}
        for qid in judgments
        for docno, grade in judgments[qid].items()
    ]
    thumbs.write_bytes(b"".join(orjson.dumps(record) + b"\n" for record in records))
    shared = ["--max-tokens", "32", "--epochs", "1", "--threads", "1", "--quiet"]
    out = succeeds(
        *("finetune", index.path, "--qrels", thumbs, "--out", tmp_path / "tuned", "--model", encoder, *shared)
    )
    assert "hybrid, trained" in out
    assert "tuned/pipeline.toml" in out
    assert (tmp_path / "tuned" / "report.html").is_file()
    teacher = ["--teacher", ranker, "--queries", "60"]
    out = succeeds("adapt", index.path, "--out", tmp_path / "adapted", "--model", encoder, *teacher, *shared)
    assert "hybrid, adapted" in out
    assert Index.open(index.path).path == index.path


def test_judgments_to_train_on_must_be_named(tmp_path: Path) -> None:
    folder = tmp_path / "papers"
    (folder / "qrels").mkdir(parents=True)
    (folder / "corpus.jsonl").write_text('{"_id": "1", "text": "bees and honey"}\n')
    (folder / "queries.jsonl").write_text('{"_id": "q", "text": "honey"}\n')
    (folder / "qrels" / "test.tsv").write_text("query-id\tcorpus-id\tscore\nq\t1\t1\n")
    done = rankwell("finetune", folder, "--out", tmp_path / "run")
    assert done.returncode == 1
    assert "expected judgments to train on: the split train, one named with --split, or a file" in done.stderr
