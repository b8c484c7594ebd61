"""Build a collection from reviews and their studies found in PubMed, with a manifest."""

from __future__ import annotations

import csv
import random
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import orjson

from rankwell import __version__
from rankwell.collections import write_documents, write_qrels
from rankwell.collections.formats.delimited import write_table
from rankwell.collections.formats.jsonl import write_json_rows
from rankwell.core import Document, Judgments, ParameterError, RankwellError, atomic_write, fingerprint
from rankwell.report import Column, Table
from rankwell.reviews.finding import AMBIGUOUS, DECIDED, FoundStudy, StudyFinder, write_ambiguous, write_decisions
from rankwell.reviews.matching import Verdict
from rankwell.reviews.review_files import Review

SPLITS = ("train", "validation", "test")
SHARES = (0.85, 0.075, 0.075)  # the systematic-review study's


def split_reviews(reviews: Sequence[str], shares: Sequence[float] = SHARES, seed: int = 0) -> dict[str, str]:
    """Review id -> split. Whole reviews are drawn, so that every query is in one split only.

    From three reviews on, validation and test get at least one each. The draw depends on the ids and the seed alone,
    not on the order of the reviews.
    """
    if len(shares) != len(SPLITS) or min(shares) < 0 or abs(sum(shares) - 1) > 1e-6:  # noqa: PLR2004 -- rounding
        raise ParameterError("shares", expected="three shares (train, validation, test) that sum to 1", found=shares)
    drawn = sorted(set(reviews))
    random.Random(seed).shuffle(drawn)  # noqa: S311 -- a draw that can be repeated, no secret
    least = 1 if len(drawn) >= len(SPLITS) else 0
    validation, test = (max(round(share * len(drawn)), least if share else 0) for share in shares[1:])
    sides = ["validation"] * validation + ["test"] * test
    sides += ["train"] * (len(drawn) - len(sides))
    return dict(zip(drawn, sides, strict=False))


def relevant_examples(
    judgments: Mapping[str, Mapping[str, int]], splits: Mapping[str, str], usable: Iterable[str], seed: int = 0
) -> dict[tuple[str, str], str]:
    """(review, document) -> a random relevant document of the same review, for models that read a relevant abstract.

    Never the document itself, and never one that is also in a review of another split, which would leak
    that split's labels. Pairs for which there is none are left out. `usable` are the documents with an abstract.
    """
    sides: dict[str, set[str]] = {}
    for review, grades in judgments.items():
        for docno in grades:
            sides.setdefault(docno, set()).add(splits[review])
    allowed = {docno for docno in usable if len(sides.get(docno, ())) == 1}
    examples: dict[tuple[str, str], str] = {}
    for review, grades in judgments.items():
        relevant = sorted(docno for docno, grade in grades.items() if grade > 0 and docno in allowed)
        lots = random.Random(f"{seed}\0{review}")  # noqa: S311 -- a draw that can be repeated, no secret
        places = {docno: place for place, docno in enumerate(relevant)}
        for docno in sorted(grades):
            own = places.get(docno, len(relevant))
            others = len(relevant) - (docno in places)
            if others:
                drawn = lots.randrange(others)
                examples[review, docno] = relevant[drawn + (drawn >= own)]
    return examples


FEWEST = 30


@dataclass(frozen=True)
class BuildSettings:
    """Which reviews and documents are kept, and how they are split.

    fewest               least number of documents of a review that is kept (systematic-review study: 30)
    needs_abstract       documents without an abstract are left out, as in the systematic-review study
    shares, seed         of training, validation and test, drawn by review
    """

    fewest: int = FEWEST
    needs_abstract: bool = True
    shares: Sequence[float] = SHARES
    seed: int = 0

    def __post_init__(self) -> None:
        if self.fewest < 1:
            raise ParameterError("fewest", expected="a number of documents, at least 1", found=self.fewest)
        split_reviews([], self.shares, self.seed)  # checks the shares


