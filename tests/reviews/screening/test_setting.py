"""Reading reviews out of a collection: splits, what is left out, and what is said about it."""

from __future__ import annotations

from pathlib import Path

import pytest

from rankwell.collections import open_collection, write_documents, write_qrels
from rankwell.collections.formats.jsonl import write_json_rows
from rankwell.core import Document, Judgments, RankwellError
from rankwell.reviews.screening import Setting, labelled_reviews, read_setting

DOCUMENTS = [Document(name, {"title": f"Title {name}", "text": f"abstract of {name}"}) for name in "abcdefgh"]
TEST = {"r1": {"a": 1, "b": 0, "c": 2, "lost": 1}, "r2": {"d": 0, "e": 0}, "r3": {"a": 1, "h": 0}}
SPLITS = {"test": TEST, "train": {"r4": {"f": 1, "g": 0}}, "validation": {"r5": {"g": 1, "h": 0}}}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    write_documents(tmp_path / "corpus.jsonl", DOCUMENTS, "beir")
    write_json_rows(tmp_path / "queries.jsonl", ({"_id": f"r{n}", "text": f"Review {n}"} for n in range(1, 6)))
    for name, grades in SPLITS.items():
        write_qrels(tmp_path / "qrels" / f"{name}.tsv", Judgments.from_dict(grades), "beir")
    return tmp_path


def names(setting: Setting) -> tuple[list[str], list[str], list[str]]:
    return tuple([review.name for review in of] for of in (setting.reviews, setting.training, setting.validation))  # type: ignore[return-value]


def test_a_review_has_its_title_texts_answers_and_ids(folder: Path) -> None:
    first = labelled_reviews(open_collection(folder), "test").reviews[0]
    assert (first.name, first.topic, first.docnos) == ("r1", "Review 1", ("a", "b", "c"))
    assert first.records[1] == "Title b abstract of b"
    assert first.included.tolist() == [True, False, True]


def test_what_is_left_out_is_said(folder: Path) -> None:
    found = labelled_reviews(open_collection(folder), "test")
    assert [review.name for review in found.reviews] == ["r1", "r3"]
    assert found.notes() == [
        "left out, because they have no included or no excluded records: r2",
        "left out: 1 judgments whose review or document is not there",
    ]


def test_other_splits_are_read_for_those_who_learn(folder: Path) -> None:
    collection = open_collection(folder)
    assert names(read_setting(collection, learning=True)) == (["r1", "r3"], ["r4"], ["r5"])
    assert names(read_setting(collection)) == (["r1", "r3"], [], [])


def test_a_split_never_teaches_itself(folder: Path) -> None:
    collection = open_collection(folder)
    assert names(read_setting(collection, "train", learning=True)) == (["r4"], [], ["r5"])
    assert names(read_setting(collection, "validation", learning=True)) == (["r5"], ["r4"], [])
    assert names(read_setting(collection, "all", learning=True)) == (["r1", "r3", "r4", "r5"], [], [])


def test_reviews_with_one_included_record_are_not_replayed(folder: Path) -> None:
    setting = read_setting(open_collection(folder)).for_replay()
    assert names(setting)[0] == ["r1"]
    assert setting.notes[-1] == "left out, because only one record was included: r3"
    with pytest.raises(RankwellError, match="train: expected reviews with 2 included records, found none"):
        read_setting(open_collection(folder), "train").for_replay()


def test_a_split_without_reviews_is_refused(folder: Path) -> None:
    write_qrels(folder / "qrels" / "test.tsv", Judgments.from_dict({"r2": {"d": 0}}), "beir")
    with pytest.raises(RankwellError, match="expected reviews with included and excluded records in the split 'test'"):
        read_setting(open_collection(folder))
