"""Distilling ms-marco-MiniLM-L-12-v2 into students of 6 and 3 layers on unlabelled pairs, beside labels alone.

    python benchmarks/distillation.py DATA --teacher FOLDER --out OUT [--only NAME] [--threads 1]

DATA is a folder with wikiqa, trecqa, scifact and msmarco-dl19-pool in the BEIR layout; the teacher needs PyTorch's
weights. Pairs are the training questions of WikiQA and TREC-QA and the training claims of SciFact with what BM25 finds
for them among the sentences and passages of these training parts and of SciFact's abstracts; no label is read. Students
that learn from labels alone have WikiQA's training labels, and as many steps. WikiQA's development questions choose the
step. The stored BM25 run of TREC DL 2019 (43 queries) is re-ranked once by each, at the end.

Every step is a command of Rankwell, printed before it runs; what is there already is not done again, and a training
that was killed goes on. `--only` trains one student (6-distilled, 6-labels, 3-distilled, 3-labels) or measures
(`measure`), so that two can be trained at the same time.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

TOGETHER = 3  # sentences of a question's article that make a passage, as long as those of MS MARCO
WORDS = 60  # of a passage of an abstract
TRAINING = ["--steps", "500", "--batch-size", "16", "--evaluate-every", "100", "--freeze", "embeddings"]
# Weights that bring the gradients of the losses to about the same size; embeddings are the teacher's and stay so.
WEIGHTS = "embedding=0,attention=0.3,hidden=10,soft=0.1,hard=0"
DISTILLED = ["--method", "tinybert", "--temperature", "10", "--weights", WEIGHTS, "--lr", "3e-4"]
LABELS = ["--method", "soft", "--weights", "soft=0,hard=1", "--lr", "2e-5"]
STUDENTS = {
    "6-distilled": ("teacher:6", "unlabelled", DISTILLED),
    "6-labels": ("teacher:6", "labelled", LABELS),
    "3-distilled": ("teacher:3", "unlabelled", DISTILLED),
    "3-labels": ("teacher:3", "labelled", LABELS),
}


def rankwell(*arguments: object) -> None:
    """A command, shown and run."""
    words = [str(argument) for argument in arguments]
    print("$ rankwell", *words, flush=True)
    subprocess.run([sys.executable, "-m", "rankwell", *words], check=True)


def lines(file: Path) -> Iterator[dict[str, str]]:
    """The objects of a JSON Lines file."""
    with file.open(encoding="utf-8") as opened:
        yield from map(json.loads, opened)


def asked_in_training(folder: Path) -> dict[str, list[str]]:
    """The training queries, and the documents that stand beside each; their labels are not looked at."""
    found: dict[str, list[str]] = {}
    for row in (folder / "qrels" / "train.tsv").read_text().splitlines()[1:]:
        query, document, _ = row.split("\t")
        found.setdefault(query, []).append(document)
    return found


def passages(folder: Path) -> Iterator[str]:
    """The texts of a collection's training part: sentences, and passages about as long as those of MS MARCO."""
    texts = {line["_id"]: f"{line['title']} {line['text']}".strip() for line in lines(folder / "corpus.jsonl")}
    if folder.name == "scifact":
        for text in texts.values():
            words = text.split()
            yield from (" ".join(words[start : start + WORDS]) for start in range(0, len(words), WORDS))
        return
    for documents in asked_in_training(folder).values():
        sentences = [texts[name] for name in documents]
        yield from sentences
        if folder.name == "wikiqa":  # whose candidates are the sentences of one article, in their order
            starts = range(0, len(sentences), TOGETHER)
            yield from (" ".join(sentences[start : start + TOGETHER]) for start in starts)


def write_mixed(data: Path, out: Path) -> None:
    """A collection of all texts and training queries."""
    sources = [data / name for name in ("wikiqa", "trecqa", "scifact")]
    texts = dict.fromkeys(text for folder in sources for text in passages(folder) if text)
    out.mkdir(parents=True)
    documents = ({"_id": f"p{number}", "title": "", "text": text} for number, text in enumerate(texts))
    queries = (
        {"_id": f"{folder.name}-{line['_id']}", "text": line["text"]}
        for folder in sources
        for wanted in [asked_in_training(folder)]
        for line in lines(folder / "queries.jsonl")
        if line["_id"] in wanted
    )
    for name, rows in (("queries.jsonl", queries), ("corpus.jsonl", documents)):
        (out / name).write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")


