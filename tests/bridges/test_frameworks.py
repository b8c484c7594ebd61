"""LangChain, LlamaIndex, Haystack and ranx: the real libraries, each with a pipeline of ours in it."""

from __future__ import annotations

import pytest

from rankwell.core import Judgments, ParameterError, Run
from rankwell.evaluation import evaluate
from rankwell.index import Index
from rankwell.models.cross_encoder.ranking import CrossEncoder
from rankwell.retrieve import BM25

pytestmark = pytest.mark.long
MODEL = "ms-marco-minilm-l12"


def test_langchain_retrieves(index: Index, bridge) -> None:
    bridge("langchain_core", "langchain")
    from langchain_core.runnables import RunnableLambda

    from rankwell.bridges.langchain import RankwellRetriever

    retriever = RankwellRetriever(stage=BM25(index), k=2, document="{abstract}")
    best, second = retriever.invoke("fever in children")
    assert (best.id, second.id) == ("d1", "d4")
    assert best.page_content == "Fever is common in children and mostly harmless."
    assert best.metadata["year"] == 2019
    assert best.metadata["score"] > second.metadata["score"]
    chain = retriever | RunnableLambda(lambda found: [document.id for document in found])
    assert chain.batch(["masks", "zebra"]) == [["d3"], []]


def test_llama_index_retrieves(index: Index, bridge) -> None:
    bridge("llama_index", "llama-index")
    from llama_index.core.schema import MetadataMode

    from rankwell.bridges.llama_index import RankwellRetriever

    best, _ = RankwellRetriever(BM25(index), k=2).retrieve("fever in children")
    assert best.node.node_id == "d1"
    assert best.node.metadata["year"] == 2019
    assert best.score == BM25(index)("fever in children")["1"].scores[0]
    assert best.node.get_content(MetadataMode.LLM) == index.documents["d1"].text()


@pytest.mark.usefixtures("use_models")
def test_llama_index_ranks_nodes_anew(index: Index, bridge) -> None:
    bridge("llama_index", "llama-index")
    from rankwell.bridges.llama_index import RankwellReranker, RankwellRetriever

    words, model = "how long does a cough last", CrossEncoder(MODEL, quiet=True)
    nodes = RankwellRetriever(BM25(index) >> _any(index), k=4).retrieve(words)
    again = RankwellReranker(stage=model, top_n=2).postprocess_nodes(nodes, query_str=words)
    ours = (BM25(index) >> _any(index) >> model)(words)["1"]
    assert [node.node.node_id for node in again] == ours.docnos[:2].tolist()
    assert [node.score for node in again] == pytest.approx(ours.scores[:2].tolist(), abs=1e-5)
    assert RankwellReranker(stage=model).postprocess_nodes([], query_str=words) == []
    with pytest.raises(ValueError, match="expected a query"):
        RankwellReranker(stage=model).postprocess_nodes(nodes)
    with pytest.raises(ValueError, match="without an index"):
        RankwellReranker(stage=CrossEncoder(MODEL, index=index))


def _any(index: Index) -> BM25:
    """All documents that have a word of some query."""
    return BM25(index, match="expr:fever OR masks")


@pytest.mark.usefixtures("use_models")
def test_haystack_retrieves_and_ranks(index: Index, bridge, monkeypatch: pytest.MonkeyPatch) -> None:
    bridge("haystack", "haystack")
    monkeypatch.setenv("HAYSTACK_TELEMETRY_ENABLED", "False")
    from haystack import Pipeline

    from rankwell.bridges.haystack import RankwellRanker, RankwellRetriever

    words, model = "how long does a cough last", CrossEncoder(MODEL, quiet=True)
    pipeline = Pipeline()
    pipeline.add_component("retriever", RankwellRetriever(_any(index), top_k=4))
    pipeline.add_component("ranker", RankwellRanker(model, top_k=2))
    pipeline.connect("retriever.documents", "ranker.documents")
    found = pipeline.run({"retriever": {"query": words}, "ranker": {"query": words}})["ranker"]["documents"]
    ours = (_any(index) >> model)(words)["1"]
    assert [document.id for document in found] == ours.docnos[:2].tolist()
    assert [document.score for document in found] == pytest.approx(ours.scores[:2].tolist(), abs=1e-5)
    assert found[0].meta["year"] == index.documents[found[0].id].metadata["year"]
    assert found[0].content == index.documents[found[0].id].text()


@pytest.mark.filterwarnings("ignore::numba.core.errors.NumbaTypeSafetyWarning")  # ranx's own kernels
def test_runs_and_judgments_travel_to_ranx_and_back(judgments: Judgments, bridge) -> None:
    bridge("ranx", "ranx")
    import ranx

    from rankwell.bridges.ranx import from_ranx, to_ranx

    run = Run.from_dict({"q1": {"d4": 2.0, "d1": 1.5}, "q2": {"d3": 1.0}, "q3": {}}, tag="mine")
    theirs, qrels = to_ranx(run), to_ranx(judgments)
    assert (type(theirs), type(qrels), theirs.name) == (ranx.Run, ranx.Qrels, "mine")
    back = from_ranx(theirs)
    assert isinstance(back, Run)
    assert back.to_dict() == {"q1": {"d4": 2.0, "d1": 1.5}, "q2": {"d3": 1.0}}
    assert back.tag == "mine"
    assert from_ranx(qrels) == judgments
    measured = ranx.evaluate(qrels, theirs, "mrr", make_comparable=True)
    assert measured == pytest.approx(evaluate(judgments, run, "RR").mean("RR"))


def test_what_is_not_of_ranx_is_refused() -> None:
    from rankwell.bridges.ranx import from_ranx

    with pytest.raises(ParameterError, match=r"expected a ranx.Run or ranx.Qrels"):
        from_ranx({"q1": {"d1": 1.0}})
