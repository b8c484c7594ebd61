from __future__ import annotations

from prometheus_client.parser import text_string_to_metric_families

from rankwell.apps.search.process import resident_bytes
from rankwell.apps.search.service import Metrics, Read


def read(metrics: Metrics) -> dict[tuple[str, tuple[tuple[str, str], ...]], float]:
    """What Prometheus' own reader makes of it."""
    return {
        (sample.name, tuple(sorted(sample.labels.items()))): sample.value
        for family in text_string_to_metric_families(metrics.text().decode())
        for sample in family.samples
    }


def test_requests_are_counted_by_route_and_status() -> None:
    metrics = Metrics()
    for _ in range(2):
        metrics.requests.labels("/api/search", 200).inc()
    metrics.seconds.labels("/api/search").observe(0.002)
    found = read(metrics)
    assert found["rankwell_requests_total", (("route", "/api/search"), ("status", "200"))] == 2
    assert found["rankwell_request_seconds_bucket", (("le", "0.0025"), ("route", "/api/search"))] == 1
    assert found["rankwell_request_seconds_count", (("route", "/api/search"),)] == 1
    assert not [name for name, _ in found if name.endswith("_created")]


def test_numbers_are_read_when_somebody_looks() -> None:
    documents = [1]
    shed = Read("shed_total", "Refused.", lambda: {"search": 3, "rerank": 4}, "stage")
    metrics = Metrics(Read("documents", "Documents.", lambda: documents[0]), shed)
    documents[0] = 17
    found = read(metrics)
    assert found["documents", ()] == 17
    assert found["shed_total", (("stage", "rerank"),)] == 4


def test_memory_is_that_of_this_process() -> None:
    assert 1e7 < resident_bytes() < 1e11
