"""Run a model with ONNX Runtime: one session, each call on one thread of the caller.

A pair is run alone. That is not slow: the multiplications of one pair (tokens x 384 x 1536) are large
enough to keep a core busy, there is no padding to multiply in vain, and as many pairs run at once as there are
threads. Measured on one core, milliseconds a pair of 80 / 270 tokens (12 layers of 384, fp32): alone 35 / 120, in
batches of eight 32 / 130. And it makes a score a function of its pair alone: in int8, where activations are scaled by
the largest value of the batch, every neighbour would change it otherwise.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from rankwell.core.arrays import Floats
from rankwell.core.errors import RankwellError
from rankwell.models.base.tokens import Tokens

INPUTS = ("input_ids", "attention_mask", "token_type_ids")
HIDDEN = ("last_hidden_state", "token_embeddings")
SLOWER = ["SkipLayerNormFusion", "BiasGeluFusion"]  # than the operations that they fuse; see `bert`
LOGITS_RANK, HIDDEN_RANK = 2, 3  # pairs x labels; texts x tokens x dimensions


class OnnxModel:
    """A session on a CPU. `run` may be called from several threads at once."""

    batch_tokens: int | None = None  # one pair or text at a time

    def __init__(self, file: Path) -> None:
        import onnxruntime

        self.file = file
        # Results also depend on the version: int8 kernels change.
        self.backend = f"onnxruntime {onnxruntime.__version__} without {' '.join(SLOWER)}"
        self._session = open_session(file)
        self._inputs = [put.name for put in self._session.get_inputs()]
        self.outputs = {put.name: put for put in self._session.get_outputs()}
        strangers = sorted(set(self._inputs) - set(INPUTS))
        if strangers:
            raise RankwellError(f"{file}: expected the inputs {', '.join(INPUTS)}, found {', '.join(strangers)}")
        self._output = ""

    def use(self, task: str) -> int:
        """Take the output that a task needs. Returns the number of labels (pairs) or dimensions (texts)."""
        names, rank = (("logits",), LOGITS_RANK) if task == "pairs" else (HIDDEN, HIDDEN_RANK)
        named = [self.outputs[name] for name in names if name in self.outputs]
        found = named or [put for put in self.outputs.values() if len(put.shape) == rank]
        if not found or (task == "pairs" and not named and len(self.outputs) > 1):
            kind = "a cross-encoder" if task == "pairs" else "an encoder"
            raise RankwellError(
                f"{self.file}: expected {kind} with an output {names[0]}, found {', '.join(self.outputs)}"
            )
        self._output = found[0].name
        width = found[0].shape[-1]
        return width if isinstance(width, int) else self._width()

    def _width(self) -> int:
        """The number of outputs, by running the model, where the file lacks it."""
        two = np.ones(2, dtype=np.int64)
        return int(self.run([Tokens(two, two * 0)])[0].shape[-1])

    def run(self, batch: Sequence[Tokens]) -> list[Floats]:
        """The output for each pair or text."""
        return [self._run_one(tokens) for tokens in batch]

    def _run_one(self, tokens: Tokens) -> Floats:
        values = {
            "input_ids": tokens.ids[None],
            "attention_mask": np.ones((1, len(tokens.ids)), dtype=np.int64),
            "token_type_ids": tokens.types[None],
        }
        try:
            output: Any = self._session.run([self._output], {name: values[name] for name in self._inputs})[0]
        except Exception as error:  # the library's errors have no common base class
            reason = str(error).splitlines()[0]
            raise RankwellError(f"{self.file}: the model failed on {len(tokens.ids)} tokens: {reason}") from error
        return output[0].astype(np.float32, copy=False)  # type: ignore[no-any-return]


def open_session(file: Path) -> Any:
    """An ONNX Runtime session that uses only the caller's thread."""
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    options.inter_op_num_threads = 1
    options.log_severity_level = 4
    try:
        return onnxruntime.InferenceSession(
            str(file), options, providers=["CPUExecutionProvider"], disabled_optimizers=SLOWER
        )
    except Exception as error:  # the library's errors have no common base class
        reason = str(error).splitlines()[0]
        raise RankwellError(f"{file}: expected an ONNX model, found one that cannot be loaded: {reason}") from error
