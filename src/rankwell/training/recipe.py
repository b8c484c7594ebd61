"""What the recipes `finetune` and `adapt` share.

A folder whose steps are done once, the index with its vectors, the number of tokens to read, and the choice of weights.
"""

from __future__ import annotations

import logging
import random
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import orjson

from rankwell.collections import ColumnChoice, Reading, open_collection
from rankwell.core import Document, Judgments, Progress, Queries, RankwellError, Run, Stage, atomic_write
from rankwell.index import Index, IndexWriter, is_index
from rankwell.models.base import TextEncoder, TokenCounter
from rankwell.models.learning.starting_model import find_trainable, longest_input
from rankwell.pipelines.result_folder import ResultFolder
from rankwell.pipelines.tuning import Tuning, tune
from rankwell.retrieve import BM25, Dense, Hybrid
from rankwell.retrieve.fusion import WeightedSum
from rankwell.vectors import embed

log = logging.getLogger(__name__)

CONFIGURATION, RESULTS, INDEX, PIPELINE = "recipe.json", "steps", "index", "pipeline.toml"
DEPTH = 100  # documents of each ranker
MEASURE = "nDCG@10"
READ = 0.9  # share of the text that a model should read
LENGTHS = (32, 64, 96, 128, 192, 256, 320, 384, 448, 512)  # tokens
SAMPLE = 1000  # documents whose tokens are counted
SPECIAL = 2  # tokens at the start and at the end of a text
WEIGHTS = tuple(round(0.1 * step, 1) for step in range(11))  # of vectors in a hybrid


@dataclass(frozen=True)
class RecipeFolder:
    """The folder of a recipe: its settings, and the result of each step, which is done once.

    After an interruption the same command continues with the first step that is not done.
    """

    path: Path
    quiet: bool = False

    @classmethod
    def open(cls, path: Path | str, kind: str, settings: Mapping[str, Any], *, quiet: bool = False) -> RecipeFolder:
        """Create the folder, or reopen one of the same recipe with the same settings."""
        folder, wanted = cls(Path(path), quiet), {"recipe": kind, "settings": dict(settings)}
        file = folder.path / CONFIGURATION
        if file.is_file():
            try:
                before = orjson.loads(file.read_bytes())
            except orjson.JSONDecodeError as error:
                raise RankwellError(f"{file}: expected the settings of a recipe, found no JSON ({error})") from error
            if before != orjson.loads(orjson.dumps(wanted)):
                raise RankwellError(
                    f"{folder.path}: holds a recipe with other settings ({_other(before, wanted)}): choose another "
                    "folder, or remove this one"
                )
        elif folder.path.exists() and any(entry.name != INDEX for entry in folder.path.iterdir()):
            raise RankwellError(f"{folder.path}: expected a new folder or one of `rankwell {kind}`, found another")
        else:
            with atomic_write(file) as out:
                out.write(orjson.dumps(wanted, option=orjson.OPT_INDENT_2))
        return folder

    def step(self, name: str, make: Callable[[], Any]) -> Any:
        """The result of a step as plain values; it is made where it is not there yet."""
        results = ResultFolder(self.path / RESULTS)
        if name not in results:
            results[name] = make()
        return results[name]

    def has(self, name: str) -> bool:
        """Whether a step is done."""
        return name in ResultFolder(self.path / RESULTS)

    @property
    def pipeline(self) -> Path:
        """The file of the chosen search, for --pipeline."""
        return self.path / PIPELINE

    @property
    def vectors(self) -> str:
        """The name of the vectors that the recipe makes: the folder's own."""
        return re.sub(r"[^\w.+-]", "-", self.path.resolve().name).lstrip(".+-") or "trained"

    def __truediv__(self, name: str) -> Path:
        return self.path / name


def _other(before: Any, now: Mapping[str, Any]) -> str:
    """The first setting that differs."""
    if not isinstance(before, dict) or before.get("recipe") != now["recipe"]:
        return "another recipe"
    told = before.get("settings", {})
    name = next((name for name, value in now["settings"].items() if told.get(name) != value), "settings")
    return f"{name}: {told.get(name)!r}, now {now['settings'].get(name)!r}"


def index_of(source: str, folder: RecipeFolder, reading: Reading, choice: ColumnChoice | None = None) -> Index:
    """The index of a recipe: the source itself where it is an index, else one of its documents, made once."""
    if is_index(Path(source)):
        return Index.open(source)
    path = folder / INDEX
    if not is_index(path):
        documents = open_collection(source).documents(reading, choice or ColumnChoice())
        with IndexWriter(path) as writer:
            writer.add_all(reading.progress.track(documents))
    index = Index.open(path)
    if not len(index):
        raise RankwellError(f"{source}: expected documents, found none")
    return index


