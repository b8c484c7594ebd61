"""Sharing work out: what happens to chunks when workers are lost, fail, or never come."""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import pytest
from careless_crew import Accident, CarelessCrew, Doubling
from hypothesis import given
from hypothesis import strategies as st

from rankwell.core import RankwellError
from rankwell.ray import map_chunks
from rankwell.ray.worker import InProcess, Lost, Work
from rankwell.ray.workers import AHEAD, ATTEMPTS, LATER, Workers


def never(worker: str, chunk: Any) -> bool:  # noqa: ARG001 -- an accident
    return False


def doubled(crew: InProcess, numbers: list[int]) -> list[int]:
    with Workers(crew, Doubling()) as workers:
        found = list(workers.map(numbers))
    assert sorted(number for number, _ in found) == list(range(len(numbers)))  # each result is taken once
    return [value for _, value in sorted(found)]


@given(st.lists(st.integers()), st.integers(1, 5))
def test_every_chunk_comes_back_once_whoever_worked_on_it(numbers: list[int], workers: int) -> None:
    assert doubled(InProcess(workers), numbers) == [2 * number for number in numbers]


@given(st.lists(st.integers(), min_size=1, max_size=30), st.integers(1, 4), st.data())
def test_a_lost_worker_gives_its_chunks_back(numbers: list[int], workers: int, data: st.DataObject) -> None:
    fatal = Counter(data.draw(st.lists(st.sampled_from(range(len(numbers))), max_size=4, unique=True)))

    def accident(_worker: str, chunk: Any) -> bool:
        if chunk is None or not fatal[chunk]:
            return False
        fatal[chunk] -= 1  # once only
        return True

    with Workers(CarelessCrew(workers, accident), Doubling()) as crew:
        found = dict(crew.map(range(len(numbers))))
    assert found == {number: 2 * number for number in range(len(numbers))}


def test_the_workers_that_are_left_finish_when_a_machine_is_gone() -> None:
    crew = CarelessCrew(3, lambda worker, chunk: worker == "worker 2" and chunk is not None, places_stay=False)
    assert doubled(crew, list(range(20))) == [2 * number for number in range(20)]
    assert crew.loaded == ["worker 1", "worker 2", "worker 3"]


def test_a_chunk_that_kills_every_worker_is_named_after_three_of_them(caplog: pytest.LogCaptureFixture) -> None:
    crew = CarelessCrew(3, lambda _worker, chunk: chunk == 7)
    with pytest.raises(RankwellError, match=r"the number 7 \(chunk 8\): failed 3 times, the last time on .*: killed"):
        doubled(crew, list(range(20)))
    said = [record.getMessage() for record in caplog.records]
    assert sum("given to another worker" in note for note in said) == ATTEMPTS - 1


@given(st.integers(0, 11), st.integers(1, 4))
def test_the_chunk_that_is_to_blame_is_named_and_not_one_that_was_beside_it(deadly: int, workers: int) -> None:
    class LosesMore(CarelessCrew):
        """When a worker dies, the result that it has just finished is lost with it."""

        def wait(self, seconds: float) -> Any:
            happened = super().wait(seconds)
            following = next((entry for entry in self._waiting if entry[3] == deadly), None)
            if happened and following is not None and self.owners.get(happened[0][0]) == following[1]:
                return [(happened[0][0], Lost("killed"))]
            return happened

    with pytest.raises(RankwellError, match=rf"the number {deadly} \(chunk"):
        doubled(LosesMore(workers, lambda _worker, chunk: chunk == deadly), list(range(12)))


def test_no_more_chunks_are_taken_than_workers_may_have() -> None:
    taken = []

    def source() -> Iterator[int]:
        for number in range(1000):
            taken.append(number)
            yield number

    with Workers(InProcess(3), Doubling()) as workers:
        results = workers.map(source())
        for _ in range(10):
            next(results)
        assert len(taken) <= 10 + 3 * AHEAD + 1


