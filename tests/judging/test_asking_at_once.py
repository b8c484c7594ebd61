"""Forty assessors ask for work at the same moment, of four server processes."""

from __future__ import annotations

import json
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest
from small_studies import grade_all, join, make_study, work_of

from rankwell.judging import open_study

PROCESSES, PEOPLE = 4, 40
pytestmark = pytest.mark.slow


def ask_at_once(address: str, early: list[str], names: list[str]) -> list[list[int]]:
    """How many statements the database was sent, by process: for who came before, and for each of the names."""
    shares = [names[start::PROCESSES] for start in range(PROCESSES)]
    program = [sys.executable, str(Path(__file__).with_name("asking.py")), address]
    servers = [
        subprocess.Popen([*program, first, *share], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        for first, share in zip(early, shares, strict=True)
    ]
    try:
        for server in servers:
            assert server.stdout.readline() == "ready\n"
        for server in servers:
            server.stdin.write("go\n")
            server.stdin.flush()
        return [json.loads(server.communicate(timeout=60)[0]) for server in servers]
    finally:
        for server in servers:
            server.kill()
            server.wait()
            server.stdin.close()
            server.stdout.close()


def assert_counts_hold(work: dict[str, list[str]], queries: int) -> None:
    """No query has more than three, nobody one twice, and who got fewer than six could get no other."""
    counts = Counter(qid for given in work.values() for qid in given)
    assert max(counts.values()) == 3
    assert all(len(given) == len(set(given)) <= 6 for given in work.values())
    free = {f"q{number}" for number in range(1, queries + 1) if counts[f"q{number}"] < 3}
    for name, given in work.items():
        assert len(given) == 6 or free <= set(given), f"{name} got {len(given)} though others were free"


@pytest.mark.parametrize("queries", [88, 600], ids=["just enough", "plenty"])
def test_forty_who_ask_at_once_break_no_count_and_cost_no_more_than_one(address: str, queries: int, closing) -> None:
    made = make_study(address, queries=queries, passages=20)
    names = join(made, PEOPLE)
    early = join(made, PROCESSES)
    made.close()
    statements = ask_at_once(address, early, names)
    store = closing(open_study(address))
    work = work_of(store)
    assert work.keys() == {*names, *early}
    assert_counts_hold(work, queries)
    if queries * 3 > 2 * 6 * len(work):
        assert {len(given) for given in work.values()} == {6}
    counts = Counter(qid for given in work.values() for qid in given)
    assert {query.qid: query.working for query in store.progress().queries if query.working} == counts
    assert sum(len(others) for _, *others in statements) == PEOPLE
    assert all(max(others) <= alone for alone, *others in statements)  # nobody has to try again


def test_who_goes_on_among_many_gets_nothing_twice(address: str, closing) -> None:
    made = make_study(address, queries=100, passages=1)
    names = join(made, 20)
    for name in names:
        made.judging.begin(name)
        grade_all(made, name)
    early = join(made, PROCESSES)
    made.close()
    ask_at_once(address, early, [*names, *names])  # each on two devices
    store = closing(open_study(address))
    work = work_of(store)
    counts = Counter(qid for given in work.values() for qid in given)
    assert max(counts.values()) <= 3
    assert all(len(given) == len(set(given)) and len(given) <= 12 for given in work.values())
