"""Pairs of titles and abstracts: rates, perturbations, chance that depends on the document alone."""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rankwell.core import Document, ParameterError, RankwellError
from rankwell.training import SelfSupervised, Spool, write_self_supervised
from rankwell.training.self_supervised import Folds, UnlabelledPair, parse_perturbations

PLAIN = SelfSupervised(perturbations=())


def documents(count: int) -> list[Document]:
    return [
        Document(f"d{n}", {"title": f"title of paper {n}", "abstract": f"the abstract of paper number {n}"})
        for n in range(count)
    ]


def made(settings: SelfSupervised, count: int = 3000) -> list[UnlabelledPair]:
    with Spool(documents(count)) as spool:
        return list(settings.pairs(spool))


def near(found: int, trials: int, probability: float) -> bool:
    return abs(found - trials * probability) < 5 * math.sqrt(trials * probability * (1 - probability))


def test_rates_match_their_probabilities() -> None:
    found = made(PLAIN)
    shapes = Counter(one.shape for one in found)
    assert len(found) == 3000
    assert near(sum(one.pair.label == 0 for one in found), 3000, 0.6)
    assert near(shapes["title-title"], 3000, 0.1)
    assert near(shapes["swapped"], 3000, 0.1)
    assert shapes.total() == 3000


def test_labels_tell_whether_both_texts_are_of_one_document() -> None:
    for pair, _, shape in made(PLAIN, 500):
        assert (pair.query_id == pair.document_id) == (pair.label == 1)
        asked, answer = {
            "title-abstract": ("title of paper {}", "the abstract of paper number {}"),
            "title-title": ("title of paper {}", "title of paper {}"),
            "swapped": ("the abstract of paper number {}", "title of paper {}"),
        }[shape]
        assert pair.query == asked.format(pair.query_id[1:])
        assert pair.document == answer.format(pair.document_id[1:])


def test_all_shapes_can_be_had_or_not() -> None:
    assert {one.shape for one in made(replace(PLAIN, title_title=0, swapped=0), 200)} == {"title-abstract"}
    assert {one.shape for one in made(replace(PLAIN, title_title=0.5, swapped=0.5), 200)} == {"title-title", "swapped"}
    assert {one.pair.label for one in made(replace(PLAIN, false_pairs=0), 200)} == {1}
    assert {one.pair.label for one in made(replace(PLAIN, false_pairs=1), 200)} == {0}


def test_a_limit_draws_documents_from_the_whole_collection() -> None:
    with Spool(documents(2000)) as spool:
        found = [int(one.pair.query_id[1:]) for one in PLAIN.pairs(spool, 200)]
    assert len(found) == 200
    assert found == sorted(set(found))
    assert near(sum(number < 1000 for number in found), 200, 0.5)
    assert {f"d{number}" for number in found} <= {one.pair.query_id for one in made(PLAIN, 2000)}


def test_folds_share_no_document() -> None:
    found = made(PLAIN)
    folds: dict[str, set[int]] = {}
    for pair, fold, _ in found:
        for docno in (pair.query_id, pair.document_id):
            folds.setdefault(docno, set()).add(fold)
    assert all(len(of) == 1 for of in folds.values())
    assert len({fold for _, fold, _ in found}) == 100


@given(st.integers(2, 300), st.integers(0, 99))
def test_another_of_a_fold_is_never_the_same_and_can_be_any(size: int, seed: int) -> None:
    import random

    folds = Folds.drawn(size, seed)
    place, chooser = seed % size, random.Random(seed)  # noqa: S311
    others = {other for other in range(size) if folds.of(other) == folds.of(place)} - {place}
    assert {folds.another(place, chooser) for _ in range(40 * len(others))} == others


def test_pairs_depend_on_the_seed_and_the_document_only() -> None:
    found, again, other = made(SelfSupervised()), made(SelfSupervised()), made(SelfSupervised(seed=1))
    assert found == again != other
    longer = {one.pair.query_id: one for one in made(SelfSupervised(), 3100)}
    true_ones = [one for one in found if one.pair.label]
    assert all(longer[one.pair.query_id].pair[:5] == one.pair[:5] for one in true_ones)


