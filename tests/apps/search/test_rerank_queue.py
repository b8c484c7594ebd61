from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import CancelledError, Future
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from gated_scorer import BAD, GatedScorer, a_run, numbered

from needs import require
from rankwell.apps.search.rerank_queue import RerankClosedError, RerankQueue, RerankQueueFullError, RerankTimeoutError
from rankwell.apps.search.rerank_worker import FIRST_SLICE
from rankwell.core import Document, ParameterError, Run
from rankwell.models.cross_encoder.ranking import CrossEncoder
from rankwell.models.explanation import Interpolate, explain_rerank
from rankwell.models.reranking.passages import Passages
from waiting import wait_until

SOON = 120  # seconds after which something hangs


@pytest.fixture
def queue() -> Iterator[RerankQueue]:
    queue = RerankQueue()
    yield queue
    queue.close()


def encoder(scorer: GatedScorer, k: int = 1000) -> CrossEncoder:
    return CrossEncoder(scorer, k=k, cache=False, quiet=True)


def order(run: Run) -> list[str]:
    return run.docnos.tolist()


def until(true: Callable[[], bool]) -> None:
    wait_until(true, "it became true", patience=SOON, pause=0.01)


@pytest.mark.parametrize(
    "change",
    [
        lambda stage: stage,
        lambda stage: replace(stage, k=3),
        lambda stage: replace(stage, passages=Passages(3, overlap=1), aggregate="max"),
        lambda stage: replace(stage, scores="probability"),
        lambda stage: Interpolate(stage, 0.3),
    ],
)
def test_a_queue_gives_the_run_that_the_stage_gives_alone(queue: RerankQueue, change) -> None:
    stage = change(encoder(GatedScorer()))
    run = a_run(["a fever", "a b c d e f g h i j", "", "fever " * 9, "fe ver"])
    alone, queued = stage.apply(run), queue.submit(stage, run).result(SOON)
    assert order(queued) == order(alone)
    assert queued.scores.tolist() == alone.scores.tolist()
    assert queued.tag == "GatedScorer"


def test_a_real_model_scores_the_same_in_the_queue(queue: RerankQueue, models: Path, use_models: None) -> None:  # noqa: ARG001 -- a home
    folder = models / "ms-marco-minilm-l12"
    require("models", there=folder.is_dir(), how="run `make setup`, or `rankwell models add ms-marco-minilm-l12`")
    stage = CrossEncoder(str(folder), precision="int8", cache=False, quiet=True, threads=1)
    run = a_run([" ".join(["a fever is", *["warm"] * length]) for length in range(12)], "what is a fever")
    others = a_run(numbered(20, "other"), "another query")
    noise = [queue.submit(stage, others) for _ in range(3)]
    queued = queue.submit(stage, run).result(SOON)
    alone = stage.apply(run)
    assert queued.scores.tolist() == alone.scores.tolist()
    assert order(queued) == order(alone)
    assert queued.tag == "ms-marco-minilm-l12"
    assert len({tuple(future.result(SOON).scores.tolist()) for future in noise}) == 1


def test_a_shallow_request_does_not_wait_for_a_deep_one(queue: RerankQueue) -> None:
    scorer = GatedScorer(opened=False)
    deep = queue.submit(encoder(scorer), a_run(numbered(1000, "deep")))
    assert scorer.began.wait(SOON)  # the first slice of the deep one runs
    shallow = queue.submit(encoder(scorer), a_run(numbered(10, "shallow")))
    until(lambda: len(queue._worker._new) == 1)
    scorer.gate.set()
    shallow.result(SOON)
    deep.result(SOON)
    last = max(place for place, (_, text) in enumerate(scorer.seen) if text.startswith("shallow"))
    assert last <= FIRST_SLICE + 2 * 10  # in turns with the deep one from the second slice on


def test_those_who_wait_together_are_served_in_turn(queue: RerankQueue) -> None:
    scorer = GatedScorer(opened=False)
    first = queue.submit(encoder(scorer), a_run(numbered(1, "first")))
    assert scorer.began.wait(SOON)
    others = [queue.submit(encoder(scorer), a_run(numbered(2, name))) for name in ("a", "b", "c")]
    until(lambda: len(queue._worker._new) == 3)
    scorer.gate.set()
    for future in [first, *others]:
        future.result(SOON)
    assert sorted(text.split()[0] for _, text in scorer.seen[1:4]) == ["a", "b", "c"]


