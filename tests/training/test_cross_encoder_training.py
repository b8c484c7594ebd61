"""Fine-tuning a cross-encoder from start to finish, with a model of a few thousand weights."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner

from rankwell.cli import app
from rankwell.core import ParameterError, RankwellError
from rankwell.models.base import PairScorer
from rankwell.models.cross_encoder.training import CrossEncoderSettings, train_cross_encoder
from rankwell.models.learning.pairs import Pair, open_pairs
from rankwell.models.learning.pairs_writer import PairsWriter
from rankwell.models.learning.run_folder import RunFolder
from rankwell.models.learning.trainer import TrainingResult
from rankwell.training import resume_training
from tiny_models import needs_torch, tiny_bert, tiny_model, topic_pairs

needs_torch()

QUICK = CrossEncoderSettings(epochs=4, lr=5e-3, max_tokens=32, threads=1, evaluate_every=10, batch_size=16)
SHORT = replace(QUICK, steps=2, evaluate_every=None, onnx=False)


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a model and pairs."""
    folder = tmp_path_factory.mktemp("training")
    tiny_bert(folder / "model")
    topic_pairs(folder / "pairs")
    return folder


@pytest.fixture(scope="module")
def trained(place: Path) -> TrainingResult:
    return train_cross_encoder(place / "pairs", place / "run", model=str(place / "model"), settings=QUICK, quiet=True)


def train(place: Path, out: Path, settings: CrossEncoderSettings, **others: Any) -> TrainingResult:
    given = {"model": str(place / "model"), "quiet": True, **others}
    return train_cross_encoder(given.pop("pairs", place / "pairs"), out, settings=settings, **given)


def weights(folder: Path) -> dict[str, Any]:
    from safetensors.torch import load_file

    return dict(load_file(folder / "model.safetensors"))


def test_a_run_leaves_everything_that_is_needed_to_understand_it(trained: TrainingResult) -> None:
    run = RunFolder.open(trained.folder.path)
    assert run.finished
    assert run.settings == {**QUICK.as_dict()}
    assert run.configuration["data"]["pairs"] == 180
    assert run.configuration["data"]["validation"]["pairs"] == 20
    assert run.environment["threads"] == 1
    assert run.environment["libraries"]["torch"]
    names = {entry.name for entry in run.path.iterdir()}
    assert names >= {"metrics.jsonl", "curves-loss.png", "curves-measures.png", "report.html", "README.md", "model"}
    assert run.checkpoints.steps() == []
    card = (run.model / "README.md").read_text()
    assert "| lr | 0.005 |" in card
    assert "before training" in card
    assert "<svg" in (run.path / "report.html").read_text()


def test_metrics_have_loss_rate_and_ranking_measures_by_step(trained: TrainingResult) -> None:
    lines = trained.folder.metrics.lines()
    losses = [line for line in lines if "loss" in line]
    assert [line["step"] for line in losses] == [1, 10, 20, 30, 40, 48]
    assert all(line["lr"] <= 5e-3 and line["epoch"] <= 4 for line in losses)
    measured = [line for line in lines if "validation" in line]
    assert [line["step"] for line in measured] == [0, 10, 20, 30, 40, 48]
    assert set(measured[0]["validation"]) == {"loss", "nDCG@10", "RR@10", "AP", "AUC"}


def test_the_learning_rate_rises_and_falls_in_straight_lines(place: Path, tmp_path: Path) -> None:
    settings = replace(QUICK, steps=10, warmup=0.2, log_every=1, evaluate_every=10, onnx=False)
    result = train(place, tmp_path / "run", settings)
    rates = [line["lr"] / settings.lr for line in result.folder.metrics.lines() if "lr" in line]
    assert rates == pytest.approx([0, 0.5, 1, 0.875, 0.75, 0.625, 0.5, 0.375, 0.25, 0.125])


def test_what_can_be_learnt_is_learnt(trained: TrainingResult) -> None:
    assert trained.measures["nDCG@10"] > trained.before["nDCG@10"]
    assert trained.measures["loss"] < trained.before["loss"]


def test_the_weights_of_the_best_step_are_kept(trained: TrainingResult) -> None:
    history = trained.folder.metrics.validations("nDCG@10")
    assert trained.measures["nDCG@10"] == max(value for step, value in history if step > 0)
    assert trained.folder.result["best_step"] == trained.best


