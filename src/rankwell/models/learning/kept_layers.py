"""The outputs of frozen layers, computed once for each text and kept. Imports torch: import it late."""

from __future__ import annotations

import copy
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn.utils.rnn import pad_sequence

from rankwell.models.learning.starting_model import LAYERS

MOST_BYTES = 8_000_000_000  # of the file; beyond that, all layers are computed in every step
HALF = 2  # bytes of a number


class KeptLayers:
    """A BERT cut in two: `hidden` gives what the frozen lower layers make of a text, `upper` is the rest.

    The lower layers run without dropout. Their outputs are kept as 16-bit floats in a temporary file, which is gone
    when the process ends. Both halves share their weights with the body.
    """

    def __init__(self, body: Any, frozen: int, lengths: Sequence[int], folder: Path) -> None:
        layers, width = list(body.encoder.layer), int(body.config.hidden_size)
        self.upper, self._lower = _part(body, layers[frozen:]), _part(body, layers[:frozen])
        self.upper.embeddings = _AsGiven()
        self._ends = np.cumsum([0, *lengths], dtype=np.int64)
        with tempfile.TemporaryFile(dir=folder) as file:
            shape = (max(1, int(self._ends[-1])), width)
            self._rows: np.memmap[Any, np.dtype[np.float16]] = np.memmap(file, np.float16, "w+", shape=shape)
        self._known = np.zeros(len(lengths), dtype=np.bool_)

    def hidden(self, places: Sequence[int], inputs: dict[str, Any]) -> dict[str, Tensor]:
        """The outputs for some texts, padded to the longest; `inputs` are their padded tokens, used at first sight."""
        new = [row for row, place in enumerate(places) if not self._known[place]]
        if new:
            self._add([places[row] for row in new], {name: tensor[new] for name, tensor in inputs.items()})
        found = [torch.from_numpy(self._rows[slice(*self._ends[place : place + 2])]).float() for place in places]
        return {"hidden": pad_sequence(found, batch_first=True), "attention_mask": inputs["attention_mask"]}

    def _add(self, places: Sequence[int], inputs: dict[str, Any]) -> None:
        device = next(self._lower.parameters()).device
        given = {name: tensor.to(device) for name, tensor in inputs.items()}
        self._lower.eval()
        with torch.inference_mode():
            outputs = self._lower(**given).last_hidden_state.cpu().to(torch.float16).numpy()
        for place, rows in zip(places, outputs, strict=True):
            start, end = self._ends[place : place + 2]
            self._rows[start:end] = rows[: end - start]
            self._known[place] = True


def keep_layers(body: Any, freeze: str, lengths: Sequence[int], folder: Path) -> KeptLayers | None:
    """Keep the outputs of the frozen layers (`layers:N`) of a body like BERT's, where they fit; else None."""
    able = hasattr(body, "embeddings") and hasattr(getattr(body, "encoder", None), "layer")
    if not freeze.startswith(LAYERS) or not able:
        return None
    if HALF * int(body.config.hidden_size) * sum(lengths) > MOST_BYTES:
        return None
    return KeptLayers(body, int(freeze.removeprefix(LAYERS)), lengths, folder)


def _part(body: Any, layers: Sequence[Any]) -> Any:
    """The body with some of its layers; all weights are shared."""
    part = copy.copy(body)
    part._modules = dict(body._modules)  # noqa: SLF001 -- so that the body keeps its own modules
    part.encoder = copy.copy(body.encoder)
    part.encoder._modules = {**body.encoder._modules, "layer": nn.ModuleList(layers)}  # noqa: SLF001 -- as above
    part.config = copy.copy(body.config)
    part.config.num_hidden_layers = len(layers)
    part.encoder.config = part.config
    return part


class _AsGiven(nn.Module):
    """In place of embeddings: the given vectors."""

    def forward(self, *_: Any, inputs_embeds: Tensor, **__: Any) -> Tensor:
        return inputs_embeds
