"""Fine-tuning a bi-encoder: queries and documents as vectors, relevant ones close together."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import orjson

from rankwell.core import ParameterError, Progress, RankwellError
from rankwell.encode.folder import ModelFolder
from rankwell.encode.pooling import POOLINGS
from rankwell.encode.tokens import TextTokens, Tokenizer
from rankwell.evaluate import parse_measure
from rankwell.train.data import Data
from rankwell.train.freezing import HEAD, freeze
from rankwell.train.in_batch_negatives import InBatchNegatives, RelevantPairs
from rankwell.train.pairs import Pairs
from rankwell.train.run_folder import RunFolder
from rankwell.train.settings import TrainingSettings
from rankwell.train.starting_model import copy_tokenizer, find_trainable, load_body, token_budget
from rankwell.train.text_tokens import PairTexts, TextTable
from rankwell.train.trainer import Job, TrainingResult, going_on, needs_training, set_up, train_job
from rankwell.train.validation import check_validation, measures_to_take, ranking_measures

log = logging.getLogger(__name__)

KIND = "bi-encoder"
FEWEST = 2  # relevant pairs: one alone has nothing against it
WINDOW = 64  # texts that are encoded together when measuring


@dataclass(frozen=True, kw_only=True)
class BiEncoderSettings(TrainingSettings):
    """How a bi-encoder is trained, beside what all training has.

    `pooling`: cls, max or mean; the model's own without one. The loss has each query's relevant document against all
    others of the batch, and against `negatives` hard ones of each query; cosines are multiplied by `scale`.
    `batch_size` counts queries: the more, the harder the task. `query_prompt` is put in front of queries, in training
    and when searching; the model's own without one.
    """

    batch_size: int = 32
    group_by_length: bool = False  # the others of a batch should be any others, not those of the same length
    pooling: str | None = None
    negatives: int = 1
    scale: float = 20.0
    max_tokens: int | None = None
    query_prompt: str | None = None
    measure: str = "nDCG@10"

    def __post_init__(self) -> None:
        super().__post_init__()
        parse_measure(self.measure)
        rules = [("pooling", ", ".join(POOLINGS), self.pooling is None or self.pooling in POOLINGS)]
        rules += [("negatives", "0 or more", self.negatives >= 0), ("scale", "a number above 0", self.scale > 0)]
        rules += [("freeze", "none, embeddings or layers:N: a bi-encoder has no head", self.freeze != HEAD)]
        for name, expected, right in rules:
            if not right:
                raise ParameterError(name, expected=expected, found=getattr(self, name))


def train_bi_encoder(
    pairs: Pairs | Path | str,
    out: Path | str,
    *,
    model: str,
    settings: BiEncoderSettings | None = None,
    validation: Pairs | Path | str | float | None = 0.1,
    resume: bool = False,
    quiet: bool = False,
) -> TrainingResult:
    """Train on pairs and leave a run folder; see `train_cross_encoder` for what the arguments mean."""
    needs_training("training a bi-encoder")
    settings = settings or BiEncoderSettings()
    folder = find_trainable(model)
    data = Data.of(pairs, validation, settings.seed)
    settings = replace(
        settings,
        max_tokens=token_budget(folder, settings.max_tokens),
        pooling=settings.pooling or folder.pooling,
        query_prompt=folder.query_prompt if settings.query_prompt is None else settings.query_prompt,
    )
    run = data.run_folder(out, KIND, settings.as_dict(), folder, resume=resume)
    return _train(run, data, folder, going_on(run, settings), quiet=quiet)


def resume_bi_encoder(run: RunFolder, *, quiet: bool = False) -> TrainingResult:
    """Go on with a run that was killed."""
    needs_training("training a bi-encoder")
    settings = going_on(run, BiEncoderSettings.from_dict(run.settings))
    return _train(run, Data.reopen(run), Data.model_of(run), settings, quiet=quiet)


def _train(
    run: RunFolder, data: Data, folder: ModelFolder, settings: BiEncoderSettings, *, quiet: bool
) -> TrainingResult:
    from sentence_transformers.sentence_transformer.losses import MultipleNegativesRankingLoss

    set_up(settings)
    decisive = str(parse_measure(settings.measure))
    with run.preparing():
        model = load_encoder(folder, settings)
        padding = int(getattr(model.body.config, "pad_token_id", 0) or 0)
        training, held_out = _tokenised(data, folder, settings, quiet=quiet)
        batches = InBatchNegatives(training, negatives=settings.negatives, padding=padding)
        examples = RelevantPairs(batches.positives)
        _check(examples, settings)
        if held_out is not None:
            check_validation(held_out, decisive)
    nothing: Any = None  # the loss is given vectors, and needs no model to make them
    library = MultipleNegativesRankingLoss(nothing, scale=settings.scale)

    def loss_of(model: Any, batch: dict[str, Any]) -> Any:
        queries, documents = (
            model(batch[f"{which}_input_ids"], batch[f"{which}_attention_mask"]).float()
            for which in ("query", "document")
        )
        relevant, hard = documents[: len(queries)], documents[len(queries) :]
        return library.compute_loss_from_embeddings([queries, relevant, *([hard] if len(hard) else [])], nothing)

    def validated(held: PairTexts) -> Callable[[Any], Mapping[str, float]]:
        return lambda model: ranking_measures(held, cosines(model, held, padding), measures_to_take(decisive))

    job = Job(
        model=model,
        examples=examples,
        collate=batches,
        loss=loss_of,
        write_model=lambda model, place: write_encoder(model, place, folder, settings),
        validate=None if held_out is None else validated(held_out),
        measure=None if held_out is None else decisive,
        higher_is_better=parse_measure(decisive).higher_is_better,
    )
    return train_job(run, job, settings, quiet=quiet)


def load_encoder(folder: ModelFolder, settings: BiEncoderSettings) -> Any:
    """The body of a model, and its pooling."""
    from rankwell.train.text_vectors import TextVectors

    body = load_body(folder, settings.dropout)
    freeze(body, settings.freeze)
    return TextVectors(body, settings.pooling or "mean")


def cosines(model: Any, pairs: PairTexts, padding: int) -> np.ndarray[Any, np.dtype[np.float32]]:
    """The cosine of every pair's vectors; each text is encoded once."""
    import torch

    places = np.unique(np.concatenate((pairs.queries, pairs.documents)))
    order = sorted(places.tolist(), key=lambda place: -len(pairs.table[place]))
    device = next(model.parameters()).device
    vectors: dict[int, Any] = {}
    with torch.inference_mode():
        for start in range(0, len(order), WINDOW):
            some = order[start : start + WINDOW]
            given = {name: tensor.to(device) for name, tensor in pairs.table.inputs(some, padding).items()}
            found = torch.nn.functional.normalize(model(**given).float(), dim=-1).cpu().numpy()
            vectors.update(zip(some, found, strict=True))
    both = zip(pairs.queries.tolist(), pairs.documents.tolist(), strict=True)
    return np.array([vectors[query] @ vectors[document] for query, document in both], dtype=np.float32)


