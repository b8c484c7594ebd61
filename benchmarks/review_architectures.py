"""The four review rankers on systematic reviews: each review ranked by models of the others.

python benchmarks/review_architectures.py COLLECTION... --model FOLDER --out FOLDER

A collection has reviews as queries, and judgments that say which records were included. Every review is left out in
turn; the next one in the list chooses the step (or the penalty), and all others are trained on. Of each review at most
500 records are ranked and 120 of them trained on, drawn once: included ones up to half, then others. Architectures that
read a relevant abstract are given one of the review left out, as a user would give an example; that record is then
ranked by nobody. What is finished is kept in cells.jsonl: the same command goes on from there, and prints the table.
"""

from __future__ import annotations

import argparse
import random
import shutil
import time
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import orjson

from rankwell.collections import open_collection
from rankwell.core import Document, Judgments, Run
from rankwell.evaluation import compare, evaluate
from rankwell.models.learning.pairs import Pair, Pairs, open_pairs
from rankwell.models.learning.pairs_writer import PairsWriter
from rankwell.models.linear.training import LinearSettings, train_linear
from rankwell.models.review_rankers.architectures import DocumentParts, Example
from rankwell.models.review_rankers.ranking import ArchitectureScorer
from rankwell.models.review_rankers.training import ArchitectureSettings, train_architecture
from rankwell.reviews.screening.rankers import topic_scores

BASELINES = ("BM25", "TF-IDF + LR")
ARCHITECTURES: dict[str, dict[str, Any]] = {
    "Interaction, QA": {"kind": "interaction"},
    "Representation": {"kind": "representation"},
    "Dual-Interaction, QA": {"kind": "dual-interaction"},
    "Triple-Representation": {"kind": "triple-representation"},
    "Interaction, QA, frozen": {"kind": "interaction", "freeze": "head"},
    "Representation, frozen": {"kind": "representation", "freeze": "head"},
    "Dual-Interaction, QA, frozen": {"kind": "dual-interaction", "freeze": "head"},
    "Triple-Representation, frozen": {"kind": "triple-representation", "freeze": "head"},
    "Interaction, QTA": {"kind": "interaction", "texts": "QTA"},
}
ORDERS = 2000  # random orders whose mean AP stands for chance
PARTS = DocumentParts()


class Review(NamedTuple):
    """A query, records drawn of it, and which were included.

    `example` is the place of the one that a user would give, `taught` are those that models of others are trained on.
    """

    name: str
    topic: str
    records: list[Document]
    included: list[bool]
    example: int
    taught: frozenset[str]

    @property
    def ranked(self) -> list[int]:
        """The places of the records that are ranked when the review is left out."""
        return [place for place in range(len(self.records)) if place != self.example]


