"""Distillation from start to finish, with a teacher and students of a few thousand weights."""

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
from rankwell.models.base.folder import ModelFolder
from rankwell.models.distillation.training import DistilSettings, distil
from rankwell.models.learning.pairs import Pair, open_pairs
from rankwell.models.learning.pairs_writer import PairsWriter
from rankwell.models.learning.run_folder import RunFolder
from rankwell.models.learning.trainer import TrainingResult
from tiny_models import needs_torch, tiny_bert, topic_pairs, write_tokenizer

needs_torch()

CLASSIFIER = "BertForSequenceClassification"
QUICK = DistilSettings(steps=2, lr=5e-3, max_tokens=32, threads=1, batch_size=16, onnx=False)


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A teacher that tells documents apart, pairs to learn from, and labelled ones to measure with."""
    folder = tmp_path_factory.mktemp("distillation")
    tiny_bert(folder / "teacher", layers=4, head=CLASSIFIER, num_labels=1, initializer_range=0.5)
    topic_pairs(folder / "pairs")
    topic_pairs(folder / "held-out", queries=8, seed=7)
    return folder


def run(
    place: Path, out: Path, student: str = "teacher:2", settings: DistilSettings = QUICK, **others: Any
) -> TrainingResult:
    given = {"teacher": str(place / "teacher"), "pairs": place / "pairs", "quiet": True, **others}
    return distil(given.pop("teacher"), student, given.pop("pairs"), out, settings=settings, **given)


def unlabelled(folder: Path, *, kind: str = "unlabelled", labels: tuple[float, ...] = (0.0,)) -> Path:
    """Six pairs of two queries."""
    with PairsWriter(folder, made={}, extra={"kind": "string", "passage": "int64"}) as writer:
        for number in range(6):
            pair = Pair(f"q{number // 3}", f"d{number}", "fever", f"cough and {'fever ' * number}", 0.0)
            writer.add(pair._replace(label=labels[number % len(labels)]), kind=kind, passage=0)
    return folder


def batches_of(place: Path, teacher: ModelFolder, mixture: Any, model: Any) -> Any:
    from rankwell.models.distillation.batches import DistilBatches

    pairs = open_pairs(place / "pairs")
    return DistilBatches.of(pairs, QUICK, mixture, master=teacher, start=teacher, model=model, quiet=True)


def texts(folder: Path) -> list[tuple[str, str]]:
    pairs = open_pairs(folder)
    return list(zip(pairs.column("query"), pairs.column("document"), strict=True))


def weights(folder: Path) -> dict[str, Any]:
    from safetensors.torch import load_file

    return dict(load_file(folder / "model.safetensors"))


def same(one: dict[str, Any], other: dict[str, Any]) -> bool:
    import torch

    return all(torch.equal(one[name], other[name]) for name in one)


@pytest.fixture(scope="module")
def taught(place: Path, tmp_path_factory: pytest.TempPathFactory) -> TrainingResult:
    """A student of two layers that has learnt its pairs by heart, with all of Simplified TinyBERT's losses."""
    topic_pairs(place / "few", queries=6)
    weights = {"soft": 3.0, "hidden": 0.1, "attention": 0.01, "hard": 0.0}
    settings = replace(QUICK, steps=100, lr=1e-2, batch_size=30, onnx=True, evaluate_every=100, weights=weights)
    out = tmp_path_factory.mktemp("taught") / "run"
    return run(place, out, settings=settings, pairs=place / "few", validation=place / "held-out")


def test_a_student_learns_to_say_what_its_teacher_says(place: Path, taught: TrainingResult) -> None:
    teacher, student = (PairScorer(str(folder)) for folder in (place / "teacher", taught.folder.model))
    wanted, found = (scorer.logits(texts(place / "few"))[:, 0] for scorer in (teacher, student))
    assert wanted.std() > 0.1
    assert np.abs(found - wanted).max() < 0.2 * wanted.std()


