"""The kinds of models that a search can train: how each is trained on pairs, and how it scores others."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from types import MappingProxyType
from typing import Any, Protocol

import numpy as np

from rankwell.core import ParameterError, RankwellError
from rankwell.core.scales import sigmoid
from rankwell.train.architecture import train_architecture
from rankwell.train.architecture_settings import ArchitectureSettings
from rankwell.train.bi_encoder import BiEncoderSettings, train_bi_encoder
from rankwell.train.cross_encoder import CrossEncoderSettings, train_cross_encoder
from rankwell.train.duo import DuoSettings, train_duo
from rankwell.train.linear import LinearSettings, train_linear
from rankwell.train.pairs import Pairs
from rankwell.train.parade import ParadeSettings, train_parade
from rankwell.train.starting_model import find_trainable


class Trainable(Protocol):
    """One kind of model."""

    @property
    def settings(self) -> type[Any]:
        """The record of everything that may be varied."""

    def origin(self, model: str | None) -> str:
        """The fingerprint of the model that training begins from; "" where it begins from nothing."""

    def train(self, pairs: Pairs, folder: Path, model: str | None, settings: Any, validation: Pairs) -> None:
        """Train into a folder; go on with what is there from a run that was killed."""

    def scores(self, folder: Path, settings: Any, pairs: Pairs) -> Sequence[float]:
        """What the trained model gives each pair."""


def kind_named(name: str) -> Trainable:
    """A kind by the name of its command."""
    if name not in TRAINABLE:
        raise ParameterError("kind", expected=" or ".join(TRAINABLE), found=name)
    return TRAINABLE[name]


@dataclass(frozen=True)
class CrossEncoders:
    """`rankwell train cross-encoder`."""

    settings: type[CrossEncoderSettings] = CrossEncoderSettings

    def origin(self, model: str | None) -> str:
        """The weights that training begins from."""
        return find_trainable(_wanted(model)).fingerprint()

    def train(
        self, pairs: Pairs, folder: Path, model: str | None, settings: CrossEncoderSettings, validation: Pairs
    ) -> None:
        """Fine-tune."""
        train_cross_encoder(
            pairs, folder, model=_wanted(model), settings=settings, validation=validation, resume=True, quiet=True
        )

    def scores(self, folder: Path, settings: CrossEncoderSettings, pairs: Pairs) -> Sequence[float]:
        """Logits, by ONNX Runtime."""
        from rankwell.encode import load_pair_scorer

        scorer = load_pair_scorer(str(folder / "model"), query_tokens=settings.query_tokens, threads=settings.threads)
        texts = list(zip(pairs.column("query"), pairs.column("document"), strict=True))
        found: list[float] = scorer.scores(scorer.logits(texts)).tolist()
        return found


@dataclass(frozen=True)
class BiEncoders:
    """`rankwell train bi-encoder`."""

    settings: type[BiEncoderSettings] = BiEncoderSettings

    def origin(self, model: str | None) -> str:
        """The weights that training begins from."""
        return find_trainable(_wanted(model)).fingerprint()

    def train(
        self, pairs: Pairs, folder: Path, model: str | None, settings: BiEncoderSettings, validation: Pairs
    ) -> None:
        """Fine-tune."""
        train_bi_encoder(
            pairs, folder, model=_wanted(model), settings=settings, validation=validation, resume=True, quiet=True
        )

    def scores(self, folder: Path, settings: BiEncoderSettings, pairs: Pairs) -> Sequence[float]:
        """Cosines; each text is encoded once."""
        from rankwell.encode import load_text_encoder

        encoder = load_text_encoder(str(folder / "model"), threads=settings.threads)
        queries, documents = pairs.column("query"), pairs.column("document")
        of_queries, of_documents = (
            {text: place for place, text in enumerate(dict.fromkeys(texts))} for texts in (queries, documents)
        )
        left = encoder.encode_queries(list(of_queries))
        right = encoder.encode(list(of_documents))
        both = zip(queries, documents, strict=True)
        return [float(left[of_queries[query]] @ right[of_documents[document]]) for query, document in both]


@dataclass(frozen=True)
class Architectures:
    """`rankwell train architecture`: also which of the four may be varied."""

    settings: type[ArchitectureSettings] = ArchitectureSettings

    def origin(self, model: str | None) -> str:
        """The weights that training begins from."""
        return find_trainable(_wanted(model)).fingerprint()

    def train(
        self, pairs: Pairs, folder: Path, model: str | None, settings: ArchitectureSettings, validation: Pairs
    ) -> None:
        """Fine-tune."""
        train_architecture(
            pairs, folder, model=_wanted(model), settings=settings, validation=validation, resume=True, quiet=True
        )

    def scores(self, folder: Path, settings: ArchitectureSettings, pairs: Pairs) -> Sequence[float]:
        """Logits, by ONNX Runtime; relevant abstracts are the pairs' own, and no document's own."""
        from rankwell.rerank.architectures import load_architecture
        from rankwell.train.architecture_examples import examples_to_score

        scorer = load_architecture(str(folder / "model"), threads=settings.threads)
        found: list[float] = scorer.of_examples(list(examples_to_score(pairs, settings))).ravel().tolist()
        return found


@dataclass(frozen=True)
class Parades:
    """`rankwell train parade`."""

    settings: type[ParadeSettings] = ParadeSettings

    def origin(self, model: str | None) -> str:
        """The weights that training begins from."""
        return find_trainable(_wanted(model)).fingerprint()

    def train(self, pairs: Pairs, folder: Path, model: str | None, settings: ParadeSettings, validation: Pairs) -> None:
        """Fine-tune."""
        train_parade(
            pairs, folder, model=_wanted(model), settings=settings, validation=validation, resume=True, quiet=True
        )

    def scores(self, folder: Path, settings: ParadeSettings, pairs: Pairs) -> Sequence[float]:
        """Logits of documents, by ONNX Runtime; each passage of a document has its document's."""
        from rankwell.rerank.parade_reading import BREAK
        from rankwell.rerank.parade_scorer import load_parade
        from rankwell.train.parade_tokens import documents_of

        scorer = load_parade(str(folder / "model"), threads=settings.threads)
        split = list(documents_of(pairs, scorer.reading))
        logits = scorer.logits([(pair.query, BREAK.join(passages)) for pair, passages in split])[:, 0].tolist()
        found = {(pair.group, pair.document_id): logit for (pair, _), logit in zip(split, logits, strict=True)}
        keys = zip(pairs.column("group"), pairs.column("document_id"), strict=True)
        return [found[key] for key in keys]


