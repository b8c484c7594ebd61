"""Load the student and its teacher, choose the layers to compare, and measure the speed of both."""

from __future__ import annotations

import logging
import re
import statistics
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any, Self

import numpy as np

from rankwell.core import Floats, ParameterError, Progress, RankwellError
from rankwell.models.base import PairScorer, load_pair_scorer
from rankwell.models.base.catalogue import labels_of, task_of
from rankwell.models.base.export import PAIRS
from rankwell.models.base.folder import FP32, ModelFolder, read_record
from rankwell.models.base.torch_model import load_torch
from rankwell.models.learning.pairs import Pairs
from rankwell.models.learning.starting_model import find_trainable, load_classifier, transformer_layers, with_dropout
from rankwell.models.linear.ranking import is_linear
from rankwell.models.reranking.scores import PairScores, ScoreCache, Scorer, Tally

BLOCK = 4096  # pairs with texts in memory at once
RANKING_LABELS = (1, 2)
TIMED, ROUNDS = 64, 5  # pairs that are scored to measure the speed, and how often


def find_teacher(name: str) -> ModelFolder:
    """The folder of a cross-encoder with one label (relevant) or two (not relevant, relevant)."""
    folder = ModelFolder.find(name)
    record = read_record(folder.path)
    if is_linear(str(folder.path)) or record is not None:
        found = "a linear model" if record is None else f"a {record.kind}"
        raise RankwellError(f"{name}: expected a cross-encoder as the teacher, found {found}")
    if task_of(folder) != PAIRS:
        found = folder.architecture or "one that gives vectors of texts"
        raise RankwellError(f"{name}: expected a cross-encoder (...ForSequenceClassification), found {found}")
    labels = labels_of(folder)
    if labels not in RANKING_LABELS:
        raise RankwellError(f"{name}: expected a teacher with 1 label (relevant) or 2, found {labels}")
    return folder


def load_teacher(folder: ModelFolder) -> Any:
    """The teacher in torch, with frozen weights."""
    if folder.torch_weights is None:
        raise RankwellError(
            f"{folder.name}: expected PyTorch's weights (model.safetensors) to look inside the teacher, found only "
            "ONNX: distil its scores, with --method soft or margin-mse and a student of your own"
        )
    return load_torch(folder, PAIRS, -1).eval().requires_grad_(requires_grad=False)


def teacher_scorer(folder: ModelFolder, max_tokens: int, query_tokens: int | None, threads: int | None) -> Scorer:
    """The teacher as a scorer, in full precision where available."""
    budget = min(max_tokens, folder.longest)
    precision = FP32 if folder.torch_weights is not None else None
    return load_pair_scorer(
        folder.name, max_tokens=budget, query_tokens=query_tokens, precision=precision, threads=threads
    )


def teacher_scores(scorer: Scorer, pairs: Pairs, progress: Progress) -> Floats:
    """The teacher's score of every pair, in order. Scores are cached as in `rankwell rerank`."""
    with ScoreCache(scorer.fingerprint()) as cache:
        score = PairScores(scorer, cache, Tally(), progress)
        texts = pairs.texts()
        parts = [score(block) for block in iter(lambda: list(islice(texts, BLOCK)), [])]
    return np.concatenate([*parts, np.zeros(0, np.float32)])


def score_of(logits: Any, *, next_sentence: bool = False) -> Any:
    """One score per pair from the teacher's logits: the only one, or "relevant" minus "not relevant".

    For two labels softmax(logits / T) is the sigmoid of that score / T, so no information is lost.
    """
    if logits.shape[-1] == 1:
        return logits[:, 0]
    yes, no = (0, 1) if next_sentence else (1, 0)
    return logits[:, yes] - logits[:, no]


NUMBERS = "numbers of the teacher's layers such as 2,4,6"


