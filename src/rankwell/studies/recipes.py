"""Models that a study trains: a line says what pairs are made, and what is trained on them.

`self-supervised(false=0.6) | fine-tune(minilm-l6, epochs=1)`, `labelled(negatives="hard:4") | fine-tune(minilm-l6)`,
`unlabelled(from=WikiQA) | unlabelled(from=SciFact) | distil(ms-marco-minilm-l12, minilm-l6, method=margin-mse)`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from rankwell.core import RankwellError, Template
from rankwell.rerank import Passages
from rankwell.studies.lines import Call, parse_line
from rankwell.studies.problems import LineError, unknown
from rankwell.studies.recipe_kinds import (
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
)
from rankwell.studies.steps.step import completed

OF_TEACHER = "teacher:"  # a student that is made of the teacher's layers


@dataclass(frozen=True)
class PairStep:
    """One way to make pairs, with all settings."""

    kind: str
    settings: Mapping[str, Any]

    def __getitem__(self, name: str) -> Any:
        return self.settings[name]

    def configuration(self) -> dict[str, Any]:
        """In plain words. What a study calls its collection changes nothing: its data are part of the cell."""
        return {"kind": self.kind, **{name: value for name, value in self.settings.items() if name != FROM}}


@dataclass(frozen=True)
class Recipe:
    """Which pairs, all of them together, and which training on them."""

    pairs: tuple[PairStep, ...]
    training: str
    settings: Mapping[str, Any]

    def configuration(self) -> dict[str, Any]:
        """In plain words, for records and fingerprints."""
        pairs = [step.configuration() for step in self.pairs]
        told = {name: value for name, value in self.settings.items() if name != VALIDATE}
        return {"pairs": pairs[0] if len(pairs) == 1 else pairs, "training": {"kind": self.training, **told}}

    @property
    def models(self) -> tuple[str, ...]:
        """The models that must be here before."""
        named = (self.settings.get(name) for name in ("start", "teacher", "student"))
        return tuple(name for name in named if name and not name.startswith(OF_TEACHER))

    @property
    def needs_labels(self) -> bool:
        """Whether there must be judgments to learn from."""
        return any(step.kind == LABELLED for step in self.pairs)

    @property
    def validate(self) -> str | None:
        """The collection that decides which step is kept."""
        found: str | None = self.settings.get(VALIDATE)
        return found


def recipe_of(text: str, collections: Sequence[str] | None = None) -> Recipe:
    """The recipe that a line asks for: steps that make pairs, then one that trains.

    `collections`: the names that a step may give; any where nothing is said.
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
        name = argument.name or next(unnamed, None)
        if name is None or name not in parameters:
            found = name or "a value without a name"
            raise LineError(f"{kind.name}: {unknown('a setting', found, parameters)}", argument.place)
        if name in settings:
            raise LineError(f"{kind.name}: expected {name} once, found it twice", argument.place)
        settings[name] = parameters[name].checked(argument)
        if name in (FROM, VALIDATE) and collections is not None and settings[name] not in collections:
            wrong = unknown("a collection that is no stand-in", settings[name], collections)
            raise LineError(f"{kind.name}: {name}: {wrong}", argument.place)
    return kind.name, completed(kind.name, kind.parameters, settings, call.place)


@contextmanager
def _told_at(call: Call) -> Iterator[None]:
    """Say where in the line a mistake is."""
    try:
        yield
    except RankwellError as error:
        raise LineError(f"{call.name}: {error}", call.place) from error


def _check_pairs(step: PairStep) -> None:
    """Texts within settings that can be read."""
    from rankwell.train.negatives import Negatives
    from rankwell.train.perturbations import parse_perturbations
    from rankwell.train.unlabelled import Unlabelled

    if step.kind == SELF_SUPERVISED:
        parse_perturbations(step["perturb"])
        return
    if step.kind == LABELLED:
        Negatives.parse(step["negatives"], step["depth"])
    else:
        Unlabelled(Negatives.parse(step["documents"], step["depth"]))
    if step["document"] is not None:
        Template(step["document"])
    if step["passages"] is not None:
        Passages.parse(step["passages"])


def _check_training(recipe: Recipe) -> None:
    """Settings that the trainer takes, and pairs that it can learn from."""
    from rankwell.studies.trainers import SETTINGS

    told = recipe.settings
    SETTINGS[recipe.training](told, 1)
    unlabelled = [step.kind for step in recipe.pairs if step.kind == UNLABELLED]
    if unlabelled and recipe.training != DISTIL:
        raise RankwellError("expected pairs with labels, found unlabelled ones, which only distil learns from")
    if recipe.training == DISTIL:
        from rankwell.train.distil_methods import parse_weights, weights_of
        from rankwell.train.student import Student

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
