"""A collection of reviews on disk: the BEIR layout, with a record of how it came about."""

from __future__ import annotations

import csv
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import orjson

from rankwell import __version__
from rankwell.collections import write_documents, write_qrels
from rankwell.collections.formats.delimited import write_table
from rankwell.collections.formats.jsonl import write_json_rows
from rankwell.core import Document, RankwellError, atomic_write, fingerprint
from rankwell.reviews.build import ReviewCollection
from rankwell.reviews.decisions import AMBIGUOUS, DECIDED, write_ambiguous, write_decisions
from rankwell.reviews.finding import StudyFinder
from rankwell.reviews.matching import Verdict
from rankwell.reviews.review import Review
from rankwell.reviews.splitting import SPLITS

MANIFEST, REPORT, EXAMPLES = "manifest.json", "studies.csv", "relevant.tsv"
OURS = {"corpus.jsonl", "queries.jsonl", "qrels", MANIFEST, REPORT, AMBIGUOUS, DECIDED, EXAMPLES}
REPORT_COLUMNS = ("review", "label", "title", "year", "authors", "verdict", "reason", "pmid", "kept")
EXAMPLE_COLUMNS = ("query-id", "corpus-id", "relevant-id")


def check_folder(folder: Path) -> None:
    """Refuse a folder with something else in it."""
    if folder.is_file():
        raise RankwellError(f"{folder}: expected a folder for the collection, found a file")
    strangers = sorted({file.name for file in folder.iterdir()} - OURS) if folder.is_dir() else []
    strangers = [name for name in strangers if not name.startswith(".")]
    if strangers:
        raise RankwellError(f"{folder}: expected an empty folder or an earlier build, found {strangers[0]!r} in it")


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
    """For the manifest: which reviews were given, so that a reader can tell whether they are the same."""
    plain = [(review.id, review.title, review.date, review.included, review.excluded) for review in reviews]
    studies = sum(len(review.studies) for review in reviews)
    return {"name": path.name, "reviews": len(reviews), "studies": studies, "fingerprint": fingerprint(plain)}


def read_examples(folder: Path | str) -> dict[tuple[str, str], str]:
    """(query, document) -> the relevant document that goes with it as an example."""
    path = Path(folder) / EXAMPLES
    if not path.is_file():
        raise RankwellError(f"{path}: expected a file of relevant examples, found none: make it with `review build`")
    with path.open(encoding="utf-8", newline="") as file:
        rows = csv.DictReader(file, delimiter="\t")
        return {(row["query-id"], row["corpus-id"]): row["relevant-id"] for row in rows}


def read_dates(folder: Path | str) -> dict[str, str]:
    """Query -> the date of the review, where it is known."""
    dates = {}
    for line in (Path(folder) / "queries.jsonl").read_bytes().splitlines():
        row = orjson.loads(line)
        if date := (row.get("metadata") or {}).get("date"):
            dates[str(row["_id"])] = str(date)
    return dates


def _as_beir(article: Document) -> Document:
    """BEIR calls the abstract text."""
    names = {"title": "title", "abstract": "text"}
    return article._replace(fields={names[name]: text for name, text in article.fields.items() if name in names})


def _report(built: ReviewCollection) -> list[tuple[Any, ...]]:
    rows = []
    for found in built.studies:
        match, pmid = found.match, found.match.article.id if found.match.article else ""
        kept = "yes" if pmid in built.labels.get(found.review.id, {}) else "no"
        study = match.study
        rows.append(
            (
                found.review.id,
                found.label,
                study.title,
                study.year or "",
                study.authors,
                match.verdict,
                match.reason,
                pmid,
                kept,
            )
        )
    return rows


def _manifest(built: ReviewCollection, finder: StudyFinder, given: Mapping[str, Any]) -> dict[str, Any]:
    settings, rule = built.settings, finder.rule
    return {
        "made_by": f"rankwell {__version__}",
        "input": dict(given),
        "source": finder.source.described(),
        "rule": {
            "candidates": finder.candidates,
            "same_title": rule.same_title,
            "near_title": rule.near_title,
            "same_authors": rule.same_authors,
            "decisions": len(finder.decisions or {}),
        },
        "settings": {
            "fewest": settings.fewest,
            "needs_abstract": settings.needs_abstract,
            "shares": list(settings.shares),
            "seed": settings.seed,
        },
        "studies": {str(verdict): built.verdicts[verdict] for verdict in Verdict},
        "included_and_excluded": built.conflicts,
        "reviews": {"kept": len(built.reviews), "documents": len(built.documents), "examples": len(built.examples)},
        "splits": built.counts(),
    }
