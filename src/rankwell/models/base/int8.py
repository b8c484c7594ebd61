"""Convert fp32 graphs to int8, with the same results on every processor, and back."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np

from rankwell.core import Floats, RankwellError, atomic_write
from rankwell.models.base.onnx_file import load_graph, make_model, make_node, make_tensor, set_property, to_array

LARGEST, PAIR = 127, 128  # of one weight, and of two neighbours together: 255 * 128 < 2^15
SAFE_INT8 = "rankwell.int8"  # in the properties of a graph that this module made


def quantise(model: Any) -> Any:
    """The graph with int8 products in place of the fp32 ones whose right side is a constant matrix.

    Weights have a scale for each column. Activations are quantised at run time ("dynamic"). Embeddings, norms,
    attention and the head stay in fp32.
    """
    matrices = {tensor.name: to_array(tensor) for tensor in model.graph.initializer}
    nodes: list[Any] = []
    constants: dict[str, Any] = {}
    rounded: dict[str, list[str]] = {}
    for node in model.graph.node:
        matrix = matrices.get(node.input[1]) if node.op_type == "MatMul" else None
        if matrix is None or matrix.ndim != 2:  # noqa: PLR2004 -- rows and columns
            nodes.append(node)
            continue
        given, weight = node.input
        if given not in rounded:
            rounded[given] = [f"{given}_{part}" for part in ("quantized", "scale", "zero_point")]
            nodes.append(make_node("DynamicQuantizeLinear", [given], rounded[given]))
        values, scales = round_columns(matrix)
        names = [f"{weight}_{part}" for part in ("quantized", "scale", "zero_point")]
        parts: list[Any] = [values, scales, np.zeros(len(scales), dtype=np.int8)]
        constants |= {name: make_tensor(part, name) for name, part in zip(names, parts, strict=True)}
        (output,) = node.output
        steps = [f"{output}_{step}" for step in ("integers", "floats", "scale")]
        nodes += [
            make_node("MatMulInteger", [rounded[given][0], names[0], rounded[given][2], names[2]], [steps[0]]),
            make_node("Cast", [steps[0]], [steps[1]], to=1),
            make_node("Mul", [rounded[given][1], names[1]], [steps[2]]),
            make_node("Mul", [steps[1], steps[2]], [output]),
        ]
    used = {name for node in nodes for name in node.input}
    kept = [tensor for tensor in model.graph.initializer if tensor.name in used]
    del model.graph.node[:], model.graph.initializer[:]
    model.graph.node.extend(nodes)
    model.graph.initializer.extend([*kept, *constants.values()])
    set_property(model, SAFE_INT8, "no sum of two products exceeds 16 bits")
    return model


def quantise_file(source: Path, target: Path) -> None:
    """Write the int8 version of an fp32 file."""
    with atomic_write(target) as file:
        file.write(quantise(load_graph(source)).SerializeToString())


def round_columns(matrix: Floats) -> tuple[np.ndarray[Any, Any], Floats]:
    """int8 values and a scale for each column, such that two neighbours of a column never sum to more than `PAIR`."""
    pairs = largest_pair(matrix, by_column=True) / (PAIR - 1)  # rounding may add 1
    scales = np.maximum(np.abs(matrix).max(axis=0) / LARGEST, pairs)
    scales[scales == 0] = 1
    return np.round(matrix / scales).astype(np.int8), scales.astype(np.float32)


def largest_pair(matrix: np.ndarray[Any, Any], *, by_column: bool = False) -> Any:
    """The largest sum of the absolute values of two neighbouring weights: of each column, or of all."""
    sizes = np.abs(matrix.astype(np.float64))
    sizes = np.pad(sizes, [(0, len(sizes) % 2), *[(0, 0)] * (sizes.ndim - 1)])
    return (sizes[0::2] + sizes[1::2]).max(axis=0 if by_column else None, initial=0)


PRODUCTS = ("MatMulInteger", "MatMulIntegerToFloat", "DynamicQuantizeMatMul", "QLinearMatMul", "QGemm", "QAttention")


class OnnxGraph:
    """An ONNX graph with indices of its constants and connections."""

    def __init__(self, model: Any) -> None:
        self.nodes = list(model.graph.node)
        self.constants = {tensor.name: to_array(tensor) for tensor in model.graph.initializer}
        for node in self.nodes:
            if node.op_type == "Constant":
                value = next((item.t for item in node.attribute if item.name == "value"), None)
                if value is not None:
                    self.constants[node.output[0]] = to_array(value)
            elif node.op_type == "Identity" and node.input[0] in self.constants:  # how exporters keep equal ones once
                self.constants[node.output[0]] = self.constants[node.input[0]]
        self.producers = {output: node for node in self.nodes for output in node.output}
        self.consumers: dict[str, list[Any]] = defaultdict(list)
        for node in self.nodes:
            for name in node.input:
                self.consumers[name].append(node)

    def after(self, node: Any, operation: str) -> Any:
        """The only node that reads a node's first output; an error unless it is of this operation."""
        readers = self.consumers[node.output[0]]
        if len(readers) != 1 or readers[0].op_type != operation:
            kinds = ", ".join(reader.op_type for reader in readers) or "nothing"
            raise RankwellError(f"int8 graph: expected {operation} after {node.name or node.op_type}, found {kinds}")
        return readers[0]

    def constant(self, names: Iterable[str]) -> np.ndarray[Any, Any]:
        """The one constant among these inputs."""
        values = [self.constants[name] for name in names if name in self.constants]
        if len(values) != 1:
            raise RankwellError(f"int8 graph: expected one constant among {', '.join(names)}, found {len(values)}")
        return values[0]


