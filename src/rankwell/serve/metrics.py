"""What a server counts, as Prometheus reads it.

Text format 0.0.4: https://prometheus.io/docs/instrumenting/exposition_formats/
"""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import accumulate
from threading import Lock
from typing import TypeVar

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"
# Seconds, about 2.5 apart, from what a short query takes to what nobody waits for.
SECONDS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0)

Labels = tuple[str, ...]
Reading = float | Mapping[Labels, float]


class Counter:
    """A number that only grows, for each combination of label values."""

    kind = "counter"

    def __init__(self, name: str, about: str, labels: Sequence[str] = ()) -> None:
        self.name, self.about, self.labels = name, about, tuple(labels)
        self._lock = Lock()
        self._values: dict[Labels, float] = {} if labels else {(): 0.0}

    def add(self, *labels: str, amount: float = 1) -> None:
        """Count one more, or `amount`."""
        with self._lock:
            before = self._values.get(labels)
            if before is None:
                _check(self, labels)
            self._values[labels] = (before or 0.0) + amount

    def samples(self) -> Iterator[str]:
        """The lines of its values."""
        with self._lock:
            values = list(self._values.items())
        for labels, value in values:
            yield _line(self.name, zip(self.labels, labels, strict=True), value)


class Histogram:
    """How many observations were at most so large, their sum and their number, for each combination of labels."""

    kind = "histogram"

    def __init__(self, name: str, about: str, labels: Sequence[str] = (), bounds: Sequence[float] = SECONDS) -> None:
        self.name, self.about, self.labels, self.bounds = name, about, tuple(labels), tuple(bounds)
        self._lock = Lock()
        self._counts: dict[Labels, list[int]] = {}
        self._sums: dict[Labels, float] = {}

    def observe(self, value: float, *labels: str) -> None:
        """Count a value."""
        place = bisect_left(self.bounds, value)
        with self._lock:
            counts = self._counts.get(labels)
            if counts is None:
                _check(self, labels)
                counts = self._counts[labels] = [0] * (len(self.bounds) + 1)
            counts[place] += 1
            self._sums[labels] = self._sums.get(labels, 0.0) + value

    def samples(self) -> Iterator[str]:
        """The lines of its values; the counts are cumulative."""
        with self._lock:
            everything = [(labels, list(counts), self._sums[labels]) for labels, counts in self._counts.items()]
        for labels, counts, total in everything:
            pairs = list(zip(self.labels, labels, strict=True))
            for bound, count in zip((*self.bounds, math.inf), accumulate(counts), strict=True):
                yield _line(f"{self.name}_bucket", [*pairs, ("le", _number(bound))], count)
            yield _line(f"{self.name}_sum", pairs, total)
            yield _line(f"{self.name}_count", pairs, sum(counts))


class Reader:
    """A number that is asked for when somebody looks: one, or one for each combination of label values."""

    def __init__(self, name: str, about: str, read: Callable[[], Reading], kind: str, labels: Sequence[str]) -> None:
        self.name, self.about, self.kind, self.labels = name, about, kind, tuple(labels)
        self._read = read

    def samples(self) -> Iterator[str]:
        """The lines of its values."""
        found = self._read()
        values = found if isinstance(found, Mapping) else {(): found}
        for labels, value in values.items():
            yield _line(self.name, zip(self.labels, labels, strict=True), value)


Metric = TypeVar("Metric", Counter, Histogram, Reader)


class Metrics:
    """Everything that a server counts.

    metrics = Metrics()
    requests = metrics.counter("rankwell_requests_total", "Requests.", ["route", "status"])
    requests.add("/api/search", "200")
    metrics.gauge("rankwell_documents", "Documents in the index.", lambda: len(index))
    metrics.text()
    """

    def __init__(self) -> None:
        self._all: dict[str, Counter | Histogram | Reader] = {}

    def counter(self, name: str, about: str, labels: Sequence[str] = ()) -> Counter:
        """A new counter; its name ends in `_total`."""
        return self._add(Counter(name, about, labels))

    def histogram(
        self, name: str, about: str, labels: Sequence[str] = (), bounds: Sequence[float] = SECONDS
    ) -> Histogram:
        """A new histogram; one of seconds ends in `_seconds`."""
        return self._add(Histogram(name, about, labels, bounds))

    def gauge(self, name: str, about: str, read: Callable[[], Reading], labels: Sequence[str] = ()) -> None:
        """A number that goes up and down, read when it is asked for."""
        self._add(Reader(name, about, read, "gauge", labels))

    def total(self, name: str, about: str, read: Callable[[], Reading], labels: Sequence[str] = ()) -> None:
        """A number that grows and is counted elsewhere."""
        self._add(Reader(name, about, read, "counter", labels))

    def text(self) -> str:
        """All of it, as `GET /metrics` answers."""
        lines: list[str] = []
        for metric in self._all.values():
            lines += (f"# HELP {metric.name} {_escaped(metric.about)}", f"# TYPE {metric.name} {metric.kind}")
            lines += metric.samples()
        return "\n".join(lines) + "\n"

    def _add(self, metric: Metric) -> Metric:
        if metric.name in self._all:
            raise ValueError(f"{metric.name} is counted twice")
        self._all[metric.name] = metric
        return metric


def _check(metric: Counter | Histogram, labels: Labels) -> None:
    if len(labels) != len(metric.labels):
        raise ValueError(f"{metric.name}: expected the labels {metric.labels}, found {labels}")


def _line(name: str, labels: Iterable[tuple[str, str]], value: float) -> str:
    shown = ",".join(f'{label}="{_quoted(text)}"' for label, text in labels)
    return f"{name}{{{shown}}} {_number(value)}" if shown else f"{name} {_number(value)}"


def _number(value: float) -> str:
    if math.isinf(value):
        return "+Inf" if value > 0 else "-Inf"
    return "NaN" if math.isnan(value) else repr(float(value))


def _escaped(text: str) -> str:
    return text.replace("\\", "\\\\").replace("\n", "\\n")


def _quoted(text: str) -> str:
    return _escaped(text).replace('"', '\\"')
