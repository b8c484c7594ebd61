"""ONNX files made from other weights, and cached below RANKWELL_HOME; a BERT's weights taken out of an ONNX file.

Plain BERT is written without torch. Any other architecture is exported by torch, and compared with torch's
own output. ONNX Runtime's transformer optimiser is left out on purpose: the operations that it
fuses (`SkipLayerNormalization`, `BiasGelu`) are slower on a CPU than their parts.
"""

from __future__ import annotations

import logging
import re
import shutil
import tempfile
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from rankwell.core import Floats, ParameterError, RankwellError, atomic_write, fingerprint, home
from rankwell.models.base.bert_graph import BODY, CLASSIFIER, NEXT_SENTENCE, VERSION, BertGraph, is_plain_bert
from rankwell.models.base.folder import FP32, INT8, TORCH_WEIGHTS, ModelFolder, read_weights
from rankwell.models.base.int8 import OnnxGraph, can_saturate, quantise_file, to_float
from rankwell.models.base.onnx_file import load_graph
from rankwell.models.base.runtime import OnnxModel
from rankwell.models.base.tokens import Tokens

log = logging.getLogger(__name__)

PAIRS, TEXTS = "pairs", "texts"


@dataclass(frozen=True)
class Export:
    """The wanted ONNX file of a model: for logits of pairs, or for vectors of texts from a layer."""

    task: str
    precision: str = FP32
    layer: int = -1
    first_only: bool = False  # vectors of [CLS] alone
    padded: bool = False  # for programs that put texts of several lengths into one batch
    steady: bool = False  # sums in the same order on every processor, as int8 needs them

    def layer_of(self, layers: int) -> int:
        """The layer counted from 1, of a model with `layers` layers."""
        wanted = self.layer if self.layer > 0 else layers + 1 + self.layer
        if not 1 <= wanted <= layers:
            raise ParameterError("layer", expected=f"a number from 1 to {layers}, or -1 for the last", found=self.layer)
        return wanted


def exported(folder: ModelFolder, wanted: Export) -> Path:
    """The ONNX file made from a folder's weights: the cached one, or a new one."""
    source = folder.torch_weights or folder.onnx_files.get(FP32) or folder.onnx_files.get(INT8)
    message = f"{folder.name}: making an ONNX file of its weights ({wanted.precision}), once"
    return kept_graph([VERSION, folder.fingerprint(source), wanted], message, lambda file: make(folder, wanted, file))


def kept_graph(made_of: list[Any], message: str, write: Callable[[Path], None]) -> Path:
    """The cached ONNX file that was made of these weights and settings; otherwise a new one, announced by a message."""
    file = home() / "exports" / fingerprint(made_of)[:32] / "model.onnx"
    if not file.is_file():
        log.warning("%s", message)
        write(file)
    return file


def make(folder: ModelFolder, wanted: Export, file: Path) -> None:
    """Write the ONNX file of a folder's weights."""
    if wanted.precision == INT8:
        _make_int8(folder, wanted, file)
    elif folder.torch_weights is None:
        _make_from_onnx(folder, wanted, file)
    elif writable_without_torch(folder):
        head = NEXT_SENTENCE if folder.next_sentence else CLASSIFIER
        graph = write_bert(read_weights(folder.torch_weights), folder.config, wanted, folder.name, head)
        with atomic_write(file) as opened:
            opened.write(graph)
    else:
        from rankwell.models.base.torch_model import export_with_torch

        file.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=file.parent, prefix=".exporting-") as scratch:
            export_with_torch(folder, wanted.task, wanted.layer, Path(scratch) / file.name)
            (Path(scratch) / file.name).replace(file)


def _make_int8(folder: ModelFolder, wanted: Export, file: Path) -> None:
    """Write an int8 graph of the fp32 weights. An int8 file that cannot be converted to fp32 is copied."""
    with tempfile.TemporaryDirectory() as scratch:
        plain = Path(scratch) / "model.onnx"
        try:
            make(folder, replace(wanted, precision=FP32, steady=True), plain)
        except RankwellError as error:
            if folder.torch_weights is not None or set(folder.onnx_files) != {INT8}:
                raise
            source = folder.onnx_files[INT8]
            if can_saturate(load_graph(source)):
                log.warning("%s: run as it is, with other scores on processors without VNNI: %s", source, error)
            with atomic_write(file) as opened, source.open("rb") as content:
                shutil.copyfileobj(content, opened)
        else:
            quantise_file(plain, file)


def _make_from_onnx(folder: ModelFolder, wanted: Export, file: Path) -> None:
    """Write an fp32 graph of a folder with ONNX files only: the file's own graph, or ours for steady sums."""
    source = folder.onnx_files.get(FP32) or folder.onnx_files.get(INT8)
    if source is None:
        raise RankwellError(
            f"{folder.path}: expected weights (*.onnx, {', '.join(TORCH_WEIGHTS)}), found {folder.other_weights}"
        )
    graph = _steady_bert(source, folder, wanted) if wanted.steady else None
    with atomic_write(file) as opened:
        opened.write(graph or to_float(load_graph(source)).SerializeToString())


def _steady_bert(source: Path, folder: ModelFolder, wanted: Export) -> bytes | None:
    """The BERT of an ONNX file in a graph of our own; None where it is something else."""
    try:
        weights, config = restore_weights(source, folder.config, wanted.task)
    except RankwellError:
        return None
    return write_bert(weights, config, wanted, folder.name)


def writable_without_torch(folder: ModelFolder) -> bool:
    """Whether the weights are plain BERT's in safetensors."""
    weights = folder.torch_weights
    return weights is not None and "safetensors" in weights.name and is_plain_bert(folder.config)


def write_bert(
    weights: Mapping[str, Floats], config: Mapping[str, Any], wanted: Export, name: str, head: str = CLASSIFIER
) -> bytes:
    """The graph of a plain BERT in fp32; `head` is the prefix of a cross-encoder's last layer."""
    graph = BertGraph(weights, config, name, padded=wanted.padded, steady=wanted.steady)
    if wanted.task == TEXTS:
        return graph.encoder(wanted.layer_of(int(config.get("num_hidden_layers", 0))), first_only=wanted.first_only)
    if not any(weight.startswith(f"{head}.") for weight in weights):
        raise RankwellError(
            f"{name}: expected a cross-encoder with weights {head}.*, found an encoder without that head: "
            "fine-tune it first"
        )
    return graph.classifier(head)


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