def test_a_pair_that_two_ask_for_is_scored_once(queue: RerankQueue) -> None:
    scorer = GatedScorer(opened=False)
    run = a_run(numbered(40, "same"))
    futures = [queue.submit(encoder(scorer), run) for _ in range(5)]
    scorer.gate.set()
    found = [future.result(SOON).scores.tolist() for future in futures]
    found.append(queue.submit(encoder(scorer), run).result(SOON).scores.tolist())  # and later once more
    assert len(scorer.seen) == len(set(scorer.seen)) == 40
    assert queue.scored == 40
    assert all(scores == found[0] for scores in found)


def test_another_query_is_another_pair(queue: RerankQueue) -> None:
    scorer = GatedScorer()
    for query in ("fever", "cough"):
        queue.submit(encoder(scorer), a_run(["text"], query)).result(SOON)
    assert scorer.seen == [("fever", "text"), ("cough", "text")]


def test_a_full_queue_says_when_to_come_again() -> None:
    scorer, queue = GatedScorer(opened=False), RerankQueue(waiting=2)
    futures = [queue.submit(encoder(scorer), a_run(numbered(200, str(number)))) for number in range(2)]
    with pytest.raises(RerankQueueFullError, match=r"2 requests wait already: try again in \d+ s") as full:
        queue.submit(encoder(scorer), a_run(["text"]))
    assert 1 <= full.value.retry_after <= 60
    with pytest.raises(RerankQueueFullError, match="2 requests wait already"):
        queue.check_room()
    assert queue.shed == 2
    scorer.gate.set()
    for future in futures:
        future.result(SOON)
    until(lambda: queue.waiting == 0)
    queue.check_room()
    assert queue.submit(encoder(scorer), a_run(["text"])).result(SOON)
    queue.close()


def test_deep_requests_fill_the_queue_sooner_but_one_is_always_taken() -> None:
    scorer, queue = GatedScorer(opened=False), RerankQueue(documents=100)
    first = queue.submit(encoder(scorer), a_run(numbered(500, "deep")))
    with pytest.raises(RerankQueueFullError):
        queue.submit(encoder(scorer), a_run(["text"]))
    scorer.gate.set()
    first.result(SOON)
    queue.close()


def test_a_request_whose_time_is_over_stops_costing(queue: RerankQueue) -> None:
    scorer = GatedScorer(opened=False)
    late = queue.submit(encoder(scorer), a_run(numbered(1000, "late")), timeout=0.1)
    with pytest.raises(RerankTimeoutError, match=r"not done within 0\.1 s"):
        late.result(SOON)
    scorer.gate.set()
    queue.submit(encoder(scorer), a_run(["after"])).result(SOON)
    assert sum(text.startswith("late") for _, text in scorer.seen) <= FIRST_SLICE
    until(lambda: queue.ended == 1)


def test_a_request_without_any_time_is_told_so(queue: RerankQueue) -> None:
    with pytest.raises(RerankTimeoutError):
        queue.submit(encoder(GatedScorer()), a_run(["text"]), timeout=0).result(SOON)


def test_a_cancelled_request_stops_costing(queue: RerankQueue) -> None:
    scorer = GatedScorer(opened=False)
    future = queue.submit(encoder(scorer), a_run(numbered(1000, "gone")))
    assert scorer.began.wait(SOON)
    assert future.cancel()
    with pytest.raises(CancelledError):
        future.result(SOON)
    scorer.gate.set()
    queue.submit(encoder(scorer), a_run(["after"])).result(SOON)
    assert sum(text.startswith("gone") for _, text in scorer.seen) == FIRST_SLICE
    until(lambda: (queue.waiting, queue.ended, queue.done) == (0, 1, 1))


def test_an_event_loop_that_gives_up_cancels_the_request(queue: RerankQueue) -> None:
    scorer = GatedScorer(opened=False)
    futures: list[Future[Run]] = []

    async def ask() -> None:
        futures.append(queue.submit(encoder(scorer), a_run(numbered(1000, "gone"))))
        await asyncio.wait_for(asyncio.wrap_future(futures[0]), 0.1)

    with pytest.raises(TimeoutError):
        asyncio.run(ask())
    assert futures[0].cancelled()
    scorer.gate.set()
    until(lambda: queue.waiting == 0)