def test_the_model_scores_in_rankwell_as_it_does_in_transformers(trained: TrainingResult) -> None:
    import torch
    import transformers

    folder = trained.folder.model
    model = transformers.AutoModelForSequenceClassification.from_pretrained(folder).eval()
    tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
    pairs = [("fever", "cough and fever in the old"), ("honey bees", "telescope")]
    with torch.inference_mode():
        theirs = model(**tokenizer(*map(list, zip(*pairs, strict=True)), padding=True, return_tensors="pt")).logits
    scorer = PairScorer(str(folder))
    assert scorer.labels == 1
    assert scorer.logits(pairs) == pytest.approx(theirs.numpy(), abs=1e-5)


def test_the_measure_is_that_of_the_model_when_searching(trained: TrainingResult, place: Path) -> None:
    """The same pairs through the ONNX model and through `rankwell.evaluation`: what training said of them."""
    from rankwell.core import Judgments, Run
    from rankwell.evaluation import evaluate

    held_out = open_pairs(place / "pairs").split(0.1, QUICK.seed)[1]
    rows = list(held_out.rows())
    scorer = PairScorer(str(trained.folder.model))
    scores = scorer.scores(scorer.logits([(row.query, row.document) for row in rows]))
    run = Run.from_rows((row.query_id, row.document_id, float(score)) for row, score in zip(rows, scores, strict=True))
    judgments = Judgments((row.query_id, row.document_id, int(row.label)) for row in rows)
    found = evaluate(judgments, run, ["nDCG@10", "AUC"])
    assert found.mean("nDCG@10") == pytest.approx(trained.measures["nDCG@10"], abs=1e-6)
    assert found.mean("AUC") == pytest.approx(trained.measures["AUC"], abs=1e-6)


def test_an_onnx_file_lies_beside_the_weights(trained: TrainingResult) -> None:
    from rankwell.models.base.folder import ModelFolder
    from rankwell.models.base.runtime import OnnxModel

    file = ModelFolder("trained", trained.folder.model).onnx_files["fp32"]
    assert OnnxModel(file).use("pairs") == 1


def test_the_same_seed_gives_the_same_weights_and_another_one_others(place: Path, tmp_path: Path) -> None:
    import torch

    for name, seed in (("one", 1), ("two", 1), ("three", 2)):
        train(place, tmp_path / name, replace(SHORT, seed=seed), validation=None)
    one, two, three = (weights(tmp_path / name / "model") for name in ("one", "two", "three"))
    assert all(torch.equal(one[name], two[name]) for name in one)
    assert any(not torch.equal(one[name], three[name]) for name in one)


@pytest.mark.parametrize("loss", ["ranknet", "margin", "margin-mse", "listnet", "softmax", "lambda"])
def test_every_loss_over_lists_trains(loss: str, place: Path, tmp_path: Path) -> None:
    settings = replace(QUICK, steps=12, loss=loss, list_size=5, onnx=False, evaluate_every=12)
    result = train(place, tmp_path / "run", settings)
    assert result.steps == 12
    assert result.measures["loss"] < result.before["loss"]


def test_gradients_that_are_added_up_are_those_of_a_larger_batch(place: Path, tmp_path: Path) -> None:
    import torch

    whole = replace(SHORT, dropout=0.0, group_by_length=False, steps=1, warmup=0.0)
    train(place, tmp_path / "whole", whole, validation=None)
    train(place, tmp_path / "parts", replace(whole, batch_size=4, accumulate=4), validation=None)
    one, two = (weights(tmp_path / name / "model") for name in ("whole", "parts"))
    for name, tensor in one.items():
        assert torch.allclose(tensor, two[name], atol=1e-4), name


def test_frozen_weights_do_not_move(place: Path, tmp_path: Path) -> None:
    import torch

    train(place, tmp_path / "run", replace(SHORT, freeze="layers:1"), validation=None)
    before, after = weights(place / "model"), weights(tmp_path / "run" / "model")
    moved = {name for name in before if not torch.equal(before[name], after[f"bert.{name}"])}
    assert moved
    assert not any(name.startswith(("embeddings", "encoder.layer.0")) for name in moved)
    assert any(name.startswith("encoder.layer.1") for name in moved)


def test_training_stops_when_the_measure_no_longer_rises(place: Path, tmp_path: Path) -> None:
    settings = replace(QUICK, lr=1e-9, evaluate_every=2, patience=3, onnx=False)
    result = train(place, tmp_path / "run", settings)
    assert result.stopped_early
    assert (result.best, result.steps) == (2, 8)


