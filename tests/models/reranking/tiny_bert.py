"""A BERT of two layers with random weights, in a folder as Hugging Face has them."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np

from rankwell.models.base.folder import write_weights

HIDDEN, LAYERS, WORDS, POSITIONS = 32, 2, [f"w{number}" for number in range(60)], 64
HEADS = {"BertForSequenceClassification": "classifier", "BertForNextSentencePrediction": "cls.seq_relationship"}


def write_tiny_bert(folder: Path, architecture: str = "BertForSequenceClassification", labels: int = 1) -> str:
    """Write configuration, tokenizer and weights; returns the folder's name."""
    folder.mkdir(parents=True, exist_ok=True)
    config = {
        "architectures": [architecture],
        "model_type": "bert",
        "hidden_size": HIDDEN,
        "intermediate_size": 2 * HIDDEN,
        "num_attention_heads": 4,
        "num_hidden_layers": LAYERS,
        "max_position_embeddings": POSITIONS,
        "type_vocab_size": 2,
        "vocab_size": len(WORDS) + 4,
    }
    (folder / "config.json").write_text(json.dumps(config))
    _write_tokenizer(folder / "tokenizer.json")
    write_weights(folder / "model.safetensors", _weights(HEADS[architecture], labels))
    return str(folder)


def _write_tokenizer(file: Path) -> None:
    from tokenizers import Tokenizer, models, pre_tokenizers, processors

    vocabulary = {word: number for number, word in enumerate(["[PAD]", "[UNK]", "[CLS]", "[SEP]", *WORDS])}
    tokenizer = Tokenizer(models.WordLevel(vocabulary, unk_token="[UNK]"))  # noqa: S106 -- a token of words
    tokenizer.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    tokenizer.post_processor = processors.BertProcessing(("[SEP]", 3), ("[CLS]", 2))
    tokenizer.save(str(file))


def _weights(head: str, labels: int) -> dict[str, np.ndarray]:
    random = np.random.default_rng(11)
    shapes: dict[str, tuple[int, ...]] = {
        "embeddings.word_embeddings": (len(WORDS) + 4, HIDDEN),
        "embeddings.position_embeddings": (POSITIONS, HIDDEN),
        "embeddings.token_type_embeddings": (2, HIDDEN),
        "pooler.dense": (HIDDEN, HIDDEN),
    }
    norms = ["embeddings.LayerNorm"]
    for layer in range(LAYERS):
        at = f"encoder.layer.{layer}"
        shapes |= {f"{at}.attention.self.{part}": (HIDDEN, HIDDEN) for part in ("query", "key", "value")}
        shapes[f"{at}.attention.output.dense"] = (HIDDEN, HIDDEN)
        shapes[f"{at}.intermediate.dense"] = (2 * HIDDEN, HIDDEN)
        shapes[f"{at}.output.dense"] = (HIDDEN, 2 * HIDDEN)
        norms += [f"{at}.attention.output.LayerNorm", f"{at}.output.LayerNorm"]
    weights = {f"bert.{name}.weight": random.normal(0, 0.3, shape) for name, shape in shapes.items()}
    weights |= {
        f"bert.{name}.bias": random.normal(0, 0.1, shape[0]) for name, shape in shapes.items() if "emb" not in name
    }
    weights |= {f"bert.{name}.weight": np.ones(HIDDEN) for name in norms}
    weights |= {f"bert.{name}.bias": np.zeros(HIDDEN) for name in norms}
    weights |= {f"{head}.weight": random.normal(0, 1, (labels, HIDDEN)), f"{head}.bias": random.normal(0, 1, labels)}
    return {name: tensor.astype(np.float32) for name, tensor in weights.items()}
