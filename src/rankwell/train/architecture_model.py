"""An architecture to be trained, begun from an encoder's folder; and the folder that it leaves."""

from __future__ import annotations

import logging
from pathlib import Path
from typing import Any

from rankwell.core import RankwellError
from rankwell.encode.folder import ModelFolder
from rankwell.rerank.architectures.folder import GRAPH, HEAD, SHARED
from rankwell.rerank.architectures.graph import write_graph
from rankwell.train.architecture_settings import ArchitectureSettings
from rankwell.train.freezing import freeze
from rankwell.train.starting_model import copy_tokenizer, load_body

log = logging.getLogger(__name__)

USUAL_DROPOUT = 0.1  # of a head whose encoder names none


def load_architecture_model(folder: ModelFolder, settings: ArchitectureSettings) -> Any:
    """The encoders, all begun from the same weights and frozen as asked, and a new head."""
    from rankwell.rerank.architectures.heads import head
    from rankwell.rerank.architectures.module import ArchitectureModule

    inputs = settings.architecture.inputs
    encoders = {name: _encoder(folder, settings) for name in ([SHARED] if settings.shared else inputs)}
    config = next(iter(encoders.values())).config
    dropout = getattr(config, "hidden_dropout_prob", None) if settings.dropout is None else settings.dropout
    width = len(inputs) * int(config.hidden_size)
    dropout = USUAL_DROPOUT if dropout is None else float(dropout)
    top = head(width, frozen=settings.frozen, dropout=dropout, ratio=settings.head_ratio)
    return ArchitectureModule(encoders, inputs, top)


def write_architecture(model: Any, place: Path, folder: ModelFolder, settings: ArchitectureSettings) -> None:
    """Leave the finished model: encoders, head, tokenizer, record, and the graph where it is wanted."""
    from safetensors.torch import save_file

    for name, encoder in model.encoders.items():
        encoder.save_pretrained(place / name)
        copy_tokenizer(folder.path, place / name, settings.max_tokens or 0)
    save_file({name: tensor.contiguous() for name, tensor in model.head.state_dict().items()}, place / HEAD)
    encoder.config.save_pretrained(place)  # what every model's folder says of its layers
    copy_tokenizer(folder.path, place, settings.max_tokens or 0)
    settings.record().write(place)
    if settings.onnx:
        try:
            write_graph(place, place / GRAPH)
        except RankwellError as error:  # the weights are worth more than their copy
            log.warning("%s: no ONNX file was made: %s", place, error)


def _encoder(folder: ModelFolder, settings: ArchitectureSettings) -> Any:
    """The body alone: [CLS] is taken as the last layer has it, so there is no pooler."""
    body = load_body(folder, settings.dropout)
    if getattr(body, "pooler", None) is not None:
        body.pooler = None
    freeze(body, settings.freeze)
    return body