def test_a_rate_that_diverges_stops_and_leaves_the_last_good_checkpoint(place: Path, tmp_path: Path) -> None:
    """Two steps at a rate so high that the weights leave what a number can hold."""
    settings = replace(QUICK, lr=1e30, warmup=3, clip=0.0, save_every=1, evaluate_every=100, steps=20, log_every=1)
    with pytest.raises(RankwellError, match=r"training diverged at step \d+: .*the last good checkpoint is"):
        train(place, tmp_path / "run", settings)
    run = RunFolder.open(tmp_path / "run")
    newest = run.checkpoints.newest()
    assert newest is not None
    assert all(np.isfinite(tensor.numpy()).all() for tensor in weights(newest).values())
    assert not run.finished


def test_pairs_of_one_kind_teach_nothing(place: Path, tmp_path: Path) -> None:
    with PairsWriter(tmp_path / "pairs", made={}) as writer:
        for number in range(20):
            writer.add(Pair(f"q{number}", f"d{number}", "fever", "cough", 1.0))
    with pytest.raises(
        RankwellError, match="expected pairs of both kinds, relevant and not, found 20 with the label 1"
    ):
        train(place, tmp_path / "run", SHORT, pairs=tmp_path / "pairs", validation=None)
    assert not (tmp_path / "run").exists()  # so that the same command can be given again, with other pairs


def test_lists_without_anything_to_compare_teach_nothing(place: Path, tmp_path: Path) -> None:
    with PairsWriter(tmp_path / "pairs", made={}) as writer:
        for number in range(20):
            writer.add(Pair(f"q{number}", f"d{number}", "fever", "cough", float(number % 2)))
    with pytest.raises(RankwellError, match="expected queries with documents of different labels for the loss ranknet"):
        train(place, tmp_path / "run", replace(SHORT, loss="ranknet"), pairs=tmp_path / "pairs", validation=None)
    with pytest.raises(RankwellError, match="measure AUC, which compares pairs of different queries"):
        train(place, tmp_path / "other", SHORT, pairs=tmp_path / "pairs", validation=0.3)
    result = train(place, tmp_path / "auc", replace(SHORT, measure="AUC"), pairs=tmp_path / "pairs", validation=0.3)
    assert 0 <= result.measures["AUC"] <= 1


def test_grades_need_another_loss_than_cross_entropy(place: Path, tmp_path: Path) -> None:
    with PairsWriter(tmp_path / "pairs", made={}) as writer:
        for number in range(12):
            writer.add(Pair(f"q{number // 3}", f"d{number}", "fever", "cough", float(number % 3)))
    with pytest.raises(RankwellError, match="expected labels from 0 to 1 for the loss bce, found 0 to 2"):
        train(place, tmp_path / "run", SHORT, pairs=tmp_path / "pairs", validation=None)
    assert train(place, tmp_path / "lambda", replace(SHORT, loss="lambda"), pairs=tmp_path / "pairs").steps == 2


