"""Recipes: parse a line of pair-making steps and a training step, and check that it can be run here."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any

from rankwell.core import RankwellError, Template
from rankwell.core.parameters import parameters
from rankwell.studies.file.lines import Call, parse_line
from rankwell.studies.file.values import LineError, unknown
from rankwell.studies.plan.data import Chosen
from rankwell.studies.recipes.kinds import (
    DISTIL,
    FROM,
    LABELLED,
    PAIRS,
    PARADE,
    RECIPES,
    SELF_SUPERVISED,
    TRAINING,
    UNLABELLED,
    VALIDATE,
    RecipeKind,
)
from rankwell.studies.steps.step import checked, completed
from rankwell.training import PairOptions

log = logging.getLogger(__name__)

SAVE_EVERY = 100  # steps between checkpoints: an epoch of many unlabelled pairs takes long
OF_TEACHER = "teacher:"  # a student made of the teacher's layers


@dataclass(frozen=True)
class PairStep:
    """One way to make pairs, with all its settings."""

    kind: str
    settings: Mapping[str, Any]

    def __getitem__(self, name: str) -> Any:
        return self.settings[name]

    def options(self, **given: Any) -> PairOptions:
        """The step's settings as options, completed by the study."""
        own = {name: value for name, value in self.settings.items() if name not in (FROM, "limit")}
        return PairOptions(**own, **given)

    def configuration(self) -> dict[str, Any]:
        """For records and fingerprints. The collection's name is left out: the cell has the data's fingerprint."""
        return {"kind": self.kind, **{name: value for name, value in self.settings.items() if name != FROM}}


@dataclass(frozen=True)
class Recipe:
    """The steps that make pairs, and the training on all of these pairs."""

    pairs: tuple[PairStep, ...]
    training: str
    settings: Mapping[str, Any]

    def configuration(self) -> dict[str, Any]:
        """The recipe as a dictionary, for records and fingerprints."""
        pairs = [step.configuration() for step in self.pairs]
        told = {name: value for name, value in self.settings.items() if name != VALIDATE}
        return {"pairs": pairs[0] if len(pairs) == 1 else pairs, "training": {"kind": self.training, **told}}

    def training_settings(self, threads: int) -> Any:
        """The settings for the trainer."""
        kind = RECIPES[self.training]
        declared = parameters(kind.settings) if kind.settings else {}
        given = {name: value for name, value in self.settings.items() if name in declared}
        if "threads" in declared:
            given["threads"] = threads
        if self.training == DISTIL and given["save_every"] is None:
            given["save_every"] = given["evaluate_every"] or SAVE_EVERY
        return (kind.settings or dict)(**given)

    @property
    def models(self) -> tuple[str, ...]:
        """The models that must be available before training."""
        named = (self.settings.get(name) for name in ("start", "teacher", "student"))
        return tuple(name for name in named if name and not name.startswith(OF_TEACHER))

    @property
    def needs_labels(self) -> bool:
        """Whether training needs judgments."""
        return any(step.kind == LABELLED for step in self.pairs)

    @property
    def validate(self) -> str | None:
        """The name of the validation collection, or None."""
        found: str | None = self.settings.get(VALIDATE)
        return found


def recipe_of(text: str, collections: Sequence[str] | None = None) -> Recipe:
    """Parse a recipe: steps that make pairs, then one that trains.

    `collections`: the names that a step may use; any name by default.
    """
    *makers, trainer = parse_line(text).calls
    if not makers:
        raise LineError("expected pairs | training, found one step", trainer.place)
    pairs = []
    for call in makers:
        step = PairStep(*_checked(call, PAIRS, collections))
        with _told_at(call):
            _check_pairs(step)
        pairs.append(step)
    recipe = Recipe(tuple(pairs), *_checked(trainer, TRAINING, collections))
    with _told_at(trainer):
        _check_training(recipe)
    return recipe


def _checked(call: Call, part: str, collections: Sequence[str] | None) -> tuple[str, dict[str, Any]]:
    known = {name: kind for name, kind in RECIPES.items() if kind.part == part}
    kind = known.get(call.name)
    if kind is None:
        raise LineError(unknown(f"a step of {part}", call.name, known), call.place)
    parameters = {parameter.name: parameter for parameter in kind.parameters}
    settings: dict[str, Any] = {}
    unnamed = iter(kind.main)
    for argument in call.arguments:
        name = _today(kind, argument.name) or next(unnamed, None)
        if name is None or name not in parameters:
            found = name or "a value without a name"
            raise LineError(f"{kind.name}: {unknown('a setting', found, parameters)}", argument.place)
        if name in settings:
            raise LineError(f"{kind.name}: expected {name} once, found it twice", argument.place)
        settings[name] = checked(parameters[name], argument)
        if name in (FROM, VALIDATE) and collections is not None and settings[name] not in collections:
            wrong = unknown("a collection that is no stand-in", settings[name], collections)
            raise LineError(f"{kind.name}: {name}: {wrong}", argument.place)
    return kind.name, completed(kind.name, kind.parameters, settings, call.place)


