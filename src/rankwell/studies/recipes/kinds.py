"""The parts of a recipe: steps that make pairs or take documents, and a step that trains on them.

Their settings are the declared parameters of `PairOptions` and of the trainers' settings, under the same names.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

from rankwell.core.parameters import Parameter, Text, Whole, parameters
from rankwell.models.distillation.training import DistilSettings
from rankwell.models.language_model.settings import MlmSettings, VocabularySettings
from rankwell.models.learning.settings import TrainingSettings
from rankwell.studies.steps.step import BI_ENCODER, CROSS_ENCODER, REQUIRED, LineKind, by_name, declared, setting
from rankwell.training import PairOptions
from rankwell.training.families import TRAINABLE

SELF_SUPERVISED, LABELLED, UNLABELLED, DOCUMENTS = "self-supervised", "labelled", "unlabelled", "documents"
FINE_TUNE, ARCHITECTURE, PARADE, DUO, DISTIL, LINEAR = "fine-tune", "architecture", "parade", "duo", "distil", "linear"
MLM, VOCABULARY, LANGUAGE_MODEL = "mlm", "vocabulary", "language model"
FAMILIES = {FINE_TUNE: CROSS_ENCODER, **{name: name for name in (BI_ENCODER, ARCHITECTURE, PARADE, DUO, LINEAR)}}
SETTINGS: Mapping[str, type[Any]] = MappingProxyType(
    {name: TRAINABLE[family].settings for name, family in FAMILIES.items()}
    | {DISTIL: DistilSettings, MLM: MlmSettings, VOCABULARY: VocabularySettings}
)

FROM, VALIDATE = "from", "validate"  # settings that name a collection of the study
SOURCE = setting(FROM, "the collection to learn from; the one that is measured by default", Text(), None)
LIMIT = setting("limit", "at most so many pairs, drawn by the seed", Whole(), None)
START = setting("start", "the model to start from", Text(), REQUIRED)
DECIDES = setting(
    VALIDATE, "the collection whose judged queries choose the step that is kept; else it is the last", Text(), None
)
# The study sets the number of threads, and keeps only the model of a run.
OF_THE_STUDY = ("threads", "keep_checkpoints")
OLD_NAMES = MappingProxyType(
    {"batch": "batch_size", "tokens": "max_tokens", "list": "list_size", "every": "evaluate_every"}
)


@dataclass(frozen=True)
class RecipeKind(LineKind):
    """A part of a recipe: it makes the data, or trains on them."""

    options: Callable[[PairOptions], Any] | None = None  # of making pairs: the writer's options
    settings: type[Any] | None = None  # of training: the trainer's settings
    role: str = CROSS_ENCODER  # what the trained model can be used as
    starts: bool = True  # whether another training can start from the model
    learns_from: tuple[str, ...] = (SELF_SUPERVISED, LABELLED)

    @property
    def trains(self) -> bool:
        """Whether it trains a model."""
        return self.settings is not None


def _pairs(name: str, about: str, options: Callable[[PairOptions], Any], *names: str, **old_names: str) -> RecipeKind:
    settings = by_name(SOURCE, declared(PairOptions, *names), LIMIT)
    return RecipeKind(name, about, settings, old_names=MappingProxyType(old_names), options=options)


def _training(
    name: str, about: str, *own: Parameter, old: Mapping[str, str] = MappingProxyType({}), **traits: Any
) -> RecipeKind:
    """A trainer, with its starting model and all declared parameters of its settings."""
    usual, settings = parameters(TrainingSettings), SETTINGS[name]
    known = [part for part in declared(settings) if part.name not in OF_THE_STUDY]
    known.sort(key=lambda part: part.name in usual)  # the family's own parameters first
    main = tuple(part.name for part in own if part.required)
    old_names = {before: now for before, now in {**OLD_NAMES, **old}.items() if now in parameters(settings)}
    return RecipeKind(name, about, by_name(own, known), main, old_names, settings=settings, **traits)


_KINDS = (
    _pairs(
        SELF_SUPERVISED,
        "titles as queries, abstracts as documents",
        PairOptions.self_supervised,
        *("title", "abstract", "false_pairs", "title_title", "swapped", "perturbations", "per_document"),
        false="false_pairs",
        perturb="perturbations",
    ),
    _pairs(
        LABELLED,
        "judged documents of the training queries, and others to tell them from",
        PairOptions.labelled,
        *("negatives", "depth", "least_grade", "graded", "document", "query_field"),
        *("passages", "top_passages", "scorer"),
    ),
    _pairs(
        UNLABELLED,
        "the training queries and what BM25 finds for them, for a teacher to score; no judgment is read",
        PairOptions.unlabelled,
        *("negatives", "depth", "document", "query_field", "passages"),
        documents="negatives",
    ),
    RecipeKind(DOCUMENTS, "the texts of all documents, for mlm and vocabulary", by_name(SOURCE)),
    _training(FINE_TUNE, "a cross-encoder from a model with PyTorch's weights", START, DECIDES),
    _training(
        BI_ENCODER, "a bi-encoder for dense, from a model with PyTorch's weights", START, DECIDES, role=BI_ENCODER
    ),
    _training(ARCHITECTURE, "a review ranker, from a model with PyTorch's weights", START, DECIDES, starts=False),
    _training(
        PARADE,
        "PARADE: a document's passages through BERT, aggregated to one score",
        *(START, DECIDES),
        old={"most": "most_passages"},
        starts=False,
    ),
    _training(DUO, "duoBERT, which predicts which of two documents is more relevant", START, DECIDES, starts=False),
    _training(
        DISTIL,
        "a small cross-encoder that learns from a large one",
        setting("teacher", "a cross-encoder", Text(), REQUIRED),
        setting("student", "teacher:6 (of its layers), teacher:3x192 (narrower), or a model", Text(), REQUIRED),
        DECIDES,
        learns_from=(SELF_SUPERVISED, LABELLED, UNLABELLED),
    ),
    _training(LINEAR, "TF-IDF with logistic regression", old={"clean": "cleaned"}, starts=False),
    _training(
        MLM,
        "a masked language model to start other trainings from",
        START,
        role=LANGUAGE_MODEL,
        learns_from=(DOCUMENTS,),
    ),
    _training(
        VOCABULARY,
        "a model with new words in its vocabulary, to start mlm from",
        START,
        role=LANGUAGE_MODEL,
        learns_from=(DOCUMENTS,),
    ),
)
RECIPES: Mapping[str, RecipeKind] = MappingProxyType({kind.name: kind for kind in _KINDS})