@dataclass(frozen=True)
class Duos:
    """`rankwell train duo`."""

    settings: type[DuoSettings] = DuoSettings

    def origin(self, model: str | None) -> str:
        """The weights that training begins from."""
        return find_trainable(_wanted(model)).fingerprint()

    def train(self, pairs: Pairs, folder: Path, model: str | None, settings: DuoSettings, validation: Pairs) -> None:
        """Fine-tune."""
        train_duo(
            pairs, folder, model=_wanted(model), settings=settings, validation=validation, resume=True, quiet=True
        )

    def scores(self, folder: Path, settings: DuoSettings, pairs: Pairs) -> Sequence[float]:
        """How often each document is expected to win against others of its query, as while training."""
        from rankwell.rerank.duo_scorer import load_duo
        from rankwell.train.duo_validation import comparisons

        rows = list(pairs.rows())
        groups, labels = np.array([row.group for row in rows]), np.array([row.label for row in rows], np.float32)
        ids = [row.query_id for row in rows]
        compared = comparisons(groups, labels, ids, others=settings.validation_others, seed=settings.seed)
        both = zip(compared.one.tolist(), compared.other.tolist(), strict=True)
        triples = [(rows[one].query, rows[one].document, rows[other].document) for one, other in both]
        scores = np.zeros(len(rows))
        scorer = load_duo(str(folder / "model"), threads=settings.threads)
        np.add.at(scores, compared.one, sigmoid(scorer.of_triples(triples)[:, 0]))
        return [float(score) for score in scores]


@dataclass(frozen=True)
class LinearModels:
    """`rankwell train linear`."""

    settings: type[LinearSettings] = LinearSettings

    def origin(self, model: str | None) -> str:
        """Linear models begin from nothing."""
        if model is not None:
            raise ParameterError("model", expected="none: a linear model begins from nothing", found=model)
        return ""

    def train(self, pairs: Pairs, folder: Path, model: str | None, settings: LinearSettings, validation: Pairs) -> None:  # noqa: ARG002 -- nothing to begin from, nothing to choose
        """Fit."""
        train_linear(pairs, folder / "model", settings)

    def scores(self, folder: Path, settings: LinearSettings, pairs: Pairs) -> Sequence[float]:  # noqa: ARG002 -- the folder says it
        """Logits."""
        from rankwell.rerank import load_linear

        texts = list(zip(pairs.column("query"), pairs.column("document"), strict=True))
        found: list[float] = load_linear(folder / "model").logits(texts).ravel().tolist()
        return found


TRAINABLE: Mapping[str, Trainable] = MappingProxyType(
    {
        "cross-encoder": CrossEncoders(),
        "bi-encoder": BiEncoders(),
        "parade": Parades(),
        "duo": Duos(),
        "architecture": Architectures(),
        "linear": LinearModels(),
    }
)


def with_seed(settings: Any, seed: int) -> Any:
    """The same settings with another seed, where there is one."""
    return replace(settings, seed=seed) if hasattr(settings, "seed") else settings


def _wanted(model: str | None) -> str:
    if model is None:
        raise RankwellError("search: expected a model to start from, found none: name one with --model")
    return model
