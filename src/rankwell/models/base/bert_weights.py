"""Weights in safetensors files, and a BERT's weights taken out of an ONNX file."""

from __future__ import annotations

import re
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from rankwell.core.arrays import Floats
from rankwell.core.errors import RankwellError
from rankwell.models.base.bert_graph import BODY, CLASSIFIER
from rankwell.models.base.export import PAIRS, Export, write_bert
from rankwell.models.base.int8 import OnnxGraph, load_graph, to_float
from rankwell.models.base.runtime import OnnxModel
from rankwell.models.base.tokens import Tokens

# Exporters keep the names of these weights; matrices lose theirs and are identified by the bias that follows.
NAMED = re.compile(r"(LayerNorm\.(weight|bias)|embeddings\.\w+\.weight|\.bias)$")
OUTER = re.compile(r"^.*auto_model\.")  # prefix of a name, where BERT was part of another module
STEPS_TO_BIAS = 3
PROBE = np.array([2, 71, 23, 64, 5, 9, 3, 40, 17, 86, 58, 3])  # token ids that every vocabulary has
NEAR = 1e-3  # largest difference between our graph's outputs and the file's, which differ only in the order of sums


def restore_weights(source: Path, config: Mapping[str, Any], task: str) -> tuple[dict[str, Floats], dict[str, Any]]:
    """The weights and the configuration of the BERT in an ONNX file (fp32 or int8), checked against its outputs.

    The number of attention heads is not in the weights. Where the configuration does not say it, the number that
    reproduces the outputs of the file is taken.
    """
    plain = to_float(load_graph(source))
    weights = bert_weights(plain)
    with tempfile.TemporaryDirectory() as scratch:
        file = Path(scratch) / "model.onnx"
        file.write_bytes(plain.SerializeToString())
        expected = _outputs(file, task)
        for candidate in _configurations(weights, config, task):
            file.write_bytes(write_bert(weights, candidate, Export(task), str(source)))
            if np.allclose(_outputs(file, task), expected, atol=NEAR, rtol=NEAR):
                return weights, candidate
    raise RankwellError(f"{source}: expected a BERT, found a graph that computes something else")


def bert_weights(model: Any) -> dict[str, Floats]:
    """The weights in an fp32 graph of a BERT, by Hugging Face's names."""
    graph = OnnxGraph(model)
    weights = {name: value.astype(np.float32) for name, value in graph.constants.items() if NAMED.search(name)}
    for node in graph.nodes:
        if node.op_type in {"MatMul", "Gemm"} and node.input[1] in graph.constants:
            bias, stored_as = _bias_of(graph, node), graph.constants[node.input[1]].astype(np.float32)
            if bias is not None:
                across = node.op_type == "Gemm" and any(item.name == "transB" and item.i for item in node.attribute)
                weights[bias.removesuffix("bias") + "weight"] = stored_as if across else stored_as.T
    named = {OUTER.sub("", name): np.ascontiguousarray(value) for name, value in weights.items()}
    if not any(name.startswith(BODY) for name in named):
        return named
    return {name: value for name, value in named.items() if name.startswith((BODY, CLASSIFIER))}


def _bias_of(graph: OnnxGraph, node: Any) -> str | None:
    """The name of the bias that is added to a product."""
    if node.op_type == "Gemm":
        return str(node.input[2]) if len(node.input) > 2 and node.input[2].endswith("bias") else None  # noqa: PLR2004
    current = node
    for _ in range(STEPS_TO_BIAS):
        following = [reader for reader in graph.consumers[current.output[0]] if reader.op_type == "Add"]
        names = [name for reader in following for name in reader.input if name in graph.constants]
        if names:
            return names[0] if names[0].endswith("bias") else None
        if not following:
            return None
        current = following[0]
    return None


def _configurations(weights: Mapping[str, Floats], config: Mapping[str, Any], task: str) -> Iterator[dict[str, Any]]:
    """Possible configurations: sizes from the weights, and numbers of heads, the likeliest first."""
    prefix = BODY if any(name.startswith(BODY) for name in weights) else ""
    try:
        words, positions, types = (
            weights[f"{prefix}embeddings.{name}_embeddings.weight"] for name in ("word", "position", "token_type")
        )
        inner = weights[f"{prefix}encoder.layer.0.intermediate.dense.weight"]
    except KeyError as error:
        raise RankwellError(f"expected the weights of a BERT, found none named {error.args[0]}") from error
    hidden = words.shape[1]
    numbers = {int(name.split("layer.")[1].split(".")[0]) for name in weights if "encoder.layer." in name}
    sizes: dict[str, Any] = {
        "model_type": "bert",
        "architectures": ["BertForSequenceClassification" if task == PAIRS else "BertModel"],
        "vocab_size": words.shape[0],
        "hidden_size": hidden,
        "num_hidden_layers": len(numbers),
        "intermediate_size": inner.shape[0],
        "max_position_embeddings": positions.shape[0],
        "type_vocab_size": types.shape[0],
    }
    if task == PAIRS:
        labels = len(weights[f"{CLASSIFIER}.bias"])
        sizes["id2label"] = {str(label): f"LABEL_{label}" for label in range(labels)}
    known = {name: value for name, value in config.items() if name not in sizes}
    told = [int(config["num_attention_heads"])] if "num_attention_heads" in config else []
    likely = [hidden // width for width in (64, 32, 128, 16, 96, 8)]
    for heads in dict.fromkeys([*told, *likely]):
        if heads and hidden % heads == 0:
            yield {"hidden_act": "gelu", "layer_norm_eps": 1e-12, **known, **sizes, "num_attention_heads": heads}


def _outputs(file: Path, task: str) -> Floats:
    """A graph's outputs for a few tokens, all in the first segment, because some files have no other."""
    model = OnnxModel(file)
    model.use(task)
    return model.run([Tokens(PROBE, np.zeros_like(PROBE))])[0]
