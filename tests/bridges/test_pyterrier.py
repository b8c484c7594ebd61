"""PyTerrier's own transformers, operators and pt.Experiment, with stages of ours among them. Without Terrier's Java."""

from __future__ import annotations

from typing import Any

import pytest

from rankwell.core import Judgments, Queries, RankwellError, Run
from rankwell.evaluation import evaluate
from rankwell.index import Index
from rankwell.models.cross_encoder.ranking import CrossEncoder
from rankwell.retrieve import BM25
from rankwell.testing import check_stage

# PyTerrier asks pandas for what pandas will drop one day.
pytestmark = [pytest.mark.long, pytest.mark.filterwarnings("ignore:The inplace keyword")]


@pytest.fixture(autouse=True)
def _needed(bridge) -> None:
    bridge("pyterrier", "pyterrier")


def frame(topics: dict[str, str]) -> Any:
    import pandas as pd

    return pd.DataFrame({"qid": list(topics), "query": list(topics.values())})


def test_a_stage_runs_in_an_experiment_and_is_measured_as_we_measure_it(
    index: Index, topics: dict[str, str], judgments: Judgments
) -> None:
    import pandas as pd
    import pyterrier as pt

    from rankwell.bridges.pyterrier import as_transformer

    qrels = judgments.to_frame().rename(columns={"grade": "label"})[["qid", "docno", "label"]]
    systems = {"BM25": BM25(index), "top 1": BM25(index).top(1)}
    table: pd.DataFrame = pt.Experiment(
        [as_transformer(stage) for stage in systems.values()],
        frame(topics),
        qrels,
        ["ndcg_cut_10", "recip_rank", "map"],
        names=list(systems),
    )
    for name, stage in systems.items():
        row = table[table["name"] == name].iloc[0]
        ours = evaluate(judgments, stage(topics), ["nDCG@10", "RR", "AP"])
        assert row[["ndcg_cut_10", "recip_rank", "map"]].tolist() == pytest.approx(
            [ours.mean(measure) for measure in ("nDCG@10", "RR", "AP")]
        )


def test_results_have_the_columns_of_pyterrier(index: Index, topics: dict[str, str]) -> None:
    from rankwell.bridges.pyterrier import as_transformer

    out = as_transformer(BM25(index), text=True)(frame(topics).assign(source="mine"))
    assert list(out.columns) == ["qid", "query", "docno", "score", "rank", "text", "source"]
    assert out["rank"].tolist() == [0, 1, 2, 0]
    assert out["docno"].tolist() == ["d1", "d4", "d2", "d3"]
    assert set(out["source"]) == {"mine"}
    assert out["text"].iloc[3] == "Masks Masks stop large droplets."


def test_operators_work(index: Index, topics: dict[str, str]) -> None:
    from rankwell.bridges.pyterrier import as_transformer

    bm25 = as_transformer(BM25(index))
    single = (bm25 % 1).search("fever in children")
    assert single["docno"].tolist() == ["d1"]
    doubled, plain = (bm25 + bm25)(frame(topics)), bm25(frame(topics))
    assert sorted(doubled["score"]) == pytest.approx(sorted(2 * plain["score"]))
    assert len((bm25 % 2 | bm25)(frame(topics))) == 4


def test_pyterrier_can_inspect_a_stage(index: Index) -> None:
    import pyterrier as pt

    from rankwell.bridges.pyterrier import as_transformer

    bm25 = as_transformer(BM25(index))
    assert pt.inspect.transformer_outputs(bm25, ["qid", "query"]) == ["qid", "query", "docno", "score", "rank"]
    with pytest.raises(pt.validate.InputValidationError, match="query"):
        bm25(frame({"q1": "fever"}).drop(columns=["query"]))


@pytest.mark.usefixtures("use_models")
def test_a_re_ranker_reads_the_texts_of_the_frame(index: Index, topics: dict[str, str]) -> None:
    from rankwell.bridges.pyterrier import as_transformer

    model = CrossEncoder("ms-marco-minilm-l12", quiet=True)
    ours = (BM25(index) >> model)(topics)
    out = (as_transformer(BM25(index), text=True) >> as_transformer(model))(frame(topics))
    assert Run.from_frame(out).to_dict() == {qid: found for qid, found in ours.to_dict().items() if found}


def test_a_transformer_is_a_stage(index: Index, topics: dict[str, str]) -> None:
    import pyterrier as pt

    from rankwell.bridges.pyterrier import as_stage

    longest = as_stage(pt.apply.doc_score(lambda row: len(row["text"])))
    run = (BM25(index) >> longest)(topics)
    assert run.qids == ("q1", "q2", "q3")
    assert run["q1"].docnos.tolist() == ["d1", "d2", "d4"]
    assert run["q1"].scores.tolist() == [len(index.documents[docno].text()) for docno in ("d1", "d2", "d4")]
    assert len(run["q3"]) == 0
    assert run.documents is not None


def test_a_transformer_can_rewrite_queries_before_a_stage(index: Index) -> None:
    import pyterrier as pt

    from rankwell.bridges.pyterrier import as_stage

    rewrite = as_stage(pt.apply.query(lambda row: row["query"].replace("temperature", "fever")))
    assert (rewrite >> BM25(index))("high temperature") == BM25(index)("high fever")


def test_a_retriever_of_pyterrier_can_begin_a_pipeline(topics: dict[str, str]) -> None:
    import pandas as pd
    import pyterrier as pt

    from rankwell.bridges.pyterrier import as_stage

    found = pd.DataFrame(
        {"qid": ["q1", "q1", "q2"], "docno": ["x", "y", "x"], "score": [2.0, 3.0, 1.0], "rank": [1, 0, 0]}
    )
    run = as_stage(pt.Transformer.from_df(found))(Queries.of(topics))
    assert run.to_dict() == {"q1": {"y": 3.0, "x": 2.0}, "q2": {"x": 1.0}, "q3": {}}
    assert run.queries is not None
    assert run.queries.texts() == topics


def test_what_is_no_transformer_is_refused() -> None:
    from rankwell.bridges.pyterrier import as_stage

    with pytest.raises(RankwellError, match=r"expected a pt.Transformer, found function"):
        as_stage(lambda frame: frame)


def test_a_transformer_as_a_stage_keeps_the_promises_of_a_stage(index: Index, topics: dict[str, str]) -> None:
    import pyterrier as pt

    from rankwell.bridges.pyterrier import as_stage

    longest = as_stage(pt.apply.doc_score(lambda row: len(row["text"])))
    pickling = "the transformer holds a function of this test"
    check_stage(longest, BM25(index)(Queries.of(topics)), tolerance=0, pickling=pickling)
