"""The server's metrics in Prometheus' format (`GET /metrics`)."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import NamedTuple

from prometheus_client import CollectorRegistry, Counter, Histogram, disable_created_metrics, generate_latest
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily
from prometheus_client.registry import Collector

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"
# Bucket bounds in seconds, a factor of about 2.5 apart.
SECONDS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0)
disable_created_metrics()  # type: ignore[no-untyped-call]


class Read(NamedTuple):
    """A gauge or counter that is read on request: one number, or one for each value of a label."""

    name: str
    about: str
    read: Callable[[], float | Mapping[str, float]]
    label: str | None = None


class Metrics(Collector):
    """The counters of one server, and numbers read from its parts."""

    def __init__(self, *read: Read) -> None:
        self._registry, self._read = CollectorRegistry(), read
        self.requests = Counter("rankwell_requests", "Requests.", ["route", "status"], registry=self._registry)
        self.seconds = self._histogram("rankwell_request_seconds", "From request to answer.", "route")
        self.stages = self._histogram("rankwell_stage_seconds", "What each stage of a search took.", "stage")
        self._registry.register(self)

    def collect(self) -> Iterator[CounterMetricFamily | GaugeMetricFamily]:
        """Read the numbers as Prometheus metrics."""
        for name, about, read, label in self._read:
            kind = CounterMetricFamily if name.endswith("_total") else GaugeMetricFamily
            family = kind(name, about, labels=[label] if label else [])
            found = read()
            for value, number in found.items() if isinstance(found, Mapping) else [(None, found)]:
                family.add_metric([value] if value else [], number)
            yield family

    def text(self) -> bytes:
        """All metrics in Prometheus' text format."""
        return generate_latest(self._registry)

    def _histogram(self, name: str, about: str, label: str) -> Histogram:
        return Histogram(name, about, [label], buckets=SECONDS, registry=self._registry)