def test_fewer_examples_than_a_batch_are_trained_on_and_told_of(
    place: Path, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    topic_pairs(tmp_path / "pairs", queries=2)
    result = train(place, tmp_path / "run", SHORT, pairs=tmp_path / "pairs", validation=None)
    assert result.steps == 2
    assert "10 pairs are fewer than a batch of 16" in caplog.text


def test_a_head_that_the_model_lacks_is_new_and_told_of(
    place: Path, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    train(place, tmp_path / "run", SHORT, validation=None)
    assert "has no weights for classifier.bias, classifier.weight: they start at random" in caplog.text


SMALL = {"hidden_size": 16, "num_attention_heads": 2, "intermediate_size": 32, "num_hidden_layers": 2}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("config", "kind", "sizes"),
    [
        ("RobertaConfig", "RobertaModel", {**SMALL, "max_position_embeddings": 66, "type_vocab_size": 1}),
        ("DistilBertConfig", "DistilBertModel", {"dim": 16, "n_layers": 2, "n_heads": 2, "hidden_dim": 32}),
        ("AlbertConfig", "AlbertModel", {**SMALL, "embedding_size": 8}),
        ("ElectraConfig", "ElectraModel", {**SMALL, "embedding_size": 8}),
    ],
)
def test_other_encoders_are_trained_and_score_in_rankwell(
    config: str, kind: str, sizes: dict[str, int], place: Path, tmp_path: Path
) -> None:
    """From the ONNX file, because their graph is not one that Rankwell writes by itself."""
    import torch
    import transformers

    from rankwell.models.base.folder import ModelFolder

    start = tiny_model(tmp_path / "start", config, kind, **sizes)
    result = train(place, tmp_path / "run", replace(SHORT, onnx=True), model=str(start), validation=None)
    folder = result.folder.model
    assert "fp32" in ModelFolder("trained", folder).onnx_files
    model = transformers.AutoModelForSequenceClassification.from_pretrained(folder).eval()
    tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
    given = tokenizer("fever", "cough and fever in the old", return_tensors="pt")
    if getattr(model.config, "type_vocab_size", 1) == 1:
        given.pop("token_type_ids", None)
    with torch.inference_mode():
        theirs = model(**given).logits.numpy()
    assert PairScorer(str(folder)).logits([("fever", "cough and fever in the old")]) == pytest.approx(theirs, abs=1e-4)


def test_a_model_that_cannot_classify_is_refused(place: Path, tmp_path: Path) -> None:
    import transformers

    config = transformers.GPT2Config(vocab_size=50, n_embd=8, n_layer=1, n_head=1)
    transformers.GPT2Model(config).save_pretrained(tmp_path / "gpt")
    with pytest.raises(RankwellError, match=r"expected an encoder that can classify .*, found the model type gpt2"):
        train(place, tmp_path / "run", SHORT, model=str(tmp_path / "gpt"))


def test_a_model_type_that_nobody_knows_is_refused(place: Path, tmp_path: Path) -> None:
    folder = tiny_bert(tmp_path / "model")
    config = json.loads((folder / "config.json").read_text())
    (folder / "config.json").write_text(json.dumps({**config, "model_type": "perceptron"}))
    with pytest.raises(RankwellError, match=r"expected a model type that transformers .* knows, found perceptron"):
        train(place, tmp_path / "run", SHORT, model=str(folder))


def test_a_model_without_torchs_weights_is_refused(place: Path, tmp_path: Path) -> None:
    folder = tiny_bert(tmp_path / "model")
    (folder / "model.safetensors").unlink()
    with pytest.raises(RankwellError, match="expected PyTorch's weights"):
        train(place, tmp_path / "run", SHORT, model=str(folder))


def test_more_tokens_than_the_model_takes_are_refused(place: Path, tmp_path: Path) -> None:
    with pytest.raises(ParameterError, match="max_tokens: expected a number up to 64"):
        train(place, tmp_path / "run", replace(SHORT, max_tokens=65))


@pytest.mark.parametrize(
    ("name", "wrong"),
    [("lr", 0.0), ("batch_size", 0), ("dropout", 1.0), ("warmup", -1), ("precision", "fp8"), ("list_size", 1)],
)
def test_settings_that_make_no_sense_are_refused(name: str, wrong: Any) -> None:
    with pytest.raises(ParameterError, match=f"{name}: expected"):
        CrossEncoderSettings(**{name: wrong})


def test_a_finished_run_is_neither_resumed_nor_overwritten(trained: TrainingResult, place: Path) -> None:
    with pytest.raises(RankwellError, match="is finished: there is nothing to go on with"):
        resume_training(trained.folder.path)
    with pytest.raises(RankwellError, match="holds a finished run"):
        train(place, trained.folder.path, QUICK)


def test_a_run_does_not_go_on_with_other_data(place: Path, tmp_path: Path) -> None:
    pairs = topic_pairs(tmp_path / "pairs", queries=12)
    run = RunFolder.create(
        tmp_path / "run",
        "cross-encoder",
        SHORT.as_dict(),
        pairs.fingerprint,
        data=str(pairs.folder),
        model=str(place / "model"),
        model_fingerprint="another",
    )
    with pytest.raises(RankwellError, match="expected the model it was begun from"):
        resume_training(run.path)
    import shutil

    shutil.rmtree(tmp_path / "pairs")
    topic_pairs(tmp_path / "pairs", queries=12, seed=9)
    with pytest.raises(RankwellError, match="expected the pairs that it was begun with"):
        resume_training(run.path)


def test_the_command_trains_and_says_how_well(place: Path, tmp_path: Path) -> None:
    options = ["--steps", "2", "--max-tokens", "32", "--threads", "1", "--no-onnx", "--measure", "RR@10"]
    command = ["train", "cross-encoder", str(place / "pairs"), "--model", str(place / "model"), *options]
    done = CliRunner().invoke(app, [*command, "--out", str(tmp_path / "run")], catch_exceptions=False)
    assert done.exit_code == 0
    assert done.stdout.strip() == str(tmp_path / "run" / "model")
    assert "validation RR@10:" in done.stderr
    assert "(before training" in done.stderr
