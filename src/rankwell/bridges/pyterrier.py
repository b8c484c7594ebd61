"""PyTerrier, both ways: a stage of Rankwell as a transformer, and any transformer as a stage."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from rankwell.core import Document, MissingExtraError, Queries, Query, RankwellError, Run, Stage
from rankwell.core.parameters import Flag, param

try:
    import pandas as pd
    import pyterrier as pt
except ImportError as error:
    raise MissingExtraError("the bridge to PyTerrier", extra="pyterrier") from error

RANKING = ("docno", "score", "rank")
RESULT = ["qid", "query", *RANKING]


def as_transformer(stage: Stage, *, text: bool = False) -> RankwellTransformer:
    """A stage or pipeline as a transformer, for PyTerrier's operators and `pt.Experiment`.

    With `text` its results have the documents' texts, for transformers that read them.

        bm25 = as_transformer(BM25("papers"))
        pt.Experiment([bm25 % 100, bm25 % 10], topics, qrels, ["ndcg_cut_10"])
    """
    return RankwellTransformer(stage, text=text)


def as_stage(transformer: Any, *, text: bool = True) -> TransformerStage:
    """A transformer or a pipeline of transformers as a stage.

    A transformer of queries gives the queries another wording; one that retrieves or re-ranks gives documents. With
    `text` it gets the documents' texts, as far as the run knows them.

        pipeline = BM25("papers") >> as_stage(pt.apply.doc_score(lambda row: len(row["text"])))
    """
    return TransformerStage(transformer, text)


class RankwellTransformer(pt.Transformer):
    """A stage of Rankwell. Takes queries or results; gives results, or queries where the stage gives no documents.

    Results have the columns qid, query, docno, score and rank (from 0, as PyTerrier counts) and those that came in.
    """

    def __init__(self, stage: Stage, *, text: bool = False) -> None:
        super().__init__()
        self.stage, self.text = stage, text

    def __repr__(self) -> str:
        return f"as_transformer({self.stage!r})"

    def transform(self, inp: pd.DataFrame) -> pd.DataFrame:
        """Run the stage on a frame."""
        with pt.validate.any(inp, context=self) as can:
            can.query_frame(extra_columns=["query"])
            can.result_frame(extra_columns=["query"])
        if inp.empty:
            return self._with_others(inp, pd.DataFrame(columns=[*RESULT, *(["text"] if self.text else [])]))
        run = self.stage(_run_of(inp))
        return self._with_others(inp, _frame_of(run, text=self.text))

    def _with_others(self, inp: pd.DataFrame, out: pd.DataFrame) -> pd.DataFrame:
        """The results with the other columns that came in: of the same query, or of the same document for it."""
        keys = ["qid", "docno"] if "docno" in inp.columns else ["qid"]
        others = [name for name in inp.columns if name not in out.columns]
        if not others:
            return out
        known = inp[[*keys, *others]].astype(dict.fromkeys(keys, str)).drop_duplicates(keys)
        return out.merge(known, on=keys, how="left")


@dataclass(frozen=True)
class TransformerStage(Stage):
    """A transformer of PyTerrier as a stage (`as_stage`)."""

    transformer: Any
    text: bool = param(True, "Give the transformer the documents' texts.", Flag())

    def __post_init__(self) -> None:
        if not isinstance(self.transformer, pt.Transformer):
            raise RankwellError(f"transformer: expected a pt.Transformer, found {type(self.transformer).__name__}")

    def apply(self, run: Run) -> Run:
        """Run the transformer on the run's frame."""
        out = self.transformer(_frame_of(run, text=self.text))
        queries = _queries_of(out, run.queries)
        if "docno" not in out.columns:
            return replace(Run.of_queries(queries, run.documents), tag=run.tag)
        found = Run.from_frame(out).to_dict()
        scores = {qid: found.pop(qid, {}) for qid in run.qids} | found
        documents = run.documents if run.documents is not None else _documents_of(out)
        return Run.from_dict(scores, tag=run.tag, queries=queries, documents=documents)

    def parameters(self) -> dict[str, Any]:
        """The transformer by its description: two of the same description count as the same."""
        return {"transformer": repr(self.transformer), "text": self.text}


def _frame_of(run: Run, *, text: bool) -> pd.DataFrame:
    """The run as PyTerrier has it: queries alone where there are no documents yet."""
    texts = run.queries.texts() if run.queries is not None else {}
    if not len(run) and run.documents is None:
        return pd.DataFrame({"qid": list(run.qids), "query": [texts.get(qid, "") for qid in run.qids]}, dtype=object)
    rows = [
        (qid, texts.get(qid, ""), docno, score, rank)
        for qid, ranking in run.rankings()
        for rank, (docno, score) in enumerate(ranking)
    ]
    table = pd.DataFrame(rows, columns=RESULT)
    if text and run.documents is not None:
        table["text"] = [run.documents[docno].text() for docno in table["docno"]]
    return table


def _run_of(table: pd.DataFrame) -> Run:
    """A frame of queries or of results as a run; without scores, documents keep their order."""
    queries = _queries_of(table, None)
    if "docno" not in table.columns:
        return Run.of_queries(queries)
    if "score" not in table.columns:
        table = table.assign(score=-table.groupby("qid").cumcount())
    return Run.from_frame(table, queries=queries, documents=_documents_of(table))


def _queries_of(table: pd.DataFrame, before: Queries | None) -> Queries:
    """The queries of a frame; other wordings of the queries before are kept."""
    known = dict(before or {})
    if "query" in table.columns:
        for qid, words in zip(table["qid"].astype(str), table["query"], strict=True):
            old = known.get(qid)
            if old is None or old.text() != words:
                first = next(iter(old.texts), "query") if old else "query"
                known[qid] = Query(qid, {**(old.texts if old else {}), first: words})
    return Queries(known.values())


def _documents_of(table: pd.DataFrame) -> Mapping[str, Document] | None:
    """The texts that a frame has."""
    if "text" not in table.columns:
        return None
    pairs = zip(table["docno"].astype(str), table["text"], strict=True)
    return {docno: Document(docno, {"text": text}) for docno, text in pairs}
