"""Train a masked language model on a collection."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rankwell.collections import ColumnChoice, Reading, open_collection
from rankwell.core import ParameterError, Progress, RankwellError
from rankwell.models.base.folder import ModelFolder
from rankwell.models.language_model import masking
from rankwell.models.language_model.cloze import Adaptation, Examination, check_sentences, write_adaptation
from rankwell.models.language_model.masking import Masker, MaskTokenizer
from rankwell.models.language_model.settings import MlmSettings
from rankwell.models.language_model.texts import FIXED, MaskedRows, MlmTexts, pack_held_out, read_mlm_texts
from rankwell.models.learning.folders import check_new_folder
from rankwell.models.learning.run_folder import RunFolder
from rankwell.models.learning.starting_model import copy_tokenizer, find_trainable, longest_input
from rankwell.models.learning.trainer import Job, TrainingResult, going_on, needs_training, set_up, train_job

KIND = "mlm"
PERPLEXITY = "perplexity"
CURVE_ROWS = 128  # held-out rows of the perplexity curve


@dataclass(frozen=True)
class MlmResult:
    """The run, and the evaluation before and after."""

    training: TrainingResult
    adaptation: Adaptation


def train_mlm(
    source: Path | str, model: str, out: Path | str, settings: MlmSettings, *, quiet: bool = False
) -> MlmResult:
    """Train on the texts of a collection, and write a run folder whose `model/` is the adapted model with its head."""
    needs_training("train mlm")
    check_new_folder(out)
    folder = find_trainable(model)
    start = _start(folder, settings)
    texts = _read(source, start.vocabulary, settings, quiet=quiet)
    run = RunFolder.create(
        out,
        KIND,
        settings.as_dict(),
        texts.fingerprint,
        data=str(source),
        model=model,
        model_fingerprint=folder.fingerprint(),
    )
    return _train(run, start, texts, settings, quiet=quiet)


def resume_mlm(run: RunFolder, *, quiet: bool = False) -> TrainingResult:
    """Resume an interrupted run; the collection and the starting model must be unchanged."""
    needs_training("train resume")
    settings, begun = going_on(run, MlmSettings.from_dict(run.settings)), run.configuration
    folder = find_trainable(begun["model"]["name"])
    start = _start(folder, settings)
    texts = _read(begun["data"]["folder"], start.vocabulary, settings, quiet=quiet)
    told = {"model": folder.fingerprint(), "data": texts.fingerprint}
    for name, now in told.items():
        if begun[name]["fingerprint"] != now:
            where = begun[name].get("name", begun[name].get("folder"))
            raise RankwellError(f"{run.path}: expected {name} {where} as the run began with, found it changed since")
    return _train(run, start, texts, settings, quiet=quiet).training


@dataclass(frozen=True)
class _Start:
    folder: ModelFolder
    vocabulary: MaskTokenizer
    loaded: masking.LoadedModel


def _start(folder: ModelFolder, settings: MlmSettings) -> _Start:
    """Check settings and model before the collection is read."""
    vocabulary = masking.open_mask_tokenizer(folder)
    check_sentences(settings.fill, vocabulary.mask)
    longest = longest_input(folder)
    if settings.max_tokens > longest:
        raise ParameterError(
            "max_tokens", expected=f"at most {longest}, as the model has it", found=settings.max_tokens
        )
    set_up(settings)
    loaded = masking.load_masked_model(folder, settings.seed)
    masking.freeze_body(loaded.model, settings.freeze)
    return _Start(folder, vocabulary, loaded)


def _read(source: Path | str, vocabulary: MaskTokenizer, settings: MlmSettings, *, quiet: bool) -> MlmTexts:
    collection = open_collection(source, settings.format)
    choice = ColumnChoice.parse(settings.id_column, settings.fields, None)
    with Progress(f"reading {source}", unit="documents", quiet=quiet) as progress:
        reading = Reading(settings.encoding, progress=progress)
        return read_mlm_texts(progress.track(collection.documents(reading, choice)), vocabulary, settings)


def _train(run: RunFolder, start: _Start, texts: MlmTexts, settings: MlmSettings, *, quiet: bool) -> MlmResult:
    vocabulary, model = start.vocabulary, start.loaded.model
    examination = Examination(
        texts.held_out, vocabulary, tuple(settings.fill), longest_input(start.folder), quiet=quiet
    )
    before = examination.take(model, "before")
    adaptations: list[Adaptation] = []

    def write_model(trained: Any, place: Path) -> None:
        trained.save_pretrained(place)
        masking.keep_next_sentence(start.folder, place)
        copy_tokenizer(start.folder.path, place)
        adaptations.append(Adaptation(start.loaded.new, before, examination.take(trained, "after"), texts.training))
        write_adaptation(run.path, adaptations[-1])

    masker = _masker(texts, vocabulary, settings)
    rows = MaskedRows(texts.training, masker, settings.seed)
    curve = MaskedRows(pack_held_out(texts, vocabulary, settings, CURVE_ROWS), masker, settings.seed, FIXED)

    def validate(trained: Any) -> dict[str, float]:
        return {PERPLEXITY: perplexity(trained, curve, settings.batch_size)}

    job = Job(model, rows, rows.collate, _loss, write_model, validate, measure=PERPLEXITY, higher_is_better=False)
    return MlmResult(train_job(run, job, settings, quiet=quiet), adaptations[-1])


def perplexity(model: Any, rows: MaskedRows, batch_size: int) -> float:
    """The exponential of the mean cross entropy over the masked tokens of rows with fixed masks."""
    total, tokens = 0.0, 0
    for start in range(0, len(rows), batch_size):
        batch = rows.collate([rows[place] for place in range(start, min(start + batch_size, len(rows)))])
        here = {name: part.to(model.device) for name, part in batch.items()}
        count = int((here["labels"] != masking.IGNORED).sum())
        total, tokens = total + float(_loss(model, here)) * count, tokens + count
    return math.exp(min(total / tokens, 700.0))  # exp() of more overflows


def _loss(model: Any, batch: Mapping[str, Any]) -> Any:
    inputs = {name: part for name, part in batch.items() if name != "labels"}
    return masking.masked_loss(getattr(model, "module", model), inputs, batch["labels"])


def _masker(texts: MlmTexts, vocabulary: MaskTokenizer, settings: MlmSettings) -> Masker:
    counted = texts.training.frequencies(vocabulary.tokens.size) if settings.random == "frequency" else None
    replacement = masking.REPLACEMENTS[settings.replacement]
    return Masker(vocabulary.tokens, settings.mask_probability, replacement, settings.whole_words, counted)