@given(st.integers(0, 8), st.integers(1, 4), st.sampled_from([[], [2]]))
def test_chunks_that_wait_for_others_come_when_those_are_done(count: int, workers: int, deadly: list[int]) -> None:
    """Each number needs the result of the one before it; a worker may die of the third, once."""
    done: dict[int, int] = {}
    fatal = list(deadly)

    def source() -> Iterator[Any]:
        for number in range(count):
            while number and number - 1 not in done:
                yield LATER
            yield number

    def accident(_worker: str, chunk: Any) -> bool:
        return chunk in fatal and fatal.pop() == chunk

    with Workers(CarelessCrew(workers, accident), Doubling(), ahead=1) as crew:
        for number, value in crew.map(source()):
            done[number] = value  # noqa: PERF403 -- the source looks at it meanwhile
    assert done == {number: 2 * number for number in range(count)}


def test_workers_that_die_while_they_load_are_replaced_and_given_up_in_the_end() -> None:
    crew = CarelessCrew(2, lambda _worker, chunk: chunk is None)
    with pytest.raises(RankwellError, match=r"no worker is left: worker .: killed"):
        doubled(crew, [1])
    sickly = CarelessCrew(1, lambda worker, chunk: chunk is None and worker == "worker 1")
    assert doubled(sickly, [1, 2]) == [2, 4]
    assert sickly.loaded == ["worker 2"]


def test_a_task_stays_loaded_from_one_map_to_the_next() -> None:
    crew = CarelessCrew(2, never)
    with Workers(crew, Doubling()) as workers:
        assert dict(workers.map([1, 2, 3])) == {0: 2, 1: 4, 2: 6}
        assert dict(workers.map([4])) == {0: 8}
        assert dict(workers.map([])) == {}
    assert crew.loaded == ["worker 1", "worker 2"]


def test_a_round_that_nobody_finished_does_not_disturb_the_next() -> None:
    lost_later = iter([False] * 3 + [True] + [False] * 100)
    accident: Accident = lambda _worker, chunk: chunk is not None and next(lost_later)  # noqa: E731 -- short
    with Workers(CarelessCrew(2, accident), Doubling()) as workers:
        first = workers.map(range(100))
        next(first)
        first.close()
        assert dict(workers.map([5, 6, 7])) == {0: 10, 1: 12, 2: 14}


@dataclass(frozen=True)
class Failing:
    """Fails on odd numbers, as a user's mistake or otherwise."""

    mistake: bool

    def open(self, threads: int) -> Work:  # noqa: ARG002 -- needs none
        def work(number: int) -> int:
            if number % 2:
                logging.getLogger("rankwell.test").warning("odd numbers are odd")
                raise RankwellError("expected an even number") if self.mistake else OSError("the disk is full")
            return number

        return work

    def describe(self, chunk: int) -> str:
        return f"number {chunk}"


def test_a_users_mistake_is_told_at_once_and_other_failures_are_tried_again(caplog: pytest.LogCaptureFixture) -> None:
    with Workers(InProcess(2), Failing(mistake=True)) as workers, pytest.raises(RankwellError) as told:
        list(workers.map([2, 4, 5]))
    assert str(told.value) == "number 5 (chunk 3): worker 2: expected an even number"
    with Workers(InProcess(2), Failing(mistake=False)) as workers, pytest.raises(RankwellError) as told:
        list(workers.map([2, 4, 5]))
    assert "number 5 (chunk 3): failed 3 times" in str(told.value)
    assert "OSError: the disk is full" in str(told.value)
    said = [record.getMessage() for record in caplog.records]
    assert said.count("odd numbers are odd") == 2  # once by each crew, however often its workers said it


@dataclass(frozen=True)
class Unloadable:
    def open(self, threads: int) -> Work:  # noqa: ARG002 -- needs none
        raise RankwellError("minilm: not fetched yet")

    def describe(self, chunk: int) -> str:
        return str(chunk)


def test_what_a_worker_cannot_load_is_told_with_its_name() -> None:
    with Workers(InProcess(2), Unloadable()) as workers, pytest.raises(RankwellError) as told:
        list(workers.map([1]))
    assert str(told.value) == "worker 1: minilm: not fetched yet"


def test_a_function_is_mapped_in_the_order_of_its_chunks() -> None:
    assert list(map_chunks(len, [["a"], [], ["b", "c"]])) == [1, 0, 2]
    with pytest.raises(RankwellError, match=r"\[0\] \(chunk 2\): failed 3 times.*ZeroDivisionError: division by zero"):
        list(map_chunks(lambda numbers: 1 / numbers[0], [[1], [0]]))
