"""Folders as sentence-transformers saves them today give its vectors and scores; what is not understood is refused."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from rankwell import BM25, CrossEncoder, Index, RankwellError
from rankwell.models.base import PairScorer, TextEncoder
from tiny_models import needs_torch, tiny_bert

needs_torch()
pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning")

TEXTS = ["Bees sleep at night", "A cold lasts for a week", "fever", "aspirin and honey for the throat"]
PROMPTS = {"query": "fever of ", "document": "the moon and "}


def save(folder: Path, pooling: Any, *more: Any, **settings: Any) -> Any:
    """Save a model with the library itself; the model as the library reads it back."""
    from sentence_transformers import SentenceTransformer
    from sentence_transformers.sentence_transformer.modules import Pooling, Transformer

    body = Transformer(str(tiny_bert(folder / "body", initializer_range=0.5)))
    pooled = pooling if isinstance(pooling, Pooling) else Pooling(16, pooling)
    SentenceTransformer(modules=[body, pooled, *more], device="cpu", **settings).save(str(folder / "saved"))
    return SentenceTransformer(str(folder / "saved"), device="cpu")


@pytest.mark.parametrize("prompts", [None, PROMPTS, {"query": "fever of "}, {"passage": "the moon and "}])
@pytest.mark.parametrize("pooling", ["cls", "mean", "max"])
def test_vectors_equal_those_of_the_library(tmp_path: Path, pooling: str, prompts: dict[str, str] | None) -> None:
    theirs = save(tmp_path, pooling, prompts=prompts)
    ours = TextEncoder(str(tmp_path / "saved"))
    assert ours.pooling == pooling
    assert ours.encode(TEXTS) == pytest.approx(theirs.encode_document(TEXTS, normalize_embeddings=True), abs=1e-5)
    asked = theirs.encode_query(TEXTS, normalize_embeddings=True)
    assert ours.encode_queries(TEXTS) == pytest.approx(asked, abs=1e-5)
    plain = TextEncoder(str(tmp_path / "saved"), normalise=False, query_prompt="", document_prompt="")
    assert plain.encode(TEXTS) == pytest.approx(theirs.encode(TEXTS, prompt=""), abs=1e-5)


def test_a_default_prompt_is_used_where_there_is_no_other(tmp_path: Path) -> None:
    theirs = save(tmp_path, "mean", prompts={"any": "fever of "}, default_prompt_name="any")
    ours = TextEncoder(str(tmp_path / "saved"), normalise=False)
    if "query" in theirs.prompts:  # the library adds empty ones
        theirs.prompts = {"any": "fever of "}
        config = json.loads((tmp_path / "saved" / "config_sentence_transformers.json").read_text())
        config["prompts"] = theirs.prompts
        (tmp_path / "saved" / "config_sentence_transformers.json").write_text(json.dumps(config))
        ours = TextEncoder(str(tmp_path / "saved"), normalise=False)
    assert ours.encode_queries(TEXTS) == pytest.approx(theirs.encode_query(TEXTS), abs=1e-5)
    assert ours.encode(TEXTS) == pytest.approx(theirs.encode_document(TEXTS), abs=1e-5)


def test_the_prompts_are_part_of_the_fingerprint_and_of_vectors(tmp_path: Path) -> None:
    save(tmp_path, "mean", prompts=PROMPTS)
    model = str(tmp_path / "saved")
    assert TextEncoder(model).fingerprint() != TextEncoder(model, document_prompt="").fingerprint()
    assert not np.allclose(TextEncoder(model).encode(TEXTS), TextEncoder(model, document_prompt="").encode(TEXTS))


def unknown_modules() -> dict[str, tuple[Any, ...]]:
    from sentence_transformers.sentence_transformer.modules import Dense, Pooling

    return {
        "Dense (2_Dense)": ("mean", Dense(16, 8)),
        "lasttoken": ("lasttoken",),
        "mean and max": (("mean", "max"),),
        "weightedmean": ("weightedmean",),
        '"include_prompt": false': (Pooling(16, "mean", include_prompt=False),),
    }


@pytest.mark.parametrize(
    "found", ["Dense (2_Dense)", "lasttoken", "mean and max", "weightedmean", '"include_prompt": false']
)
def test_what_is_not_understood_is_refused(tmp_path: Path, found: str) -> None:
    save(tmp_path, *unknown_modules()[found], prompts=PROMPTS)
    with pytest.raises(RankwellError) as error:
        TextEncoder(str(tmp_path / "saved"))
    assert found in str(error.value)


def test_another_similarity_is_refused(tmp_path: Path) -> None:
    save(tmp_path, "mean", similarity_fn_name="euclidean")
    with pytest.raises(RankwellError, match="compared by cosine"):
        TextEncoder(str(tmp_path / "saved"))


@pytest.mark.parametrize(
    "content", ['{"pooling_mode": 3}', '{"pooling_mode": []}', "[]", '{"pooling_mode": "cls"', "3"]
)
def test_an_odd_pooling_file_gets_one_line(tmp_path: Path, content: str) -> None:
    save(tmp_path, "cls")
    (tmp_path / "saved" / "1_Pooling" / "config.json").write_text(content)
    if content == "[]":  # nothing is said, as in a folder of transformers alone
        assert TextEncoder(str(tmp_path / "saved")).pooling == "mean"
        return
    with pytest.raises(RankwellError):
        TextEncoder(str(tmp_path / "saved"))


def test_folders_of_older_versions_are_read(tmp_path: Path) -> None:
    save(tmp_path, "cls")
    flags = {"word_embedding_dimension": 16, "pooling_mode_cls_token": False, "pooling_mode_max_tokens": True}
    (tmp_path / "saved" / "1_Pooling" / "config.json").write_text(json.dumps(flags))
    assert TextEncoder(str(tmp_path / "saved")).pooling == "max"


@pytest.mark.parametrize("activation", ["Sigmoid", "Identity"])
def test_scores_equal_those_of_the_library(tmp_path: Path, activation: str) -> None:
    import sentence_transformers
    import torch

    head = tiny_bert(tmp_path / "body", head="BertForSequenceClassification", num_labels=1, initializer_range=0.5)
    library = sentence_transformers.CrossEncoder(str(head), device="cpu", activation_fn=getattr(torch.nn, activation)())
    library.save(str(tmp_path / "saved"))
    theirs = sentence_transformers.CrossEncoder(str(tmp_path / "saved"), device="cpu")
    predicted = theirs.predict([("fever", text) for text in TEXTS])
    scorer = PairScorer(str(tmp_path / "saved"))
    scores = scorer.scores(scorer.logits([("fever", text) for text in TEXTS]))
    ours = scores if activation == "Identity" else scorer.probabilities(scores)
    assert ours == pytest.approx(predicted, abs=1e-5)
    kind = "logit" if activation == "Identity" else "probability"
    index = Index.build(tmp_path / "papers", {str(number): f"fever {text}" for number, text in enumerate(TEXTS)})
    run = (BM25(index) >> CrossEncoder(tmp_path / "saved", scores=kind, cache=False, quiet=True))("fever")
    expected = theirs.predict([("fever", f"fever {text}") for text in TEXTS])
    assert dict(run["1"]) == pytest.approx({str(n): float(s) for n, s in enumerate(expected)}, abs=1e-5)


def test_a_cross_encoder_with_prompts_is_refused(tmp_path: Path) -> None:
    folder = tiny_bert(tmp_path / "model", head="BertForSequenceClassification", num_labels=1)
    config = {"model_type": "CrossEncoder", "prompts": {"web": "fever"}, "default_prompt_name": "web"}
    (folder / "config_sentence_transformers.json").write_text(json.dumps(config))
    with pytest.raises(RankwellError, match="without prompts"):
        PairScorer(str(folder))
