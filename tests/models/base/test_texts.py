from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from needs import require
from rankwell.core import ParameterError, RankwellError
from rankwell.models.base import TextEncoder, export_model, load_text_encoder
from rankwell.models.base.folder import INT8

TEXTS = ["Bees sleep at night.", "", "A cold lasts for a week to ten days.", "word " * 700]


@pytest.mark.slow
def test_vectors_equal_those_of_sentence_transformers(models: Path) -> None:
    sentence_transformers = pytest.importorskip("sentence_transformers")
    folder = str(models / "minilm-l6")
    theirs = sentence_transformers.SentenceTransformer(folder, device="cpu").encode(TEXTS, normalize_embeddings=True)
    assert TextEncoder(folder).encode(TEXTS) == pytest.approx(theirs, abs=1e-5)


@pytest.mark.parametrize("pooling", ["cls", "max", "mean"])
@pytest.mark.parametrize("layer", [-1, -2, 1, 3])
def test_any_pooling_of_any_layer_is_what_torch_gives(save, pooling: str, layer: int) -> None:
    folder = str(save("BertModel"))
    arguments = {"pooling": pooling, "layer": layer, "normalise": False, "max_tokens": 64}
    ours = TextEncoder(folder, **arguments).encode(TEXTS)
    assert ours == pytest.approx(TextEncoder(folder, backend="torch", **arguments).encode(TEXTS), abs=1e-4)


def test_vectors_have_length_1_unless_asked_otherwise(save) -> None:
    folder = str(save("BertModel"))
    assert np.linalg.norm(TextEncoder(folder).encode(TEXTS), axis=1) == pytest.approx(1)
    assert not np.allclose(np.linalg.norm(TextEncoder(folder, normalise=False).encode(TEXTS), axis=1), 1)


def test_a_model_from_a_wheel_knows_its_pooling_and_prompt(models: Path) -> None:
    folder = models / "bge-small-en"
    require("models", there=folder.is_dir(), how="rankwell models add bge-small-en")
    encoder = TextEncoder(str(folder))
    assert (encoder.pooling, encoder.dimensions, encoder.precision) == ("cls", 384, "int8")
    query = encoder.encode_queries(["do bees sleep"])
    assert np.array_equal(
        query, encoder.encode(["Represent this sentence for searching relevant passages: do bees sleep"])
    )
    assert not np.allclose(query, encoder.encode(["do bees sleep"]))
    assert np.argmax(encoder.encode(TEXTS) @ query[0]) == 0


def test_a_wheel_without_a_tokenizer_shares_that_of_another(models: Path) -> None:
    folder = models / "minilm-l3"
    require("models", there=folder.is_dir(), how="rankwell models add minilm-l3")
    encoder = TextEncoder(str(folder))
    assert np.argmax(encoder.encode(TEXTS) @ encoder.encode_queries(["do bees sleep"])[0]) == 0


def test_a_trained_models_vector_does_not_depend_on_its_neighbours(models: Path) -> None:
    encoder = TextEncoder(str(models / "minilm-l6"))  # fp32
    alone = np.concatenate([encoder.encode([text]) for text in TEXTS])
    assert encoder.encode([*TEXTS[::-1], "another"])[3::-1] == pytest.approx(alone, abs=1e-5)


def test_a_vector_does_not_depend_on_its_neighbours(save) -> None:
    encoder = TextEncoder(str(save("BertModel")), precision="int8")
    alone = np.concatenate([encoder.encode([text]) for text in TEXTS])
    assert np.array_equal(encoder.encode(TEXTS * 3), np.tile(alone, (3, 1)))


def test_what_is_cut_is_counted(save) -> None:
    encoder = TextEncoder(str(save("BertModel")), max_tokens=64)
    encoder.encode(TEXTS)
    counts = encoder.truncated
    assert (counts.texts, counts.documents_cut) == (4, 1)
    assert counts.tokens_dropped == pytest.approx(700 - 62, rel=0.01)  # of a text this long an estimate


def test_more_texts_than_are_tokenised_at_once_keep_their_order(save) -> None:
    encoder = TextEncoder(str(save("BertModel")))
    texts = [f"number {number}" + " more" * (number % 7) for number in range(1100)]
    chosen = [0, 511, 512, 1023, 1024, 1099]
    every = encoder.encode(texts)
    assert every[chosen] == pytest.approx(encoder.encode([texts[number] for number in chosen]), abs=1e-6)


@pytest.mark.parametrize("layer", [0, 4, -4])
def test_a_layer_that_is_not_there_is_said(save, layer: int) -> None:
    with pytest.raises(ParameterError, match="layer: expected a number from 1 to 3, or -1 for the last"):
        TextEncoder(str(save("BertModel")), layer=layer)


def test_another_layer_of_an_onnx_file_alone_is_said(save, tmp_path: Path) -> None:
    name, _ = export_model(str(save("BertModel")), INT8, tmp_path / "alone")
    with pytest.raises(RankwellError, match=r"expected PyTorch weights .* to take layer 2 from"):
        TextEncoder(name, layer=2)


def test_an_unknown_pooling_is_said(save) -> None:
    with pytest.raises(ParameterError, match='pooling: expected cls, max, mean, found "sum"'):
        TextEncoder(str(save("BertModel")), pooling="sum")


def test_a_configuration_has_its_own_fingerprint_and_object(save) -> None:
    folder = str(save("BertModel"))
    assert load_text_encoder(folder) is load_text_encoder(folder)
    prints = {
        TextEncoder(folder, **arguments).fingerprint()
        for arguments in ({}, {"pooling": "max"}, {"layer": 1}, {"normalise": False}, {"query_prompt": "q: "})
    }
    assert len(prints) == 5