def layer_map(told: str, student: int, teacher: int) -> tuple[int, ...]:
    """For each of the student's layers a layer of the teacher, from 1.

    evenly        the last layer and others at equal distances before it: 4,8,12 for 3 of 12 layers (TinyBERT's map)
    every-second  2,4,6,...: the same, for a student with half as many layers
    first, last   as many as the student has, from the bottom or the top
    2,4,12        these
    """
    if not 1 <= student <= teacher:
        raise ParameterError("student", expected=f"from 1 to {teacher} layers, as many as the teacher", found=student)
    if told in NAMED:
        return NAMED[told](student, teacher)
    numbers = tuple(int(part) if part.strip().isdecimal() else 0 for part in told.split(","))
    if 0 in numbers or max(numbers) > teacher:
        expected = f"{', '.join(NAMED)}, or {NUMBERS}, each from 1 to {teacher}"
        raise ParameterError("layers", expected=expected, found=told)
    if len(numbers) != student or list(numbers) != sorted(set(numbers)):
        raise ParameterError("layers", expected=f"{student} different {NUMBERS}, in their order", found=told)
    return numbers


def _every_second(student: int, teacher: int) -> tuple[int, ...]:
    if student != teacher // 2:
        expected = f"another map (evenly, first, last), because every second of {teacher} layers are {teacher // 2}"
        raise ParameterError("layers", expected=expected, found=f"every-second for {student}")
    return tuple(range(2, teacher + 1, 2))


NAMED: Mapping[str, Callable[[int, int], tuple[int, ...]]] = {
    "evenly": lambda student, teacher: tuple(round(place * teacher / student) for place in range(1, student + 1)),
    "every-second": _every_second,
    "first": lambda student, _: tuple(range(1, student + 1)),
    "last": lambda student, teacher: tuple(range(teacher - student + 1, teacher + 1)),
}


log = logging.getLogger(__name__)

OF_TEACHER = re.compile(r"teacher:(?P<layers>\d+)(x(?P<width>\d+))?")