def write_encoder(model: Any, place: Path, folder: ModelFolder, settings: BiEncoderSettings) -> None:
    """A folder that transformers, sentence-transformers and Rankwell load."""
    model.body.save_pretrained(place)
    copy_tokenizer(folder.path, place, settings.max_tokens or 0)
    modules = [("0", "", "Transformer"), ("1", "1_Pooling", "Pooling"), ("2", "2_Normalize", "Normalize")]
    chosen = {"cls": "pooling_mode_cls_token", "mean": "pooling_mode_mean_tokens", "max": "pooling_mode_max_tokens"}
    files: dict[str, Any] = {
        "modules.json": [
            {"idx": int(name), "name": name, "path": path, "type": f"sentence_transformers.models.{kind}"}
            for name, path, kind in modules
        ],
        "sentence_bert_config.json": {"max_seq_length": settings.max_tokens, "do_lower_case": False},
        "config_sentence_transformers.json": {"prompts": {"query": settings.query_prompt or ""}},
        "1_Pooling/config.json": {
            "word_embedding_dimension": int(model.body.config.hidden_size),
            **{name: pooling == model.pooling for pooling, name in chosen.items()},
        },
    }
    for name, content in files.items():
        (place / name).parent.mkdir(exist_ok=True)
        (place / name).write_bytes(orjson.dumps(content, option=orjson.OPT_INDENT_2) + b"\n")


def _tokenised(
    data: Data, folder: ModelFolder, settings: BiEncoderSettings, *, quiet: bool
) -> tuple[PairTexts, PairTexts | None]:
    tokenizer = Tokenizer(folder.tokenizer_file)
    folder.check_tokenizer(tokenizer.vocabulary)
    tokens = TextTokens(tokenizer, settings.max_tokens or 0)
    table, prompt = TextTable(tokens), settings.query_prompt or ""
    count = len(data.training) + (len(data.validation) if data.validation else 0)
    with Progress("tokenising", unit="pairs", total=count, quiet=quiet) as progress:
        training = PairTexts.of(data.training, table, prompt, progress)
        held_out = None if data.validation is None else PairTexts.of(data.validation, table, prompt, progress)
    if tokens.truncated.documents_cut:
        log.warning("%s", tokens.truncated)
    return training, held_out


def _check(examples: RelevantPairs, settings: BiEncoderSettings) -> None:
    if len(examples) < FEWEST:
        raise RankwellError(
            f"pairs: expected at least {FEWEST} relevant pairs, each against the other, found {len(examples)}"
        )
    if len(examples) < settings.batch_size:
        log.warning("%s relevant pairs are fewer than a batch of %s", len(examples), settings.batch_size)
