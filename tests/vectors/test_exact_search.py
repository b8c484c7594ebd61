"""Exact search finds what comparing with every vector finds, in the one order, whatever way it takes."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from hashing_encoder import HashingEncoder
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from rankwell.core import ParameterError
from rankwell.index import Index
from rankwell.vectors import Embeddings, embed
from rankwell.vectors.embedding import VectorWriter
from rankwell.vectors.quantise import COARSE, LARGEST, query_codes, unit
from rankwell.vectors.rows import Manifest, Rows
from rankwell.vectors.search import exhaustive, kernels, runnable_kernels, scanned

pytestmark = pytest.mark.numeric

Build = Callable[..., Index]
WORDS = [f"w{number}" for number in range(60)]


def texts(count: int, seed: int = 0, length: int = 6) -> dict[str, str]:
    generator = np.random.default_rng(seed)
    return {f"d{number}": " ".join(generator.choice(WORDS, length)) for number in range(count)}


def rows_of(folder, vectors: np.ndarray, parts: int = 3) -> Rows:
    """Vectors in several files."""
    fresh = Manifest("test", {}, "test", vectors.shape[1])
    with VectorWriter(folder, fresh) as writer:
        keys = np.arange(1, len(vectors) + 1, dtype=np.uint64)
        for part in np.array_split(np.arange(len(vectors)), parts):
            if len(part):
                writer.add(keys[part], vectors[part])
        return writer.rows()


@settings(max_examples=30, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.integers(1, 300), st.integers(1, 200), st.integers(1, 30), st.integers(0, 999), st.booleans())
def test_going_through_the_upper_planes_finds_what_scoring_everything_finds(  # noqa: PLR0917 -- sizes to vary
    tmp_path_factory, count: int, dimensions: int, k: int, seed: int, masked: bool
) -> None:
    generator = np.random.default_rng(seed)
    # Few different numbers, so that many scores are equal or nearly so.
    vectors = unit(generator.integers(-3, 4, (count, dimensions)).astype(np.float32) + 0.01)
    rows = rows_of(tmp_path_factory.mktemp("rows"), vectors)
    queries = query_codes(unit(generator.standard_normal((4, dimensions)).astype(np.float32)))
    allowed = generator.random(count) < 0.7 if masked else np.ones(count, dtype=bool)
    k = min(k, max(1, int(allowed.sum())))
    if not allowed.any():
        return
    expected = list(exhaustive(rows, queries, np.flatnonzero(allowed), k))
    for threads in (1, 2):
        found = list(scanned(rows, queries, k, allowed if masked else None, threads))
        for (rows_found, scores), (rows_expected, scores_expected) in zip(found, expected, strict=True):
            assert rows_found.tolist() == rows_expected.tolist()
            assert scores.tolist() == scores_expected.tolist()


@pytest.mark.parametrize("name", ["vnni", "avx2", "plain"])
@pytest.mark.parametrize("dimensions", [1, 15, 63, 64, 65, 100, 127, 384, 1000])
@pytest.mark.parametrize("values", ["random", "largest", "smallest"])
def test_every_kernel_gives_the_sums_of_whole_numbers(name: str, dimensions: int, values: str) -> None:
    compiled = kernels()
    if name not in runnable_kernels():
        pytest.skip(f"this processor cannot run the {name} kernel")
    generator = np.random.default_rng(1)
    codes = generator.integers(0, 256, (70, dimensions)).astype(np.uint8)
    limit = min(LARGEST, (COARSE - 1) // (255 * dimensions))  # as in query_codes
    queries = generator.integers(-limit, limit + 1, (3, dimensions)).astype(np.int16)
    if values != "random":
        codes[:], queries[:] = 255, limit if values == "largest" else -limit
    whole = dimensions - dimensions % compiled.WIDE
    upper = (queries[:, :whole].astype(np.int32) + 128) >> 8
    planes = np.stack([upper, queries[:, :whole] - (upper << 8)], axis=1).astype(np.int8).reshape(-1)
    shifts, scales, errors = np.array([7, 0, -5]), np.array([0.5, 1e-9, 3.0]), np.array([0.25, 0.0, 1e-3])
    out = np.zeros((3, 80), dtype=np.float32)
    compiled.SCANS[name](codes.reshape(-1), queries, planes, shifts, scales, errors, 2, 70, 5, out)
    sums = queries.astype(np.int64) @ codes.astype(np.int64).T
    expected = ((sums - shifts[:, None]) * scales[:, None] - errors[:, None]).astype(np.float32)
    assert out[:, 7:75].tolist() == expected[:, 2:].tolist()
    assert not out[:, :7].any()
    assert not out[:, 75:].any()


@pytest.mark.parametrize(
    ("features", "expected"),
    [
        ("+avx512f,+avx512vnni,+avx2", ["vnni", "avx2", "plain"]),
        ("+avx2,-avx512f,-avx512vnni", ["avx2", "plain"]),
        ("+sse4.2,-avx2", ["plain"]),
        ("", ["plain"]),
    ],
)
def test_the_kernel_is_chosen_by_the_features_that_numba_compiles_for(
    features: str, expected: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("rankwell.core.kernels.target", lambda: ("", "", features))
    assert runnable_kernels() == expected


def test_the_ranking_is_that_of_the_cosines(build: Build, encoder: HashingEncoder) -> None:
    documents = texts(200)
    index = build(documents)
    found = embed(index, encoder, graph=False).search(encoder.encode_queries(["w1 w2 w3", "w40"]), 20)
    vectors = dict(zip(documents, unit(encoder.encode(list(documents.values()))), strict=True))
    for ranking, query in zip(found, unit(encoder.encode_queries(["w1 w2 w3", "w40"])), strict=True):
        cosines = {docno: float(vector @ query) for docno, vector in vectors.items()}
        assert list(ranking.scores) == sorted(ranking.scores, reverse=True)
        for docno, score in ranking:
            assert score == pytest.approx(cosines[docno], abs=1e-4)
        worst = ranking.scores[-1]
        assert not [docno for docno in cosines if cosines[docno] > worst + 1e-4 and docno not in set(ranking.docnos)]


def test_equal_scores_are_ranked_by_id_descending_across_segments(build: Build, encoder: HashingEncoder) -> None:
    build({"b": "same text", "d": "same text", "x": "other"})
    index = build({"a": "same text", "c": "same text", "e": "same text"})
    found = embed(index, encoder, graph=False).search(encoder.encode_queries(["same text"]), 4)
    assert found[0].docnos.tolist() == ["e", "d", "c", "b"]


def test_scores_do_not_depend_on_what_else_is_asked(build: Build, encoder: HashingEncoder) -> None:
    embeddings = embed(build(texts(300)), encoder, graph=False)
    queries = encoder.encode_queries(WORDS)
    together = embeddings.search(queries, 50)
    for place, query in enumerate(queries):
        alone = embeddings.search(query, 50)
        assert alone.docnos.tolist() == together[place].docnos.tolist()
        assert alone.scores.tolist() == together[place].scores.tolist()


def test_only_documents_within_are_found(build: Build, encoder: HashingEncoder) -> None:
    index = build(texts(100))
    embeddings = embed(index, encoder, graph=False)
    query = encoder.encode_queries(["w5"])
    everything = embeddings.search(query, 100)
    mask = np.arange(index.size) % 3 == 0
    found = embeddings.search(query, 100, within=mask)
    assert found.documents.tolist() == [number for number in everything.documents.tolist() if mask[number]]
    assert len(embeddings.search(query, 100, within=np.zeros(index.size, dtype=bool)).documents) == 0


def test_more_documents_than_there_are_may_be_asked_for(build: Build, encoder: HashingEncoder) -> None:
    embeddings = embed(build(texts(5)), encoder, graph=False)
    assert len(embeddings.search(encoder.encode_queries(["w5"]), 1000).documents) == 5


def test_bytes_alone_are_half_as_large_and_ranked_by_what_they_say(build: Build) -> None:
    encoder = HashingEncoder(128)
    index = build(texts(2000))
    whole = embed(index, encoder, graph=False)
    coarse = embed(index, encoder, graph=False, name="coarse", storage="int8")
    assert coarse.info()["bytes"]["vectors"] < 0.6 * whole.info()["bytes"]["vectors"]
    query = encoder.encode_queries(["w5 w6"])
    assert coarse.search(query, 10)[0].scores == pytest.approx(whole.search(query, 10)[0].scores, abs=0.02)


def test_stored_vectors_take_half_of_what_32_bit_floats_take(build: Build) -> None:
    embeddings = embed(build(texts(3000)), HashingEncoder(384), graph=False)
    planes = [embeddings._rows.chunks[0].file.sizes()[name] for name in ("high", "low")]
    rows = embeddings._rows.chunks[0].keys.size
    assert sum(planes) == rows * 384 * 4 / 2


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"k": 0}, "k: expected a number of documents"),
        ({"k": 5, "method": "lsh"}, "method: expected exact or hnsw"),
        ({"k": 5, "width": 3}, "width: expected a number of candidates, at least 5"),
    ],
)
def test_what_cannot_be_is_refused(build: Build, encoder: HashingEncoder, arguments, message: str) -> None:
    embeddings = embed(build(texts(5)), encoder, graph=False)
    with pytest.raises(ParameterError, match=message):
        embeddings.search(encoder.encode_queries(["w5"]), **arguments)
    with pytest.raises(ParameterError, match="queries: expected rows of 24 numbers"):
        embeddings.search(np.ones((1, 7)), 3)


def test_an_index_without_documents_finds_nothing(build: Build, encoder: HashingEncoder) -> None:
    embeddings: Embeddings = embed(build({}), encoder)
    assert (embeddings.count, embeddings.stale) == (0, 0)
    assert len(embeddings.search(encoder.encode_queries(["w5"]), 3).documents) == 0