@dataclass(frozen=True)
class Student:
    """The architecture of the student.

    teacher:6       6 of the teacher's layers, with its embeddings and its head
    teacher:3x192   3 layers as the teacher's are, but 192 wide; nothing of another width can be copied, so that its
                    weights start at random. It has as many attention heads as the teacher
    anything else   a folder or a name: its weights, with a new head where it has none for one logit
    """

    layers: int | None = None
    width: int | None = None
    model: str | None = None

    @classmethod
    def parse(cls, told: str) -> Self:
        """Parse the user's text."""
        if not told.startswith("teacher:"):
            return cls(model=told)
        sizes = OF_TEACHER.fullmatch(told)
        if sizes is None:
            raise ParameterError("student", expected="teacher:6, teacher:3x192, a folder or a name", found=told)
        return cls(int(sizes["layers"]), None if sizes["width"] is None else int(sizes["width"]))

    def folder(self, teacher: ModelFolder) -> ModelFolder:
        """The folder of its initial weights and its tokenizer."""
        return teacher if self.model is None else find_trainable(self.model)

    def make(self, teacher: ModelFolder, layers: str, dropout: float | None) -> Any:
        """The model in torch, with one logit. `layers` are the teacher's layers to copy."""
        if self.model is not None:
            return load_classifier(find_trainable(self.model), dropout)
        if teacher.next_sentence:
            raise RankwellError(
                f"{teacher.name}: expected a classifier (...ForSequenceClassification) to make a student of, found a "
                "next-sentence head: name another model as the student"
            )
        inner = load_teacher(teacher)
        depth = len(transformer_layers(inner))
        if depth != inner.config.num_hidden_layers:
            raise RankwellError(f"{teacher.name}: expected layers with weights of their own, found shared ones")
        chosen = layer_map(layers, self.layers or 0, depth)
        student = type(inner)(self._config(inner.config, chosen, dropout)).float()
        if self.width is None or self.width == inner.config.hidden_size:
            copy_layers(inner, student, chosen)
        else:
            log.warning("a student of another width than the teacher's: its weights start at random")
        return student

    def _config(self, config: Any, chosen: tuple[int, ...], dropout: float | None) -> Any:
        made = type(config).from_dict({**config.to_dict(), "id2label": {0: "LABEL_0"}, "label2id": {"LABEL_0": 0}})
        made.num_hidden_layers = len(chosen)
        if getattr(config, "layer_types", None):  # models with layers of different kinds
            made.layer_types = [config.layer_types[number - 1] for number in chosen]
        if self.width is not None:
            heads, before = int(config.num_attention_heads), int(config.hidden_size)
            if not self.width or self.width % heads:
                expected = f"a width that {heads} attention heads, the teacher's, can share"
                raise ParameterError("student", expected=expected, found=self.width)
            made.hidden_size = self.width
            inner = next(name for name in ("intermediate_size", "hidden_dim") if hasattr(config, name))
            setattr(made, inner, getattr(config, inner) * self.width // before)
        return with_dropout(made, dropout)


def copy_layers(teacher: Any, student: Any, chosen: tuple[int, ...]) -> None:
    """Copy these layers of a teacher (from 1), and everything outside the layers, into a student.

    Of a head with two labels it gets the difference, "relevant" minus "not relevant": its one logit is then the score
    that the teacher ranks by.
    """
    place = _layers_name(teacher)
    given = teacher.state_dict()
    taken = {}
    for name, tensor in student.state_dict().items():
        source = given[_in_teacher(name, place, chosen)]
        if source.shape != tensor.shape:
            source = source[1:2] - source[0:1]
        taken[name] = source
    student.load_state_dict(taken)


def _in_teacher(name: str, place: str, chosen: tuple[int, ...]) -> str:
    """The name of a student's weight in the teacher."""
    if not name.startswith(f"{place}."):
        return name
    number, _, rest = name.removeprefix(f"{place}.").partition(".")
    return f"{place}.{chosen[int(number)] - 1}.{rest}"


def _layers_name(model: Any) -> str:
    """The name of the list of layers in the model: `bert.encoder.layer`."""
    first = transformer_layers(model)[0]
    name: str = next(name for name, module in model.named_modules() if module is first)
    return name.rpartition(".")[0]


@dataclass(frozen=True)
class Speed:
    """A model's speed in pairs per second, and the megabytes of its weights."""

    model: str
    precision: str
    pairs_a_second: float
    megabytes: float

    def __str__(self) -> str:
        return f"{self.model}: {self.pairs_a_second:,.0f} pairs/s, {self.megabytes:,.0f} MB ({self.precision})"


def compare_speed(
    models: Sequence[str], pairs: Pairs, *, count: int = TIMED, rounds: int = ROUNDS, threads: int | None = None
) -> list[Speed]:
    """The median of several rounds, in which the models take turns, so that other load affects all alike.

    Each scores the same sample of the given pairs, with ONNX Runtime in fp32 where possible.
    """
    some = pairs.take(range(0, len(pairs), max(1, len(pairs) // count)))
    texts = list(some.texts())[:count]
    scorers = [_scorer(model, threads) for model in models]
    for scorer in scorers:
        scorer.logits(texts[:8])  # the first call is slower
    seconds: list[list[float]] = [[] for _ in scorers]
    for _ in range(rounds):
        for scorer, taken in zip(scorers, seconds, strict=True):
            begin = time.perf_counter()
            scorer.logits(texts)
            taken.append(time.perf_counter() - begin)
    return [
        Speed(scorer.model, scorer.precision, len(texts) / statistics.median(taken), scorer.megabytes)
        for scorer, taken in zip(scorers, seconds, strict=True)
    ]


def _scorer(model: str, threads: int | None) -> PairScorer:
    whole = ModelFolder.find(model).torch_weights is not None
    return PairScorer(model, precision=FP32 if whole else None, threads=threads)
