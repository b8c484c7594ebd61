"""Fine-tuning a bi-encoder from start to finish, with a model of a few thousand weights."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner

from rankwell.cli import app
from rankwell.core import ParameterError, RankwellError
from rankwell.models.base import load_text_encoder
from rankwell.models.base.tokens import TextTokens, Tokenizer
from rankwell.models.bi_encoder.training import (
    BiEncoderSettings,
    InBatchNegatives,
    PairTexts,
    RelevantPairs,
    TextTable,
    train_bi_encoder,
)
from rankwell.models.learning.pairs import Pair, open_pairs
from rankwell.models.learning.pairs_writer import PairsWriter
from rankwell.models.learning.trainer import TrainingResult
from tiny_models import needs_torch, tiny_bert, topic_pairs

needs_torch()

QUICK = BiEncoderSettings(epochs=5, lr=5e-3, max_tokens=32, threads=1, batch_size=8)
TEXTS = ["fever in the old patient", "honey bees", "a"]


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a model and pairs."""
    folder = tmp_path_factory.mktemp("vectors")
    tiny_bert(folder / "model")
    topic_pairs(folder / "pairs")
    return folder


@pytest.fixture(scope="module")
def trained(place: Path) -> TrainingResult:
    return train_bi_encoder(place / "pairs", place / "run", model=str(place / "model"), settings=QUICK, quiet=True)


def train(place: Path, out: Path, settings: BiEncoderSettings, **others: Any) -> TrainingResult:
    given = {"model": str(place / "model"), "quiet": True, **others}
    return train_bi_encoder(given.pop("pairs", place / "pairs"), out, settings=settings, **given)


def test_what_can_be_learnt_is_learnt(trained: TrainingResult) -> None:
    assert trained.measures["nDCG@10"] > trained.before["nDCG@10"]
    losses = [line["loss"] for line in trained.folder.metrics.lines() if "loss" in line]
    assert losses[-1] < losses[0]


