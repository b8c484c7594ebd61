"""Recipes of models: the parts of a line, its parsing, and checks that it can be run here.

A line has steps that make pairs or take documents, and a step that trains on them. Their settings are the declared
parameters of `PairOptions` and of the trainers' settings, under the same names.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Any

from rankwell.core import RankwellError, Template
from rankwell.core.parameters import Parameter, Text, Whole, parameters
from rankwell.models.distillation.student import Student, find_teacher, layer_map
from rankwell.models.distillation.training import DistilSettings, parse_weights, weights_of
from rankwell.models.language_model.settings import MlmSettings, VocabularySettings
from rankwell.models.learning.settings import TrainingSettings
from rankwell.models.learning.starting_model import find_trainable
from rankwell.models.learning.trainer import needs_training
from rankwell.studies.file.errors import LineError, unknown
from rankwell.studies.file.pipeline_line import Call, parse_line
from rankwell.studies.plan.collections import Chosen
from rankwell.studies.steps.kinds import BI_ENCODER, CROSS_ENCODER
from rankwell.studies.steps.step import REQUIRED, LineKind, by_name, declared, setting
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


SAVE_EVERY = 100  # steps between checkpoints: an epoch of many unlabelled pairs takes long
MODELS = ("start", "teacher", "student")  # settings that name a model
OF_TEACHER = "teacher:"  # a student made of the teacher's layers
HARD = "hard"  # the loss that uses labels only
INSIDE = {"embedding", "attention", "hidden", "cosine"}  # losses that need the teacher's states


@dataclass(frozen=True)
class DataStep:
    """One way to make training data, with all its settings."""

    kind: str
    settings: Mapping[str, Any]

    def __getitem__(self, name: str) -> Any:
        return self.settings[name]

    def options(self, **given: Any) -> PairOptions:
        """The settings of a step that makes pairs as options, completed by the study."""
        own = {name: value for name, value in self.settings.items() if name not in (FROM, "limit")}
        return PairOptions(**own, **given)

    def configuration(self) -> dict[str, Any]:
        """For records and fingerprints. The collection's name is left out: the cell has the data's fingerprint."""
        return {"kind": self.kind, **{name: value for name, value in self.settings.items() if name != FROM}}


@dataclass(frozen=True)
class Recipe:
    """The steps that make data, and the training on all of them."""

    data: tuple[DataStep, ...]
    training: str
    settings: Mapping[str, Any]

    @property
    def kind(self) -> RecipeKind:
        """The kind of training."""
        return RECIPES[self.training]

    def configuration(self) -> dict[str, Any]:
        """The recipe as a dictionary, for records and fingerprints."""
        data = [step.configuration() for step in self.data]
        settings = {name: value for name, value in self.settings.items() if name != VALIDATE}
        return {"pairs": data[0] if len(data) == 1 else data, "training": {"kind": self.training, **settings}}

    def training_settings(self, threads: int) -> Any:
        """The settings for the trainer."""
        settings = self.kind.settings or dict
        known = parameters(settings)
        given = {name: value for name, value in self.settings.items() if name in known}
        if "threads" in known:
            given["threads"] = threads
        if self.training == DISTIL and given["save_every"] is None:
            given["save_every"] = given["evaluate_every"] or SAVE_EVERY
        return settings(**given)

    @property
    def models(self) -> tuple[str, ...]:
        """The models that must be available before training."""
        named = (self.settings.get(name) for name in MODELS)
        return tuple(name for name in named if name and not name.startswith(OF_TEACHER))

    @property
    def losses(self) -> set[str]:
        """The losses of a distillation."""
        return set(weights_of(self.settings["method"], parse_weights(self.settings["weights"])))

    @property
    def validate(self) -> str | None:
        """The name of the validation collection, or None."""
        return self.settings.get(VALIDATE)


def recipe_of(text: str, collections: Sequence[str] | None = None) -> Recipe:
    """Parse a recipe: steps that make data, then one that trains.

    `collections`: the names that a step may use; any name by default.
    """
    *makers, trainer = parse_line(text).calls
    if not makers:
        raise LineError("expected pairs | training, found one step", trainer.place)
    data = []
    for call in makers:
        data.append(DataStep(call.name, _settings(call, collections, trains=False)))
        _check(call, _check_data, data[-1])
    recipe = Recipe(tuple(data), trainer.name, _settings(trainer, collections, trains=True))
    _check(trainer, _check_training, recipe)
    return recipe


def _settings(call: Call, collections: Sequence[str] | None, *, trains: bool) -> dict[str, Any]:
    known = {name: kind for name, kind in RECIPES.items() if kind.trains == trains}
    if call.name not in known:
        part = "training" if trains else "pairs"
        raise LineError(unknown(f"a step of {part}", call.name, known), call.place)
    settings = known[call.name].read(call.arguments, call.place)
    for argument in call.arguments:
        name = settings[argument.name] if argument.name in (FROM, VALIDATE) else None
        if name is not None and collections is not None and name not in collections:
            wrong = unknown("a collection that is no stand-in", name, collections)
            raise LineError(f"{call.name}: {argument.name}: {wrong}", argument.place)
    return settings


def _check(call: Call, check: Callable[[Any], None], part: Recipe | DataStep) -> None:
    """Add the place in the line to errors."""
    try:
        check(part)
    except RankwellError as error:
        raise LineError(f"{call.name}: {error}", call.place) from error


def _check_data(step: DataStep) -> None:
    """Check that texts within settings can be parsed; the scorer is loaded when pairs are made."""
    options = RECIPES[step.kind].options
    if options is not None:
        options(replace(step.options(), scorer=None, top_passages=None))
    if (step.settings.get("top_passages") is None) != (step.settings.get("scorer") is None):
        raise RankwellError("expected top_passages and a scorer together, found one of them")


def _check_training(recipe: Recipe) -> None:
    """Check the trainer's settings, and that it can learn from the data."""
    given, learns_from = recipe.settings, recipe.kind.learns_from
    recipe.training_settings(1)
    for step in recipe.data:
        if step.kind not in learns_from:
            others = [kind.name for kind in RECIPES.values() if kind.trains and step.kind in kind.learns_from]
            raise RankwellError(
                f"expected {' or '.join(learns_from)} to learn from, found {step.kind}, which only "
                f"{' and '.join(others)} can learn from"
            )
    if recipe.training == DISTIL:
        Student.parse(given["student"])
        if all(step.kind == UNLABELLED for step in recipe.data) and recipe.losses == {HARD}:
            raise RankwellError("expected labels for the hard loss alone, found unlabelled pairs")
    cuts = {step.settings.get("passages") for step in recipe.data} - {None, given.get("passages")}
    if recipe.training == PARADE and cuts:
        raise RankwellError(f"passages: expected pairs of whole documents, or of passages {given['passages']}")


