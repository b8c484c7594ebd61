"""Whether a recipe can be followed here: data to make pairs of, models to begin with, and that these go together."""

from __future__ import annotations

from collections.abc import Sequence

from rankwell.core import RankwellError, Template
from rankwell.studies.data import Chosen
from rankwell.studies.recipe_kinds import DISTIL, LABELLED
from rankwell.studies.recipes import PairStep, Recipe

HARD = "hard"  # the loss that learns from labels alone
INSIDE = {"embedding", "attention", "hidden", "cosine"}  # losses that look inside the teacher


def check_recipe(recipe: Recipe, collections: Sequence[Chosen]) -> None:
    """Raise where something is missing; `collections` are those of the steps that make pairs."""
    from rankwell.train.starting_model import find_trainable
    from rankwell.train.trainer import needs_training

    needs_training("training")
    for step, chosen in zip(recipe.pairs, collections, strict=True):
        _check_step(step, chosen)
    if recipe.training == DISTIL:
        _check_distillation(recipe)
    else:
        for name in recipe.models:
            find_trainable(name)


def check_labels(chosen: Chosen) -> None:
    """Raise where there is no judged query to learn from."""
    if not chosen.can_train:
        raise RankwellError(f"expected train or held_back queries of {chosen.name}, found none")
    if not chosen.facts.judgments:
        raise RankwellError(f"expected judgments of {chosen.name}, found none")


def check_apart(learnt: Chosen, measured: Chosen) -> None:
    """Raise where queries that are measured would be learnt from, under another name of the same collection."""
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
    elif not chosen.can_train and "documents" in step.settings:
        raise RankwellError(f"expected train or held_back queries of {chosen.name}, found none")
    named = [step.settings.get("title"), step.settings.get("abstract")]
    if step.settings.get("document"):
        named += Template(step["document"]).fields
    for name in filter(None, named):
        if name not in chosen.fields:
            raise RankwellError(f"expected a field {name} of {chosen.name} to train on, found none")


def _check_distillation(recipe: Recipe) -> None:
    from rankwell.train.distil_methods import parse_weights, weights_of
    from rankwell.train.layer_map import layer_map
    from rankwell.train.student import Student
    from rankwell.train.teacher import find_teacher

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
