from __future__ import annotations

import shutil
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import onnxruntime
import pytest
import tokenizers
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from needs import require
from rankwell.core import ParameterError, RankwellError
from rankwell.models.base import PairScorer, load_pair_scorer
from rankwell.models.base.folder import FP32, INT8

QUERY = "How many people live in Berlin?"
BERLIN = [
    (
        QUERY,
        "Berlin had a population of 3,520,031 registered inhabitants in an area of 891.82 square kilometers.",
    ),
    (QUERY, "Berlin is well known for its museums."),
    (QUERY, "New York City is famous for the Metropolitan Museum of Art."),
]
WORDS = st.lists(st.sampled_from(["fever", "cough", "bees", "the", "of", "Zürich", "中文"]), max_size=40).map(" ".join)


@pytest.fixture(scope="module")
def cross_encoder(models: Path) -> PairScorer:
    folder = models / "ms-marco-minilm-l12"
    require("models", there=folder.is_dir(), how="rankwell models add ms-marco-minilm-l12")
    return PairScorer(str(folder))


def test_int8_scores_are_those_of_a_plain_session_and_near_fp32(cross_encoder: PairScorer) -> None:
    assert cross_encoder.precision == INT8
    scores = cross_encoder.scores(cross_encoder.logits(BERLIN))
    # A session of the same file with every optimiser on, a pair at a time.
    assert scores == pytest.approx(plain_scores(cross_encoder), abs=0.05)
    plain = PairScorer(cross_encoder.model, precision=FP32)
    assert scores == pytest.approx(plain.scores(plain.logits(BERLIN)), abs=0.2)
    # The card of cross-encoder/ms-marco-MiniLM-L12-v2 has 9.22 and -4.08 for the first two, of weights that the
    # package's full-range int8 file has rounded.
    assert scores[:2] == pytest.approx([9.22, -4.08], abs=0.2)
    assert cross_encoder.probabilities(scores) == pytest.approx(1 / (1 + np.exp(-scores)), abs=1e-6)


def plain_scores(scorer: PairScorer) -> list[float]:
    """By ONNX Runtime and the tokenizers library alone, a pair at a time."""
    tokenizer = tokenizers.Tokenizer.from_file(str(Path(scorer.model) / "tokenizer.json"))
    tokenizer.no_padding()
    session = onnxruntime.InferenceSession(str(scorer._model.file), providers=["CPUExecutionProvider"])
    scores = []
    for query, document in BERLIN:
        made = tokenizer.encode(query, document)
        values = {"input_ids": made.ids, "attention_mask": made.attention_mask, "token_type_ids": made.type_ids}
        given = {put.name: np.array([values[put.name]]) for put in session.get_inputs()}
        scores.append(float(session.run(["logits"], given)[0][0, 0]))
    return scores


@pytest.mark.slow
def test_the_weights_of_a_model_that_came_as_int8_load_into_torch(cross_encoder: PairScorer) -> None:
    require("train", there=find_spec("transformers") is not None, how="pip install 'rankwell[train]'")
    torch, plain = PairScorer(cross_encoder.model, backend="torch"), PairScorer(cross_encoder.model, precision=FP32)
    assert torch.logits(BERLIN) == pytest.approx(plain.logits(BERLIN), abs=1e-4)


@settings(max_examples=5, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(st.tuples(WORDS, WORDS), min_size=1, max_size=6), st.randoms(use_true_random=False))
def test_int8_scores_do_not_depend_on_company_or_order(cross_encoder: PairScorer, pairs, random) -> None:
    mixed = [*BERLIN, *pairs]
    random.shuffle(mixed)
    together = dict(zip(mixed, cross_encoder.logits(mixed), strict=True))
    for pair in (BERLIN[1], pairs[0]):
        assert np.array_equal(cross_encoder.logits([pair])[0], together[pair])


def test_our_graph_gives_what_torch_gives(save) -> None:
    folder = str(save(num_labels=1))
    ours, torch = PairScorer(folder), PairScorer(folder, backend="torch")
    pairs = [*BERLIN, ("", ""), (QUERY, ""), ("word " * 300, "word " * 900)]
    assert ours.logits(pairs) == pytest.approx(torch.logits(pairs), abs=1e-5)
    assert ours.fingerprint() != torch.fingerprint()


@pytest.mark.slow
def test_the_cross_encoder_library_gives_the_same(save, models: Path) -> None:
    folder = save(num_labels=1)
    shutil.copy(models / "minilm-l6" / "tokenizer_config.json", folder)
    from sentence_transformers import CrossEncoder

    theirs = CrossEncoder(str(folder), device="cpu").predict(BERLIN, activation_fn=None, show_progress_bar=False)
    ours = PairScorer(str(folder))
    scores = ours.scores(ours.logits(BERLIN))
    near = np.abs(theirs - scores).max() < 1e-4
    assert near or np.abs(theirs - ours.probabilities(scores)).max() < 1e-4  # it applies a sigmoid by default


@settings(max_examples=15, suppress_health_check=[HealthCheck.function_scoped_fixture])  # a scorer keeps no state
@given(st.lists(st.tuples(WORDS, WORDS), min_size=1, max_size=12), st.randoms(use_true_random=False))
def test_fp32_scores_do_not_depend_on_batch_order_or_padding(scorers, pairs, random) -> None:
    ours, torch = scorers
    alone = np.concatenate([ours.logits([pair]) for pair in pairs])
    mixed = list(range(len(pairs)))
    random.shuffle(mixed)
    assert ours.logits([pairs[place] for place in mixed]) == pytest.approx(alone[mixed], abs=1e-5)
    assert torch.logits(pairs) == pytest.approx(alone, abs=1e-5)  # padded batches


