"""Training one of the four S3 architectures: Interaction, Representation, Dual-Interaction, Triple-Representation."""

from __future__ import annotations

import logging
from dataclasses import replace
from pathlib import Path
from typing import Any

from rankwell.core import Progress, RankwellError
from rankwell.encode.folder import ModelFolder
from rankwell.encode.tokens import Tokenizer
from rankwell.evaluate import parse_measure
from rankwell.rerank.architectures.tokens import ExampleTokens
from rankwell.train.architecture_examples import ArchitectureExamples, ExampleBatches
from rankwell.train.architecture_model import load_architecture_model, write_architecture
from rankwell.train.architecture_settings import ArchitectureSettings
from rankwell.train.data import Data
from rankwell.train.pair_ranker import pair_ranker_job, train_pair_ranker
from rankwell.train.pairs import Pairs
from rankwell.train.run_folder import RunFolder
from rankwell.train.starting_model import find_trainable, token_budget
from rankwell.train.trainer import TrainingResult, going_on, needs_training, set_up
from rankwell.train.validation import check_validation

log = logging.getLogger(__name__)


def train_architecture(
    pairs: Pairs | Path | str,
    out: Path | str,
    *,
    model: str,
    settings: ArchitectureSettings | None = None,
    validation: Pairs | Path | str | float | None = 0.1,
    resume: bool = False,
    quiet: bool = False,
) -> TrainingResult:
    """Train on pairs and leave a run folder, whose `model/` re-ranks (`rankwell rerank --model`).

    `validation`: pairs of other queries, a folder of them, or the share of the queries to hold out; None or 0 for
    none, and then the weights of the last step are kept. With `resume` a run in `out` that is not finished goes on.
    """
    needs_training("training an architecture")
    from rankwell.train.losses import loss_named

    settings = settings or ArchitectureSettings()
    loss_named(settings.loss)
    folder = find_trainable(model)
    data = Data.of(pairs, validation, settings.seed)
    settings = replace(settings, max_tokens=token_budget(folder, settings.max_tokens))
    run = data.run_folder(out, settings.kind, settings.as_dict(), folder, resume=resume)
    return _train(run, data, folder, going_on(run, settings), quiet=quiet)


def resume_architecture(run: RunFolder, *, quiet: bool = False) -> TrainingResult:
    """Go on with a run that was killed."""
    needs_training("training an architecture")
    settings = going_on(run, ArchitectureSettings.from_dict(run.settings))
    return _train(run, Data.reopen(run), Data.model_of(run), settings, quiet=quiet)


def _train(
    run: RunFolder, data: Data, folder: ModelFolder, settings: ArchitectureSettings, *, quiet: bool
) -> TrainingResult:
    set_up(settings)
    with run.preparing():
        training, held_out = _batches(data, folder, settings, quiet=quiet)
        model = load_architecture_model(folder, settings)

        def write(model: Any, place: Path) -> None:
            write_architecture(model, place, folder, settings)

        job = pair_ranker_job(model, training, held_out, settings, write)
        if held_out is not None:
            check_validation(held_out.pairs, str(parse_measure(settings.measure)))
    # The graph is written with the model: what `onnx` stands for elsewhere knows nothing of several encoders.
    return train_pair_ranker(run, job, replace(settings, onnx=False), quiet=quiet)


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