def main() -> None:
    """Rank, keep, print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("collections", nargs="+")
    parser.add_argument("--model", required=True)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--documents", type=int, default=500)
    parser.add_argument("--taught", type=int, default=120)
    parser.add_argument("--tokens", type=int, default=96)
    parser.add_argument("--epochs", type=float, default=3)
    parser.add_argument("--lr", type=float, default=3e-4)
    parser.add_argument("--batch", type=int, default=32)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--table", action="store_true", help="print what there is, and train nothing")
    given = parser.parse_args()
    reviews = [
        review for source in given.collections for review in read(source, given.documents, given.taught, given.seed)
    ]
    given.out.mkdir(parents=True, exist_ok=True)
    cells = Cells(given.out / "cells.jsonl")
    if not given.table:
        pairs = pairs_of(reviews, given.out / "pairs")
        settings = ArchitectureSettings(
            max_tokens=given.tokens,
            epochs=given.epochs,
            lr=given.lr,
            batch_size=given.batch,
            seed=given.seed,
            evaluate_every=30,
            threads=1,
        )
        for system in (*BASELINES, *ARCHITECTURES):
            for place in range(len(reviews)):
                rank(reviews, place, system, Setting(pairs, given.model, settings, given.out / "run"), cells)
    show(reviews, cells)


def read(source: str, most: int, taught: int, seed: int) -> Iterator[Review]:
    """The reviews of a collection, each with as many records as wanted."""
    collection = open_collection(source)
    documents = {document.id: document for document in collection.documents()}
    judgments, queries = collection.judgments(), collection.queries()
    for qid, grades in judgments.items():
        lots = random.Random(f"{seed}/{qid}")  # noqa: S311 -- reproducible, no secret
        there = sorted(docno for docno in grades if docno in documents and PARTS.abstract(documents[docno]))
        relevant, others = ([docno for docno in there if (grades[docno] > 0) == wanted] for wanted in (True, False))
        chosen = sorted(drawn(relevant, others, most, lots))
        included = [grades[docno] > 0 for docno in chosen]
        example = lots.choice([place for place, wanted in enumerate(included) if wanted])
        records = [documents[docno] for docno in chosen]
        ranked = set(chosen)
        sides = ([docno for docno in side if docno in ranked] for side in (relevant, others))
        yield Review(qid, queries[qid].text(), records, included, example, frozenset(drawn(*sides, taught, lots)))


def drawn(relevant: list[str], others: list[str], most: int, lots: random.Random) -> list[str]:
    """At most so many, included ones up to half."""
    first = lots.sample(relevant, min(len(relevant), most // 2))
    return [*first, *lots.sample(others, min(len(others), most - len(first)))]


def pairs_of(reviews: Sequence[Review], folder: Path) -> Pairs:
    """Every record of every review as a pair, with its title and abstract."""
    if not folder.exists():
        with PairsWriter(folder, made={"from": "reviews"}, extra={"title": "string", "abstract": "string"}) as writer:
            for review in reviews:
                for record, included in zip(review.records, review.included, strict=True):
                    title, abstract = PARTS.title(record), PARTS.abstract(record)
                    pair = Pair(review.name, record.id, review.topic, f"{title} {abstract}", float(included))
                    writer.add(pair, title=title, abstract=abstract)
    return open_pairs(folder)


class Setting(NamedTuple):
    """What training needs besides the reviews."""

    pairs: Pairs
    model: str
    settings: ArchitectureSettings
    run: Path


class Cells:
    """Finished rankings: of a review by a system."""

    def __init__(self, file: Path) -> None:
        self.file = file
        lines = file.read_bytes().splitlines() if file.is_file() else []
        self.known = {(cell["review"], cell["system"]): cell for cell in map(orjson.loads, lines)}

    def add(self, cell: dict[str, Any]) -> None:
        """Keep one."""
        self.known[cell["review"], cell["system"]] = cell
        with self.file.open("ab") as file:
            file.write(orjson.dumps(cell) + b"\n")


def rank(reviews: Sequence[Review], place: int, system: str, setting: Setting, cells: Cells) -> None:
    """One cell, unless it is there."""
    review, chooser = reviews[place], reviews[(place + 1) % len(reviews)]
    if (review.name, system) in cells.known:
        return
    started, told = time.perf_counter(), {}
    if system == "BM25":
        found = topic_scores([review.records[one].text() for one in review.ranked], review.topic).tolist()
    else:
        taught = {one.name: one.taught for one in reviews}
        ids = zip(setting.pairs.column("query_id"), setting.pairs.column("document_id"), strict=True)
        rows = [(row, name) for row, (name, docno) in enumerate(ids) if docno in taught[name]]
        training = setting.pairs.take(row for row, name in rows if name not in (review.name, chooser.name))
        held_out = setting.pairs.take(row for row, name in rows if name == chooser.name)
        learn = linear if system == "TF-IDF + LR" else architecture
        found, told = learn(review, training, held_out, system, setting)
    scores = dict(zip((review.records[one].id for one in review.ranked), found, strict=True))
    seconds = round(time.perf_counter() - started, 1)
    cell = {"review": review.name, "system": system, "seconds": seconds, "validation": chooser.name, **told}
    ap = evaluate(judgments_of([review]), Run.from_dict({review.name: scores}), ["AP"]).mean("AP")
    print(f"{system}, {review.name}: AP {ap:.3f}, {seconds:.0f} s {told}", flush=True)
    cells.add({**cell, "AP": ap, "scores": scores})


def linear(
    review: Review, training: Pairs, held_out: Pairs, system: str, setting: Setting
) -> tuple[list[float], dict[str, Any]]:
    """TF-IDF + logistic regression over query, title and abstract; the review held out chooses the penalty."""
    del system
    shutil.rmtree(setting.run, ignore_errors=True)
    model = train_linear(training, setting.run, LinearSettings(), validation=held_out)
    records = [review.records[place] for place in review.ranked]
    texts = [(review.topic, f"{PARTS.title(record)} {PARTS.abstract(record)}") for record in records]
    return model.logits(texts).ravel().tolist(), {"penalty": model.made["settings"]["penalty"]}


def architecture(
    review: Review, training: Pairs, held_out: Pairs, system: str, setting: Setting
) -> tuple[list[float], dict[str, Any]]:
    """One of the four; the review held out chooses the step."""
    shutil.rmtree(setting.run, ignore_errors=True)
    settings = replace(setting.settings, **ARCHITECTURES[system])
    if settings.frozen:
        settings = replace(settings, lr=1e-3)  # a head alone takes larger steps
    result = train_architecture(
        training, setting.run, model=setting.model, settings=settings, validation=held_out, quiet=True
    )
    relevant = PARTS.abstract(review.records[review.example])
    records = [review.records[place] for place in review.ranked]
    examples = [Example(review.topic, PARTS.title(one), PARTS.abstract(one), relevant) for one in records]
    scores = ArchitectureScorer(str(result.folder.model), threads=1).of_examples(examples)
    told = {"best_step": result.best, "steps": result.steps, "validation_AP": round(result.measures["AP"], 4)}
    return scores.ravel().tolist(), told


def judgments_of(reviews: Sequence[Review]) -> Judgments:
    """Which of the ranked records were included."""
    return Judgments(
        (review.name, review.records[place].id, int(review.included[place]))
        for review in reviews
        for place in review.ranked
    )


def chance(review: Review) -> float:
    """The mean AP of random orders."""
    lots = np.random.default_rng(0)
    relevant = np.array([review.included[place] for place in review.ranked], dtype=float)
    ranks = np.arange(1, len(relevant) + 1)
    orders = (lots.permutation(relevant) for _ in range(ORDERS))
    return float(np.mean([(np.cumsum(order) / ranks * order).sum() / order.sum() for order in orders]))


def show(reviews: Sequence[Review], cells: Cells) -> None:
    """AP of every review and system, then means, and differences to BM25 with their 95 % intervals."""
    systems = [
        name for name in (*BASELINES, *ARCHITECTURES) if all((review.name, name) in cells.known for review in reviews)
    ]
    print("\n| review | records | included | chance | " + " | ".join(systems) + " |")
    print("|---" * (4 + len(systems)) + "|")
    chances = [chance(review) for review in reviews]
    for review, by_chance in zip(reviews, chances, strict=True):
        counts = f"{len(review.ranked)} | {sum(review.included) - 1} | {by_chance:.3f}"
        found = " | ".join(f"{cells.known[review.name, name]['AP']:.3f}" for name in systems)
        print(f"| {review.name} | {counts} | {found} |")
    runs = {
        name: Run.from_dict({review.name: cells.known[review.name, name]["scores"] for review in reviews})
        for name in systems
    }
    compared = compare(judgments_of(reviews), runs, ["AP"])
    print("\n| system | MAP | difference to BM25 (95 % interval) | minutes |\n|---|---|---|---|")
    print(f"| chance | {np.mean(chances):.3f} | | |")
    for name in systems:
        difference = compared.difference(name, "AP")
        told = ""
        if difference:
            interval = difference.found.interval
            told = f"{difference.found.mean:+.3f} ({interval.low:+.3f} to {interval.high:+.3f})"
        minutes = sum(cells.known[review.name, name]["seconds"] for review in reviews) / 60
        print(f"| {name} | {compared.evaluations[name].mean('AP'):.3f} | {told} | {minutes:.1f} |")


if __name__ == "__main__":
    main()