def _today(kind: RecipeKind, name: str | None) -> str | None:
    """The current name of a setting; an earlier name is accepted with a note."""
    if name is None or name not in kind.old_names:
        return name
    log.warning("%s: %s is called %s now", kind.name, name, kind.old_names[name])
    return kind.old_names[name]


@contextmanager
def _told_at(call: Call) -> Iterator[None]:
    """Add the place in the line to errors."""
    try:
        yield
    except RankwellError as error:
        raise LineError(f"{call.name}: {error}", call.place) from error


def _check_pairs(step: PairStep) -> None:
    """Check that texts within settings can be parsed; the scorer is loaded when pairs are made."""
    options = replace(step.options(), scorer=None, top_passages=None)
    {
        SELF_SUPERVISED: options.self_supervised,
        LABELLED: options.labelled,
        UNLABELLED: options.unlabelled,
    }[step.kind]()
    if (step.settings.get("top_passages") is None) != (step.settings.get("scorer") is None):
        raise RankwellError("expected top_passages and a scorer together, found one of them")


def _check_training(recipe: Recipe) -> None:
    """Check the trainer's settings, and that it can learn from the pairs."""
    told = recipe.settings
    recipe.training_settings(1)
    unlabelled = [step.kind for step in recipe.pairs if step.kind == UNLABELLED]
    if unlabelled and recipe.training != DISTIL:
        raise RankwellError("expected pairs with labels, found unlabelled ones, which only distil learns from")
    if recipe.training == DISTIL:
        from rankwell.models.distillation.student import Student
        from rankwell.models.distillation.training import parse_weights, weights_of

        Student.parse(told["student"])
        if len(unlabelled) == len(recipe.pairs) and set(weights_of(told["method"], parse_weights(told["weights"]))) == {
            "hard"
        }:
            raise RankwellError("expected labels for the hard loss alone, found unlabelled pairs")
    if recipe.training == PARADE and {step.settings.get("passages") for step in recipe.pairs} - {
        None,
        told["passages"],
    }:
        raise RankwellError(f"passages: expected pairs of whole documents, or of passages {told['passages']}")


HARD = "hard"  # the loss that uses labels only
INSIDE = {"embedding", "attention", "hidden", "cosine"}  # losses that need the teacher's states


def check_recipe(recipe: Recipe, collections: Sequence[Chosen]) -> None:
    """Raise where data or models are missing; `collections` are those of the steps that make pairs."""
    from rankwell.models.learning.starting_model import find_trainable
    from rankwell.models.learning.trainer import needs_training

    needs_training("training")
    for step, chosen in zip(recipe.pairs, collections, strict=True):
        _check_step(step, chosen)
    if recipe.training == DISTIL:
        _check_distillation(recipe)
    else:
        for name in recipe.models:
            find_trainable(name)


def check_labels(chosen: Chosen) -> None:
    """Raise where there are no judged training queries."""
    if not chosen.can_train:
        raise RankwellError(f"expected train or held_back queries of {chosen.name}, found none")
    if not chosen.facts.judgments:
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


def _check_step(step: PairStep, chosen: Chosen) -> None:
    if step.kind == LABELLED:
        check_labels(chosen)
    elif not chosen.can_train and step.kind == UNLABELLED:
        raise RankwellError(f"expected train or held_back queries of {chosen.name}, found none")
    named = [step.settings.get("title"), step.settings.get("abstract")]
    if step.settings.get("document"):
        named += Template(step["document"]).fields
    for name in filter(None, named):
        if name not in chosen.fields:
            raise RankwellError(f"expected a field {name} of {chosen.name} to train on, found none")


def _check_distillation(recipe: Recipe) -> None:
    from rankwell.models.distillation.student import Student, find_teacher, layer_map
    from rankwell.models.distillation.training import parse_weights, weights_of

    told = recipe.settings
    teacher, student = find_teacher(told["teacher"]), Student.parse(told["student"])
    start = student.folder(teacher)
    losses = set(weights_of(told["method"], parse_weights(told["weights"])))
    if teacher.torch_weights is None and (student.model is None or losses & INSIDE):
        wanted = "to make a student of" if student.model is None else "to look inside"
        raise RankwellError(
            f"{teacher.name}: expected PyTorch's weights (model.safetensors) {wanted}, found only ONNX: name a folder "
            "that has them, or distil scores alone (method=soft or margin-mse) into another model"
        )
    depth = teacher.config.get("num_hidden_layers")
    if student.layers is not None and depth:
        layer_map(told["layers"], student.layers, int(depth))
    if losses & INSIDE:
        own = student.layers or int(start.config.get("num_hidden_layers", 0))
        if own and depth:
            layer_map(told["targets"], own, int(depth))
