"""What holds for all test files: their names differ, and none of them asserts on a clock."""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

TESTS = Path(__file__).parent
STOPWATCHES = {
    *("perf_counter", "process_time", "thread_time", "monotonic"),
    *("perf_counter_ns", "process_time_ns", "thread_time_ns", "monotonic_ns"),
    *("timeit", "default_timer", "getrusage", "getloadavg", "elapsed"),
}
DATES = {"time", "time_ns"}  # of the module time: fine as a date, not where it is compared
MAY_MEASURE = {
    "run.py": "it is no test: `make fuzz` goes on for as long as it is told",
    "soak.py": "it works for as long as it is told, and asserts nothing about time",
    "waiting.py": "it waits until something happens, and says what it waited for",
}


def find_clocks(source: str) -> list[str]:
    """Where a test file measures time, or compares a date with the clock, or limits how long an example may take.

    How long something takes depends on the machine and on what else it does. Tests count work instead (calls, steps,
    statements, bytes); what takes how long is measured in benchmarks/.
    """
    tree = ast.parse(source)
    nodes = list(ast.walk(tree))
    from_clock = {
        target.id
        for node in nodes
        if isinstance(node, ast.Assign) and any(map(is_date, ast.walk(node.value)))
        for target in node.targets
        if isinstance(target, ast.Name)
    }
    found = [
        *((node.lineno, name) for node in nodes for name in names_of(node) if name in STOPWATCHES),
        *((node.lineno, "from time import") for node in nodes if getattr(node, "module", None) == "time"),
        *((node.lineno, "deadline") for node in nodes if isinstance(node, ast.Call) and has_deadline(node)),
        *(
            (node.lineno, "a comparison with the clock")
            for node in nodes
            if isinstance(node, ast.Compare)
            and any(is_date(part) or getattr(part, "id", None) in from_clock for part in ast.walk(node))
        ),
    ]
    return [f"{line}: {what}" for line, what in sorted(found)]


def names_of(node: ast.AST) -> Iterator[str]:
    """What is used of a module, as `os.getloadavg` or as `from os import getloadavg`."""
    if isinstance(node, ast.Attribute):
        yield node.attr
    elif isinstance(node, ast.ImportFrom):
        yield from (alias.name for alias in node.names)


def is_date(node: ast.AST) -> bool:
    """Whether it is `time.time`, however it is called."""
    return (
        isinstance(node, ast.Attribute)
        and node.attr in DATES
        and isinstance(node.value, ast.Name)
        and node.value.id == "time"
    )


def has_deadline(call: ast.Call) -> bool:
    """Whether Hypothesis is told to fail where an example takes long."""
    return any(
        keyword.arg == "deadline" and getattr(keyword.value, "value", keyword) is not None for keyword in call.keywords
    )


def test_no_two_files_of_tests_have_the_same_name() -> None:
    """Pytest imports them without their folders."""
    names = Counter(file.name for file in TESTS.rglob("*.py") if file.name != "conftest.py")
    assert not [name for name, count in names.items() if count > 1]


def test_no_test_asserts_on_a_clock() -> None:
    files = [file for file in TESTS.rglob("*.py") if file.name not in MAY_MEASURE]
    assert len(files) > 100
    assert not [f"{file}:{clock}" for file in files for clock in find_clocks(file.read_text(encoding="utf-8"))]


@pytest.mark.parametrize(
    "source",
    [
        "started = time.perf_counter()\nwork()\nassert time.perf_counter() - started < 3",
        "def seconds(work):\n    started = time.process_time()\n    work()\n    return time.process_time() - started",
        "from time import time",
        "from resource import getrusage",
        "assert timeit.timeit(work, number=1) < 0.1",
        "assert resource.getrusage(resource.RUSAGE_SELF).ru_utime < 1",
        "busy = os.getloadavg()[0]",
        "begun = time.time()\nwork()\nif time.time() - begun > 3:\n    pytest.fail('slow')",
        "begun = time.time()\nassert kept.date > begun",
        "assert client.get('/').elapsed.total_seconds() < 1",
        "@settings(deadline=200)\ndef test_anything(): ...",
    ],
)
def test_a_clock_in_a_test_is_found(source: str) -> None:
    assert find_clocks(source)


@pytest.mark.parametrize(
    "source",
    [
        "header = formatdate(time.time() + 30)",
        "time.sleep(0.1)",
        "monkeypatch.setattr(module.time, 'monotonic', clock)",
        "@settings(deadline=None)\ndef test_anything(): ...",
        "wait_until(lambda: queue.waiting == 0, 'the queue is empty')",
    ],
)
def test_dates_pauses_and_waiting_are_no_assertions_on_a_clock(source: str) -> None:
    assert not find_clocks(source)