@dataclass(frozen=True)
class ReviewCollection:
    """Reviews as queries, articles as documents, and the reviews' decisions as judgments, split by review."""

    reviews: tuple[Review, ...]
    documents: dict[str, Document]
    labels: dict[str, dict[str, int]]
    splits: dict[str, str]
    examples: dict[tuple[str, str], str]
    studies: tuple[FoundStudy, ...] = field(repr=False)
    settings: BuildSettings = BuildSettings()
    conflicts: int = 0

    def judgments(self, split: str) -> Judgments:
        """Review -> document -> 1 or 0, of one split."""
        own = {review: grades for review, grades in self.labels.items() if self.splits[review] == split}
        return Judgments.from_dict(own)

    @property
    def verdicts(self) -> Counter[Verdict]:
        """Number of studies by verdict: found, not found, ambiguous."""
        return Counter(study.match.verdict for study in self.studies)

    def counts(self) -> dict[str, dict[str, int]]:
        """Number of reviews, rows and relevant rows of each split."""
        counts = {}
        for split in SPLITS:
            own = self.judgments(split)
            relevant = sum(sum(grades.values()) for grades in own.values())
            counts[split] = {"reviews": len(own), "rows": own.count, "relevant": relevant}
        return counts


def build_collection(
    reviews: Sequence[Review], studies: Iterable[FoundStudy], settings: BuildSettings | None = None
) -> ReviewCollection:
    """Build the collection of the found articles.

    An article that a review both includes and excludes (two reports of one study) counts as included. Reviews with too
    few documents are left out, with the documents that only they have.
    """
    settings = settings or BuildSettings()
    all_studies = tuple(studies)
    documents: dict[str, Document] = {}
    labels: dict[str, dict[str, int]] = {review.id: {} for review in reviews}
    conflicts = 0
    for study in all_studies:
        article = study.match.article
        if article is None or (settings.needs_abstract and not article.fields.get("abstract")):
            continue
        grades = labels[study.review.id]
        conflicts += article.id in grades and grades[article.id] != study.label
        grades[article.id] = max(study.label, grades.get(article.id, 0))
        documents[article.id] = article
    kept = {review: grades for review, grades in labels.items() if len(grades) >= settings.fewest}
    used = {docno for grades in kept.values() for docno in grades}
    splits = split_reviews(list(kept), settings.shares, settings.seed)
    with_abstract = [docno for docno in used if documents[docno].fields.get("abstract")]
    return ReviewCollection(
        reviews=tuple(review for review in reviews if review.id in kept),
        documents={docno: document for docno, document in documents.items() if docno in used},
        labels=kept,
        splits=splits,
        examples=relevant_examples(kept, splits, with_abstract, settings.seed),
        studies=all_studies,
        settings=settings,
        conflicts=conflicts,
    )


def verdict_table(built: ReviewCollection) -> Table:
    """Number of studies by verdict and label."""
    columns = [Column("studies", "left"), Column("included"), Column("excluded"), Column("all"), Column("%", digits=1)]
    rows = []
    total = len(built.studies)
    for verdict in Verdict:
        labels = [study.label for study in built.studies if study.match.verdict is verdict]
        share = 100 * len(labels) / total if total else None
        rows.append((str(verdict), sum(labels), len(labels) - sum(labels), len(labels), share))
    return Table("Studies", columns, rows)


def split_table(built: ReviewCollection) -> Table:
    """Number of reviews, rows and relevant rows of each split."""
    columns = [Column("split", "left"), *map(Column, ("reviews", "rows", "relevant")), Column("% relevant", digits=1)]
    counts = built.counts()
    together = {name: sum(of[name] for of in counts.values()) for name in ("reviews", "rows", "relevant")}
    rows = [
        (split, of["reviews"], of["rows"], of["relevant"], 100 * of["relevant"] / of["rows"] if of["rows"] else None)
        for split, of in {**counts, "all": together}.items()
    ]
    return Table("Collection", columns, rows)


MANIFEST, REPORT, EXAMPLES = "manifest.json", "studies.csv", "relevant.tsv"
OURS = {"corpus.jsonl", "queries.jsonl", "qrels", MANIFEST, REPORT, AMBIGUOUS, DECIDED, EXAMPLES}
REPORT_COLUMNS = ("review", "label", "title", "year", "authors", "verdict", "reason", "pmid", "kept")
EXAMPLE_COLUMNS = ("query-id", "corpus-id", "relevant-id")


def check_folder(folder: Path) -> None:
    """Raise an error if the folder holds files that no build writes."""
    if folder.is_file():
        raise RankwellError(f"{folder}: expected a folder for the collection, found a file")
    names = sorted(file.name for file in folder.iterdir()) if folder.is_dir() else []
    stranger = next((name for name in names if name not in OURS and not name.startswith(".")), None)
    if stranger is not None:
        raise RankwellError(f"{folder}: expected an empty folder or an earlier build, found {stranger!r} in it")


