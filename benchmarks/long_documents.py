"""PARADE beside the first, the highest and the mean score of a cross-encoder's passages, on SciFact.

    python benchmarks/long_documents.py SCIFACT --model FOLDER --out OUT [--epochs 2] [--steps 200] [--most 4]
                                        [--queries 265] [--tokens 112] [--threads 1] [--only STEP ...]

SCIFACT is the collection in the BEIR layout, FOLDER a body with PyTorch's weights (BERT-tiny where time is short).
Abstracts are read in passages of 50 words, the title in front, with 25 overlapping. A cross-encoder learns from the
passages of some training claims (each of a relevant abstract's is relevant), for so many epochs. Then it goes on, and
PARADE with each aggregation begins from its body: all for as many steps, with as many passages a step; other training
claims choose the step. At the end each model re-ranks BM25's best 20 for the 300 test claims, once.

Every command of Rankwell is printed before it runs; what is there already is not done again, and a training that was
killed goes on. `--only` does some steps: prepare, start, cross-encoder, parade-avg, ..., rerank, compare.
"""

from __future__ import annotations

import argparse
import json
import random
import subprocess
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path

AGGREGATES = ("avg", "max", "attn", "transformer")
SCORES = ("first", "max", "mean")
HELD_OUT = 120  # training claims that choose steps
DEPTH = 20  # documents of a query that are re-ranked, as in the document-ranking study
DOCUMENTS = 8  # in a batch of PARADE
PASSAGES = ["--passages", "50:25"]


def rankwell(*arguments: object) -> None:
    """A command, shown and run."""
    words = [str(argument) for argument in arguments]
    print("$ rankwell", *words, flush=True)
    subprocess.run([sys.executable, "-m", "rankwell", *words], check=True)


def draw_queries(scifact: Path, out: Path, count: int) -> None:
    """Training claims to learn from and others to choose steps by, drawn at random; and the test claims."""
    with (scifact / "queries.jsonl").open(encoding="utf-8") as file:
        queries = {query["_id"]: query for query in map(json.loads, file)}
    train, test = (
        list(dict.fromkeys(row.split("\t")[0] for row in file.read_text().splitlines()[1:]))
        for file in (scifact / "qrels" / "train.tsv", scifact / "qrels" / "test.tsv")
    )
    random.Random(7).shuffle(train)  # noqa: S311 -- a sample, no secret
    parts = {"held-out": train[:HELD_OUT], "training": train[HELD_OUT : HELD_OUT + count], "test": test}
    for name, chosen in parts.items():
        lines = [json.dumps(queries[qid]) for qid in chosen]
        (out / f"{name}.jsonl").write_text("\n".join(lines) + "\n", encoding="utf-8")


def prepare(given: argparse.Namespace) -> None:
    """Queries, pairs, an index and BM25's run."""
    scifact, out = given.scifact, given.out
    out.mkdir(parents=True, exist_ok=True)
    if not (out / "training.jsonl").exists():
        draw_queries(scifact, out, given.queries)
    for name, negatives, depth in (("training", "hard:4", 40), ("held-out", "hard:9", DEPTH)):
        if not (out / name / "pairs.json").exists():
            some = ["--queries", out / f"{name}.jsonl", "--negatives", negatives, "--depth", depth, *PASSAGES]
            rankwell("train", "pairs", scifact, "--split", "train", *some, "--out", out / name)
    if not (out / "index").exists():
        rankwell("index", scifact, "--out", out / "index")
    if not (out / "bm25.trec").exists():
        rankwell("rank", out / "index", out / "test.jsonl", "-k", 100, "--tag", "BM25", "-o", out / "bm25.trec")


def train(given: argparse.Namespace, name: str) -> None:
    """A run, begun, gone on with, or left alone where it is finished."""
    run = given.out / name
    if (run / "result.json").exists():
        return
    if (run / "configuration.json").exists():
        rankwell("train", "resume", run)
        return
    kind, _, aggregate = name.partition("-") if name.startswith("parade-") else ("cross-encoder", "", "")
    options: list[object] = ["--max-tokens", given.tokens, "--threads", given.threads, "--dropout", 0.1]
    if name == "start":
        options += ["--model", given.model, "--lr", given.lr, "--epochs", given.epochs, "--batch-size", 64]
    else:
        options += ["--model", given.out / "start" / "model", "--lr", given.lr / 2, "--steps", given.steps]
        options += ["--evaluate-every", -(-given.steps // 2)]
        options += ["--batch-size", DOCUMENTS if aggregate else DOCUMENTS * given.most]
    if aggregate:
        options += [*PASSAGES, "--aggregate", aggregate, "--most-passages", given.most]
    where = ["--validation", given.out / "held-out", "--out", run]
    rankwell("train", kind, given.out / "training", *where, *options)


def runs_of(out: Path) -> dict[str, tuple[Path, list[object]]]:
    """Every ranking of the test claims: its file, and what makes it."""
    scored = [*PASSAGES, "--model", out / "cross-encoder" / "model", "--aggregate"]
    runs: dict[str, list[object]] = {f"{name}-passage": [*scored, name] for name in SCORES}
    runs |= {f"parade-{name}": ["--model", out / f"parade-{name}" / "model"] for name in AGGREGATES}
    return {name: (out / f"{name}.trec", options) for name, options in runs.items()}


def rerank(given: argparse.Namespace) -> None:
    """Re-rank the test claims' best documents with every model that is there."""
    out = given.out
    where = [out / "bm25.trec", "--index", out / "index", "--queries", out / "test.jsonl", "-k", DEPTH]
    where += ["--threads", given.threads]
    for name, (file, options) in runs_of(out).items():
        model = out / (name if name.startswith("parade") else "cross-encoder")
        if not file.exists() and (model / "result.json").exists():
            rankwell("rerank", *where, *options, "--tag", name, "-o", file)


def compare(given: argparse.Namespace) -> None:
    """All with BM25, and all with the mean of the passages' scores."""
    qrels, first = given.scifact / "qrels" / "test.tsv", given.out / "bm25.trec"
    files = {name: file for name, (file, _) in runs_of(given.out).items() if file.exists()}
    mean = files.pop("mean-passage")
    rankwell("compare", qrels, first, *files.values(), mean, "-m", "nDCG@10")
    rankwell("compare", qrels, mean, *files.values(), "-m", "nDCG@10")


def main() -> None:
    """All steps, or some."""
    steps: dict[str, Callable[[argparse.Namespace], None]] = {"prepare": prepare}
    for name in ("start", "cross-encoder", *(f"parade-{name}" for name in AGGREGATES)):
        steps[name] = partial(train, name=name)
    steps |= {"rerank": rerank, "compare": compare}
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("scifact", type=Path)
    parser.add_argument("--model", required=True)
    parser.add_argument("--out", type=Path, required=True)
    for name, usual in (("epochs", 2), ("steps", 200), ("most", 4), ("queries", 265), ("tokens", 112), ("threads", 1)):
        parser.add_argument(f"--{name}", type=int, default=usual)
    parser.add_argument("--lr", type=float, default=3e-4)
    parser.add_argument("--only", nargs="*", choices=list(steps), default=list(steps))
    given = parser.parse_args()
    for name in given.only:
        steps[name](given)


if __name__ == "__main__":
    main()
