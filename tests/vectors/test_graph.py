"""Approximate search: nearly what exact search finds, with the same scores, whatever is deleted or filtered."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable

import numpy as np
import pytest
from hashing_encoder import HashingEncoder

from needs import require
from rankwell.core import MissingExtraError, RankwellError
from rankwell.index import Index
from rankwell.vectors import Embeddings, can_connect, connect, embed

Build = Callable[..., Index]
WORDS = [f"w{number}" for number in range(100)]


@pytest.fixture(autouse=True)
def usearch() -> None:
    require("usearch", there=can_connect(), how="pip install 'rankwell[ann]'")


def texts(numbers: range, length: int = 4) -> dict[str, str]:
    generator = np.random.default_rng(numbers.start)
    return {f"d{number}": " ".join(generator.choice(WORDS, length)) for number in numbers}


def recall(embeddings: Embeddings, k: int = 10, **how) -> float:
    queries = HashingEncoder().encode_queries(WORDS)
    near, exact = embeddings.search(queries, k, method="hnsw", **how), embeddings.search(queries, k, **how)
    assert [len(ranking) for ranking in near] == [len(ranking) for ranking in exact]
    shared = 0
    for found, expected in zip(near, exact, strict=True):
        scores = dict(expected)
        assert all(scores[docno] == score for docno, score in found if docno in scores)
        shared += len(scores.keys() & dict(found).keys())
    return shared / len(exact.documents)


def test_nearly_everything_is_found_with_the_scores_of_exact_search(build: Build, encoder: HashingEncoder) -> None:
    embeddings = embed(build(texts(range(2000))), encoder, graph=True)
    assert embeddings.connected
    assert recall(embeddings) > 0.97
    assert recall(embeddings, width=400) >= recall(embeddings, width=20)


def test_the_graph_follows_additions_and_deletions(build: Build, encoder: HashingEncoder) -> None:
    embed(build(texts(range(1000))), encoder, graph=True)
    index = build(texts(range(1000, 1600)), delete=[f"d{number}" for number in range(400)])
    before = Embeddings.open(index)
    assert recall(before) > 0.97
    embeddings = embed(index, encoder, graph=True)
    assert embeddings.connected
    assert embeddings.graph.rows == 1600
    assert recall(embeddings) > 0.97


def test_a_graph_of_mostly_dead_vectors_is_made_anew(build: Build, encoder: HashingEncoder) -> None:
    embed(build(texts(range(500))), encoder, graph=True)
    embeddings = embed(build({}, delete=[f"d{number}" for number in range(400)]), encoder, graph=True)
    assert embeddings.graph.rows == 100
    assert recall(embeddings) > 0.97


def test_a_filter_is_obeyed(build: Build, encoder: HashingEncoder) -> None:
    embeddings = embed(build(texts(range(1000))), encoder, graph=True)
    for share in (0.9, 0.6, 0.1, 0.004):
        mask = np.random.default_rng(1).random(1000) < share
        assert recall(embeddings, within=mask) > 0.97
        found = embeddings.search(encoder.encode_queries(["w1"]), 20, method="hnsw", within=mask)
        assert mask[found.documents].all()


def test_vectors_that_the_graph_lacks_are_found_all_the_same(build: Build, encoder: HashingEncoder) -> None:
    embed(build(texts(range(300))), encoder, graph=True)
    embeddings = embed(build({"new": "w1 w2 w3 w4"}), encoder, graph=False)
    assert not embeddings.connected
    found = embeddings.search(encoder.encode_queries(["w1 w2 w3 w4"]), 1, method="hnsw")
    assert found.docnos.tolist() == ["new"]
    assert connect(embeddings.index).connected


def test_the_same_documents_give_the_same_graph(build: Build, encoder: HashingEncoder) -> None:
    made = [embed(build(texts(range(500)), name=name), encoder, graph=True) for name in ("one", "two")]
    assert made[0].graph.data.tobytes() == made[1].graph.data.tobytes()


def test_a_graph_and_a_model_can_be_loaded_in_any_order(build: Build, encoder: HashingEncoder) -> None:
    index = build(texts(range(10)))
    embed(index, encoder, graph=True)
    program = (
        "from rankwell.vectors import Embeddings; from rankwell.index import Index\n"
        f"print(Embeddings.open(Index.open({str(index.path)!r})).graph.rows)\n"
        "import onnxruntime; print('both')"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout.split()) == (0, ["10", "both"])


def test_without_a_graph_the_error_says_how_to_make_one(build: Build, encoder: HashingEncoder) -> None:
    embeddings = embed(build(texts(range(10))), encoder, graph=False)
    with pytest.raises(RankwellError, match="expected a graph, found none: make one with `rankwell encode`"):
        embeddings.search(encoder.encode_queries(["w1"]), 3, method="hnsw")


def test_without_usearch_the_extra_is_named(build: Build, encoder: HashingEncoder, monkeypatch) -> None:
    monkeypatch.setattr("rankwell.vectors.search.can_connect", lambda: False)
    with pytest.raises(MissingExtraError, match=r"pip install 'rankwell\[ann\]'"):
        embed(build(texts(range(10))), encoder, graph=True)
