"""Run many texts through a model with ONNX Runtime: the longest first, on all threads, each call on one of them.

A pair is run alone. That is not slow: the multiplications of one pair (tokens x 384 x 1536) are large
enough to keep a core busy, there is no padding to multiply in vain, and as many pairs run at once as there are
threads. Measured on one core, milliseconds a pair of 80 / 270 tokens (12 layers of 384, fp32): alone 35 / 120, in
batches of eight 32 / 130. And it makes a score a function of its pair alone: in int8, where activations are scaled by
the largest value of the batch, every neighbour would change it otherwise.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, as_completed
from pathlib import Path
from typing import Any, Protocol, TypeVar

import numpy as np

from rankwell.core import Floats, Integers, ParameterError, Progress, RankwellError
from rankwell.models.base.tokens import Tokens

T = TypeVar("T")

INPUTS = ("input_ids", "attention_mask", "token_type_ids")
HIDDEN = ("last_hidden_state", "token_embeddings")
SLOWER = ["SkipLayerNormFusion", "BiasGeluFusion"]  # than the operations that they fuse; see `bert_graph`
LOGITS_RANK, HIDDEN_RANK = 2, 3  # pairs x labels; texts x tokens x dimensions
WINDOW = 512  # texts that are tokenised and sorted together, while the window before runs


class Model(Protocol):
    """A loaded model on a backend: `OnnxModel` or `TorchModel`."""

    batch_tokens: int | None  # the most tokens of a batch; None for one text at a time

    def run(self, batch: Sequence[Tokens]) -> list[Floats]:
        """The output for each pair or text."""


class OnnxModel:
    """A session on a CPU. `run` may be called from several threads at once."""

    batch_tokens: int | None = None  # one pair or text at a time

    def __init__(self, file: Path) -> None:
        import onnxruntime

        self.file = file
        # Results also depend on the version: int8 kernels change.
        self.runtime = f"onnxruntime {onnxruntime.__version__}"
        self.backend = f"{self.runtime} without {' '.join(SLOWER)}"
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = options.inter_op_num_threads = 1  # the caller's
        options.log_severity_level = 4
        how: Any = {"providers": ["CPUExecutionProvider"], "disabled_optimizers": SLOWER}
        try:
            self._session = onnxruntime.InferenceSession(str(file), options, **how)
        except Exception as error:  # the library's errors have no common base class
            reason = str(error).splitlines()[0]
            raise RankwellError(f"{file}: expected an ONNX model, found one that cannot be loaded: {reason}") from error
        self._inputs = [put.name for put in self._session.get_inputs()]
        self.outputs = {put.name: put for put in self._session.get_outputs()}
        self._check_inputs()
        self._output = ""

    def _check_inputs(self) -> None:
        strangers = sorted(set(self._inputs) - set(INPUTS))
        if strangers:
            raise RankwellError(f"{self.file}: expected the inputs {', '.join(INPUTS)}, found {', '.join(strangers)}")

    def use(self, task: str) -> int:
        """Take the output that a task needs. Returns the number of labels (pairs) or dimensions (texts)."""
        names, rank = (("logits",), LOGITS_RANK) if task == "pairs" else (HIDDEN, HIDDEN_RANK)
        named = [self.outputs[name] for name in names if name in self.outputs]
        usable = named or [put for put in self.outputs.values() if len(put.shape) == rank]
        if not usable or (task == "pairs" and not named and len(self.outputs) > 1):
            kind = "a cross-encoder" if task == "pairs" else "an encoder"
            raise RankwellError(
                f"{self.file}: expected {kind} with an output {names[0]}, found {', '.join(self.outputs)}"
            )
        self._output = usable[0].name
        width = usable[0].shape[-1]
        if isinstance(width, int):
            return width
        two = np.ones(2, dtype=np.int64)  # where the file does not say it, the model is run once
        return int(self.run([Tokens(two, two * 0)])[0].shape[-1])

    def run(self, batch: Sequence[Tokens]) -> list[Floats]:
        """The output for each pair or text."""
        return [self._run_one(tokens) for tokens in batch]

    def _run_one(self, tokens: Tokens) -> Floats:
        try:
            output: Any = self._session.run([self._output], self._feed(tokens))[0]
        except Exception as error:  # the library's errors have no common base class
            reason, size = str(error).splitlines()[0], " x ".join(map(str, tokens.ids.shape))
            raise RankwellError(f"{self.file}: the model failed on {size} tokens: {reason}") from error
        return output[0].astype(np.float32, copy=False)  # type: ignore[no-any-return]

    def _feed(self, tokens: Tokens) -> dict[str, Integers]:
        """The session's inputs: one row of tokens, or several that belong together."""
        mask = np.ones_like(tokens.ids) if tokens.mask is None else tokens.mask
        values = dict(zip(INPUTS, (tokens.ids, mask, tokens.types), strict=True))
        return {name: np.atleast_2d(values[name]) for name in self._inputs}


def cores() -> int:
    """The cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def check_threads(threads: int | None) -> int:
    """The given number of threads, or one per core."""
    if threads is not None and threads < 1:
        raise ParameterError("threads", expected="a number from 1", found=threads)
    return threads or cores()


def run_all(
    texts: Sequence[T],
    tokenise: Callable[[Sequence[T]], list[Tokens]],
    model: Model,
    *,
    finish: Callable[[Floats], Floats],
    width: int,
    threads: int,
    progress: Progress,
) -> Floats:
    """One row of `width` numbers for each text, in their order."""
    results = np.zeros((len(texts), width), dtype=np.float32)
    # One thread for a device with large batches; a thread per core for one text at a time.
    workers = ThreadPoolExecutor(1 if model.batch_tokens else threads)
    ahead = ThreadPoolExecutor(1)

    def work(start: int, made: list[Tokens], places: list[int]) -> int:
        for place, output in zip(places, model.run([made[place] for place in places]), strict=True):
            results[start + place] = finish(output)
        return len(places)

    try:
        starts = range(0, len(texts), WINDOW)
        following: Future[list[Tokens]] | None = None
        before: list[Future[int]] = []
        for start in starts:
            made = (following or ahead.submit(tokenise, texts[start : start + WINDOW])).result()
            if start + WINDOW < len(texts):
                following = ahead.submit(tokenise, texts[start + WINDOW : start + 2 * WINDOW])
            now = [workers.submit(work, start, made, places) for places in batches(made, model.batch_tokens)]
            _wait(before, progress)  # one window runs while the next is queued, so that no core is ever idle
            before = now
        _wait(before, progress)
    finally:
        ahead.shutdown(cancel_futures=True)
        workers.shutdown(cancel_futures=True)
    return results


def batches(made: Sequence[Tokens], budget: int | None) -> Iterator[list[int]]:
    """Batches of indices of texts, the longest first, within the budget of tokens (with padding)."""
    order = sorted(range(len(made)), key=lambda place: -len(made[place].ids))
    if budget is None:
        yield from ([place] for place in order)
        return
    start = 0
    while start < len(order):
        size = max(1, budget // len(made[order[start]].ids))
        yield order[start : start + size]
        start += size


def _wait(futures: list[Future[int]], progress: Progress) -> None:
    for future in as_completed(futures):
        progress.advance(future.result())
