"""Fine-tuning PARADE: a document's passages through a transformer, aggregated, one logit for the document."""

from __future__ import annotations

import logging
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from rankwell.core import ParameterError, Progress, RankwellError
from rankwell.encode.folder import ModelFolder
from rankwell.encode.tokens import PairTokens, Tokenizer
from rankwell.evaluate import parse_measure
from rankwell.rerank import Passages
from rankwell.rerank.parade_reading import PARADE, ParadeReading
from rankwell.rerank.parade_scorer import TOP_WEIGHTS, write_graph
from rankwell.train.cross_encoder import CrossEncoderSettings
from rankwell.train.data import Data
from rankwell.train.freezing import freeze
from rankwell.train.pair_ranker import pair_ranker_job, train_pair_ranker
from rankwell.train.pairs import Pairs
from rankwell.train.parade_tokens import DocumentBatches, TokenisedDocuments, in_passages
from rankwell.train.run_folder import RunFolder
from rankwell.train.starting_model import copy_tokenizer, find_trainable, load_body, token_budget
from rankwell.train.trainer import TrainingResult, going_on, needs_training, set_up
from rankwell.train.validation import check_validation

log = logging.getLogger(__name__)

AGGREGATES = ("avg", "max", "attn", "transformer")


@dataclass(frozen=True, kw_only=True)
class ParadeSettings(CrossEncoderSettings):
    """How a PARADE model is trained, beside what a cross-encoder has.

    `aggregate`: avg, max, attn or transformer. `passages` is how documents are split, as in `rankwell rerank`; of more
    than `most_passages` the first, the last and some between them are read. `max_tokens` and `query_tokens` are the
    budgets of a passage with its query, and `batch_size` counts documents.
    """

    aggregate: str = "transformer"
    passages: str = "150:50"
    most_passages: int = 16
    batch_size: int = 8

    def __post_init__(self) -> None:
        super().__post_init__()
        Passages.parse(self.passages)
        if self.aggregate not in AGGREGATES:
            raise ParameterError("aggregate", expected=" or ".join(AGGREGATES), found=self.aggregate)
        if self.most_passages < 1:
            raise ParameterError("most_passages", expected="a number from 1", found=self.most_passages)


def train_parade(
    pairs: Pairs | Path | str,
    out: Path | str,
    *,
    model: str,
    settings: ParadeSettings | None = None,
    validation: Pairs | Path | str | float | None = 0.1,
    resume: bool = False,
    quiet: bool = False,
) -> TrainingResult:
    """Train on pairs of whole documents, or of all their passages; see `train_cross_encoder` for the arguments."""
    needs_training("training a PARADE model")
    from rankwell.train.losses import loss_named

    settings = settings or ParadeSettings()
    loss_named(settings.loss)
    folder = find_trainable(model)
    data = Data.of(pairs, validation, settings.seed)
    settings = replace(settings, max_tokens=token_budget(folder, settings.max_tokens))
    run = data.run_folder(out, PARADE, settings.as_dict(), folder, resume=resume)
    return _train(run, data, folder, going_on(run, settings), quiet=quiet)


def resume_parade(run: RunFolder, *, quiet: bool = False) -> TrainingResult:
    """Go on with a run that was killed."""
    needs_training("training a PARADE model")
    settings = going_on(run, ParadeSettings.from_dict(run.settings))
    return _train(run, Data.reopen(run), Data.model_of(run), settings, quiet=quiet)


def _train(run: RunFolder, data: Data, folder: ModelFolder, settings: ParadeSettings, *, quiet: bool) -> TrainingResult:
    from rankwell.train.parade_model import Parade, Sizes

    set_up(settings)
    with run.preparing():
        split = passages_of(data, settings)
        body = load_body(folder, settings.dropout)
        freeze(body, settings.freeze)
        model, sizes = Parade(body, settings.aggregate), Sizes.of(body.config)
        reading = ParadeReading(
            aggregate=settings.aggregate,
            passages=split,
            most=settings.most_passages,
            max_tokens=settings.max_tokens or 0,
            query_tokens=settings.query_tokens,
            heads=sizes.heads,
            epsilon=sizes.epsilon,
        )
        training, held_out = _tokenised(data, folder, reading, body.config, quiet=quiet)

        def write(model: Any, place: Path) -> None:
            write_parade(model, place, folder, reading)
            if settings.onnx:
                write_graph(ModelFolder(str(run.model), place), reading, place / "onnx" / "model.onnx")

        job = pair_ranker_job(model, training, held_out, settings, write)
        if held_out is not None:
            check_validation(held_out.pairs, str(parse_measure(settings.measure)))
    return train_pair_ranker(run, job, replace(settings, onnx=False), quiet=quiet)  # `write` makes a graph of its own


def write_parade(model: Any, place: Path, folder: ModelFolder, reading: ParadeReading) -> None:
    """The body as a Hugging Face folder, what stands above it, and how documents are read."""
    from rankwell.train.parade_model import save_weights

    model.body.save_pretrained(place)
    save_weights(model.top_weights(), place / TOP_WEIGHTS)
    copy_tokenizer(folder.path, place, reading.max_tokens)
    reading.record().write(place)


def passages_of(data: Data, settings: ParadeSettings) -> Passages:
    """How documents are split; pairs that are passages already must have been made that way.

    A whole document is one text in a pair, so that its title is not told from the rest: it stands once, at the start.
    """
    wanted = Passages.parse(settings.passages)
    made = {in_passages(part) for part in (data.training, data.validation) if part is not None}
    if made == {None}:
        if wanted.unit != "words":
            expected = "words and overlap such as 150:50 for pairs of whole documents"
            raise ParameterError("passages", expected=expected, found=settings.passages)
        return replace(wanted, title=False)
    if made != {repr(wanted)}:
        found = ", ".join(sorted(str(how) for how in made - {repr(wanted)}))
        raise RankwellError(f"pairs: expected whole documents, or passages made as {wanted!r}, found {found}")
    for part in (data.training, data.validation):
        if part is not None and part.record["made"].get("top_passages"):
            raise RankwellError(f"{part.folder}: expected all passages of each document, found only the best of them")
    return wanted


def _tokenised(
    data: Data, folder: ModelFolder, reading: ParadeReading, config: Any, *, quiet: bool
) -> tuple[DocumentBatches, DocumentBatches | None]:
    """The tokens of the training and of the validation documents, cut as they are when searching."""
    tokenizer = Tokenizer(folder.tokenizer_file)
    folder.check_tokenizer(tokenizer.vocabulary)
    tokens = PairTokens(tokenizer, reading.max_tokens, reading.query_tokens)
    segments = int(getattr(config, "type_vocab_size", 0) or 0) > 1
    padding = int(getattr(config, "pad_token_id", 0) or 0)
    with Progress("tokenising", unit="documents", quiet=quiet) as progress:
        training, held_out = (
            None
            if part is None
            else DocumentBatches(
                TokenisedDocuments.of_documents(part, tokens, reading, progress), padding=padding, segments=segments
            )
            for part in (data.training, data.validation)
        )
    if tokens.truncated.documents_cut or tokens.truncated.queries_cut:
        log.warning("%s", str(tokens.truncated).replace("documents", "passages"))
    if training is None or not len(training.pairs):
        raise RankwellError(f"{data.training.folder}: expected pairs to train on, found none")
    return training, held_out