def test_a_pair_that_fails_fails_its_own_request_only(queue: RerankQueue) -> None:
    scorer = GatedScorer(opened=False)
    held = queue.submit(encoder(scorer), a_run(["hold"]))
    assert scorer.began.wait(SOON)
    good = queue.submit(encoder(scorer), a_run(["good", "better"]))
    bad = queue.submit(encoder(scorer), a_run(["fine", BAD]))
    until(lambda: len(queue._worker._new) == 2)
    scorer.gate.set()
    held.result(SOON)
    assert order(good.result(SOON)) == ["d1", "d0"]
    with pytest.raises(ValueError, match="no poison"):
        bad.result(SOON)
    assert order(queue.submit(encoder(scorer), a_run(["next"])).result(SOON)) == ["d0"]  # the thread goes on


def test_two_models_take_turns(queue: RerankQueue) -> None:
    one, other = GatedScorer(opened=False), GatedScorer()
    waiting = queue.submit(encoder(one), a_run(numbered(300, "one")))
    assert one.began.wait(SOON)
    second = queue.submit(encoder(other), a_run(numbered(3, "other")))
    until(lambda: len(queue._worker._new) == 1)
    one.gate.set()
    second.result(SOON)
    assert order(waiting.result(SOON)) == [f"d{number}" for number in reversed(range(300))]


def test_explanations_come_through_the_queue_and_are_the_same(queue: RerankQueue) -> None:
    stage = replace(encoder(GatedScorer()), passages=Passages(3, overlap=1))
    document = Document("d", {"text": "a fever is a warm thing that comes and goes"})
    assert queue.explain(stage, "fever", document).result(SOON) == explain_rerank(stage, "fever", document)


def test_what_was_scored_just_now_is_explained_although_the_queue_is_full() -> None:
    scorer, queue = GatedScorer(), RerankQueue(waiting=1)
    run = a_run(numbered(3, "known"))
    queue.submit(encoder(scorer), run).result(SOON)
    until(lambda: queue.waiting == 0)
    scorer.gate.clear()
    held = queue.submit(encoder(scorer), a_run(["held"]))
    assert run.documents is not None
    explained = queue.explain(encoder(scorer), "fever", run.documents["d2"])
    assert explained.done()
    assert explained.result().score == len(numbered(3, "known")[2])
    with pytest.raises(RerankQueueFullError):
        queue.explain(encoder(scorer), "fever", Document("other", {"text": "never seen"}))
    scorer.gate.set()
    held.result(SOON)
    queue.close()


def test_a_queue_that_closes_ends_those_who_wait() -> None:
    before = set(threading.enumerate())
    scorer, queue = GatedScorer(opened=False), RerankQueue()
    future = queue.submit(encoder(scorer), a_run(numbered(50, "a")))
    assert scorer.began.wait(SOON)
    closing = threading.Thread(target=queue.close)
    closing.start()
    with pytest.raises(RerankClosedError, match="stopping"):
        future.result(SOON)
    scorer.gate.set()
    closing.join(SOON)
    assert not closing.is_alive()
    with pytest.raises(RerankClosedError):
        queue.submit(encoder(scorer), a_run(["text"]))
    left = set(threading.enumerate()) - before
    assert not [thread.name for thread in left if thread.name.startswith("rankwell-rerank")]


def test_stages_without_a_reranker_are_refused(queue: RerankQueue) -> None:
    with pytest.raises(ParameterError, match="expected a re-ranker"):
        queue.submit(a_run, a_run(["text"]))  # type: ignore[arg-type]
    with pytest.raises(ParameterError, match="waiting"):
        RerankQueue(waiting=0)


def test_many_at_once_all_get_their_own_answer(queue: RerankQueue) -> None:
    scorer = GatedScorer()
    runs = [a_run(numbered(7, f"{number % 5}"), f"query {number % 3}") for number in range(30)]
    futures = [queue.submit(encoder(scorer), run) for run in runs]
    for run, future in zip(runs, futures, strict=True):
        assert np.array_equal(future.result(SOON).scores, encoder(GatedScorer()).apply(run).scores)
    assert len(scorer.seen) == len(set(scorer.seen)) == 7 * 15
