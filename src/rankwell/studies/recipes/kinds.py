"""The parts of a recipe: steps that make pairs, and a step that trains on them.

Their settings are the declared parameters of `PairOptions` and of the families' settings, under the same names.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

from rankwell.core.parameters import Parameter, Text, Whole, parameters
from rankwell.models.distillation.training import DistilSettings
from rankwell.models.learning.settings import TrainingSettings
from rankwell.studies.steps.step import REQUIRED, setting, settings_of
from rankwell.training import PairOptions
from rankwell.training.families import TRAINABLE

PAIRS, TRAINING = "pairs", "training"
SELF_SUPERVISED, LABELLED, UNLABELLED = "self-supervised", "labelled", "unlabelled"
FINE_TUNE, ARCHITECTURE, PARADE, DUO, DISTIL, LINEAR = "fine-tune", "architecture", "parade", "duo", "distil", "linear"
FROM, VALIDATE = "from", "validate"  # settings that name a collection of the study
FAMILIES = {FINE_TUNE: "cross-encoder", **{name: name for name in (ARCHITECTURE, PARADE, DUO, LINEAR)}}

SOURCE = setting(FROM, "the collection to make pairs of; the one that is measured by default", Text(), None)
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
class RecipeKind:
    """A part of a recipe: it makes pairs, or trains on them."""

    name: str
    part: str
    about: str
    parameters: tuple[Parameter, ...]
    main: tuple[str, ...] = ()  # the parameter of a value without a name
    settings: type[Any] | None = None  # the trainer's settings
    old_names: Mapping[str, str] = field(default_factory=dict)  # earlier names of settings, still accepted


def _pairs(name: str, about: str, *names: str, **old_names: str) -> RecipeKind:
    return RecipeKind(
        name, PAIRS, about, (SOURCE, *settings_of(PairOptions, *names), LIMIT), old_names=MappingProxyType(old_names)
    )


def _training(name: str, about: str, *own: Parameter, **old_names: str) -> RecipeKind:
    """A trainer, with its starting model and all declared parameters of its settings."""
    settings = DistilSettings if name == DISTIL else TRAINABLE[FAMILIES[name]].settings
    declared = [part for part in parameters(settings).values() if part.name not in OF_THE_STUDY]
    declared.sort(key=lambda part: part.name in parameters(TrainingSettings))  # the family's own parameters first
    main = tuple(part.name for part in own if part.required)
    old = {old: new for old, new in (OLD_NAMES | old_names).items() if new in parameters(settings)}
    return RecipeKind(name, TRAINING, about, (*own, *declared), main, settings, MappingProxyType(old))


_KINDS = (
    _pairs(
        SELF_SUPERVISED,
        "titles as queries, abstracts as documents",
        *("title", "abstract", "false_pairs", "title_title", "swapped", "perturbations", "per_document"),
        false="false_pairs",
        perturb="perturbations",
    ),
    _pairs(
        LABELLED,
        "judged documents of the training queries, and others to tell them from",
        *("negatives", "depth", "least_grade", "graded", "document", "query_field"),
        *("passages", "top_passages", "scorer"),
    ),
    _pairs(
        UNLABELLED,
        "the training queries and what BM25 finds for them, for a teacher to score; no judgment is read",
        *("negatives", "depth", "document", "query_field", "passages"),
        documents="negatives",
    ),
    _training(FINE_TUNE, "a cross-encoder from a model with PyTorch's weights", START, DECIDES),
    _training(ARCHITECTURE, "a review ranker, from a model with PyTorch's weights", START, DECIDES),
    _training(
        PARADE,
        "PARADE: a document's passages through BERT, aggregated to one score",
        START,
        DECIDES,
        most="most_passages",
    ),
    _training(DUO, "duoBERT, which predicts which of two documents is more relevant", START, DECIDES),
    _training(
        DISTIL,
        "a small cross-encoder that learns from a large one",
        setting("teacher", "a cross-encoder", Text(), REQUIRED),
        setting("student", "teacher:6 (of its layers), teacher:3x192 (narrower), or a model", Text(), REQUIRED),
        DECIDES,
    ),
    _training(LINEAR, "TF-IDF with logistic regression", clean="cleaned"),
)
RECIPES: Mapping[str, RecipeKind] = MappingProxyType({kind.name: kind for kind in _KINDS})