def test_a_run_leaves_what_every_training_leaves_and_names_the_teacher(place: Path, taught: TrainingResult) -> None:
    folder = RunFolder.open(taught.folder.path)
    assert folder.finished
    assert folder.kind == "distilled cross-encoder"
    assert folder.settings["teacher"] == str((place / "teacher").resolve())
    assert folder.settings["student"] == "teacher:2"
    card = (folder.model / "README.md").read_text()
    assert f"has learnt from `{(place / 'teacher').resolve()}`" in card
    assert "rankwell rerank RUN" in card
    assert "nDCG@10" in taught.measures


def test_the_onnx_file_says_what_torch_says(place: Path, taught: TrainingResult) -> None:
    import torch
    import transformers

    folder = taught.folder.model
    assert "fp32" in ModelFolder("student", folder).onnx_files
    model = transformers.AutoModelForSequenceClassification.from_pretrained(folder).eval()
    tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
    pairs = texts(place / "few")[:8]
    given = tokenizer(*map(list, zip(*pairs, strict=True)), padding=True, return_tensors="pt")
    with torch.inference_mode():
        theirs = model(**given).logits.numpy()
    assert PairScorer(str(folder)).logits(pairs) == pytest.approx(theirs, abs=1e-4)


@pytest.mark.parametrize("method", ["tinybert", "soft", "margin-mse", "distilbert"])
def test_every_method_brings_the_student_nearer_to_the_teacher(method: str, place: Path, tmp_path: Path) -> None:
    settings = replace(QUICK, method=method, steps=15, log_every=1, warmup=0.0, weights={"hard": 0.0})
    result = run(place, tmp_path / "run", settings=settings)
    losses = [line["loss"] for line in result.folder.metrics.lines() if "loss" in line]
    assert np.mean(losses[-5:]) < np.mean(losses[:5])


def test_a_narrower_student_learns_with_a_projection_that_is_not_kept(place: Path, tmp_path: Path) -> None:
    result = run(place, tmp_path / "run", "teacher:2x8", replace(QUICK, keep_checkpoints=True))
    newest = result.folder.checkpoints.newest()
    assert newest is not None
    assert "to_teacher_width.weight" in weights(newest)
    assert not any(name.startswith("to_teacher_width") for name in weights(result.folder.model))


def test_a_student_of_its_own_is_distilled(place: Path, tmp_path: Path) -> None:
    """Half as wide, with another number of heads and layers."""
    own = tiny_bert(tmp_path / "own", layers=2, hidden_size=8, num_attention_heads=1)
    result = run(place, tmp_path / "run", str(own))
    assert result.folder.configuration["model"]["name"] == str(own.resolve())
    assert PairScorer(str(result.folder.model)).labels == 1


def test_gradients_reach_the_student_and_never_the_teacher(place: Path) -> None:
    import torch

    from rankwell.models.distillation.batches import Comparing
    from rankwell.models.distillation.losses import Mixture
    from rankwell.models.distillation.student import Student, find_teacher

    teacher = find_teacher(str(place / "teacher"))
    model = Student.parse("teacher:2").make(teacher, "first", 0.0)
    mixture = Mixture.of({"embedding": 1.0, "attention": 1.0, "hidden": 1.0, "soft": 1.0}, 2.0)
    comparing = Comparing.of(mixture, teacher, teacher, model, "evenly")
    assert comparing.teacher is not None
    before = {name: tensor.clone() for name, tensor in comparing.teacher.state_dict().items()}
    batches = batches_of(place, teacher, mixture, model)
    comparing(model, batches(batches.examples[:8])).backward()
    reached = {name for name, tensor in model.named_parameters() if tensor.grad is not None and tensor.grad.any()}
    assert {"classifier.weight", "bert.encoder.layer.0.attention.self.query.weight"} <= reached
    assert all(tensor.grad is None and not tensor.requires_grad for tensor in comparing.teacher.parameters())
    assert all(torch.equal(before[name], tensor) for name, tensor in comparing.teacher.state_dict().items())
    assert not comparing.teacher.training


