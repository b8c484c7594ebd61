"""Figures that others published for runs that we have."""

from __future__ import annotations

import csv
from dataclasses import replace
from pathlib import Path

import pytest

from rankwell.collections import read_qrels, read_run
from rankwell.evaluation import Measure, evaluate, parse_measure

ROUND_1 = {"ndcg@10": "nDCG@10", "p@5": "P@5", "RBP(p=.5)": "RBP(p=0.5)", "bpref": "Bpref", "MAP": "AP"}
ROUND_5 = {"ndcg@20": "nDCG@20", "P@20": "P@20", "rbp_p5": "RBP(p=0.5)", "bpref": "Bpref", "map": "AP"}


@pytest.mark.parametrize(
    ("number", "tag", "columns"),
    [
        (1, "run1", ROUND_1),
        (1, "BERT", ROUND_1),
        (5, "BRPHJ_BM25", ROUND_5),
        (5, "covidex.r5.2s", ROUND_5),
        (5, "r5.fusion1", ROUND_5),
    ],
)
def test_trec_covid_runs_agree_with_the_leaderboard(data: Path, number: int, tag: str, columns: dict[str, str]) -> None:
    folder = data / "eval-fixtures" / "trec-covid"
    with (folder / f"round{number}-leaderboard.csv").open(encoding="utf-8", newline="") as file:
        published = next(row for row in csv.DictReader(file) if tag in (row.get("run"), row.get("tag")))
    judgments = read_qrels(folder / f"qrels.covid-round{number}.txt")
    result = evaluate(judgments, read_run(folder / f"round{number}-runs" / tag), columns.values())
    found = {column: f"{result.mean(name):.4f}" for column, name in columns.items()}
    assert found == {column: f"{float(published[column]):.4f}" for column in columns}


# trec_eval names of DL-Hard's files that we have; all at relevance level 2 where a measure has one.
SHARED = [
    *("num_ret", "num_rel", "num_rel_ret", "map", "Rprec", "bpref", "recip_rank", "infAP", "ndcg"),
    *("set_P", "set_relative_P", "set_recall", "set_map", "set_F", "success_1", "success_5", "success_10"),
    *(
        f"{name}_{cutoff}"
        for name in ("P", "recall", "ndcg_cut", "map_cut")
        for cutoff in (5, 10, 15, 20, 30, 100, 200, 500, 1000)
    ),
    *(f"iprec_at_recall_{level / 10:.2f}" for level in range(11)),
]


def at_level_2(name: str) -> Measure:
    measure = parse_measure(name)
    if name.startswith("iprec"):
        measure = replace(measure, rounding="up")  # these files were made by trec_eval 9
    return replace(measure, rel=2) if getattr(measure, "rel", None) is not None else measure


@pytest.mark.parametrize("system", ["bm25", "bm25+bert(zs)"])
def test_dl_hard_agrees_query_by_query(data: Path, system: str) -> None:
    folder = data / "eval-fixtures" / "dl-hard"
    measures = {name: at_level_2(name) for name in SHARED}
    judgments = read_qrels(folder / "dl_hard-passage.qrels")
    result = evaluate(judgments, read_run(folder / f"{system}.run"), measures.values())
    wrong = []
    for line in (folder / f"{system}.run.eval").read_text(encoding="utf-8").splitlines():
        name, qid, value = line.split()
        if name in measures:
            found = result.mean(measures[name]) if qid == "all" else result.per_query(measures[name])[qid]
            if abs(found - float(value)) > 0.5e-4 + 1e-9:
                wrong.append((name, qid, float(value)))
    # The total in the file counts grade 1 as well, although its single numbers do not.
    assert wrong == [
        ("num_rel", "all", evaluate(judgments, read_run(folder / f"{system}.run"), "NumRel").mean("NumRel"))
    ]


@pytest.mark.parametrize(
    ("file", "published"),
    [
        ("run.dev.small.tsv", "0.15907"),
        ("run.monobert.ans_small.dev.tsv", "0.40268"),
        ("run.monot5.ans_small.dev.tsv", "0.39044"),
    ],
)
def test_pygaggle_mrr_at_10_agrees_to_the_last_digit(data: Path, file: str, published: str) -> None:
    folder = data / "eval-fixtures" / "pygaggle-msmarco_ans_small"
    result = evaluate(read_qrels(folder / "qrels.dev.small.tsv"), read_run(folder / file), "MRR@10")
    assert f"{result.mean('RR@10'):.5f}" == published
    assert result.queries == 105
