"""The trainable model families: how each is trained on pairs, scores them, and resumes after an interruption."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from rankwell.core import ParameterError, RankwellError, sigmoid
from rankwell.models.bi_encoder.training import BiEncoderSettings, train_bi_encoder
from rankwell.models.cross_encoder.training import CrossEncoderSettings, train_cross_encoder
from rankwell.models.distillation.training import KIND as DISTILLED
from rankwell.models.distillation.training import resume_distillation
from rankwell.models.duo.training import DuoSettings, train_duo
from rankwell.models.language_model.training import resume_mlm
from rankwell.models.learning.pair_batches import label_columns
from rankwell.models.learning.pairs import Pairs
from rankwell.models.learning.run_folder import RunFolder
from rankwell.models.learning.starting_model import find_trainable
from rankwell.models.learning.trainer import Training, TrainingResult
from rankwell.models.linear.training import LinearSettings, train_linear
from rankwell.models.parade.training import ParadeSettings, train_parade
from rankwell.models.review_rankers.architectures import ARCHITECTURES
from rankwell.models.review_rankers.training import ArchitectureSettings, train_architecture


@dataclass(frozen=True)
class Family:
    """A family of models that is trained on pairs: from a starting model by `training`, or from scratch (linear).

    `score` gives the scores of pairs by the model in a folder.
    """

    training: Training[Any] | None
    score: Callable[[str, Any, Pairs], Sequence[float]]

    @property
    def settings(self) -> type[Any]:
        """The settings class of the family."""
        return LinearSettings if self.training is None else self.training.settings

    def origin(self, model: str | None) -> str:
        """The fingerprint of the starting weights; "" for training from scratch."""
        if self.training is not None:
            return find_trainable(_wanted(model)).fingerprint()
        if model is not None:
            raise ParameterError("model", expected="none: a linear model begins from nothing", found=model)
        return ""

    def train(self, pairs: Pairs, folder: Path, model: str | None, settings: Any, validation: Pairs | None) -> None:
        """Train a model into `folder/model`; continue an interrupted run that is there."""
        if self.training is None:
            train_linear(pairs, folder / "model", settings)
            return
        start = _wanted(model)
        self.training(pairs, folder, model=start, settings=settings, validation=validation, resume=True, quiet=True)

    def scores(self, folder: Path, settings: Any, pairs: Pairs) -> Sequence[float]:
        """Score pairs with the trained model."""
        return self.score(str(folder / "model"), settings, pairs)


def _linear_scores(model: str, settings: LinearSettings, pairs: Pairs) -> Sequence[float]:  # noqa: ARG001 -- not needed
    from rankwell.models.linear.ranking import load_linear

    scores: list[float] = load_linear(model).logits(list(pairs.texts())).ravel().tolist()
    return scores


def _cross_encoder_scores(model: str, settings: CrossEncoderSettings, pairs: Pairs) -> Sequence[float]:
    from rankwell.models.base import load_pair_scorer

    scorer = load_pair_scorer(model, query_tokens=settings.query_tokens, threads=settings.threads)
    scores: list[float] = scorer.scores(scorer.logits(list(pairs.texts()))).tolist()
    return scores


def _bi_encoder_scores(model: str, settings: BiEncoderSettings, pairs: Pairs) -> Sequence[float]:
    """Cosine similarities; each text is encoded once."""
    from rankwell.models.base import load_text_encoder

    encoder = load_text_encoder(model, threads=settings.threads)
    queries, documents = (list(dict.fromkeys(pairs.column(name))) for name in ("query", "document"))
    of_query = dict(zip(queries, encoder.encode_queries(queries), strict=True))
    of_document = dict(zip(documents, encoder.encode(documents), strict=True))
    return [float(of_query[query] @ of_document[document]) for query, document in pairs.texts()]


def _architecture_scores(model: str, settings: ArchitectureSettings, pairs: Pairs) -> Sequence[float]:
    """Logits; the relevant abstracts come from the pairs, never from the scored document itself."""
    from rankwell.models.review_rankers.ranking import load_architecture
    from rankwell.models.review_rankers.training import examples_to_score

    scorer = load_architecture(model, threads=settings.threads)
    scores: list[float] = scorer.of_examples(list(examples_to_score(pairs, settings))).ravel().tolist()
    return scores


def _parade_scores(model: str, settings: ParadeSettings, pairs: Pairs) -> Sequence[float]:
    """Logits of documents; each passage of a document gets its document's logit."""
    from rankwell.models.parade.ranking import load_parade
    from rankwell.models.parade.training import documents_of

    scorer = load_parade(model, threads=settings.threads)
    split = list(documents_of(pairs, scorer.reading))
    logits = scorer.logits([(pair.query, tuple(passages)) for pair, passages in split])[:, 0].tolist()
    of_document = {(pair.group, pair.document_id): logit for (pair, _), logit in zip(split, logits, strict=True)}
    return [of_document[key] for key in zip(pairs.column("group"), pairs.column("document_id"), strict=True)]


def _duo_scores(model: str, settings: DuoSettings, pairs: Pairs) -> Sequence[float]:
    """Each document's expected number of wins against others of its query, as in training."""
    from rankwell.models.duo.ranking import load_duo
    from rankwell.models.duo.training import comparisons

    texts, (labels, groups, query_ids, _) = list(pairs.texts()), label_columns(pairs)
    compared = comparisons(groups, labels, query_ids, others=settings.validation_others, seed=settings.seed)
    both = zip(compared.one.tolist(), compared.other.tolist(), strict=True)
    triples = [(*texts[one], texts[other][1]) for one, other in both]
    scores = np.zeros(len(texts))
    scorer = load_duo(model, threads=settings.threads)
    np.add.at(scores, compared.one, sigmoid(scorer.of_triples(triples)[:, 0]))
    return [float(score) for score in scores]


TRAINABLE: Mapping[str, Family] = {
    "cross-encoder": Family(train_cross_encoder, _cross_encoder_scores),
    "bi-encoder": Family(train_bi_encoder, _bi_encoder_scores),
    "parade": Family(train_parade, _parade_scores),
    "duo": Family(train_duo, _duo_scores),
    "architecture": Family(train_architecture, _architecture_scores),
    "linear": Family(None, _linear_scores),
}


def kind_named(name: str) -> Family:
    """The family with that command name."""
    if name not in TRAINABLE:
        raise ParameterError("kind", expected=" or ".join(TRAINABLE), found=name)
    return TRAINABLE[name]


def _wanted(model: str | None) -> str:
    if model is None:
        raise RankwellError("search: expected a model to start from, found none: name one with --model")
    return model


# Each review ranker has its own kind of run.
RESUME: Mapping[str, Callable[..., TrainingResult]] = {
    **{name: family.training.resume for name, family in TRAINABLE.items() if family.training},
    **dict.fromkeys(ARCHITECTURES, train_architecture.resume),
    "mlm": resume_mlm,
    DISTILLED: resume_distillation,
}


def resume_training(path: Path | str, *, quiet: bool = False) -> TrainingResult:
    """Resume from the newest complete checkpoint, or from the start where there is none."""
    run = RunFolder.open(path)
    if run.finished:
        raise RankwellError(f"{run.path}: is finished: there is nothing to go on with")
    if run.kind not in RESUME:
        raise RankwellError(f"{run.path}: expected a run of {', '.join(RESUME)}, found {run.kind}")
    return RESUME[run.kind](run, quiet=quiet)
