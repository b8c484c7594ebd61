"""Export of any architecture that transformers knows: slow, once, and compared with torch before it is trusted."""

from __future__ import annotations

import contextlib
import io
import logging
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from rankwell.core.errors import MissingExtraError, RankwellError
from rankwell.encode.folder import ModelFolder
from rankwell.encode.runtime import OnnxModel
from rankwell.encode.tokens import Tokens
from rankwell.encode.torch_model import forward, load_torch

CLOSE = 1e-3  # largest difference between torch and its export
LENGTHS = (5, 23, 64)  # tokens of the texts that are compared
INPUTS = ("input_ids", "attention_mask", "token_type_ids")


def export_with_torch(folder: ModelFolder, task: str, layer: int, file: Path) -> None:
    """Write the model as ONNX and compare its output with torch's on three texts."""
    model = load_torch(folder, task, layer)
    try:
        import onnxscript  # noqa: F401 -- said here, where the user can be told
        import torch
    except ImportError as error:
        raise MissingExtraError(f"{folder.name}: exporting PyTorch's weights", extra="train") from error
    run = forward(model, task, layer)

    class Plain(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.model = model

        def forward(self, input_ids: Any, attention_mask: Any, token_type_ids: Any) -> Any:
            return run(input_ids, attention_mask, token_type_ids)

    example = torch.randint(5, 100, (2, 16))
    dynamic = {name: {0: torch.export.Dim.AUTO, 1: torch.export.Dim.AUTO} for name in INPUTS}
    with _quiet():
        torch.onnx.export(
            Plain().eval(),
            (example, torch.ones_like(example), torch.zeros_like(example)),
            str(file),
            input_names=list(INPUTS),
            output_names=["logits" if task == "pairs" else "last_hidden_state"],
            dynamic_shapes=dynamic,
            dynamo=True,
            external_data=False,
            verbose=False,
        )
    _compare(folder, task, file, run)


def _compare(folder: ModelFolder, task: str, file: Path, run: Any) -> None:
    import torch

    made = OnnxModel(file)
    made.use(task)
    for length in LENGTHS:
        ids = np.arange(5, 5 + length, dtype=np.int64)
        ours = made.run([Tokens(ids, np.zeros_like(ids))])[0]
        given = torch.from_numpy(ids)[None]
        with torch.inference_mode():
            theirs = run(given, torch.ones_like(given), torch.zeros_like(given))[0].numpy()
        difference = float(np.abs(ours - theirs).max())
        if not difference <= CLOSE:
            expected = f"an export that equals torch's output within {CLOSE}"
            raise RankwellError(f"{folder.name}: expected {expected}, found {difference:.3g}: not used")


@contextlib.contextmanager
def _quiet() -> Iterator[None]:
    """The exporter talks about its own workings on every channel there is."""
    silence = io.StringIO()
    with warnings.catch_warnings(), contextlib.redirect_stdout(silence), contextlib.redirect_stderr(silence):
        warnings.simplefilter("ignore")
        logging.disable(logging.WARNING)
        try:
            yield
        finally:
            logging.disable(logging.NOTSET)
