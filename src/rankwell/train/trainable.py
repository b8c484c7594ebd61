"""The kinds of models that a search can train: how each is trained on pairs, and how it scores others."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from types import MappingProxyType
from typing import Any, Protocol

from rankwell.core import ParameterError, RankwellError
from rankwell.train.bi_encoder import BiEncoderSettings, train_bi_encoder
from rankwell.train.cross_encoder import CrossEncoderSettings, train_cross_encoder
from rankwell.train.linear import LinearSettings, train_linear
from rankwell.train.pairs import Pairs
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
    {"cross-encoder": CrossEncoders(), "bi-encoder": BiEncoders(), "linear": LinearModels()}
)


def with_seed(settings: Any, seed: int) -> Any:
    """The same settings with another seed, where there is one."""
    return replace(settings, seed=seed) if hasattr(settings, "seed") else settings


def _wanted(model: str | None) -> str:
    if model is None:
        raise RankwellError("search: expected a model to start from, found none: name one with --model")
    return model