def test_neither_padding_nor_the_order_of_a_batch_changes_the_loss(place: Path) -> None:
    from rankwell.models.distillation.batches import Comparing
    from rankwell.models.distillation.losses import Mixture
    from rankwell.models.distillation.student import Student, find_teacher

    teacher = find_teacher(str(place / "teacher"))
    model = Student.parse("teacher:2").make(teacher, "last", 0.0).eval()
    mixture = Mixture.of({"attention": 1.0, "hidden": 1.0, "cosine": 1.0, "soft": 1.0, "hard": 1.0}, 2.0)
    comparing = Comparing.of(mixture, teacher, teacher, model, "evenly")
    batches = batches_of(place, teacher, mixture, model)
    lengths = batches.tokens.pairs.lengths
    alike = [batches.examples[row] for row in np.flatnonzero(lengths == np.median(lengths))[:4]]
    longest = batches.examples[int(lengths.argmax())]
    alone = comparing(model, batches(alike)).item()
    assert comparing(model, batches(alike[::-1])).item() == pytest.approx(alone, rel=1e-5)
    padded = batches([*alike, longest])
    without = {name: tensor[:-1] for name, tensor in padded.items()}
    assert without["input_ids"].shape[1] > batches(alike)["input_ids"].shape[1]
    assert comparing(model, without).item() == pytest.approx(alone, rel=1e-4)


