"""A collection of a few documents, and a study of it that needs no model."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from rankwell.studies import Machine, RunSettings, StudyFolder, results, run_study
from rankwell.studies.file.reading import parse_study
from rankwell.studies.report.report import Report, numbers

DISEASES = ("fever", "cough", "measles", "asthma", "gout", "mumps", "rickets", "scurvy")

STUDY = """
title = "Words against chance"
about = "Does BM25 know more than chance?"
seed = 7

[vary]
k1 = [0.5, 1.2]

[pipelines]
words = "bm25(title=0.4, text=0.6)"

[[collection]]
name = "Diseases"
source = "diseases"

[budget.small]
queries = 3
documents = 12

[[table]]
name = "main"
title = "BM25 by its parameters"
measures = ["nDCG@10", "RR@10"]
published_on = "nowhere"
differences = "It was made up."
rows = { BM25 = "bm25", weighted = "words", "k1 $k1" = "bm25(k1=$k1)", RM3 = "bm25 | rm3", chance = "bm25 | random" }
published = { BM25 = { "nDCG@10" = 0.5 } }

[[table]]
name = "depths"
title = "How deep"
kind = "depths"
depths = [1, 3, 5]
measures = ["RR@10"]
rows = { chance = "bm25 | top 5 | random(3)" }

[[table]]
name = "grades"
title = "What stands on top"
kind = "grades"
depth = 3
rows = { BM25 = "bm25", fused = "fuse(bm25, words)" }
"""


NO_PICTURES = STUDY[: STUDY.index("[[table]]")] + STUDY[STUDY.rindex("[[table]]") :]


def write_collection(folder: Path, documents: int = 24) -> Path:
    """A BEIR folder: documents about diseases, and a query for each of them."""
    place = folder / "diseases"
    (place / "qrels").mkdir(parents=True, exist_ok=True)
    texts = []
    for number in range(documents):
        disease, other = DISEASES[number % 8], DISEASES[(number * 3 + 1) % 8]
        text = f"{disease} " * (1 + number % 3) + f"is not {other}, said patient {number} on ward {number % 5}"
        texts.append({"_id": f"d{number}", "title": f"on {disease}", "text": text})
    (place / "corpus.jsonl").write_text("\n".join(map(json.dumps, texts)))
    queries = [{"_id": f"q{number}", "text": f"{name} patient"} for number, name in enumerate(DISEASES[:5])]
    (place / "queries.jsonl").write_text("\n".join(map(json.dumps, queries)))
    judged = [f"q{query}\td{number}\t{1 + number % 2}" for query in range(5) for number in range(query, 12, 8)]
    judged += [f"q{query}\td{query + 1}\t0" for query in range(5)]
    (place / "qrels" / "test.tsv").write_text("\n".join(["query-id\tcorpus-id\tscore", *judged]))
    return folder


def begun(folder: Path, text: str = STUDY, *, budget: str | None = None, data: Path | None = None) -> StudyFolder:
    """The study in a folder of its own, not run yet."""
    file = parse_study(text, "made-up.toml", "made-up").within(budget)
    found = StudyFolder(folder / "study")
    place = data or write_collection(folder / "data")
    found.begin(file, RunSettings("made-up", budget, str(place)))
    return found


def told(folder: StudyFolder) -> dict[str, Any]:
    """The numbers of a study, which is run for them; without pictures, which take longest."""
    plan, _ = run_study(folder, ALONE, quiet=True)
    return numbers(Report(folder, plan, results(plan, folder.store), {}))


ALONE = Machine(jobs=1, threads=1)
