from __future__ import annotations

import math
from concurrent.futures import ThreadPoolExecutor

import pytest
from prometheus_client.parser import text_string_to_metric_families

from rankwell.serve.metrics import Metrics
from rankwell.serve.process_memory import resident_bytes


def read(metrics: Metrics) -> dict[tuple[str, tuple[tuple[str, str], ...]], float]:
    """What Prometheus' own reader makes of it."""
    return {
        (sample.name, tuple(sorted(sample.labels.items()))): sample.value
        for family in text_string_to_metric_families(metrics.text())
        for sample in family.samples
    }


def test_a_counter_counts_each_combination_of_labels() -> None:
    metrics = Metrics()
    requests = metrics.counter("requests_total", "Requests.", ["route", "status"])
    requests.add("/api/search", "200")
    requests.add("/api/search", "200")
    requests.add("/health", "503", amount=2)
    found = read(metrics)
    assert found["requests_total", (("route", "/api/search"), ("status", "200"))] == 2
    assert found["requests_total", (("route", "/health"), ("status", "503"))] == 2


def test_a_counter_without_labels_is_there_from_the_start() -> None:
    metrics = Metrics()
    metrics.counter("shed_total", "Refused.")
    assert read(metrics) == {("shed_total", ()): 0}


def test_a_histogram_has_cumulative_buckets_a_sum_and_a_count() -> None:
    metrics = Metrics()
    seconds = metrics.histogram("took_seconds", "Time.", ["stage"], bounds=[0.1, 1])
    for value in (0.05, 0.1, 0.5, 7):
        seconds.observe(value, "first")
    found = read(metrics)
    buckets = {dict(labels)["le"]: value for (name, labels), value in found.items() if name == "took_seconds_bucket"}
    assert buckets == {"0.1": 2, "1.0": 3, "+Inf": 4}
    assert found["took_seconds_count", (("stage", "first"),)] == 4
    assert found["took_seconds_sum", (("stage", "first"),)] == pytest.approx(7.65)


def test_gauges_are_read_when_somebody_looks() -> None:
    metrics, documents = Metrics(), [1]
    metrics.gauge("documents", "Documents.", lambda: documents[0])
    metrics.total("shed_total", "Refused.", lambda: {("search",): 3, ("rerank",): 4}, ["stage"])
    documents[0] = 17
    found = read(metrics)
    assert found["documents", ()] == 17
    assert found["shed_total", (("stage", "rerank"),)] == 4


@pytest.mark.parametrize("text", ['a "quoted" one', "back\\slash", "two\nlines", "ünïcödé"])
def test_labels_come_through_whatever_is_in_them(text: str) -> None:
    metrics = Metrics()
    metrics.counter("odd_total", f"About {text}", ["name"]).add(text)
    assert read(metrics) == {("odd_total", (("name", text),)): 1}


@pytest.mark.parametrize("value", [math.inf, -math.inf, 1e300, 0.1, -3])
def test_any_number_comes_through(value: float) -> None:
    metrics = Metrics()
    metrics.gauge("number", "A number.", lambda: value)
    assert read(metrics) == {("number", ()): value}


def test_threads_count_together() -> None:
    metrics = Metrics()
    counter, histogram = metrics.counter("a_total", "A."), metrics.histogram("b", "B.")
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda _: (counter.add(), histogram.observe(1)), range(5000)))
    found = read(metrics)
    assert found["a_total", ()] == found["b_count", ()] == 5000


def test_a_name_is_used_once() -> None:
    metrics = Metrics()
    metrics.counter("a_total", "A.")
    with pytest.raises(ValueError, match="a_total is counted twice"):
        metrics.gauge("a_total", "A.", lambda: 1)


def test_a_wrong_number_of_labels_is_a_mistake_of_ours() -> None:
    metrics = Metrics()
    with pytest.raises(ValueError, match="labels"):
        metrics.counter("a_total", "A.", ["route"]).add("/", "200")


def test_memory_is_that_of_this_process() -> None:
    assert 1e7 < resident_bytes() < 1e11
