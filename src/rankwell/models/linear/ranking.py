"""The linear baseline as a re-ranker: TF-IDF and logistic regression, without scikit-learn."""

from __future__ import annotations

import hashlib
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from functools import cached_property, lru_cache
from io import BytesIO
from pathlib import Path
from typing import Any, ClassVar, NamedTuple

import numpy as np
import orjson

from rankwell.analysis import clean
from rankwell.core import SILENT, Floats, Integers, Progress, Values, atomic_write, fingerprint
from rankwell.core.errors import FormatError, ParameterError, Phrase, RankwellError
from rankwell.core.parameters import Flag, Whole, check_parameters, param
from rankwell.models.base.encoders import OneLogit
from rankwell.models.base.tokens import Pair, Truncation, as_text
from rankwell.models.cross_encoder.ranking import CrossEncoder

FORMAT, VERSION = "rankwell linear", 1
RECORD, VOCABULARY, IDF, WEIGHTS = "linear.json", "vocabulary.txt", "idf.npy", "weights.npy"
WORD = re.compile(r"\b\w\w+\b")  # scikit-learn's: words of two characters or more


@dataclass(frozen=True)
class Words:
    """What a text is made of: its words and runs of up to `longest` of them, lower-case; cleaned before, if asked."""

    longest: int = param(3, "Count words, and runs of up to so many words.", Whole(1))
    cleaned: bool = param(
        False, "Clean the texts first: links, numbers, stop words, lemmas.", Flag(), flags=("--clean",)
    )

    def __post_init__(self) -> None:
        check_parameters(self)

    def text(self, query: str, document: str) -> str:
        """A pair as one text (systematic-review study, 4.5)."""
        if self.cleaned:
            query, document = clean(query), clean(document)
        return f"{query} {document}"

    def counts(self, text: str) -> Counter[str]:
        """How often each word and each run of words is in a text, as scikit-learn's vectorizer counts them."""
        words = WORD.findall(text.lower())
        counts = Counter(words)
        for size in range(2, self.longest + 1):
            counts.update(" ".join(words[start : start + size]) for start in range(len(words) - size + 1))
        return counts


class Vector(NamedTuple):
    """A sparse vector: values and their indices."""

    places: Integers
    values: Values


@dataclass(frozen=True, eq=False)
class LinearModel(OneLogit):
    """Weights of words and runs of words. A `Scorer`: what a re-ranker asks for.

    logit = w . x + b,   x_t = tf_t * idf_t / |x|,   idf_t = ln((1 + n) / (1 + df_t)) + 1   (scikit-learn's)
    """

    outruns_cache: ClassVar[bool] = True  # scores are not kept

    words: Words
    vocabulary: tuple[str, ...] = field(repr=False)
    idf: Values = field(repr=False)
    weights: Values = field(repr=False)
    intercept: float
    made: dict[str, Any] = field(default_factory=dict, repr=False)

    def __post_init__(self) -> None:
        sizes = [len(self.vocabulary), *(values.size for values in (self.idf, self.weights))]
        if len(set(sizes)) > 1 or self.idf.ndim != 1 or self.weights.ndim != 1:
            raise RankwellError(f"linear model: expected an idf and a weight for each word, found {sizes}")
        if not all(np.isfinite(values).all() for values in (self.idf, self.weights, np.array(self.intercept))):
            raise RankwellError("linear model: expected finite weights, found others")

    @property
    def truncated(self) -> Truncation:
        """No text is ever truncated."""
        return Truncation()

    def logits(self, pairs: Sequence[Pair], progress: Progress = SILENT) -> Floats:
        """One logit a pair: an array of one column."""
        logits = [self.logit(self.words.text(query, as_text(document))) for query, document in progress.track(pairs)]
        return np.array(logits, dtype=np.float32).reshape(-1, 1)

    def fingerprint(self) -> str:
        """Fingerprint of words and weights."""
        return self._fingerprint

    def logit(self, text: str) -> float:
        """The logit of a pair as one text."""
        return self.of_vector(self.vector(text))

    def vector(self, text: str) -> Vector:
        """The words of a text that the model knows: x, where it is not 0."""
        counts = {self._places.get(word): count for word, count in self.words.counts(text).items()}
        counts.pop(None, None)
        places = np.fromiter(counts, dtype=np.int64, count=len(counts))
        values = np.fromiter(counts.values(), dtype=np.float64, count=len(counts)) * self.idf[places]
        return Vector(places, values / np.sqrt(values @ values) if counts else values)

    def of_vector(self, vector: Vector) -> float:
        """The logit of a sparse vector."""
        return float(vector.values @ self.weights[vector.places]) + self.intercept

    def strongest(self, count: int = 10) -> list[tuple[str, float]]:
        """The words that speak most for relevance, and those that speak most against it."""
        order = np.argsort(self.weights, kind="stable")
        chosen = dict.fromkeys([*order[::-1][:count].tolist(), *order[:count][::-1].tolist()])
        return [(self.vocabulary[place], float(self.weights[place])) for place in chosen]

    @cached_property
    def _places(self) -> dict[str, int]:
        return {word: place for place, word in enumerate(self.vocabulary)}

    @cached_property
    def _fingerprint(self) -> str:
        return fingerprint(["linear", asdict(self.words), self.intercept, *map(_checksum, _contents(self).values())])