def write_collection(
    folder: Path | str, built: ReviewCollection, finder: StudyFinder, given: Mapping[str, Any] | None = None
) -> None:
    """Write everything; the manifest comes last, so that a folder without one is known to be incomplete."""
    folder = Path(folder)
    check_folder(folder)
    (folder / MANIFEST).unlink(missing_ok=True)
    write_documents(folder / "corpus.jsonl", map(_as_beir, built.documents.values()), "beir")
    queries = (
        {"_id": review.id, "text": review.title, "metadata": {"date": review.date} if review.date else {}}
        for review in built.reviews
    )
    write_json_rows(folder / "queries.jsonl", queries)
    for split in SPLITS:
        qrels, judgments = folder / "qrels" / f"{split}.tsv", built.judgments(split)
        if judgments:
            write_qrels(qrels, judgments, "beir")
        else:
            qrels.unlink(missing_ok=True)
    examples = ((review, docno, example) for (review, docno), example in built.examples.items())
    write_table(folder / EXAMPLES, EXAMPLE_COLUMNS, examples, "\t")
    write_table(folder / REPORT, REPORT_COLUMNS, _report(built), ",")
    if finder.decisions:  # before the table out of which they may have come is written anew
        write_decisions(folder / DECIDED, finder.decisions)
    ambiguous = [study for study in built.studies if study.match.verdict is Verdict.AMBIGUOUS]
    write_ambiguous(folder / AMBIGUOUS, ((study.review.id, study.label, study.match) for study in ambiguous))
    with atomic_write(folder / MANIFEST) as file:
        file.write(orjson.dumps(_manifest(built, finder, given or {}), option=orjson.OPT_INDENT_2) + b"\n")


def input_record(path: Path, reviews: Sequence[Review]) -> dict[str, Any]:
    """The manifest's entry on the given reviews, by which a reader can check that they are the same."""
    plain = [(review.id, review.title, review.date, review.included, review.excluded) for review in reviews]
    studies = sum(len(review.studies) for review in reviews)
    return {"name": path.name, "reviews": len(reviews), "studies": studies, "fingerprint": fingerprint(plain)}


def read_examples(folder: Path | str) -> dict[tuple[str, str], str]:
    """(query, document) -> its example of a relevant document."""
    path = Path(folder) / EXAMPLES
    if not path.is_file():
        raise RankwellError(f"{path}: expected a file of relevant examples, found none: make it with `review build`")
    with path.open(encoding="utf-8", newline="") as file:
        rows = csv.DictReader(file, delimiter="\t")
        return {(row["query-id"], row["corpus-id"]): row["relevant-id"] for row in rows}


def read_dates(folder: Path | str) -> dict[str, str]:
    """Query -> date of the review, where known."""
    dates = {}
    for line in (Path(folder) / "queries.jsonl").read_bytes().splitlines():
        row = orjson.loads(line)
        if date := (row.get("metadata") or {}).get("date"):
            dates[str(row["_id"])] = str(date)
    return dates


def _as_beir(article: Document) -> Document:
    """The article with BEIR's field names: title and text."""
    names = {"title": "title", "abstract": "text"}
    return article._replace(fields={names[name]: text for name, text in article.fields.items() if name in names})


def _report(built: ReviewCollection) -> list[tuple[Any, ...]]:
    rows = []
    for found_study in built.studies:
        match, review = found_study.match, found_study.review.id
        pmid = match.article.id if match.article else ""
        kept = "yes" if pmid in built.labels.get(review, {}) else "no"
        study = (match.study.title, match.study.year or "", match.study.authors)
        rows.append((review, found_study.label, *study, match.verdict, match.reason, pmid, kept))
    return rows


def _manifest(built: ReviewCollection, finder: StudyFinder, given: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "made_by": f"rankwell {__version__}",
        "input": dict(given),
        "source": finder.source.described(),
        "rule": {
            "candidates": finder.candidates,
            **asdict(finder.rule),
            "decisions": len(finder.decisions or {}),
        },
        "settings": {**asdict(built.settings), "shares": list(built.settings.shares)},
        "studies": {str(verdict): built.verdicts[verdict] for verdict in Verdict},
        "included_and_excluded": built.conflicts,
        "reviews": {"kept": len(built.reviews), "documents": len(built.documents), "examples": len(built.examples)},
        "splits": built.counts(),
    }