@pytest.fixture
def scorers(save):
    folder = str(save(num_labels=2, initializer_range=0.2))
    return PairScorer(folder), PairScorer(folder, backend="torch")


def test_int8_of_our_own_is_near_fp32_and_smaller(save) -> None:
    folder = str(save(num_labels=1, hidden_size=128, intermediate_size=512, initializer_range=0.1))
    plain, small = PairScorer(folder), PairScorer(folder, precision=INT8)
    difference = plain.logits(BERLIN) - small.logits(BERLIN)
    assert 0 < np.abs(difference).max() < 0.1
    assert small.megabytes < plain.megabytes
    assert small.fingerprint() != plain.fingerprint()


@pytest.mark.parametrize("kind", ["BertForNextSentencePrediction", "BertForPreTraining"])
def test_a_next_sentence_head_ranks_by_is_next(save, kind: str) -> None:
    scorer = PairScorer(str(save(kind)))
    logits = scorer.logits(BERLIN)
    assert (scorer.kind, scorer.labels) == ("next-sentence", 2)
    assert scorer.scores(logits) == pytest.approx(logits[:, 0] - logits[:, 1])


def test_two_labels_rank_by_how_far_relevant_is_above(save) -> None:
    scorer = PairScorer(str(save(num_labels=2)))
    logits = scorer.logits(BERLIN)
    softmax = np.exp(logits[:, 1]) / np.exp(logits).sum(axis=1)
    assert scorer.probabilities(scorer.scores(logits)) == pytest.approx(softmax, abs=1e-5)


def test_three_labels_cannot_rank(save) -> None:
    scorer = PairScorer(str(save(num_labels=3)))
    with pytest.raises(RankwellError, match=r"expected a model with 1 label .* found 3"):
        scorer.scores(scorer.logits(BERLIN))


def test_what_is_cut_is_counted(save) -> None:
    scorer = PairScorer(str(save(num_labels=1)), max_tokens=32, query_tokens=4)
    long, cut = scorer.logits([("a b c d e f", "word " * 100_000), ("a b c d", "word " * 25)])
    assert scorer.truncated.texts == 2
    assert (scorer.truncated.queries_cut, scorer.truncated.documents_cut) == (1, 1)
    assert scorer.truncated.tokens_dropped == pytest.approx(2 + 100_000 - 25, rel=0.01)
    assert long == pytest.approx(cut, abs=1e-5)  # the heads are the same


def test_a_long_text_of_few_tokens_is_looked_at_to_its_end(save) -> None:
    scorer = PairScorer(str(save(num_labels=1)), max_tokens=32)
    blanks = scorer.logits([("query", " " * 100_000 + "fever")])
    assert blanks == pytest.approx(scorer.logits([("query", "fever")]), abs=1e-6)
    assert scorer.truncated.documents_cut == 0


def test_nan_is_said_with_its_pair(save) -> None:
    import torch
    from safetensors.torch import load_file, save_file

    folder = save(num_labels=1)
    weights = load_file(folder / "model.safetensors")
    weights["classifier.bias"] = torch.tensor([float("nan")])
    save_file(weights, folder / "model.safetensors", metadata={"format": "pt"})
    with pytest.raises(RankwellError, match=r"expected numbers, found \[nan\] for the query 'How many"):
        PairScorer(str(folder)).logits(BERLIN)


def test_an_encoder_without_a_head_is_no_cross_encoder(save) -> None:
    with pytest.raises(RankwellError, match=r"expected a cross-encoder with weights classifier\.\*"):
        PairScorer(str(save("BertModel")))


def test_changed_weights_never_meet_a_stale_export(save) -> None:
    first = PairScorer(str(save(num_labels=1))).logits(BERLIN)
    second = PairScorer(str(save(num_labels=1, initializer_range=0.3))).logits(BERLIN)
    assert not np.allclose(first, second)


def test_the_same_arguments_give_the_same_object(save) -> None:
    folder = str(save(num_labels=1))
    assert load_pair_scorer(folder) is load_pair_scorer(folder)
    assert load_pair_scorer(folder, max_tokens=64) is not load_pair_scorer(folder)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"max_tokens": 9}, "max_tokens: expected a number from 16 to 512, found 9"),
        ({"max_tokens": 513}, "max_tokens: expected a number from 16 to 512, found 513"),
        ({"query_tokens": 600}, "query_tokens: expected a number from 1 to"),
        ({"precision": "fp8"}, 'precision: expected fp32 or int8, found "fp8"'),
        ({"threads": 0}, "threads: expected a number from 1, found 0"),
        ({"backend": "jax"}, "backend: expected onnxruntime or torch"),
        ({"backend": "torch", "precision": "int8"}, "precision: expected fp32 with the backend torch"),
    ],
)
def test_a_parameter_out_of_its_range_is_said(save, arguments: dict[str, object], message: str) -> None:
    with pytest.raises(ParameterError, match=message):
        PairScorer(str(save(num_labels=1)), **arguments)


def test_no_pairs_give_no_logits(save) -> None:
    assert PairScorer(str(save(num_labels=1))).logits([]).shape == (0, 1)


@pytest.mark.slow
def test_another_architecture_is_exported_by_torch(save) -> None:
    folder: Path = save(
        "DistilBertForSequenceClassification", dim=32, n_layers=2, n_heads=4, hidden_dim=64, num_labels=1
    )
    assert PairScorer(str(folder)).logits(BERLIN) == pytest.approx(
        PairScorer(str(folder), backend="torch").logits(BERLIN), abs=1e-4
    )