def can_saturate(model: Any) -> bool:
    """Whether int8 products of a graph can reach the 16-bit limit of processors without VNNI."""
    graph = OnnxGraph(model)
    weights = [
        graph.constants[name]
        for node in graph.nodes
        if node.op_type in PRODUCTS
        for name in node.input
        if name in graph.constants and graph.constants[name].ndim > 1
    ]
    return any(weight.dtype == np.int8 and largest_pair(weight) > PAIR for weight in weights)


def to_float(model: Any) -> Any:
    """A dynamically quantised graph with fp32 products and look-ups in place of its int8 ones.

    It computes what the int8 graph approximates: the same weights, and activations that are not rounded. A graph
    that was quantised in another way (static, or fused by an optimiser) is an error.
    """
    graph = OnnxGraph(model)
    replaced: dict[str, Any] = {}  # nodes by the output that they give in place of another node
    weights: dict[str, Floats] = {}
    for node in graph.nodes:
        if node.op_type == "MatMulInteger":
            _replace_product(graph, node, replaced, weights)
        elif node.op_type == "DequantizeLinear":
            _replace_look_up(graph, node, replaced, weights)
    outputs = [put.name for put in model.graph.output]
    kept = _needed([replaced.get(node.output[0], node) for node in graph.nodes], outputs)
    left = sorted({node.op_type for node in kept if "Quant" in node.op_type or node.op_type in PRODUCTS})
    if left:
        raise RankwellError(f"int8 graph: expected a dynamically quantised one, found {', '.join(left)}")
    used = {name for node in kept for name in node.input}
    constants = [tensor for tensor in model.graph.initializer if tensor.name in used and tensor.name not in weights]
    constants += [make_tensor(value, name) for name, value in weights.items() if name in used]
    parts = (kept, model.graph.name, model.graph.input, model.graph.output, constants)
    return make_model(*parts, model.opset_import, model.ir_version)


def _replace_product(graph: OnnxGraph, node: Any, replaced: dict[str, Any], weights: dict[str, Floats]) -> None:
    """`DynamicQuantizeLinear`, `MatMulInteger`, `Cast` and `Mul` by the scales: one `MatMul`."""
    rounded = graph.producers.get(node.input[0])
    if rounded is None or rounded.op_type != "DynamicQuantizeLinear":
        raise RankwellError(f"int8 graph: expected DynamicQuantizeLinear before {node.name or node.op_type}")
    cast = graph.after(node, "Cast")
    scaled = graph.after(cast, "Mul")
    other = graph.producers.get(node.input[1])
    if other is not None and other.op_type == "DynamicQuantizeLinear":  # attention: both factors are activations
        second = other.input[0]
    else:
        second = node.input[1].removesuffix("_quantized")
        scales = next(graph.producers[name] for name in scaled.input if name != cast.output[0])
        weights[second] = restore(
            graph.constant([node.input[1]]),
            graph.constant(scales.input),
            graph.constant([node.input[3]]) if len(node.input) > 3 else None,  # noqa: PLR2004 -- a, b, their zeros
        )
    inputs = [rounded.input[0], second]
    replaced[scaled.output[0]] = make_node("MatMul", inputs, list(scaled.output), name=node.name)


def _replace_look_up(graph: OnnxGraph, node: Any, replaced: dict[str, Any], weights: dict[str, Floats]) -> None:
    """`Gather` from a table of int8 and `DequantizeLinear`: one `Gather` from a table of fp32."""
    gather = graph.producers.get(node.input[0])
    table = gather.input[0] if gather is not None and gather.op_type == "Gather" else node.input[0]
    name = table.removesuffix("_quantized")
    zero = graph.constant([node.input[2]]) if len(node.input) > 2 else None  # noqa: PLR2004 -- values, scale, zero
    weights[name] = restore(graph.constant([table]), graph.constant([node.input[1]]), zero)
    if gather is None or table == node.input[0]:
        replaced[node.output[0]] = make_node("Identity", [name], list(node.output))
        return
    axis = next((item.i for item in gather.attribute if item.name == "axis"), 0)
    inputs = [name, gather.input[1]]
    replaced[node.output[0]] = make_node("Gather", inputs, list(node.output), axis=axis, name=gather.name)


def restore(
    values: np.ndarray[Any, Any], scale: np.ndarray[Any, Any], zero: np.ndarray[Any, Any] | None = None
) -> Floats:
    """(values - zero) * scale, with one scale for all or one for each column."""
    centred = values.astype(np.float32) if zero is None else values.astype(np.float32) - zero.astype(np.float32)
    return np.ascontiguousarray(centred * scale.astype(np.float32))


def _needed(nodes: list[Any], outputs: Iterable[str]) -> list[Any]:
    """The nodes that the outputs depend on, in their order."""
    wanted, kept = set(outputs), []
    for node in reversed(nodes):
        if wanted.intersection(node.output):
            kept.append(node)
            wanted.update(node.input)
    return kept[::-1]