def save_linear(model: LinearModel, folder: Path) -> None:
    """Write the files of a model into a folder: text, plain arrays, and a record with their checksums."""
    contents = _contents(model)
    record = {
        "format": FORMAT,
        "version": VERSION,
        **asdict(model.words),
        "terms": len(model.vocabulary),
        "intercept": model.intercept,
        "sha256": {name: _checksum(content) for name, content in contents.items()},
        "made": model.made,
    }
    contents[RECORD] = orjson.dumps(record, option=orjson.OPT_INDENT_2)
    for name, content in contents.items():
        with atomic_write(folder / name) as file:
            file.write(content)


def is_linear(model: str) -> bool:
    """Whether this is a linear model's folder."""
    return (Path(model) / RECORD).is_file()


def load_linear(folder: Path | str) -> LinearModel:
    """The model of a folder, checked; it stays loaded until the folder changes."""
    file = Path(folder) / RECORD
    if not file.is_file():
        raise RankwellError(f"{folder}: expected a linear model with a file {RECORD}, found none")
    status = file.stat()
    return _load(str(Path(folder).resolve()), status.st_mtime_ns, status.st_ino)


@lru_cache(maxsize=4)
def _load(folder: str, changed: int, number: int) -> LinearModel:  # noqa: ARG001 -- they tell a folder from its successor
    path = Path(folder)
    record = _record(path / RECORD)
    contents = {name: _content(path / name, record) for name in (VOCABULARY, IDF, WEIGHTS)}
    try:
        words = Words(int(record["longest"]), bool(record["cleaned"]))
        vocabulary = tuple(contents[VOCABULARY].decode().split("\n")[:-1])
        idf, weights = (_array(path / name, contents[name]) for name in (IDF, WEIGHTS))
        return LinearModel(words, vocabulary, idf, weights, float(record["intercept"]), dict(record["made"]))
    except (KeyError, TypeError, ValueError) as error:
        if isinstance(error, RankwellError):
            raise
        raise FormatError(path / RECORD, None, expected="a linear model", found=Phrase(str(error))) from error


def _record(file: Path) -> dict[str, Any]:
    try:
        record = orjson.loads(file.read_bytes())
    except orjson.JSONDecodeError as error:
        raise FormatError(file, None, expected="JSON", found=str(error)) from error
    if not isinstance(record, dict) or record.get("format") != FORMAT or record.get("version") != VERSION:
        raise FormatError(file, None, expected=f'"format": "{FORMAT}", "version": {VERSION}', found=Phrase("others"))
    return record


def _content(file: Path, record: dict[str, Any]) -> bytes:
    sums = record.get("sha256")
    expected = sums.get(file.name) if isinstance(sums, dict) else None
    try:
        content = file.read_bytes()
    except OSError as error:
        raise RankwellError(f"{file}: expected a part of a linear model: {error.strerror}") from error
    if _checksum(content) != expected:
        found = Phrase(_checksum(content))
        raise FormatError(file, None, expected=f"content with the checksum {expected}", found=found)
    return content


def _contents(model: LinearModel) -> dict[str, bytes]:
    words = "".join(f"{word}\n" for word in model.vocabulary).encode()
    return {VOCABULARY: words, IDF: _npy(model.idf), WEIGHTS: _npy(model.weights)}


def _npy(values: Values) -> bytes:
    buffer = BytesIO()
    np.save(buffer, np.asarray(values, dtype="<f8"), allow_pickle=False)
    return buffer.getvalue()


def _array(file: Path, content: bytes) -> Values:
    values = np.load(BytesIO(content), allow_pickle=False)
    if values.dtype != np.dtype("<f8"):
        raise FormatError(file, None, expected="64-bit numbers", found=str(values.dtype))
    return np.asarray(values, dtype=np.float64)


def _checksum(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


@dataclass(frozen=True)
class Linear(CrossEncoder):
    """Scores the k best documents of each query with a model of `rankwell train linear` (systematic-review study, 4.5).

    Its parameters are those of `CrossEncoder` without a transformer's. Scores are not cached: computing them is faster
    than looking them up.

    >>> BM25(index) >> Linear("linear-model", k=100)
    """

    def __post_init__(self) -> None:
        super().__post_init__()
        self._refuse(self.of_scorer, "a linear model knows no tokens and has one precision")

    def scorer(self) -> LinearModel:
        """The model, loaded."""
        if not isinstance(self.model, str):
            raise ParameterError("model", expected="the folder of a linear model", found=self.model)
        return load_linear(self.model)
