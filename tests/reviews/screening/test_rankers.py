"""The rankers: BM25 of the title, the linear model of other reviews, chance, and runs of others."""

from __future__ import annotations

import logging
import math

import numpy as np
import pytest

from rankwell.analysis import Analyzer
from rankwell.core import ParameterError, RankwellError, Run
from rankwell.evaluation import evaluate
from rankwell.reviews.screening import LabelledReview, Setting, by_run, ranked, ranker_named, simulate
from rankwell.reviews.screening.labelled import judgments_of_reviews
from rankwell.reviews.screening.rankers import RANKERS, LinearRanker, topic_scores


def made_up(topic: str, count: int = 20) -> LabelledReview:
    """A review that included the trials with a placebo."""
    designs = ["randomised trial with placebo", "case report of one patient", "letter to the editor", "cohort study"]
    records = [f"{designs[n % 4]} about {topic} number {n}" for n in range(count)]
    docnos = [f"{topic}{n}" for n in range(count)]
    return LabelledReview(topic, f"Drugs for {topic}", records, np.array([n % 4 == 0 for n in range(count)]), docnos)


REVIEWS = [made_up(topic) for topic in ("asthma", "fever", "measles")]


def test_bm25_is_its_formula() -> None:
    records = ["fever fever cough", "cough", "a fever in the morning sun", "sun"]
    assert [len(Analyzer()(record)) for record in records] == [3, 1, 3, 1]
    idf = math.log(1 + (4 - 2 + 0.5) / (2 + 0.5))
    norm = 1.2 * (1 - 0.75 + 0.75 * 3 / 2)
    expected = [idf * 2 * 2.2 / (2 + norm), 0, idf * 2.2 / (1 + norm), 0]
    assert topic_scores(records, "Fever") == pytest.approx(expected, rel=1e-5)


def test_a_title_of_stop_words_finds_nothing(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING):
        assert topic_scores(["fever", "cough"], "of the").tolist() == [0, 0]
    assert "no terms" in caplog.text


def test_the_linear_model_knows_what_other_reviews_included() -> None:
    setting = Setting(REVIEWS)
    run = ranked(REVIEWS, RANKERS["linear"](setting), "linear")
    assert evaluate(judgments_of_reviews(REVIEWS), run, ["AP"]).mean("AP") == 1
    assert setting.notes == [
        "linear: there is no training split, so each review is ranked by a model of the other reviews"
    ]


def test_the_left_out_review_teaches_nothing() -> None:
    """A review whose labels are turned round ranks all the same, because its own labels are not looked at."""
    own = made_up("asthma")
    turned = LabelledReview(own.name, own.topic, own.records, ~own.included, own.docnos)
    others = REVIEWS[1:]
    scores = [RANKERS["linear"](Setting([review, *others]))(review)({}) for review in (own, turned)]
    assert scores[0] == pytest.approx(scores[1])


def test_a_lone_review_has_nobody_to_learn_from() -> None:
    with pytest.raises(ParameterError, match="linear: expected another review to train on"):
        RANKERS["linear"](Setting(REVIEWS[:1]))(REVIEWS[0])


def test_the_model_is_chosen_by_validation() -> None:
    setting = Setting([REVIEWS[2]], training=[REVIEWS[0]], validation=[REVIEWS[1]])
    scores = RANKERS["linear"](setting)(REVIEWS[2])({})
    assert REVIEWS[2].included[np.argsort(-scores)[:5]].all()
    (note,) = setting.notes
    assert note.startswith(
        "linear: trained on 1 reviews; C=0.1 was chosen by MAP on 1 validation reviews (C=0.1: 1.0000"
    )
    assert note.endswith("the reviews ranked here are touched once, by it")


def test_validation_decides_between_settings() -> None:
    """The better one on validation wins, whatever it does elsewhere."""
    chosen, _ = LinearRanker.chosen(REVIEWS[:2], REVIEWS[2:], penalties=[1e-9, 1.0])
    maps = [LinearRanker(penalty=c).fitted(REVIEWS[:2]).mean_average_precision(REVIEWS[2:]) for c in (1e-9, 1.0)]
    assert chosen.penalty == (1e-9, 1.0)[int(np.argmax(maps))]


def test_without_validation_the_defaults_stand() -> None:
    setting = Setting([REVIEWS[2]], training=REVIEWS[:2])
    RANKERS["linear"](setting)
    assert setting.notes == ["linear: there is no validation split, so its settings are the defaults"]


def test_an_untrained_model_says_so() -> None:
    with pytest.raises(RankwellError, match=r"found one without a model: call fitted\(\) first"):
        LinearRanker().scores(REVIEWS[0])


def test_texts_without_words_cannot_be_trained_on() -> None:
    empty = LabelledReview("r", "", ["", ""], np.array([True, False]), ["a", "b"])
    with pytest.raises(RankwellError, match="expected texts with words in common, found none in 2"):
        LinearRanker().fitted([empty])


def test_chance_differs_between_starts_and_seeds() -> None:
    scorer = RANKERS["random"](Setting(REVIEWS))(REVIEWS[0])
    orders = [simulate(REVIEWS[0], scorer, known).order.tolist() for known in ((0, 1), (4, 2))]
    other = RANKERS["random"](Setting(REVIEWS, seed=1))(REVIEWS[0])
    assert orders[0] != orders[1]
    assert simulate(REVIEWS[0], scorer, (0, 1)).order.tolist() == orders[0]
    assert simulate(REVIEWS[0], other, (0, 1)).order.tolist() != orders[0]


def test_a_run_of_another_tool_can_be_replayed() -> None:
    run = Run.from_dict({"asthma": {"asthma3": 2.0, "asthma0": 9.0, "stranger": 5.0}})
    found = simulate(REVIEWS[0], by_run(run)(REVIEWS[0]))
    assert found.order[:4].tolist() == [0, 3, 1, 2]
    assert by_run(run)(REVIEWS[1])({}).tolist() == [0] * 20


def test_rankings_hold_every_record_of_each_review() -> None:
    run = ranked(REVIEWS, RANKERS["bm25"](Setting(REVIEWS)), "bm25")
    assert {qid: len(ranking) for qid, ranking in run.rankings()} == dict.fromkeys(("asthma", "fever", "measles"), 20)
    assert run.tag == "bm25"


def test_an_unknown_ranker_is_refused_with_the_known_ones() -> None:
    known = r"learner, learner\+bert, bm25, linear, random"
    with pytest.raises(ParameterError, match=f'ranker: expected one of {known}, found "bert"'):
        ranker_named("bert")