def encode(index: Index, model: str, folder: RecipeFolder, name: str | None = None) -> str:
    """Give the index vectors by a model, and return their name; vectors that are there already are completed."""
    with Progress(f"encoding with {Path(model).name}", unit="documents", quiet=folder.quiet) as progress:
        return embed(index, TextEncoder(model), name=name, graph=False, progress=progress).name


@dataclass(frozen=True)
class TextBudget:
    """How many tokens of a text a model reads, and which share of all text that is."""

    tokens: int
    share: float
    mean: float  # tokens of a document

    def __str__(self) -> str:
        return f"documents have {self.mean:,.0f} tokens on average; {self.tokens} tokens read {self.share:.0%} of them"


def text_budget(
    documents: Sequence[Document], model: str, wanted: int | None = None, *, beside: int = 0, share: float = READ
) -> TextBudget:
    """The fewest tokens with which a model reads that share of the documents, or what it reads with `wanted` tokens.

    `beside` are tokens of the query that is read together with the document. Where not even the longest input that
    the model takes is enough, that is chosen, and its share tells how much is cut off.
    """
    most = longest_input(find_trainable(model))
    texts = [document.text() for document in documents]
    lengths = np.array(TokenCounter(model)(texts), dtype=np.int64) + SPECIAL
    able = [wanted] if wanted else [tokens for tokens in LENGTHS if tokens < most] + [most]
    shares = [float(np.minimum(lengths, max(1, tokens - beside)).sum() / max(1, lengths.sum())) for tokens in able]
    place = next((place for place, read in enumerate(shares) if read >= share), len(able) - 1)
    return TextBudget(able[place], shares[place], float(lengths.mean()) if len(lengths) else 0.0)


def sample_of(index: Index, count: int = SAMPLE, seed: int = 0) -> list[Document]:
    """Documents of an index, drawn at random."""
    known = list(index.documents)
    drawn = known if len(known) <= count else random.Random(seed).sample(known, count)  # noqa: S311 -- no secret
    return [index.documents[docno] for docno in sorted(drawn)]


@dataclass(frozen=True)
class Restricted(Stage):
    """Only given candidates of each query, in the order of the run; candidates that the run lacks come last.

    For collections in which each query has its own list of documents to rank.
    """

    candidates: Judgments

    def apply(self, run: Run) -> Run:
        """Rank the candidates of each query."""
        kept: dict[str, dict[str, float]] = {}
        for qid in run.qids:
            wanted = self.candidates.get(qid, {})
            scores = {docno: score for docno, score in run[qid] if docno in wanted}
            lowest = min(scores.values(), default=0.0)
            missing = [docno for docno in wanted if docno not in scores]
            kept[qid] = scores | dict.fromkeys(missing, lowest - 1.0)
        return Run.from_dict(kept, tag=run.tag, queries=run.queries, documents=run.documents)


@dataclass(frozen=True)
class Rankers:
    """The rankers of an index: by words, by vectors of a name, and hybrids of both."""

    index: Index
    candidates: Judgments | None = None
    threads: int = 2

    @property
    def words(self) -> Stage:
        """BM25."""
        return self._restricted(BM25(self.index, k=self._depth, threads=self.threads))

    def vectors(self, name: str) -> Stage:
        """Vectors of that name alone."""
        return self._restricted(Dense(self.index, name, k=self._depth, threads=self.threads))

    def hybrid(self, name: str, weight: float) -> Stage:
        """Both, with that share for the vectors."""
        return Hybrid((self.words, self.vectors(name)), WeightedSum((1 - weight, weight)))

    def choose_weight(self, name: str, queries: Queries, judgments: Judgments, measure: str, seed: int) -> Tuning:
        """Try all weights of the vectors on judged queries."""

        def made(weight: float) -> Stage:
            return self.hybrid(name, weight)

        folds = min(5, len(judgments))
        return tune(made, {"weight": WEIGHTS}, queries, judgments, measure, folds=folds, seed=seed)

    @property
    def _depth(self) -> int:
        return DEPTH if self.candidates is None else max(DEPTH, len(self.index))

    def _restricted(self, stage: Stage) -> Stage:
        return stage if self.candidates is None else stage >> Restricted(self.candidates)
