"""Training one of the four review rankers from start to finish, and re-ranking with what comes out."""

from __future__ import annotations

import json
import logging
import subprocess
import sys
import textwrap
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner

from architecture_pairs import review_pairs
from rankwell.cli import app
from rankwell.core import Document, Judgments, ParameterError, Queries, RankwellError, Run
from rankwell.models.families import reranker
from rankwell.models.learning.pairs import open_pairs
from rankwell.models.learning.run_folder import RunFolder
from rankwell.models.learning.trainer import TrainingResult
from rankwell.models.reranking.reranker import RerankSettings
from rankwell.models.review_rankers.architectures import Example
from rankwell.models.review_rankers.ranking import ArchitectureRanker, ArchitectureScorer
from rankwell.models.review_rankers.training import (
    ArchitectureExamples,
    ArchitectureSettings,
    examples_to_score,
    train_architecture,
)
from rankwell.training import resume_training
from tiny_models import needs_torch, tiny_bert
from warm_process import kill_when

needs_torch()

QUICK = ArchitectureSettings(kind="dual-interaction", epochs=6, lr=5e-3, max_tokens=32, threads=1)
SHORT = replace(QUICK, steps=2, onnx=False)
DOCUMENTS = {
    "d1": Document("d1", {"title": "moon", "text": "the moon in a mirror"}),
    "d2": Document("d2", {"title": "fever", "text": "fever and cough"}),
    "d3": Document("d3", {"title": "honey", "text": "honey for the night"}),
    "d4": Document("d4", {"title": "", "text": " "}),
}


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a model and pairs."""
    folder = tmp_path_factory.mktemp("architectures")
    tiny_bert(folder / "model")
    review_pairs(folder / "pairs")
    return folder


@pytest.fixture(scope="module")
def trained(place: Path) -> TrainingResult:
    return train_architecture(place / "pairs", place / "run", model=str(place / "model"), settings=QUICK, quiet=True)


@pytest.fixture
def run() -> Run:
    scores = {"q1": {"d1": 3.0, "d2": 2.0, "d3": 1.0, "d4": 0.5}, "q2": {"d3": 2.0, "d1": 1.0}}
    return Run.from_dict(scores, queries=Queries.of({"q1": "fever", "q2": "bees"}), documents=DOCUMENTS)


def train(place: Path, out: Path, settings: ArchitectureSettings, **others: Any) -> TrainingResult:
    given = {"model": str(place / "model"), "quiet": True, "validation": None, **others}
    return train_architecture(given.pop("pairs", place / "pairs"), out, settings=settings, **given)


def weights(file: Path) -> dict[str, Any]:
    from safetensors.torch import load_file

    return dict(load_file(file))


def test_a_run_leaves_encoders_head_graph_and_card(trained: TrainingResult) -> None:
    folder = trained.folder.model
    names = {str(file.relative_to(folder)) for file in folder.rglob("*") if file.is_file()}
    assert names >= {"ranker.json", "head.safetensors", "onnx/model.onnx", "tokenizer.json", "README.md"}
    assert names >= {
        f"{name}/{file}" for name in ("document", "relevant") for file in ("config.json", "tokenizer.json")
    }
    told = json.loads((folder / "ranker.json").read_text())
    assert told["kind"] == "dual-interaction"
    assert told["settings"]["max_tokens"] == 32
    card = (folder / "README.md").read_text()
    assert "A ranker of the kind dual-interaction that was trained" in card
    assert "--relevant QRELS" in card


def test_what_can_be_learnt_is_learnt_and_encoders_go_their_own_ways(trained: TrainingResult) -> None:
    import torch

    assert trained.measures["AP"] > trained.before["AP"]
    one, other = (weights(trained.folder.model / name / "model.safetensors") for name in ("document", "relevant"))
    assert one.keys() == other.keys()
    assert any(not torch.equal(one[name], other[name]) for name in one)


def test_an_encoder_is_a_folder_that_transformers_loads(trained: TrainingResult) -> None:
    import transformers

    model = transformers.AutoModel.from_pretrained(trained.folder.model / "document")
    assert model.config.hidden_size == 16


def test_the_measure_is_that_of_the_model_when_searching(trained: TrainingResult, place: Path) -> None:
    """The same validation pairs through the ONNX graph and `rankwell.models.learning.validation`."""
    from rankwell.models.learning.validation import pair_measures

    held_out = open_pairs(place / "pairs").split(0.1, QUICK.seed)[1]
    scorer = ArchitectureScorer(str(trained.folder.model), threads=1)
    scores = scorer.of_examples(list(examples_to_score(held_out, QUICK))).ravel().tolist()
    assert pair_measures(held_out, scores, ["AP"])["AP"] == pytest.approx(trained.measures["AP"], abs=1e-6)


def test_frozen_encoders_do_not_move_and_the_head_does(place: Path, tmp_path: Path) -> None:
    import torch

    train(place, tmp_path / "run", replace(SHORT, kind="interaction", freeze="head", warmup=0.0))
    before = weights(place / "model" / "model.safetensors")
    after = weights(tmp_path / "run" / "model" / "document" / "model.safetensors")
    assert after
    assert all(torch.equal(before[name], after[name]) for name in after)
    assert len(weights(tmp_path / "run" / "model" / "head.safetensors")) == 6


def test_relevant_abstracts_are_never_the_document_and_never_from_the_other_side(place: Path) -> None:
    """Every training example's abstract is a relevant one of its own query, among the training pairs alone."""
    training, held_out = open_pairs(place / "pairs").split(0.4, 1)
    other_side = set(held_out.column("abstract"))
    for seed in range(5):
        examples = ArchitectureExamples.of(training, replace(QUICK, seed=seed), training=True)
        rows = zip(training.column("query_id"), training.column("abstract"), training.column("label"), strict=True)
        relevant: dict[str, set[str]] = {}
        for qid, abstract, label in rows:
            relevant.setdefault(qid, set()).update([abstract] if label else [])
        for qid, example in zip(training.column("query_id"), examples, strict=True):
            assert example.relevant in relevant[qid]
            assert example.relevant != example.abstract
            assert example.relevant not in other_side


