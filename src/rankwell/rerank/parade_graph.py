"""PARADE as one ONNX graph: the body's, with the aggregation and the linear layer put on top. Needs no torch."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np

from rankwell.core import RankwellError
from rankwell.core.arrays import Floats
from rankwell.encode.bert import MICROSOFT, BertGraph

HIDDEN = "last_hidden_state"
LAYERS = 2
ABOVE = 1000  # our layers are numbered from here, so that no body has layers of the same names
REDUCE_BY_INPUT = 18  # the opset from which reductions take their axes as an input
# What torch calls the parts of an encoder layer, and what BERT's weights are called.
NAMES = {
    "self_attn.out_proj": "attention.output.dense",
    "norm1": "attention.output.LayerNorm",
    "linear1": "intermediate.dense",
    "linear2": "output.dense",
    "norm2": "output.LayerNorm",
}


class ParadeGraph(BertGraph):
    """Puts PARADE's upper part on the graph of a body.

    Inputs of the whole: input_ids, attention_mask and token_type_ids, [passages, tokens], of one document. Output:
    logits [1, 1]. `weights` are those above the body, as `aggregation.*` and `head.*`.
    """

    def __init__(self, weights: Mapping[str, Floats], name: str, *, heads: int, epsilon: float) -> None:
        config = {"num_hidden_layers": LAYERS, "num_attention_heads": heads, "layer_norm_eps": epsilon}
        super().__init__(weights, config, name, padded=False)
        self._ways: Mapping[str, Callable[[str], str]] = {
            "avg": lambda rows: self._reduced("ReduceMean", rows),
            "max": lambda rows: self._reduced("ReduceMax", rows),
            "attn": self._attention,
            "transformer": self._transformer,
        }
        self._opset = 0

    def onto(self, body: bytes, aggregate: str) -> bytes:
        """The whole graph, of the body's, whose output is the vectors of all tokens, or of the first alone."""
        import onnx
        from onnx import TensorProto, helper

        if aggregate not in self._ways:
            raise RankwellError(f"{self.name}: expected one of {', '.join(self._ways)}, found {aggregate}")
        model = onnx.load_model_from_string(body)
        self._opset = next(opset.version for opset in model.opset_import if opset.domain in ("", "ai.onnx"))
        rows = self._node("Gather", [HIDDEN, self._constant("parade.row", np.array(0))], "parade.passages", axis=1)
        self._node("Identity", [self._head("head", "", self._ways[aggregate](rows))], "logits")
        graph = model.graph
        there = {constant.name for constant in graph.initializer}
        graph.initializer.extend(value for name, value in self._constants.items() if name not in there)
        graph.node.extend(self._nodes)
        del graph.output[:]
        graph.output.append(helper.make_tensor_value_info("logits", TensorProto.FLOAT, [1, 1]))
        if MICROSOFT not in {opset.domain for opset in model.opset_import}:
            model.opset_import.append(helper.make_opsetid(MICROSOFT, 1))
        return bytes(model.SerializeToString())

    def _reduced(self, operation: str, rows: str) -> str:
        """[passages, width] to [1, width]."""
        if self._opset >= REDUCE_BY_INPUT:
            axes = self._constant("parade.axes", np.array([0]))
            return self._node(operation, [rows, axes], "parade.document", keepdims=1)
        return self._node(operation, [rows], "parade.document", axes=[0], keepdims=1)

    def _attention(self, rows: str) -> str:
        weigh = self._constant("parade.weigh", self._tensor("aggregation.weigh.weight", ""))
        found = self._node("Gemm", [weigh, rows], "parade.weighed", transB=1)  # [1, passages]
        weights = self._node("Softmax", [found], "parade.weights", axis=1)
        return self._node("MatMul", [weights, rows], "parade.document")

    def _transformer(self, rows: str) -> str:
        first = self._constant("parade.first", self._tensor("aggregation.first", "")[None])
        hidden = self._node("Concat", [first, rows], "parade.sequence", axis=0)
        hidden = self._node("Unsqueeze", [hidden, self._constant("parade.zero", np.array([0]))], "parade.batch")
        for number in range(LAYERS):
            self._rename(number)
            hidden = self._layer(ABOVE + number, hidden, first_only=number == LAYERS - 1)
        return self._node("Squeeze", [hidden, self._constant("parade.one", np.array([1]))], "parade.document")

    def _rename(self, number: int) -> None:
        """The weights of a layer under the names that BERT's have."""
        ours, theirs = f"aggregation.layers.{number}", f"encoder.layer.{ABOVE + number}"
        for kind in ("weight", "bias"):
            parts = np.split(self._tensor(f"{ours}.self_attn.in_proj_{kind}", ""), 3)
            for part, tensor in zip(("query", "key", "value"), parts, strict=True):
                self.weights[f"{theirs}.attention.self.{part}.{kind}"] = tensor
            for old, new in NAMES.items():
                self.weights[f"{theirs}.{new}.{kind}"] = self._tensor(f"{ours}.{old}.{kind}", "")
