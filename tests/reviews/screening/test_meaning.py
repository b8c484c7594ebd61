"""Vectors of a model beside the words of records."""

from __future__ import annotations

import numpy as np
import pytest

from rankwell.core import ParameterError
from rankwell.reviews.screening import Learner
from rankwell.reviews.screening.learner import text_features
from rankwell.reviews.screening.reader import SHARE, Meaning, with_meaning

RECORDS = ["asthma inhaler trial", "asthma inhaler cohort", "knee surgery", "wheezing children", "hip surgery"]
# Two kinds of records, as a model might see them: lungs and joints; "wheezing" shares no word with asthma.
VECTORS = np.array([[1, 0.1], [1, 0], [0, 1], [1, 0.05], [0.1, 1]], dtype=np.float32)
MEANING = Meaning(VECTORS, np.array([1, 0], dtype=np.float32), "a-model")


def test_a_product_of_rows_is_the_cosine_of_words_and_a_share_of_that_of_meanings() -> None:
    words, words_of_title = text_features(RECORDS, "Inhaler for asthma")
    rows, title = with_meaning(words, words_of_title, MEANING)
    left = VECTORS - VECTORS.mean(axis=0)
    unit = left / np.linalg.norm(left, axis=1, keepdims=True)
    topic = MEANING.topic - VECTORS.mean(axis=0)
    expected = (words @ words_of_title.T).toarray().ravel() + SHARE**2 * unit @ (topic / np.linalg.norm(topic))
    assert (rows @ title.T).toarray().ravel() == pytest.approx(expected, abs=1e-6)


def test_a_record_without_a_known_word_is_found_by_its_meaning() -> None:
    decisions = {0: True, 2: False}
    by_words = Learner(RECORDS).scores(decisions)
    by_both = Learner(RECORDS, meaning=MEANING).scores(decisions)
    assert by_words[3] == pytest.approx(by_words[3 + 1], abs=0.05)
    assert by_both[3] > by_both[4] + 0.1


def test_a_learner_that_comes_to_know_meanings_is_one_that_always_knew_them() -> None:
    learner = Learner(RECORDS, "Inhaler for asthma")
    before = learner.scores({0: True, 2: False})
    knowing = learner.knowing(MEANING).scores({0: True, 2: False})
    assert knowing == pytest.approx(Learner(RECORDS, "Inhaler for asthma", meaning=MEANING).scores({0: True, 2: False}))
    assert knowing != pytest.approx(before)
    assert learner.scores({0: True, 2: False}) == pytest.approx(before)


def test_a_review_without_a_title_has_none_to_be_like() -> None:
    assert Learner(RECORDS, " ", meaning=MEANING).scores({}).tolist() == [0] * 5


def test_one_record_alone_has_nothing_to_differ_from() -> None:
    alone = Meaning(VECTORS[:1], MEANING.topic)
    assert np.isfinite(Learner(RECORDS[:1], "asthma", meaning=alone).scores({})).all()


def test_vectors_of_other_records_are_refused() -> None:
    with pytest.raises(ParameterError, match="a vector for every record, found 5 records, 2 vectors"):
        Learner(RECORDS, meaning=Meaning(VECTORS[:2], MEANING.topic)).scores({0: True})