def test_queries_with_one_relevant_abstract_are_left_out_and_told_of(
    place: Path, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    pairs = review_pairs(tmp_path / "pairs", queries=4, relevant=1)
    with pytest.raises(
        RankwellError, match="of a query with two relevant abstracts for dual-interaction to read, found"
    ):
        train(place, tmp_path / "run", SHORT, pairs=pairs)
    assert not (tmp_path / "run").exists()
    assert "16 of 16 pairs are left out: 4 of 4 queries with fewer than two relevant abstracts" in caplog.text
    assert [example.relevant for example in examples_to_score(pairs, QUICK)] == [""] * 16


def test_short_abstracts_are_not_trained_on_but_measured_with(place: Path, caplog: pytest.LogCaptureFixture) -> None:
    settings = replace(QUICK, kind="interaction", least_words=8)
    pairs = open_pairs(place / "pairs")
    examples = ArchitectureExamples.of(pairs, settings, training=True)
    assert 0 < len(examples.pairs) < len(pairs)
    assert all(len(example.abstract.split()) >= 8 for example in examples)
    assert "abstracts of fewer than 8 words" in caplog.text
    assert len(ArchitectureExamples.of(pairs, settings, training=False).pairs) == len(pairs)


@pytest.mark.parametrize("changes", [{"kind": "representation"}, {"kind": "interaction", "texts": "QTA"}])
def test_pairs_without_titles_are_refused_where_titles_are_read(
    place: Path, tmp_path: Path, changes: dict[str, str]
) -> None:
    pairs = review_pairs(tmp_path / "pairs", queries=3, titles=False)
    with pytest.raises(
        RankwellError, match=r"expected a column title for .* to read, .*: make the pairs with .*--parts"
    ):
        train(place, tmp_path / "run", replace(SHORT, **changes), pairs=pairs)
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"kind": "duo"}, "kind: expected one of interaction"),
        ({"least_words": 9, "most_words": 5}, "least_words: expected a number of words from 0 to 5, found 9"),
        ({"kind": "representation", "texts": "QA"}, "texts: expected nothing, because representation"),
    ],
)
def test_settings_that_cannot_be_are_refused(changes: dict[str, Any], said: str) -> None:
    with pytest.raises(ParameterError, match=said):
        replace(QUICK, **changes)