def check_recipe(recipe: Recipe, collections: Sequence[Chosen], trained: Container[str] = ()) -> None:
    """Raise where data or models are missing.

    `collections` are those of the steps that make data; `trained` are models that the study trains.
    """
    needs_training("training")
    for step, chosen in zip(recipe.data, collections, strict=True):
        if step.kind in (LABELLED, UNLABELLED):
            check_queries(chosen, judged=step.kind == LABELLED)
        document = step.settings.get("document")
        fields = (step.settings.get("title"), step.settings.get("abstract"))
        for name in filter(None, (*fields, *(Template(document).fields if document else ()))):
            if name not in chosen.fields:
                raise RankwellError(f"expected a field {name} of {chosen.name} to train on, found none")
    missing = [name for name in recipe.models if name not in trained]
    if recipe.training != DISTIL:
        for name in missing:
            find_trainable(name)
    elif len(missing) == len(recipe.models):
        _check_distillation(recipe)


def check_queries(chosen: Chosen, *, judged: bool = True) -> None:
    """Raise where there are no training queries, or none that are judged."""
    if not chosen.can_train:
        raise RankwellError(f"expected train or held_back queries of {chosen.name}, found none")
    if judged and not chosen.facts.judgments:
        raise RankwellError(f"expected judgments of {chosen.name}, found none")


def check_apart(learnt: Chosen, measured: Chosen) -> None:
    """Raise where evaluated queries would be trained on, under another name of the same collection."""
    if learnt.source != measured.source or learnt == measured:
        return
    shared = set(learnt.to_train_on()[0]) & set(measured.judged()[0])
    if shared:
        raise RankwellError(
            f"expected other queries of {learnt.name} than those that are measured on {measured.name}, "
            f"found {len(shared):,} of these"
        )


def _check_distillation(recipe: Recipe) -> None:
    given = recipe.settings
    teacher, student = find_teacher(given["teacher"]), Student.parse(given["student"])
    start, inside = student.folder(teacher), bool(recipe.losses & INSIDE)
    if teacher.torch_weights is None and (student.model is None or inside):
        wanted = "to make a student of" if student.model is None else "to look inside"
        raise RankwellError(
            f"{teacher.name}: expected PyTorch's weights (model.safetensors) {wanted}, found only ONNX: name a folder "
            "that has them, or distil scores alone (method=soft or margin-mse) into another model"
        )
    depth = int(teacher.config.get("num_hidden_layers") or 0)
    if student.layers is not None and depth:
        layer_map(given["layers"], student.layers, depth)
    own = student.layers or int(start.config.get("num_hidden_layers", 0))
    if inside and own and depth:
        layer_map(given["targets"], own, depth)
