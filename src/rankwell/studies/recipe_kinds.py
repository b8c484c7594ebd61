"""The parts of a recipe: steps that make pairs, and steps that train on them, each with its settings."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

from rankwell.rerank.architectures import ARCHITECTURES
from rankwell.studies.steps.step import REQUIRED, Parameter

PAIRS, TRAINING = "pairs", "training"
SELF_SUPERVISED, LABELLED, UNLABELLED = "self-supervised", "labelled", "unlabelled"
FINE_TUNE, ARCHITECTURE, PARADE, DISTIL, LINEAR = "fine-tune", "architecture", "parade", "distil", "linear"
FROM, VALIDATE = "from", "validate"  # settings that name a collection of the study

SOURCE = Parameter(FROM, "the collection to make pairs of; the one that is measured by default")
LIMIT = Parameter("limit", "at most so many pairs, drawn by the seed", int)
DOCUMENT = Parameter("document", "the text that is read: '{title} {abstract}'; all fields by default")
PASSAGES = Parameter("passages", "pairs of passages: 150:50")
START = Parameter("start", "the model to start from", str, REQUIRED)
DECIDES = Parameter(VALIDATE, "the collection whose judged queries choose the step that is kept; else it is the last")
FREEZE = Parameter("freeze", "none, embeddings, layers:N, head", str, "none")
LOSS = Parameter("loss", "bce, ranknet, margin, listnet, softmax, lambda", str, "bce")


def of_training(batch: int = 16, lr: float = 5e-5) -> tuple[Parameter, ...]:
    """The settings that all training of transformers has."""
    return (
        Parameter("epochs", "passes over the pairs", float, 3.0),
        Parameter("batch", "pairs that are run together", int, batch),
        Parameter("lr", "the highest learning rate", float, lr),
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


_KINDS = (
    RecipeKind(
        SELF_SUPERVISED,
        PAIRS,
        "titles as queries, abstracts as documents (S0)",
        (
            SOURCE,
            Parameter("false", "the share of false pairs", float, 0.6),
            Parameter("perturb", "all, none, or some of short,stopwords,shuffle", str, "all"),
            Parameter("title", "the field with titles", str, "title"),
            Parameter("abstract", "the field with abstracts", str, "abstract"),
            LIMIT,
        ),
    ),
    RecipeKind(
        LABELLED,
        PAIRS,
        "judged documents of the training queries, and others to tell them from (S4)",
        (
            SOURCE,
            Parameter("negatives", "hard:4,random:1,judged:2", str, "hard:4"),
            Parameter("depth", "how deep in BM25's run hard negatives are looked for", int, 40),
            DOCUMENT,
            PASSAGES,
            LIMIT,
        ),
    ),
    RecipeKind(
        UNLABELLED,
        PAIRS,
        "the training queries and what BM25 finds for them, for a teacher to judge; no judgment is read",
        (
            SOURCE,
            Parameter("documents", "how many of a query's: hard:9,random:1, hard:all", str, "hard:9,random:1"),
            Parameter("depth", "how deep in BM25's run hard ones are looked for", int, 50),
            DOCUMENT,
            PASSAGES,
            LIMIT,
        ),
    ),
    RecipeKind(
        FINE_TUNE,
        TRAINING,
        "a cross-encoder from a model with PyTorch's weights",
        (START, LOSS, DECIDES, FREEZE, *of_training()),
        ("start",),
    ),
    RecipeKind(
        ARCHITECTURE,
        TRAINING,
        "one of S3's four architectures, from a model with PyTorch's weights",
        (
            START,
            Parameter("kind", "which of the four", str, "interaction", tuple(ARCHITECTURES)),
            Parameter("texts", "QA or QTA, for interactions", str, None, ("QA", "QTA")),
            Parameter("shared", "one encoder for all texts", bool, False),
            Parameter("clean", "clean texts first", bool, False),
            Parameter("freeze", "none, or head for a frozen BERT", str, "none"),
            *of_training(),
        ),
        ("start",),
    ),
    RecipeKind(
        PARADE,
        TRAINING,
        "PARADE: a document's passages through a BERT, aggregated, one score",
        (
            START,
            Parameter("aggregate", "avg, max, attn or transformer", str, "transformer"),
            Parameter("passages", "how documents are split", str, "150:50"),
            Parameter("most", "the most passages of a document", int, 16),
            LOSS,
            FREEZE,
            *of_training(batch=8),
        ),
        ("start",),
    ),
    RecipeKind(
        DISTIL,
        TRAINING,
        "a small cross-encoder that learns from a large one",
        (
            Parameter("teacher", "a cross-encoder", str, REQUIRED),
            Parameter("student", "teacher:6 (of its layers), teacher:3x192 (narrower), or a model", str, REQUIRED),
            Parameter("method", "tinybert, soft, margin-mse or distilbert", str, "tinybert"),
            Parameter("temperature", "what logits are divided by for the soft loss", float, 4.0),
            Parameter("weights", "other weights of losses: 'hidden=10,hard=0'", str, ""),
            Parameter(
                "layers", "the teacher's layers to take: evenly, every-second, first, last, '2,4,6'", str, "evenly"
            ),
            Parameter("targets", "the teacher's layers that the student's are compared with", str, "evenly"),
            Parameter("list", "the most documents of a query in a list (margin-mse)", int, 8),
            DECIDES,
            Parameter("measure", "what decides", str, "nDCG@10"),
            Parameter("every", "steps from one look at that measure to the next; once an epoch by default", int),
            Parameter("steps", "changes of the weights, in the place of epochs", int),
            FREEZE,
            *of_training(batch=32, lr=1e-4),
        ),
        ("teacher", "student"),
    ),
    RecipeKind(
        LINEAR,
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