def prepare(data: Path, out: Path) -> None:
    """All pairs."""
    if not (out / "mixed" / "corpus.jsonl").is_file():
        write_mixed(data, out / "mixed")
    pairs = ("train", "pairs")
    if not (out / "unlabelled").is_dir():
        mixed = out / "mixed"
        how = ("--unlabelled", "--negatives", "hard:13,random:1", "--depth", "50")
        rankwell(*pairs, mixed, "--queries", mixed / "queries.jsonl", *how, "--out", out / "unlabelled")
    for split, name in (("train", "labelled"), ("dev", "dev")):
        if not (out / name).is_dir():
            rankwell(*pairs, data / "wikiqa", "--split", split, "--negatives", "judged:all", "--out", out / name)


def train(name: str, teacher: str, out: Path, threads: int) -> None:
    """One student."""
    student, pairs, how = STUDENTS[name]
    run = out / name
    if (run / "result.json").is_file():
        return
    if (run / "configuration.json").is_file():
        rankwell("train", "resume", run)
        return
    options = [*TRAINING, *how, "--validation", out / "dev", "--threads", threads, "--out", run]
    rankwell("distil", teacher, student, out / pairs, *options)


def measure(data: Path, teacher: str, out: Path, threads: int) -> None:
    """Re-rank DL19's stored BM25 run with every model, compare them, and time them in turns."""
    pool, speed = data / "msmarco-dl19-pool", out / "dl19-pairs"
    first, judged = pool / "runs" / "BM25.trec", pool / "qrels" / "full.tsv"
    models = {"teacher": teacher, **{name: str(out / name / "model") for name in STUDENTS}}
    models = {name: model for name, model in models.items() if Path(model).exists()}
    runs = {name: out / f"{name}.trec" for name in models}
    for name, model in models.items():
        if not runs[name].exists():
            texts = ["--documents", pool, "--queries", pool / "queries.jsonl", "--precision", "fp32"]
            rankwell("rerank", first, *texts, "--model", model, "--threads", threads, "-o", runs[name])
    if not speed.is_dir():
        how = ["--unlabelled", "--run", first, "--negatives", "hard:4", "--depth", "100"]
        rankwell("train", "pairs", pool, *how, "--out", speed)
    rankwell("compare", judged, first, *runs.values(), "-m", "nDCG@10")
    rankwell("compare", judged, *runs.values(), "-m", "nDCG@10")
    print(table(models, runs, judged, speed, threads))


def table(models: dict[str, str], runs: dict[str, Path], judged: Path, pairs: Path, threads: int) -> str:
    """As the document-ranking study's table 5.6: how good, how much of the teacher is kept, how fast, how large."""
    from rankwell.collections import read_qrels, read_run
    from rankwell.evaluation import evaluate
    from rankwell.models.distillation.student import compare_speed
    from rankwell.models.learning.pairs import open_pairs

    qrels = read_qrels(judged)
    found = {name: evaluate(qrels, read_run(run), ["nDCG@10"]).mean("nDCG@10") for name, run in runs.items()}
    timed = compare_speed(list(models.values()), open_pairs(pairs), count=128, rounds=5, threads=threads)
    rows = ["| model | nDCG@10 | of the teacher's | pairs/s | times the teacher's | MB |", "|---|---|---|---|---|---|"]
    for (name, value), speed in zip(found.items(), timed, strict=True):
        kept, faster = value / found["teacher"], speed.pairs_a_second / timed[0].pairs_a_second
        rows.append(
            f"| {name} | {value:.4f} | {kept:.1%} | {speed.pairs_a_second:.1f} | {faster:.2f} | {speed.megabytes:.0f} |"
        )
    return "\n".join(rows)


def main() -> None:
    """Everything, or one student."""
    parser = argparse.ArgumentParser()
    parser.add_argument("data", type=Path)
    parser.add_argument("--teacher", required=True)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--only", choices=[*STUDENTS, "measure", "prepare"])
    parser.add_argument("--threads", type=int, default=1)
    asked = parser.parse_args()
    prepare(asked.data, asked.out)
    for name in STUDENTS:
        if asked.only in (None, name):
            train(name, asked.teacher, asked.out, asked.threads)
    if asked.only in (None, "measure"):
        measure(asked.data, asked.teacher, asked.out, asked.threads)


if __name__ == "__main__":
    main()
