"""Models that a study trains: a line says what pairs are made, and what is trained on them.

`self-supervised(false=0.6) | fine-tune(minilm-l6, epochs=1)`, `labelled(negatives="hard:4") | fine-tune(minilm-l6)`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

from rankwell.core import RankwellError, Template
from rankwell.rerank import Passages
from rankwell.rerank.architectures import ARCHITECTURES
from rankwell.studies.lines import Call, parse_line
from rankwell.studies.problems import LineError, unknown
from rankwell.studies.steps.step import REQUIRED, Parameter, completed

PAIRS, TRAINING = "pairs", "training"
LIMIT = Parameter("limit", "at most so many pairs, drawn by the seed", int)
OF_TRAINING = (
    Parameter("epochs", "passes over the pairs", float, 3.0),
    Parameter("batch", "pairs that are run together", int, 16),
    Parameter("lr", "the highest learning rate", float, 5e-5),
    Parameter("tokens", "tokens of a pair", int, 256),
    Parameter("seed", "of new weights, order and dropout", int, 42),
)


@dataclass(frozen=True)
class RecipeKind:
    """A part of a recipe: it makes pairs, or trains on them."""

    name: str
    part: str
    about: str
    parameters: tuple[Parameter, ...]
    main: tuple[str, ...] = ()  # what values without a name are for


@dataclass(frozen=True)
class Recipe:
    """Which pairs, and which training, with all settings."""

    pairs: str
    pair_settings: Mapping[str, Any]
    training: str
    settings: Mapping[str, Any]

    def configuration(self) -> dict[str, Any]:
        """In plain words, for records and fingerprints."""
        return {
            "pairs": {"kind": self.pairs, **self.pair_settings},
            "training": {"kind": self.training, **self.settings},
        }

    @property
    def models(self) -> tuple[str, ...]:
        """The models that must be here before."""
        return (self.settings["start"],) if "start" in self.settings else ()

    @property
    def needs_labels(self) -> bool:
        """Whether there must be queries with judgments to learn from."""
        return self.pairs == "labelled"


_KINDS = (
    RecipeKind(
        "self-supervised",
        PAIRS,
        "titles as queries, abstracts as documents (S0)",
        (
            Parameter("false", "the share of false pairs", float, 0.6),
            Parameter("perturb", "all, none, or some of short,stopwords,shuffle", str, "all"),
            Parameter("title", "the field with titles", str, "title"),
            Parameter("abstract", "the field with abstracts", str, "abstract"),
            LIMIT,
        ),
    ),
    RecipeKind(
        "labelled",
        PAIRS,
        "judged documents of the training queries, and others to tell them from (S4)",
        (
            Parameter("negatives", "hard:4,random:1,judged:2", str, "hard:4"),
            Parameter("depth", "how deep in BM25's run hard negatives are looked for", int, 40),
            Parameter("document", "the text that is read: '{title} {abstract}'; all fields by default"),
            Parameter("passages", "pairs of passages: 150:50"),
            LIMIT,
        ),
    ),
    RecipeKind(
        "fine-tune",
        TRAINING,
        "a cross-encoder from a model with PyTorch's weights",
        (
            Parameter("start", "the model to start from", str, REQUIRED),
            Parameter("loss", "bce, ranknet, margin, listnet, softmax, lambda", str, "bce"),
            Parameter("freeze", "none, embeddings, layers:N, head", str, "none"),
            *OF_TRAINING,
        ),
        ("start",),
    ),
    RecipeKind(
        "architecture",
        TRAINING,
        "one of S3's four architectures, from a model with PyTorch's weights",
        (
            Parameter("start", "the model to start from", str, REQUIRED),
            Parameter("kind", "which of the four", str, "interaction", tuple(ARCHITECTURES)),
            Parameter("texts", "QA or QTA, for interactions", str, None, ("QA", "QTA")),
            Parameter("shared", "one encoder for all texts", bool, False),
            Parameter("clean", "clean texts first", bool, False),
            Parameter("freeze", "none, or head for a frozen BERT", str, "none"),
            *OF_TRAINING,
        ),
        ("start",),
    ),
    RecipeKind(
        "linear",
        TRAINING,
        "TF-IDF with logistic regression (S3)",
        (
            Parameter("longest", "runs of so many words", int, 3),
            Parameter("fewest", "texts that must have a word", int, 8),
            Parameter("penalty", "C of the regression", float, 1.0),
            Parameter("clean", "clean texts first", bool, False),
        ),
    ),
)
RECIPES: Mapping[str, RecipeKind] = MappingProxyType({kind.name: kind for kind in _KINDS})


def recipe_of(text: str) -> Recipe:
    """The recipe that a line asks for: one step that makes pairs, one that trains."""
    calls = parse_line(text).calls
    wanted = (PAIRS, TRAINING)
    if len(calls) != len(wanted):
        place = calls[-1].place
        raise LineError(f"expected pairs | training, found {len(calls)} steps", place)
    found = [_checked(call, part) for call, part in zip(calls, wanted, strict=True)]
    recipe = Recipe(*found[0], *found[1])
    try:
        _check(recipe)
    except RankwellError as error:
        raise LineError(str(error), calls[0].place) from error
    return recipe


def _checked(call: Call, part: str) -> tuple[str, dict[str, Any]]:
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
    return kind.name, completed(kind.name, kind.parameters, settings, call.place)


def _check(recipe: Recipe) -> None:
    """Texts within settings that can be read."""
    from rankwell.train.negatives import Negatives
    from rankwell.train.perturbations import parse_perturbations

    told = recipe.pair_settings
    if recipe.needs_labels:
        Negatives.parse(told["negatives"], told["depth"])
        if told["document"] is not None:
            Template(told["document"])
        if told["passages"] is not None:
            Passages.parse(told["passages"])
    else:
        parse_perturbations(told["perturb"])
