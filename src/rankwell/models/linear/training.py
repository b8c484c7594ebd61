"""Fit the linear baseline."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from rankwell import __version__
from rankwell.core import SILENT, Booleans, MissingExtraError, Progress, RankwellError
from rankwell.core.parameters import POSITIVE, Flag, Whole, check_parameters, like, param
from rankwell.models.learning.folders import new_folder
from rankwell.models.learning.pairs import Pairs
from rankwell.models.learning.settings import ValidationSettings
from rankwell.models.learning.validation import pair_measures
from rankwell.models.linear.ranking import LinearModel, Words, save_linear
from rankwell.report import Column, Table


def linear_card(model: LinearModel) -> str:
    """What the model is, what it was made of, how good it was, and what it has learned."""
    made = model.made
    data, settings = made["data"], made["settings"]
    about = (
        "TF-IDF and logistic regression over query and document as one text, by `rankwell train linear`. Use it with "
        "`rankwell rerank --model THIS_FOLDER`."
    )
    cleaned = ", cleaned before" if model.words.cleaned else ""
    facts = [
        f"{len(model.vocabulary):,} words and runs of up to {model.words.longest} words{cleaned}",
        f"each in {settings['fewest']:,} texts or more",
        f"penalty C = {settings['penalty']:g}{', labels balanced' if settings['balanced'] else ''}",
        f"trained on {data['pairs']:,} pairs of `{data['folder']}`, fingerprint {data['fingerprint']}",
        ", ".join(f"{name} {version}" for name, version in made["versions"].items()),
    ]
    parts = ["# A linear model to re-rank with", about, "\n".join(f"- {fact}" for fact in facts)]
    if "measures" in made:
        parts.append(_measures(made["measures"], made["validation"]["pairs"]))
    words = "\n".join(f"| {word} | {weight:+.3f} |" for word, weight in model.strongest())
    parts.append(f"## The words that weigh most\n\n| words | weight |\n|---|---|\n{words}")
    return "\n\n".join(parts) + "\n"


def _measures(rows: list[dict[str, float]], pairs: int) -> str:
    names = list(rows[0])
    lines = [f"| {' | '.join(names)} |", "|---" * len(names) + "|"]
    lines += [f"| {' | '.join(f'{row[name]:.4g}' for name in names)} |" for row in rows]
    return f"## On {pairs:,} pairs that it was not trained on\n\n" + "\n".join(lines)


PENALTIES = (0.1, 1.0, 10.0)
"""The settings between which validation decides."""
MEASURES = ("AP", "AUC", "nDCG@10")
CARD = "README.md"

Relevant = Sequence[bool] | Booleans


@dataclass(frozen=True)
class LinearSettings:
    """How a linear model is fitted.

    p(relevant) = 1 / (1 + exp(-(w . x + b))),   w of  min 1/2 |w|^2 + C sum_i log(1 + exp(-y_i (w . x_i + b)))

    The systematic-review study makes small steps for 20 epochs; here the same problem is solved to its minimum, and
    the `penalty` C takes the place of stopping early. Words and runs of words that are in fewer than `fewest` texts are
    left out. `balanced` gives both labels the same weight in all.
    """

    longest: int = like(Words, "longest")
    cleaned: bool = like(Words, "cleaned")
    fewest: int = param(8, "Leave out words that are in fewer texts.", Whole(1), flags=("--min-df",))
    penalty: float = param(1.0, "C: the lower, the more even the weights.", POSITIVE)
    balanced: bool = param(False, "Give relevant pairs as much weight as all others.", Flag())

    def __post_init__(self) -> None:
        check_parameters(self)

    @property
    def words(self) -> Words:
        """What texts are made of."""
        return Words(self.longest, self.cleaned)


@dataclass(frozen=True)
class LinearValidation(ValidationSettings):
    """What chooses between several penalties."""

    validation: str = like(
        ValidationSettings,
        "validation",
        help="What chooses the penalty: share of the queries to hold out, or a folder of pairs.",
    )
    seed: int = param(0, "Random seed of the validation split.", Whole())


def fit_linear(texts: Iterable[str], relevant: Relevant, settings: LinearSettings) -> LinearModel:
    """A model of texts (each query and document together) and whether the document is relevant."""
    return fit_penalties(texts, relevant, settings, [settings.penalty])[0]


def fit_penalties(
    texts: Iterable[str], relevant: Relevant, settings: LinearSettings, penalties: Sequence[float]
) -> list[LinearModel]:
    """A model for each penalty, by scikit-learn; words are counted once for all."""
    try:
        from sklearn.feature_extraction.text import TfidfVectorizer
        from sklearn.linear_model import LogisticRegression
    except ImportError as error:
        raise MissingExtraError("the linear model", extra="train") from error
    labels = np.asarray(relevant, dtype=bool)
    _check_labels(labels)
    vectorizer = TfidfVectorizer(ngram_range=(1, settings.words.longest), min_df=settings.fewest)
    try:
        rows = vectorizer.fit_transform(texts)
    except ValueError as error:  # the library's word for "no word is left"
        raise RankwellError(
            f"linear: expected texts with words in common, found none in {len(labels):,} that are in "
            f"{settings.fewest:,} of them"
        ) from error
    vocabulary = tuple(str(word) for word in vectorizer.get_feature_names_out())
    idf, weight = np.asarray(vectorizer.idf_, dtype=np.float64), "balanced" if settings.balanced else None
    models = []
    for penalty in penalties:
        regression = LogisticRegression(C=penalty, solver="liblinear", random_state=0, class_weight=weight)
        regression.fit(rows, labels)
        weights = np.asarray(regression.coef_[0], dtype=np.float64)
        models.append(LinearModel(settings.words, vocabulary, idf, weights, float(regression.intercept_[0])))
    return models


def train_linear(
    pairs: Pairs,
    out: Path | str,
    settings: LinearSettings | None = None,
    *,
    validation: Pairs | None = None,
    penalties: Sequence[float] = PENALTIES,
    progress: Progress = SILENT,
) -> LinearModel:
    """Fit a model to pairs and write its folder.

    With pairs to validate on, the penalty with the best mean average precision there is taken; then what the model
    holds was fitted on `pairs` alone, and `made` has the measures of every penalty.
    """
    settings, started = settings or LinearSettings(), time.perf_counter()
    with new_folder(out) as folder:
        tried = list(penalties) if validation else [settings.penalty]
        texts = progress.track(_texts(pairs, settings.words))
        models = fit_penalties(texts, pairs.labels() > 0, settings, tried)
        measured = _measured(models, validation) if validation else []
        best = max(range(len(models)), key=lambda place: measured[place]["AP"] if measured else 0)
        made = _made(pairs, replace(settings, penalty=tried[best]), time.perf_counter() - started)
        if validation:
            made["validation"] = {"pairs": len(validation), "fingerprint": validation.fingerprint}
            made["measures"] = [{"penalty": one, **of} for one, of in zip(tried, measured, strict=True)]
        model = replace(models[best], made=made)
        save_linear(model, folder)
        (folder / CARD).write_text(linear_card(model), encoding="utf-8")
    return model


def _texts(pairs: Pairs, words: Words) -> Iterator[str]:
    return (words.text(pair.query, pair.document) for pair in pairs.rows())


def _measured(models: Sequence[LinearModel], pairs: Pairs) -> list[dict[str, float]]:
    """The measures of each of these models, which differ in their weights alone."""
    vectors = [models[0].vector(text) for text in _texts(pairs, models[0].words)]
    scores = [[model.of_vector(vector) for vector in vectors] for model in models]
    return [pair_measures(pairs, of_model, MEASURES) for of_model in scores]


def _check_labels(relevant: Booleans) -> None:
    if relevant.all() or not relevant.any():
        found = "only others" if not relevant.any() else "only relevant ones"
        told = f"{found} ({len(relevant):,} pairs)" if len(relevant) else "none"
        raise RankwellError(f"linear: expected relevant pairs and others, found {told}")


def _made(pairs: Pairs, settings: LinearSettings, seconds: float) -> dict[str, Any]:
    import sklearn

    return {
        "kind": "linear",
        "settings": asdict(settings),
        "data": {"folder": pairs.folder.name, "fingerprint": pairs.fingerprint, "pairs": len(pairs)},
        "versions": {"rankwell": __version__, "numpy": np.__version__, "scikit-learn": sklearn.__version__},
        "seconds": round(seconds, 2),
    }


def penalty_table(model: LinearModel) -> Table:
    """A row for each penalty; the chosen one is marked."""
    rows = model.made["measures"]
    chosen = model.made["settings"]["penalty"]
    names = [name for name in rows[0] if name != "penalty"]
    columns = [Column("penalty", digits=4), *(Column(name, digits=4) for name in names), Column("", "left")]
    cells = [
        (row["penalty"], *(row[name] for name in names), "chosen" if row["penalty"] == chosen else "") for row in rows
    ]
    return Table(f"On {model.made['validation']['pairs']:,} validation pairs", columns, cells)