def test_reranking_puts_the_scored_above_and_documents_without_text_below(trained: TrainingResult, run: Run) -> None:
    ranker = ArchitectureRanker(str(trained.folder.model), relevant="cough of a child", threads=1, quiet=True)
    new = ranker(run)
    scorer = ArchitectureScorer(str(trained.folder.model), threads=1)
    texts = {docno: Example("fever", *document.fields.values()) for docno, document in DOCUMENTS.items()}
    expected = scorer.of_examples([texts[name]._replace(relevant="cough of a child") for name in ("d1", "d2", "d3")])
    found = dict(new["q1"])
    assert [found[name] for name in ("d1", "d2", "d3")] == pytest.approx(expected.ravel().tolist(), abs=1e-6)
    assert list(new["q1"].docnos)[-1] == "d4"
    assert ranker.tally.empty == 1
    again = replace(ranker, scores="probability")(run)
    assert dict(again["q2"])["d3"] == pytest.approx(1 / (1 + np.exp(-dict(new["q2"])["d3"])), abs=1e-6)


def test_known_relevant_documents_come_from_judgments_and_are_never_the_document_itself(
    trained: TrainingResult, run: Run, caplog: pytest.LogCaptureFixture
) -> None:
    judged = Judgments([("q1", "d2", 1), ("q1", "d3", 0)])
    with caplog.at_level(logging.WARNING):
        found = ArchitectureRanker(str(trained.folder.model), relevant=judged, threads=1, quiet=True)(run)
    assert "1 of 2 queries have no known relevant abstract" in caplog.text
    scorer = ArchitectureScorer(str(trained.folder.model), threads=1)

    def score(query: str, docno: str, relevant: str) -> float:
        text = DOCUMENTS[docno].fields["text"]
        other = DOCUMENTS[relevant].fields["text"]
        return float(scorer.of_examples([Example(query, "", text, other)])[0, 0])

    # d2 is the known one; it meets the first stage's best document itself. q2 knows none: d3 is best, and meets d1.
    expected = [("q1", "fever", "d1", "d2"), ("q1", "fever", "d3", "d2"), ("q1", "fever", "d2", "d1")]
    expected += [("q2", "bees", "d1", "d3"), ("q2", "bees", "d3", "d1")]
    for qid, query, docno, relevant in expected:
        assert dict(found[qid])[docno] == pytest.approx(score(query, docno, relevant), abs=1e-6)


def test_wishes_that_the_kind_knows_nothing_of_are_refused(
    place: Path, trained: TrainingResult, tmp_path: Path
) -> None:
    model = str(trained.folder.model)
    assert isinstance(reranker(model), ArchitectureRanker)
    with pytest.raises(
        ParameterError, match=r"aggregate: expected nothing, because .* dual-interaction, which reads documents whole"
    ):
        reranker(model, RerankSettings(aggregate="max"))
    with pytest.raises(ParameterError, match=r"max_tokens: expected nothing, because .* which has its own"):
        reranker(model, RerankSettings(max_tokens=64))
    with pytest.raises(ParameterError, match=r"relevant: expected nothing, because .* reads no relevant abstract"):
        reranker(str(place / "model"), RerankSettings(relevant="an abstract"))
    plain = train(place, tmp_path / "run", replace(SHORT, kind="interaction", onnx=True)).folder.model
    with pytest.raises(
        ParameterError, match=r"relevant: expected nothing, because .*\(interaction\) reads no relevant"
    ):
        ArchitectureRanker(str(plain), relevant="an abstract").check()


