"""The searches of `rankwell demo`: by words, by meaning, with BERT, and whether it is better."""

from __future__ import annotations

import time
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rankwell.core import Judgments, Queries, Run, Stage
    from rankwell.evaluate import Comparison
    from rankwell.index import Index
    from rankwell.report import Table

BI_ENCODER, CROSS_ENCODER = "minilm-l6", "ms-marco-minilm-l12"
PRECISION = "int8"  # twice as fast as fp32 or more, and rankings of nearly the same quality
ENCODED = 64  # tokens of a document that its vector is made of: what a function does stands at the beginning
DEPTH, TOKENS = 10, 128  # how many documents of each query BERT re-ranks, and how much of each it reads
SHOWN = 3  # documents and queries to show
WIDTH = 110
MEASURES = ("nDCG@10", "R@100")


def is_here(model: str) -> bool:
    """Whether a model has been fetched."""
    from rankwell.encode import fetched_models

    return model in fetched_models()


def _left_out(model: str) -> bool:
    """Whether a step has to be left out for want of its model, which is then said."""
    if not is_here(model):
        print(f"   left out: {model} is not here. To see it: rankwell models add {model}")
        return True
    return False


@dataclass(frozen=True)
class Searches:
    """Runs by name, and the milliseconds that each took a query."""

    index: Index
    queries: Queries
    judgments: Judgments
    out: Path
    runs: dict[str, Run] = field(default_factory=dict)
    milliseconds: dict[str, float] = field(default_factory=dict)

    def by_words(self) -> None:
        """BM25, and BM25 with the words of what it found."""
        from rankwell.rank import BM25, RM3

        self._ranked("BM25", BM25(self.index, k=100))
        self._ranked("BM25 + RM3", RM3(BM25(self.index, k=100)))
        print("   The grade stands in front of each document, from 3 (just what is asked) to 0; - is unjudged.")
        self._show("BM25")

    def by_meaning(self) -> None:
        """Vectors, and words and vectors together."""
        from rankwell.core import Progress
        from rankwell.dense import embed
        from rankwell.encode import load_text_encoder
        from rankwell.rank import BM25, Dense, Hybrid

        if _left_out(BI_ENCODER):
            return
        with Progress(f"   encoding by {BI_ENCODER}", unit="documents", total=len(self.index)) as progress:
            encoder = load_text_encoder(BI_ENCODER, precision=PRECISION, max_tokens=ENCODED)
            embed(self.index, encoder, graph=False, progress=progress)
        print(f"   {BI_ENCODER} gave each document a vector; a query is compared with all of them")
        self._ranked("bi-encoder", Dense(self.index, k=100))
        self._ranked("BM25 + bi-encoder", Hybrid((BM25(self.index, k=100), Dense(self.index, k=100))))
        self._show("bi-encoder")

    def by_bert(self) -> None:
        """A cross-encoder over BM25."""
        from rankwell.rank import BM25
        from rankwell.rerank import CrossEncoder

        if _left_out(CROSS_ENCODER):
            return
        print(f"   {CROSS_ENCODER} reads each query together with what BM25 found, on the CPU and without torch")
        reranker = CrossEncoder(CROSS_ENCODER, k=DEPTH, max_tokens=TOKENS, precision=PRECISION, cache=False)
        self._ranked("BM25 + BERT", BM25(self.index, k=100) >> reranker)
        self._show("BM25 + BERT")

    def compare(self) -> None:
        """Every difference to BM25, tested, with a page of pictures."""
        from rankwell.core import atomic_write
        from rankwell.evaluate import compare
        from rankwell.evaluate.significance import mark
        from rankwell.rank import RandomRanker
        from rankwell.report.cells import one_line
        from rankwell.report.comparison_page import comparison_page

        self._ranked("random", RandomRanker(docnos=tuple(self.index.documents), k=100))
        found = compare(self.judgments, self.runs, MEASURES)
        print(_with_times(found, self.milliseconds).render("table"), end="")
        print(f"   compared with BM25, t-test, Holm's correction. {mark('stars').legend}")
        for sentence in found.warnings():
            print(f"   note: {one_line(sentence)}")
        page = comparison_page(found, texts=self.queries.texts(), command="rankwell demo")
        with atomic_write(self.out / "comparison.html") as file:
            file.write(page.html().encode())
        print(f"   intervals, effects, wins and losses, with pictures: {self.out / 'comparison.html'}")
        self._write()

    def _write(self) -> None:
        """Judgments and runs as files, for whoever wants to go on."""
        from rankwell.collections import write_qrels, write_run

        write_qrels(self.out / "judgments.qrels", self.judgments)
        for name, run in self.runs.items():
            write_run(self.out / "runs" / f"{_plain(name)}.trec", replace(run, tag=_plain(name)), "trec")
        print(f"   the judgments are {self.out / 'judgments.qrels'}, the runs lie in {self.out / 'runs'}: go on with")
        print(f"       rankwell compare {self.out / 'judgments.qrels'} {self.out / 'runs'}/*.trec -m RR@10")

    def _ranked(self, name: str, stage: Stage) -> None:
        started = time.perf_counter()
        self.runs[name] = stage(self.queries)
        self.milliseconds[name] = 1000 * (time.perf_counter() - started) / len(self.queries)

    def _show(self, name: str) -> None:
        """The first of some rankings."""
        for qid in list(self.queries)[:SHOWN]:
            text = self.queries[qid].text()
            print(f"     {text}")
            for docno, _ in list(self.runs[name][qid])[:SHOWN]:
                passage = " ".join(self.index.snippet(docno, text, 70, ["docstring"]).marked().split())
                print(f"       {self.judgments[qid].get(docno, '-')}  {docno}: {passage}"[:WIDTH])


def _plain(name: str) -> str:
    """A name for a file: bm25-bert."""
    return name.lower().replace(" + ", "-")


def _with_times(found: Comparison, milliseconds: dict[str, float]) -> Table:
    """A row a run: what it is worth, with stars, and what it costs."""
    from rankwell.report import Column
    from rankwell.report.comparison_tables import compact_table

    table = compact_table(found)
    rows = [(*row, milliseconds[str(row[0])]) for row in table.rows]
    return replace(table, columns=[*table.columns, Column("ms a query", digits=1)], rows=rows)
