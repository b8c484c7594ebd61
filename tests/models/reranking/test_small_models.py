"""Through a real (if untrained) transformer, in fp32 and int8, with every kind of head."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from overlap_scorer import a_run
from tiny_bert import WORDS, write_tiny_bert

from rankwell.core import RankwellError
from rankwell.models.base import load_pair_scorer
from rankwell.models.cross_encoder.ranking import CrossEncoder, at_depths
from rankwell.models.reranking.passages import Passages

pytestmark = pytest.mark.numeric
PRECISIONS = ("fp32", "int8")
TEXT = st.lists(st.sampled_from(WORDS), min_size=1, max_size=30).map(" ".join)


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> str:
    return write_tiny_bert(tmp_path_factory.mktemp("tiny") / "bert")


@pytest.mark.parametrize("precision", PRECISIONS)
@settings(max_examples=25)
@given(texts=st.lists(TEXT, min_size=1, max_size=12, unique=True), seed=st.randoms(use_true_random=False))
def test_a_score_does_not_depend_on_the_other_documents_or_their_order(
    model: str, precision: str, texts: list[str], seed: object
) -> None:
    stage = CrossEncoder(model, precision=precision, cache=False, quiet=True)
    together = dict(stage(a_run({text: text for text in texts}, "w1 w2"))["1"])
    shuffled = list(texts)
    seed.shuffle(shuffled)  # type: ignore[attr-defined]
    again = dict(stage(a_run({text: text for text in shuffled}, "w1 w2"))["1"])
    alone = {text: stage(a_run({text: text}, "w1 w2"))["1"].scores[0] for text in texts}
    assert together == pytest.approx(again, abs=1e-5)
    assert together == pytest.approx(alone, abs=1e-5)


@pytest.mark.parametrize("precision", PRECISIONS)
def test_a_sweep_from_kept_scores_equals_direct_runs(model: str, precision: str, tmp_path: Path) -> None:
    random = np.random.default_rng(5)
    texts = {f"d{place:02}": " ".join(random.choice(WORDS, random.integers(1, 40))) for place in range(20)}
    run = a_run(dict(texts), "w3 w4 w5")
    for passages in (None, Passages(10, 4)):
        stage = CrossEncoder(model, precision=precision, passages=passages, cache=tmp_path, quiet=True)
        swept = at_depths(stage, run, [1, 5, 13, 20])
        for depth, found in swept.items():
            assert found == replace(stage, k=depth, cache=False)(run) == replace(stage, k=depth)(run)


def test_precisions_have_kept_scores_of_their_own(model: str, tmp_path: Path) -> None:
    run = a_run({"a": "w1 w2 w3", "b": "w7 w8"}, "w1")
    plain, small = (
        CrossEncoder(model, precision=precision, cache=tmp_path, quiet=True)(run) for precision in PRECISIONS
    )
    assert len(list(tmp_path.glob("*.sqlite3"))) == 2
    assert plain != small


def test_int8_is_near_fp32(model: str) -> None:
    random = np.random.default_rng(5)
    pairs = [("w1 w9", " ".join(random.choice(WORDS, random.integers(1, 30)))) for _ in range(100)]
    plain, small = (load_pair_scorer(model, precision=precision).logits(pairs)[:, 0] for precision in PRECISIONS)
    # Random weights of 32 numbers a token forgive little: products that saturate are farther away than this.
    assert np.median(np.abs(plain - small)) < 0.1 * plain.std()
    assert np.corrcoef(plain, small)[0, 1] > 0.98


def test_new_weights_in_the_same_folder_meet_no_old_scores(tmp_path: Path) -> None:
    model = write_tiny_bert(tmp_path / "bert")
    before = CrossEncoder(model, quiet=True).fingerprint()
    write_tiny_bert(tmp_path / "bert", labels=2)
    load_pair_scorer.cache_clear()
    assert CrossEncoder(model, quiet=True).fingerprint() != before


def test_token_budgets_are_part_of_the_fingerprint_and_cut_what_is_read(
    model: str, caplog: pytest.LogCaptureFixture
) -> None:
    run = a_run({"a": " ".join(WORDS)}, "w1 w2 w3")
    short = CrossEncoder(model, max_tokens=20, query_tokens=2, quiet=True)
    short(run)
    assert "1 documents and 1 queries of 1 texts were cut" in caplog.text
    assert short.fingerprint() != CrossEncoder(model).fingerprint()


def test_a_next_sentence_head_ranks_by_how_likely_the_document_comes_next(tmp_path: Path) -> None:
    model = write_tiny_bert(tmp_path / "nsp", "BertForNextSentencePrediction", labels=2)
    run = a_run({"a": "w1 w2 w3", "b": "w7 w8", "c": "w20 w1"}, "w1 w5")
    found = CrossEncoder(model, scores="probability", quiet=True)(run)
    scorer = load_pair_scorer(model)
    assert scorer.kind == "next-sentence"
    logits = scorer.logits([("w1 w5", text) for text in ("w1 w2 w3", "w7 w8", "w20 w1")]).astype(np.float64)
    is_next = np.exp(logits[:, 0]) / np.exp(logits).sum(axis=1)  # the head's first label is "is next"
    assert found.to_dict()["1"] == pytest.approx(dict(zip("abc", is_next, strict=True)), abs=1e-6)


def test_a_model_with_three_labels_cannot_rank(tmp_path: Path) -> None:
    model = write_tiny_bert(tmp_path / "three", labels=3)
    with pytest.raises(RankwellError, match=r"expected a model with 1 label .* or 2 .*, found 3"):
        CrossEncoder(model, quiet=True).check()
