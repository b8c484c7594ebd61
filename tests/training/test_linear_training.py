"""The linear baseline: fitted by scikit-learn, and the same scores as scikit-learn's."""

from __future__ import annotations

import random
from pathlib import Path

import numpy as np
import pytest
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import LogisticRegression

from rankwell.analysis import clean
from rankwell.core import ParameterError, RankwellError
from rankwell.models.learning.pairs import Pair, Pairs
from rankwell.models.learning.pairs_writer import PairsWriter
from rankwell.models.linear.ranking import Linear, Words, load_linear
from rankwell.models.linear.training import LinearSettings, fit_linear, train_linear

CHOOSER = random.Random(1)  # noqa: S311
WORDS = ["fever", "masks", "Virus", "cells", "trial", "patients", "the", "of", "and", "mice"]
WORDS += ["\u03b1-helix", "don't", "x", "2020", "naïve"]
TEXTS = [" ".join(CHOOSER.choices(WORDS, k=CHOOSER.randint(0, 25))) for _ in range(300)]
RELEVANT = np.array(["fever" in text and CHOOSER.random() < 0.9 for text in TEXTS])


@pytest.mark.parametrize(("longest", "fewest", "penalty", "balanced"), [(3, 8, 1.0, False), (1, 1, 10.0, True)])
def test_scores_are_those_of_scikit_learn(longest: int, fewest: int, penalty: float, balanced: bool) -> None:
    settings = LinearSettings(longest=longest, fewest=fewest, penalty=penalty, balanced=balanced)
    ours = fit_linear(TEXTS, RELEVANT, settings)
    vectorizer = TfidfVectorizer(ngram_range=(1, longest), min_df=fewest)
    weight = "balanced" if balanced else None
    theirs = LogisticRegression(C=penalty, solver="liblinear", random_state=0, class_weight=weight)
    theirs.fit(vectorizer.fit_transform(TEXTS), RELEVANT)
    new = [*TEXTS[:50], "FEVER of masks, and 2020's mice!", "unknown words", ""]
    expected = theirs.decision_function(vectorizer.transform(new))
    assert [ours.logit(text) for text in new] == pytest.approx(expected, abs=1e-12)


def test_rarer_words_are_left_out() -> None:
    rare = fit_linear([*TEXTS, "once upon"], [*RELEVANT, False], LinearSettings())
    assert "upon" not in rare.vocabulary
    assert "fever" in rare.vocabulary


def pairs(folder: Path, queries: int = 12) -> Pairs:
    with PairsWriter(folder, made={}) as writer:
        for query in range(queries):
            for number in range(10):
                relevant = number < 3
                words = CHOOSER.choices(WORDS[2:], k=12) + ["fever", "masks"] * relevant
                writer.add(Pair(f"q{query}", f"d{query}-{number}", "which trial", " ".join(words), float(relevant)))
    return writer.open()


def test_a_trained_folder_re_ranks(tmp_path: Path) -> None:
    model = train_linear(pairs(tmp_path / "pairs"), tmp_path / "linear")
    found = load_linear(tmp_path / "linear")
    assert found.fingerprint() == model.fingerprint()
    assert found.logit("which trial fever masks") > 0 > found.logit("which trial mice cells")
    Linear(str(tmp_path / "linear")).check()


def test_the_folder_says_what_it_was_made_of(tmp_path: Path) -> None:
    given = pairs(tmp_path / "pairs")
    made = train_linear(given, tmp_path / "linear").made
    assert made["data"] == {"folder": "pairs", "fingerprint": given.fingerprint, "pairs": 120}
    card = (tmp_path / "linear" / "README.md").read_text()
    assert "| fever |" in card
    assert "penalty C = 1" in card


def test_validation_decides_between_penalties(tmp_path: Path) -> None:
    training, validation = pairs(tmp_path / "pairs").split(0.3, 0)
    made = train_linear(training, tmp_path / "linear", validation=validation, penalties=[1e-9, 1.0]).made
    values = {row["penalty"]: row["AP"] for row in made["measures"]}
    assert made["settings"]["penalty"] == max(values, key=values.__getitem__)
    assert made["validation"]["fingerprint"] == validation.fingerprint
    assert made["data"]["pairs"] == len(training)


def test_texts_are_cleaned_before_they_are_put_together(tmp_path: Path) -> None:
    given = pairs(tmp_path / "pairs")
    model = train_linear(given, tmp_path / "linear", LinearSettings(cleaned=True))
    assert not {"the", "of", "2020", "patients"} & set(model.vocabulary)
    loaded = load_linear(tmp_path / "linear")
    query, document = "The trials of 2020", "Mice had fevers"
    assert loaded.logits([(query, document)])[0, 0] == pytest.approx(
        loaded.logit(f"{clean(query)} {clean(document)}"), abs=1e-6
    )


@pytest.mark.parametrize(("labels", "found"), [([True], "only relevant ones"), ([False], "only others"), ([], "none")])
def test_one_label_alone_cannot_be_learned(labels: list[bool], found: str) -> None:
    with pytest.raises(RankwellError, match=f"linear: expected relevant pairs and others, found {found}"):
        fit_linear(["words"] * len(labels), labels, LinearSettings())


def test_texts_without_common_words_are_refused(tmp_path: Path) -> None:
    with pytest.raises(RankwellError, match="expected texts with words in common, found none in 2 that are in 8"):
        fit_linear(["one text", "another"], [True, False], LinearSettings())
    assert list(tmp_path.iterdir()) == []


def test_settings_that_cannot_be_are_refused() -> None:
    for wrong in ({"penalty": 0}, {"fewest": 0}):
        with pytest.raises(ParameterError):
            LinearSettings(**wrong)  # type: ignore[arg-type]
    with pytest.raises(ParameterError):
        Words(0)