def test_both_texts_are_perturbed_by_their_kind() -> None:
    def abstracts_without_stop_words(settings: SelfSupervised) -> int:
        return sum("the" not in one.pair.document.split() for one in made(settings))

    usual = SelfSupervised(title_title=0, swapped=0)
    assert sum("of" not in one.pair.query.split() for one in made(usual)) > 3000 * 0.4 * 0.9
    assert abstracts_without_stop_words(usual) == 0  # these abstracts are too short to be shortened
    parts = parse_perturbations("stopwords:abstract=0.4")
    assert near(abstracts_without_stop_words(replace(usual, perturbations=parts)), 3000, 0.4)


def test_doubles_are_no_partners() -> None:
    same = [Document(f"d{n}", {"title": f"t{n}", "abstract": "the same words"}) for n in range(30)]
    settings = SelfSupervised(false_pairs=1, title_title=0, swapped=0)
    with Spool(same) as spool:
        assert list(settings.pairs(spool)) == []
    assert settings.skipped["false pairs without a partner"] == 30


def test_several_pairs_of_a_document_differ_and_are_one_group(tmp_path: Path) -> None:
    with Spool(documents(50)) as spool:
        found = write_self_supervised(tmp_path / "pairs", spool, SelfSupervised(per_document=4))
    assert len(found) == 200
    assert found.column("group") == [number for number in range(50) for _ in range(4)]
    assert len(set(found.rows())) > 150


def test_the_folder_says_what_was_done_and_splits_without_a_leak(tmp_path: Path) -> None:
    with Spool([*documents(400), Document("short", {"title": "no abstract"})]) as spool:
        found = write_self_supervised(tmp_path / "pairs", spool, SelfSupervised(seed=3), source="papers")
    told = found.record["made"]
    assert (told["collection"], told["abstract"], told["false_pairs"]) == ("papers", "abstract", 0.6)
    assert told["left_out"] == {"documents without title or abstract": 1}
    sides = [{*side.column("query_id"), *side.column("document_id")} for side in found.split(0.25, 0)]
    assert not sides[0] & sides[1]


def test_a_collection_without_abstracts_says_what_it_has() -> None:
    with Spool([Document("1", {"title": "a"}), Document("2", {"title": "b", "summary": "c"})]) as spool:
        with pytest.raises(RankwellError) as error:
            list(SelfSupervised().pairs(spool))
        assert str(error.value) == (
            "pairs: expected documents with fields title and abstract or text or body, "
            "found 2 documents: title in 2, summary in 1"
        )
        with pytest.raises(RankwellError, match="expected two documents or more with title and summary, found 2 doc"):
            list(SelfSupervised(abstract="summary").pairs(spool))


def test_an_empty_collection_says_so() -> None:
    with Spool([]) as spool, pytest.raises(RankwellError, match="found 0 documents: no text at all"):
        list(SelfSupervised().pairs(spool))


@pytest.mark.parametrize(
    "wrong", [{"false_pairs": 1.1}, {"title_title": -0.1}, {"title_title": 0.6, "swapped": 0.5}, {"per_document": 0}]
)
def test_settings_that_cannot_be_are_refused(wrong: dict[str, float]) -> None:
    with pytest.raises(ParameterError):
        SelfSupervised(**wrong)  # type: ignore[arg-type]


def test_a_spool_gives_documents_by_id_and_by_number() -> None:
    given = [*documents(10), Document("d3", {"title": "the same id again"}), Document("empty", {"title": " "})]
    with Spool(given) as spool:
        assert [spool.at(number) for number in (9, 0, 3)] == [given[9], given[0], given[3]]
        assert dict(spool.items()) == {**{one.id: one for one in given[:10]}, "empty": Document("empty", {})}
        assert spool.fields == {"title": 10, "abstract": 10}