def test_the_teacher_scores_each_pair_once(place: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Over several epochs, over several runs, and whatever the method."""
    asked: list[tuple[str, str]] = []
    logits = PairScorer.logits

    def counted(self: PairScorer, pairs: Any, *others: Any) -> Any:
        asked.extend(pairs)
        return logits(self, pairs, *others)

    monkeypatch.setenv("RANKWELL_HOME", str(tmp_path / "home"))
    monkeypatch.setattr(PairScorer, "logits", counted)
    for method in ("soft", "margin-mse"):
        run(place, tmp_path / method, settings=replace(QUICK, method=method, steps=None, epochs=2))
    assert len(asked) == len(set(texts(place / "pairs")))


def test_labels_alone_are_a_method_too(place: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """With soft=0,hard=1 the teacher gives its layers and nothing else."""
    monkeypatch.setenv("RANKWELL_HOME", str(tmp_path / "home"))
    settings = replace(QUICK, method="soft", weights={"soft": 0.0, "hard": 1.0})
    result = run(place, tmp_path / "run", settings=settings)
    assert result.steps == 2
    assert not (tmp_path / "home" / "scores").exists()


def test_labels_of_unlabelled_pairs_teach_nothing(
    place: Path, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    from rankwell.models.distillation.batches import labelled_rows

    pairs = unlabelled(tmp_path / "pairs", labels=(0.0, 1.0))
    assert not labelled_rows(open_pairs(pairs)).any()
    assert labelled_rows(open_pairs(unlabelled(tmp_path / "judged", kind="judged"))).all()
    assert labelled_rows(open_pairs(place / "pairs")).all()
    run(place, tmp_path / "run", pairs=pairs)
    assert "no pair has a label: the hard loss is left out" in caplog.text


def test_only_the_hard_loss_needs_labels(place: Path, tmp_path: Path) -> None:
    pairs = unlabelled(tmp_path / "pairs")
    only = replace(QUICK, method="soft", weights={"soft": 0.0, "hard": 1.0})
    with pytest.raises(RankwellError, match="expected labels to learn from, found none"):
        run(place, tmp_path / "run", settings=only, pairs=pairs)
    assert not (tmp_path / "run").exists()
    with pytest.raises(RankwellError, match=r"expected labelled pairs to measure nDCG@10 on, found unlabelled ones"):
        run(place, tmp_path / "run", pairs=place / "pairs", validation=pairs)


def test_grades_are_no_labels_for_the_hard_loss(place: Path, tmp_path: Path) -> None:
    pairs = unlabelled(tmp_path / "pairs", kind="judged", labels=(0.0, 1.0, 3.0))
    with pytest.raises(RankwellError, match=r"expected labels from 0 to 1 for the hard loss, found 0 to 3: .*hard=0"):
        run(place, tmp_path / "run", pairs=pairs)


def test_states_of_other_tokens_cannot_be_compared_but_scores_can(place: Path, tmp_path: Path) -> None:
    own = tiny_bert(tmp_path / "own", layers=2)
    words = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "fever", "cough", *"abcdefghij"]
    write_tokenizer(own, words)
    with pytest.raises(RankwellError, match=r"expected the teacher's tokenizer, .*found another .*--method soft"):
        run(place, tmp_path / "run", str(own))
    assert run(place, tmp_path / "run", str(own), replace(QUICK, method="margin-mse")).steps == 2


def test_a_deeper_student_than_the_teacher_has_nothing_to_compare(place: Path, tmp_path: Path) -> None:
    own = tiny_bert(tmp_path / "own", layers=5)
    with pytest.raises(ParameterError, match="from 1 to 4 layers, as many as the teacher"):
        run(place, tmp_path / "run", str(own))


def test_queries_with_one_document_have_no_margins(place: Path, tmp_path: Path) -> None:
    with PairsWriter(tmp_path / "pairs", made={}) as writer:
        for number in range(4):
            writer.add(Pair(f"q{number}", f"d{number}", "fever", "cough", 1.0))
    with pytest.raises(RankwellError, match="expected queries with several documents"):
        run(place, tmp_path / "run", settings=replace(QUICK, method="margin-mse"), pairs=tmp_path / "pairs")


@pytest.mark.parametrize(
    ("name", "wrong"),
    [("temperature", 0.0), ("method", "osmosis"), ("list_size", 1), ("weights", {"sift": 1.0}), ("measure", "AQ")],
)
def test_settings_that_make_no_sense_are_refused_before_anything_is_done(name: str, wrong: Any) -> None:
    with pytest.raises(RankwellError, match=f"{name}: |measure"):
        DistilSettings(**{name: wrong})


def test_a_run_does_not_go_on_with_another_teacher(place: Path, tmp_path: Path) -> None:
    from rankwell.training import resume_training

    result = run(place, tmp_path / "run")
    (result.folder.path / "result.json").unlink()
    told = result.folder.configuration
    told["settings"]["teacher_fingerprint"] = "another"
    (result.folder.path / "configuration.json").write_text(json.dumps(told))
    with pytest.raises(RankwellError, match="expected the teacher it was begun with"):
        resume_training(tmp_path / "run")


def test_the_command_distils_and_says_what_is_saved(place: Path, tmp_path: Path) -> None:
    options = ["--steps", "2", "--max-tokens", "32", "--threads", "1", "--weights", "attention=0", "--layers", "last"]
    options += ["--validation", str(place / "held-out"), "--measure", "RR@10"]
    command = ["distil", str(place / "teacher"), "teacher:1", str(place / "pairs"), *options]
    done = CliRunner().invoke(app, [*command, "--out", str(tmp_path / "run")], catch_exceptions=False)
    assert done.exit_code == 0
    assert done.stdout.strip() == str(tmp_path / "run" / "model")
    assert "validation RR@10:" in done.stderr
    assert f"{place / 'teacher'}: " in done.stderr
    assert "pairs/s" in done.stderr


def test_speeds_are_of_the_same_pairs_for_all_models(place: Path) -> None:
    from rankwell.models.distillation.student import compare_speed

    found = compare_speed([str(place / "teacher")] * 2, open_pairs(place / "pairs"), count=5, rounds=2, threads=1)
    assert [speed.precision for speed in found] == ["fp32", "fp32"]
    assert all(speed.pairs_a_second > 0 and speed.megabytes > 0 for speed in found)
