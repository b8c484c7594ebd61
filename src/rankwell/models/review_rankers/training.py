"""Train a review ranker."""

from __future__ import annotations

import logging
from dataclasses import replace
from pathlib import Path
from typing import Any

from rankwell.core import Progress, RankwellError
from rankwell.models.base.folder import ModelFolder
from rankwell.models.base.tokens import Tokenizer
from rankwell.models.learning.data import Data
from rankwell.models.learning.pairs import Pairs
from rankwell.models.learning.run_folder import RunFolder
from rankwell.models.learning.starting_model import copy_tokenizer, freeze, load_body
from rankwell.models.learning.trainer import Prepared, Training, pair_ranker, with_budget
from rankwell.models.review_rankers.examples import ArchitectureExamples, ArchitectureSettings, ExampleBatches
from rankwell.models.review_rankers.graph import GRAPH, HEAD, SHARED, write_graph
from rankwell.models.review_rankers.scorer import ExampleTokens

log = logging.getLogger(__name__)


def _prepare(
    run: RunFolder,  # noqa: ARG001 -- a family may write more than weights there
    data: Data,
    folder: ModelFolder,
    settings: ArchitectureSettings,
    *,
    quiet: bool,
) -> Prepared[ArchitectureSettings]:
    training, held_out = _batches(data, folder, settings, quiet=quiet)
    model = load_architecture_model(folder, settings)
    # The graph is written with the model: what `onnx` stands for elsewhere knows nothing of several encoders.
    return pair_ranker(
        model,
        training,
        held_out,
        replace(settings, onnx=False),
        lambda model, place: write_architecture(model, place, folder, settings),
    )


def _batches(
    data: Data, folder: ModelFolder, settings: ArchitectureSettings, *, quiet: bool
) -> tuple[ExampleBatches, ExampleBatches | None]:
    """The tokens of the training and of the validation examples, cut alike."""
    kind = settings.architecture
    tokenizer = Tokenizer(folder.tokenizer_file)
    folder.check_tokenizer(tokenizer.vocabulary)
    tokens = ExampleTokens(kind, tokenizer, settings.max_tokens or 0, settings.query_tokens)
    padding = int(folder.config.get("pad_token_id") or 0)
    count = len(data.training) + (len(data.validation) if data.validation else 0)

    def batches(pairs: Pairs, what: str, *, training: bool) -> ExampleBatches:
        examples = ArchitectureExamples.of(pairs, settings, training=training)
        if not len(examples.pairs):
            of = " of a query with two relevant abstracts" if kind.reads_relevant else ""
            raise RankwellError(f"{pairs.folder}: expected pairs {what}{of} for {kind.kind} to read, found none")
        made = examples.tokenised(tokens, settings.record().reading, progress)
        return ExampleBatches(made, padding, segments=True, count=len(kind.inputs))

    with Progress("tokenising", unit="pairs", total=count, quiet=quiet) as progress:
        training = batches(data.training, "to train on", training=True)
        held_out = None if data.validation is None else batches(data.validation, "to measure with", training=False)
    if tokens.truncated.documents_cut or tokens.truncated.queries_cut:
        log.warning("%s", tokens.truncated)
    return training, held_out


USUAL_DROPOUT = 0.1  # of a head whose encoder names none


def load_architecture_model(folder: ModelFolder, settings: ArchitectureSettings) -> Any:
    """The encoders, all begun from the same weights and frozen as asked, and a new head."""
    from rankwell.models.review_rankers.model import ArchitectureModule, head

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


train_architecture = Training(
    "architecture",
    "Train a review ranker: interaction, representation, dual-interaction or triple-representation.",
    ArchitectureSettings,
    _prepare,
    with_budget,
)
