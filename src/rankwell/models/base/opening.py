"""Open a model's folder, and run many texts through it: the longest first, on all threads."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, as_completed
from importlib.util import find_spec
from pathlib import Path
from typing import Protocol, TypeVar

import numpy as np

from rankwell.core.arrays import Floats
from rankwell.core.errors import ParameterError, RankwellError
from rankwell.core.progress import Progress
from rankwell.models.base.export import Export, exported, writable_without_torch
from rankwell.models.base.folder import FP32, INT8, ModelFolder
from rankwell.models.base.runtime import OnnxModel
from rankwell.models.base.tokens import Tokens
from rankwell.models.base.torch_model import TorchModel, gpu_is_there

ONNX, TORCH = "onnxruntime", "torch"


class Model(Protocol):
    """A loaded model on a backend."""

    @property
    def backend(self) -> str:
        """The library that runs it."""

    @property
    def file(self) -> Path | None:
        """The file of the weights."""

    @property
    def batch_tokens(self) -> int | None:
        """The most tokens of a batch; None for one text at a time."""

    def use(self, task: str) -> int:
        """Select the output of a task. Returns the number of labels or dimensions."""

    def run(self, batch: Sequence[Tokens]) -> list[Floats]:
        """The output for each pair or text."""


def open_model(folder: ModelFolder, wanted: Export, precision: str | None, backend: str | None) -> tuple[str, Model]:
    """The precision to run at, and the model.

    The backend is ONNX Runtime, unless there is a GPU and int8 was not requested.
    """
    if backend not in (None, ONNX, TORCH):
        raise ParameterError("backend", expected=f"{ONNX} or {TORCH}", found=backend)
    if backend == TORCH and precision == INT8:
        raise ParameterError("precision", expected=f"{FP32} with the backend torch", found=precision)
    if backend == TORCH or (backend is None and precision != INT8 and folder.torch_weights and gpu_is_there()):
        return FP32, TorchModel(folder, wanted.task, wanted.layer)
    chosen, file = folder.choose(precision)
    if wanted.layer != -1 and folder.torch_weights is None:
        raise RankwellError(
            f"{folder.name}: expected PyTorch weights (model.safetensors) to take layer {wanted.layer} from, found "
            "only an ONNX file, which gives the last layer: use a folder with both, or layer -1"
        )
    # Our own graph of plain BERT is faster than an fp32 file in the folder, and than a graph that
    # gives every token's vector where only that of [CLS] is wanted.
    better = (chosen == FP32 or wanted.first_only) and writable_without_torch(folder) and find_spec("onnx") is not None
    if wanted.layer != -1 or file is None or better:
        file = exported(folder, Export(wanted.task, chosen, wanted.layer, wanted.first_only))
    return chosen, OnnxModel(file)


T = TypeVar("T")

WINDOW = 512  # texts that are tokenised and sorted together, while the window before runs


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