def test_kept_outputs_of_frozen_layers_train_what_computing_them_anew_does(
    place: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from safetensors.torch import load_file

    from rankwell.models.learning import kept_layers

    settings = replace(QUICK, epochs=2, freeze="layers:1", dropout=0.0)
    kept = train(place, tmp_path / "kept", settings)
    monkeypatch.setattr(kept_layers, "MOST_BYTES", 0)
    anew = train(place, tmp_path / "anew", settings)
    before, one, other = (
        load_file(folder / "model.safetensors") for folder in (place / "model", kept.folder.model, anew.folder.model)
    )
    assert set(one) == set(other) == set(before)
    changed = [name for name in one if not one[name].equal(before[name])]
    assert changed
    assert all("layer.1." in name for name in changed)
    for name in one:
        assert float((one[name] - other[name]).abs().max()) < 2e-2, name  # kept as 16-bit floats
    assert kept.measures == pytest.approx(anew.measures, abs=0.05)


@pytest.mark.parametrize("pooling", ["mean", "cls", "max"])
def test_the_model_loads_in_sentence_transformers_and_in_rankwell(pooling: str, place: Path, tmp_path: Path) -> None:
    from sentence_transformers import SentenceTransformer

    settings = replace(QUICK, steps=1, pooling=pooling, query_prompt="query: ")
    folder = str(train(place, tmp_path / "run", settings, validation=None).folder.model)
    theirs = SentenceTransformer(folder, device="cpu", local_files_only=True)
    ours = load_text_encoder(folder)
    assert ours.pooling == pooling
    assert ours.encode(TEXTS) == pytest.approx(theirs.encode(TEXTS), abs=1e-5)
    assert ours.encode_queries(TEXTS) == pytest.approx(theirs.encode(TEXTS, prompt_name="query"), abs=1e-5)
    assert np.linalg.norm(ours.encode(TEXTS), axis=1) == pytest.approx(1)


def test_the_measure_is_that_of_the_vectors_when_searching(trained: TrainingResult, place: Path) -> None:
    from rankwell.core import Judgments, Run
    from rankwell.evaluation import evaluate

    rows = list(open_pairs(place / "pairs").split(0.1, QUICK.seed)[1].rows())
    encoder = load_text_encoder(str(trained.folder.model))
    queries = encoder.encode_queries([row.query for row in rows])
    documents = encoder.encode([row.document for row in rows])
    scores = (queries * documents).sum(axis=1).tolist()
    run = Run.from_rows((row.query_id, row.document_id, score) for row, score in zip(rows, scores, strict=True))
    judgments = Judgments((row.query_id, row.document_id, int(row.label)) for row in rows)
    found = evaluate(judgments, run, "nDCG@10").mean("nDCG@10")
    assert found == pytest.approx(trained.measures["nDCG@10"], abs=1e-6)


PAIRS = [
    ("q1", "fever", [("d1", 1), ("d2", 1), ("x", 0)]),
    ("q2", "cough", [("d2", 1), ("y", 0)]),
    ("q3", "honey", [("d3", 1), ("d1", 0)]),
]


def batches(tmp_path: Path, negatives: int) -> InBatchNegatives:
    with PairsWriter(tmp_path / "pairs", made={}) as writer:
        for query, text, documents in PAIRS:
            for document, label in documents:
                writer.add(Pair(query, document, text, f"aspirin {document}", float(label)))
    tokens = TextTokens(Tokenizer(tiny_bert(tmp_path / "model") / "tokenizer.json"), 32)
    pairs = PairTexts.of(open_pairs(tmp_path / "pairs"), TextTable(tokens), "")
    return InBatchNegatives(pairs, negatives=negatives, padding=0)


def test_a_document_that_is_relevant_to_another_query_of_the_batch_is_left_out(tmp_path: Path) -> None:
    """d2 is relevant to q1 as well, so q2's pair would be a false negative of q1's; and d1 is q1's, not against q3."""
    made = batches(tmp_path, negatives=5)
    assert made.positives == [0, 1, 3, 5]
    batch = made([(0, 0), (3, 0), (5, 0)])
    assert batch["query_input_ids"].shape[0] == 2  # q1 and q3
    assert batch["document_input_ids"].shape[0] == 3  # d1 and d3, and the hard negative x


def test_hard_negatives_change_with_the_epoch_and_not_with_anything_else(tmp_path: Path) -> None:
    with PairsWriter(tmp_path / "many", made={}) as writer:
        for number in range(5):
            writer.add(Pair("q", f"d{number}", "fever", f"cough {number}", float(number == 0)))
    tokens = TextTokens(Tokenizer(tiny_bert(tmp_path / "model") / "tokenizer.json"), 32)
    made = InBatchNegatives(PairTexts.of(open_pairs(tmp_path / "many"), TextTable(tokens), ""), negatives=2, padding=0)
    assert [made._hard(0, epoch) for epoch in range(3)] == [[1, 2], [3, 4], [1, 2]]


def test_the_loss_is_the_formula_of_in_batch_negatives() -> None:
    """Each query's own document against all: - log softmax of 20 cosines."""
    import torch
    from sentence_transformers.sentence_transformer.losses import MultipleNegativesRankingLoss

    queries = torch.tensor([[1.0, 0.0], [0.0, 2.0]])
    documents = torch.tensor([[3.0, 0.0], [1.0, 1.0]])
    hard = torch.tensor([[0.0, 1.0]])
    nothing: Any = None
    found = MultipleNegativesRankingLoss(nothing).compute_loss_from_embeddings([queries, documents, hard], nothing)
    half = 20 / math.sqrt(2)
    first = -20 + math.log(math.exp(20) + math.exp(half) + math.exp(0))
    second = -half + math.log(math.exp(0) + math.exp(half) + math.exp(20))
    assert float(found) == pytest.approx((first + second) / 2, rel=1e-5)


def test_examples_know_their_epoch() -> None:
    examples = RelevantPairs([4, 9])
    examples.set_epoch(3)
    assert [examples[place] for place in range(len(examples))] == [(4, 3), (9, 3)]


def test_one_relevant_pair_alone_teaches_nothing(place: Path, tmp_path: Path) -> None:
    topic_pairs(tmp_path / "pairs", queries=1)
    with pytest.raises(RankwellError, match="expected at least 2 relevant pairs, each against the other, found 1"):
        train(place, tmp_path / "run", QUICK, pairs=tmp_path / "pairs", validation=None)


@pytest.mark.parametrize(
    ("name", "wrong"), [("pooling", "median"), ("negatives", -1), ("scale", 0.0), ("freeze", "head")]
)
def test_settings_that_make_no_sense_are_refused(name: str, wrong: Any) -> None:
    with pytest.raises(ParameterError, match=f"{name}: expected"):
        BiEncoderSettings(**{name: wrong})


def test_a_model_that_only_writes_text_is_refused(place: Path, tmp_path: Path) -> None:
    import transformers

    config = transformers.GPT2Config(vocab_size=50, n_embd=8, n_layer=1, n_head=1)
    transformers.GPT2Model(config).save_pretrained(tmp_path / "gpt")
    with pytest.raises(RankwellError, match=r"expected an encoder .*, found the model type gpt2"):
        train(place, tmp_path / "run", QUICK, model=str(tmp_path / "gpt"))


def test_the_command_trains_and_says_how_well(place: Path, tmp_path: Path) -> None:
    options = ["--steps", "2", "--max-tokens", "32", "--threads", "1", "--no-onnx", "--batch-size", "4"]
    command = ["train", "bi-encoder", str(place / "pairs"), "--model", str(place / "model"), *options]
    done = CliRunner().invoke(app, [*command, "--out", str(tmp_path / "run")], catch_exceptions=False)
    assert done.exit_code == 0
    assert done.stdout.strip() == str(tmp_path / "run" / "model")
    assert "validation nDCG@10:" in done.stderr
