"""Run a model with PyTorch, or export any architecture that transformers knows to ONNX."""

from __future__ import annotations

import contextlib
import io
import logging
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np

from rankwell.core import Floats, MissingExtraError, ParameterError, RankwellError
from rankwell.models.base.folder import ModelFolder
from rankwell.models.base.loading import reason
from rankwell.models.base.runtime import INPUTS, OnnxModel
from rankwell.models.base.tokens import Tokens, padded

GPU_TOKENS = 32_768  # in one batch, padding included
DRIVER = Path("/proc/driver/nvidia")
# Options for loading from a folder: no hub, and no Python code from the folder.
FROM_FOLDER = {"local_files_only": True, "trust_remote_code": False}


class TorchModel:
    """A model on a device. A batch is padded to its longest text, which does not change fp32 results."""

    backend = "torch"
    batch_tokens: int | None = GPU_TOKENS

    def __init__(self, folder: ModelFolder, task: str, layer: int, device: str | None = None) -> None:
        self._inner = load_torch(folder, task, layer)
        import torch  # load_torch has checked that it is installed

        self._torch, self.file = torch, folder.torch_weights
        self.device = device or ("cuda" if torch.cuda.is_available() else "cpu")
        self._inner.to(self.device)
        self._forward = forward(self._inner, task, layer)
        self._pad = int(folder.config.get("pad_token_id") or 0)

    def use(self, task: str) -> int:
        """The number of labels (pairs) or dimensions (texts)."""
        config = self._inner.config
        return int(config.num_labels if task == "pairs" else config.hidden_size)

    def run(self, batch: Sequence[Tokens]) -> list[Floats]:
        """The output for each of several pairs or texts, without its padding."""
        ids, types, mask = padded(batch, self._pad)
        with self._torch.inference_mode():
            given = (self._torch.from_numpy(array).to(self.device) for array in (ids, mask, types))
            output: Floats = self._forward(*given).float().cpu().numpy()
        if output.ndim == 2:  # noqa: PLR2004 -- logits: pairs x labels
            return list(output)
        return [row[: len(tokens.ids)] for row, tokens in zip(output, batch, strict=True)]


def padded_tensors(rows: Sequence[Tokens], padding: int, *, segments: bool) -> dict[str, Any]:
    """The inputs of a model of transformers: rows of tokens, padded to the longest."""
    import torch

    tokens = padded(rows, padding)
    arrays = {"input_ids": tokens.ids, "attention_mask": tokens.mask, "token_type_ids": tokens.types}
    wanted = arrays if segments else ("input_ids", "attention_mask")
    return {name: torch.from_numpy(arrays[name]) for name in wanted}


class SavesWeights:
    """For a `torch.nn.Module`: writes its weights for a checkpoint, as the models of transformers do."""

    def save_pretrained(self, folder: Path | str, state_dict: Mapping[str, Any] | None = None) -> None:
        """Write all weights into a folder, as one file."""
        Path(folder).mkdir(parents=True, exist_ok=True)
        weights = state_dict or self.state_dict()  # type: ignore[attr-defined]  # of the module
        save_weights(weights, Path(folder) / "model.safetensors")


def save_weights(weights: Mapping[str, Any], file: Path) -> None:
    """Write torch's tensors as a safetensors file."""
    from safetensors.torch import save_file

    save_file({name: tensor.contiguous() for name, tensor in weights.items()}, file, metadata={"format": "pt"})


def gpu_is_there() -> bool:
    """Whether torch is installed and has a GPU; torch is imported only where the system has one."""
    if not DRIVER.exists() or find_spec("torch") is None:
        return False
    import torch

    return bool(torch.cuda.is_available())


def load_torch(folder: ModelFolder, task: str, layer: int) -> Any:
    """Load the model with transformers, in evaluation mode."""
    try:
        import transformers
    except ImportError as error:
        raise MissingExtraError(f"{folder.name}: running or exporting PyTorch's weights", extra="train") from error
    if task == "pairs" and not (folder.next_sentence or "SequenceClassification" in folder.architecture):
        found = folder.architecture or "no architecture"
        raise RankwellError(f"{folder.name}: expected a cross-encoder (...ForSequenceClassification), found {found}")
    if folder.torch_weights is None:
        raise RankwellError(f"{folder.path}: expected weights for torch, found {folder.other_weights}")
    kind: Any = transformers.AutoModel
    if task == "pairs":
        heads = (transformers.AutoModelForSequenceClassification, transformers.AutoModelForNextSentencePrediction)
        kind = heads[folder.next_sentence]
    verbosity: Any = transformers.logging
    level = verbosity.get_verbosity()
    verbosity.set_verbosity_error()
    verbosity.disable_progress_bar()
    try:
        model = kind.from_pretrained(folder.path, use_safetensors=True, **FROM_FOLDER).eval()
    except Exception as error:  # the library raises anything for a folder that is not as it expects
        raise RankwellError(f"{folder.path}: expected a model for torch, found {reason(error)}") from error
    finally:
        verbosity.set_verbosity(level)
    layers = int(getattr(model.config, "num_hidden_layers", 0))
    if task == "texts" and not (1 <= layer <= layers or -layers <= layer <= -1):
        raise ParameterError("layer", expected=f"a number from 1 to {layers}, or -1 for the last", found=layer)
    return model


def forward(model: Any, task: str, layer: int) -> Callable[[Any, Any, Any], Any]:
    """A function from (ids, mask, segments) to logits, or to the vectors of a layer."""
    segments = int(getattr(model.config, "type_vocab_size", 0) or 0) > 1

    def run(ids: Any, mask: Any, types: Any) -> Any:
        given = {"input_ids": ids, "attention_mask": mask, **({"token_type_ids": types} if segments else {})}
        if task == "pairs":
            return model(**given).logits
        if layer == -1:
            return model(**given).last_hidden_state
        return model(**given, output_hidden_states=True).hidden_states[layer]

    return run


CLOSE = 1e-3  # largest difference between torch and its export
LENGTHS = (5, 23, 64)  # tokens of the texts that are compared


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
    """Silence the exporter's messages."""
    silence = io.StringIO()
    with warnings.catch_warnings(), contextlib.redirect_stdout(silence), contextlib.redirect_stderr(silence):
        warnings.simplefilter("ignore")
        logging.disable(logging.WARNING)
        try:
            yield
        finally:
            logging.disable(logging.NOTSET)