@pytest.fixture
def collection(tmp_path: Path) -> Path:
    """Documents, queries and judgments in the BEIR layout."""
    folder = tmp_path / "collection"
    (folder / "qrels").mkdir(parents=True)
    topics = ["fever", "honey", "moon", "virus"]
    texts = [
        (f"{topic}{n}", f"{topic} {n}", f"{topic} of the day {n} in the night") for topic in topics for n in range(4)
    ]
    rows = [{"_id": name, "title": title, "text": text} for name, title, text in texts]
    (folder / "corpus.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    (folder / "queries.jsonl").write_text("".join(json.dumps({"_id": one, "text": one}) + "\n" for one in topics))
    judged = [f"{topic}\t{topic}{n}\t1\n" for topic in topics for n in range(3)]
    (folder / "qrels" / "test.tsv").write_text("query-id\tcorpus-id\tscore\n" + "".join(judged))
    return folder


def test_from_a_collection_to_a_re_ranked_run_on_the_command_line(
    place: Path, collection: Path, tmp_path: Path
) -> None:
    def rankwell(*words: object) -> str:
        done = CliRunner().invoke(app, [str(word) for word in words])
        assert done.exit_code == 0, done.output
        return done.output

    rankwell("train", "pairs", collection, "-o", tmp_path / "pairs", "--negatives", "random:2", "--parts")
    assert open_pairs(tmp_path / "pairs").columns[-2:] == ("title", "abstract")
    options = ["--model", place / "model", "--max-tokens", "32", "--steps", "2", "--threads", "1", "--quiet"]
    kind = ["--kind", "triple-representation", "--shared", "--validation", "0"]
    rankwell("train", "architecture", tmp_path / "pairs", "-o", tmp_path / "run", *kind, *options)
    assert RunFolder.open(tmp_path / "run").kind == "triple-representation"
    (tmp_path / "first.trec").write_text("".join(f"fever Q0 fever{n} {n + 1} {9 - n} first\n" for n in range(3)))
    model = tmp_path / "run" / "model"
    given = ["rerank", tmp_path / "first.trec", "--queries", collection, "--documents", collection, "--model", model]
    said = rankwell(*given, "-o", tmp_path / "new.trec", "--relevant", collection / "qrels" / "test.tsv")
    assert "1 queries, 3 documents, 3 pairs" in said
    text = rankwell(*given, "-o", tmp_path / "text.trec", "--relevant", "fever of the night", "--quiet")
    assert "no known relevant" not in text
    assert len((tmp_path / "new.trec").read_text().splitlines()) == 3
    wrong = CliRunner().invoke(app, [*map(str, given), "-o", str(tmp_path / "no.trec"), "--relevant", "nowhere.tsv"])
    assert "--relevant: expected a file of judgments, or the text of an abstract" in str(wrong.exception)
    assert "triple-representation" in rankwell("models", "show", model)


def test_re_ranking_needs_no_torch(trained: TrainingResult) -> None:
    code = f"""
    import sys
    from rankwell.models.review_rankers.ranking import ArchitectureScorer
    from rankwell.models.review_rankers.architectures import Example
    ArchitectureScorer({str(trained.folder.model)!r}, threads=1).of_examples([Example("fever", "", "cough", "cold")])
    print([name for name in ("torch", "transformers", "onnx") if name in sys.modules])
    """
    done = subprocess.run([sys.executable, "-c", textwrap.dedent(code)], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


@pytest.mark.slow
def test_a_search_may_vary_which_architecture_it_is(place: Path, tmp_path: Path) -> None:
    given = ["--model", str(place / "model"), "--out", str(tmp_path / "search"), "--quiet"]
    fixed = [
        "--set",
        "max_tokens=32",
        "--set",
        "steps=2",
        "--set",
        "threads=1",
        "--measure",
        "AP",
        "--validation",
        "0.3",
    ]
    words = ["train", "search", "architecture", str(place / "pairs"), *given, *fixed]
    done = CliRunner().invoke(app, [*words, "--vary", "kind=interaction,dual-interaction"])
    assert done.exit_code == 0, done.output
    assert "dual-interaction" in done.output


@pytest.mark.slow
def test_a_killed_and_resumed_run_equals_one_without_a_break(place: Path, tmp_path: Path) -> None:
    settings = replace(QUICK, steps=30, dropout=0.2, save_every=5, keep_checkpoints=True, onnx=False)
    whole = train(place, tmp_path / "whole", settings).folder
    out = tmp_path / "run"
    code = f"""
    from rankwell.models.review_rankers.training import ArchitectureSettings
    from rankwell.models.review_rankers.training import train_architecture
    train_architecture({str(place / "pairs")!r}, {str(out)!r}, model={str(place / "model")!r}, settings={settings!r},
                       validation=None, quiet=True)
    """
    kill_when(out / "checkpoints" / "checkpoint-10", textwrap.dedent(code))
    assert not RunFolder.open(out).finished
    resume_training(out, quiet=True)
    for name in ("document/model.safetensors", "relevant/model.safetensors", "head.safetensors"):
        assert (whole.model / name).read_bytes() == (out / "model" / name).read_bytes()
