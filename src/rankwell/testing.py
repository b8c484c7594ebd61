"""Checks for your own stages and models: what every stage and every model of Rankwell promises.

    from rankwell.testing import check_model, check_stage

    check_stage(MyStage(k=10), run)
    check_model("models/my-ranker")

Both raise an AssertionError that says what was expected and what was found. They need no test library.
"""

from __future__ import annotations

import pickle
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields, is_dataclass, replace
from itertools import pairwise
from pathlib import Path
from typing import Any, NoReturn

import numpy as np

from rankwell.core import Document, Queries, Query, RankwellError, Run, Stage, Top
from rankwell.core.stage import Given, as_run
from rankwell.models import families
from rankwell.models.base import catalogue, export, load_text_encoder
from rankwell.models.base.folder import ModelFolder
from rankwell.models.cross_encoder.ranking import CrossEncoder
from rankwell.models.linear.ranking import is_linear
from rankwell.models.reranking.reranker import Reranker

TOLERANCE = 1e-5
MOST_ALONE = 5  # queries that are ranked one at a time
HEX = re.compile(r"[0-9a-f]{16,}")
ADDRESS = re.compile(r" at 0x[0-9a-f]+")
LONG = "fever " * 3000
FOR_NOTHING: tuple[Any, ...] = (20, 0.5, "{text}", "other", True)  # tried in a field that is None


def check_stage(
    stage: Stage,
    given: Given | None = None,
    *,
    tolerance: float = TOLERANCE,
    reranks: int | None = None,
    changes: Mapping[str, Any] | None = None,
    **exceptions: str,
) -> None:
    """Raise an AssertionError where a stage breaks a promise of `PROMISES`.

    `given`: the queries or the run to check it with; `example_run()` by default. `tolerance`: how much a score may
    change with the other queries of the batch. `reranks`: the stage re-ranks so many documents of each query; those
    below stay below, in their old order (known of Rankwell's own re-rankers). `changes`: another value for a field
    whose values cannot be guessed, such as `{"idf": "robertson"}`. A promise that makes no sense for a stage is left
    out by its name, with the reason: `check_stage(stage, pickling="it holds an open connection")`.
    """
    for name, reason in exceptions.items():
        if name not in PROMISES or not reason.strip():
            raise TypeError(f"expected a promise ({', '.join(PROMISES)}) and a reason, found {name}={reason!r}")
    case = _Case(stage, example_run() if given is None else as_run(given), tolerance, reranks, dict(changes or {}))
    for name, promise in PROMISES.items():
        if name not in exceptions:
            promise(case)


def check_model(folder: Path | str, *, tolerance: float = TOLERANCE) -> None:
    """Raise an AssertionError where a model's folder does not load, or does not rank or encode as it must.

    A bi-encoder gives finite vectors of one width, of length 1 unless it says otherwise. Every other model is checked
    as the stage that `rankwell.models.families.reranker` makes of it. Texts may be empty or very long, and no score or
    vector depends on what else is in the batch.
    """
    name = str(folder)
    ranks = is_linear(name) or families.record_of(name) is not None
    encodes = not ranks and catalogue.task_of(ModelFolder.find(name)) == export.TEXTS
    try:
        (_check_encoder if encodes else _check_ranker)(name, tolerance)
    except RankwellError as error:
        raise AssertionError(f"{name}: expected a model that can be used, found an error: {error}") from error


def example_run() -> Run:
    """Three queries with documents: short and very long ones, one without text, and two with the same score."""
    texts = {
        "d1": {"title": "Fever", "abstract": "Fever and cough in children."},
        "d2": {"title": "Cough", "abstract": "Honey against cough in the night."},
        "d3": {"title": "Long", "abstract": LONG},
        "d4": {},
        "d5": {"title": "Masks", "abstract": "Masks help against a virus."},
        "d6": {"title": "Blood pressure", "abstract": "Salt and blood pressure of old patients."},
    }
    scores = {
        "q1": {"d2": 8.0, "d1": 8.0, "d3": 7.0, "d4": 6.0, "d5": 5.0, "d6": 4.0},
        "q2": {"d6": 2.5, "d4": 2.0, "d2": 1.0, "d1": -1.0},
        "q3": {"d5": 0.0},
    }
    queries = Queries.of({"q1": "fever and cough", "q2": "blood pressure", "q3": "do masks help"})
    documents = {docno: Document(docno, text) for docno, text in texts.items()}
    return Run.from_dict(scores, queries=queries, documents=documents)


@dataclass(frozen=True)
class _Case:
    """A stage, and what it is checked with."""

    stage: Stage
    run: Run
    tolerance: float = TOLERANCE
    reranks: int | None = None
    changes: dict[str, Any] = field(default_factory=dict)

    def fail(self, expected: str, found: object) -> NoReturn:
        cause = found if isinstance(found, Exception) else None
        shown = f"{type(found).__name__}: {found}" if cause else found
        raise AssertionError(f"{type(self.stage).__name__}: expected {expected}, found {shown}") from cause

    def equal_stages(self) -> Iterator[tuple[Stage, str]]:
        """The stage after use, and one with equal parameters."""
        self.result(self.run, "the run given")
        yield self.stage, "after use"
        yield replace(self.stage), "for equal parameters"  # type: ignore[type-var]  # stages are dataclasses

    def result(self, run: Run, what: str, stage: Stage | None = None) -> Run:
        """The stage's run, whatever the promise: of the form of a run, and made without a change of its input."""
        before, texts = _part(run, run.qids), dict(run.queries or {})
        try:
            result = (stage or self.stage)(run)
        except Exception as error:  # noqa: BLE001 -- whatever it is, it is told
            self.fail(f"a run for {what}", error)
        if run != before or run.tag != before.tag or dict(run.queries or {}) != texts:
            self.fail("the run that it was given to stay as it was", f"another one after {what}")
        self.check_form(result, run, what)
        return result

    def check_form(self, result: object, given: Run, what: str) -> None:
        """The queries that were given, finite scores, and the order of the tie rule."""
        if not isinstance(result, Run):
            self.fail(f"a run for {what}", type(result).__name__)
        if result.qids != given.qids:
            self.fail(f"the queries {_few(given.qids)} to stay in the run for {what}", _few(result.qids))
        sizes = np.diff(result.offsets)
        if len(sizes) != len(result.qids) or not sizes.sum() == len(result.docnos) == len(result.scores):
            self.fail("columns that belong together (offsets, documents, scores)", f"other lengths for {what}")
        wrong = np.flatnonzero(~np.isfinite(result.scores))
        if len(wrong):
            self.fail("finite scores", f"{result.scores[wrong[0]]} for document {result.docnos[wrong[0]]!r} ({what})")
        for qid, ranking in result.rankings():
            rows = list(ranking)
            if len({docno for docno, _ in rows}) < len(rows):
                self.fail("each document once a query", f"one twice for query {qid!r} ({what})")
            for (docno, score), (following, lower) in pairwise(rows):
                if (score, docno) < (lower, following):
                    where = f"{docno!r} ({score}) before {following!r} ({lower}) for query {qid!r} ({what})"
                    self.fail("documents by falling score, and by falling id where scores are equal", where)

    def check_same(self, result: Run, expected: Run, what: str, tolerance: float) -> None:
        """The same documents for each query of `result`, with the same scores."""
        for qid, ranking in result.rankings():
            before, now = dict(expected[qid]), dict(ranking)
            if before.keys() != now.keys():
                odd = _few(sorted(before.keys() ^ now.keys()))
                self.fail(f"the same documents for query {qid!r} {what}", f"{odd} in one run only")
            for docno, score in now.items():
                if abs(score - before[docno]) > tolerance * max(1.0, abs(before[docno])):
                    expectation = f"the same score for document {docno!r} of query {qid!r} {what}"
                    self.fail(expectation, f"{before[docno]} and {score}")


def _configuration(case: _Case) -> None:
    """`repr` is the configuration of a frozen dataclass: stable, equal for equal parameters, without addresses."""
    kind = type(case.stage)
    if not is_dataclass(case.stage) or not kind.__dataclass_params__.frozen:
        case.fail("a frozen dataclass", f"{kind.__name__} that is none")
    shown = repr(case.stage)
    if not shown.startswith(f"{kind.__qualname__}("):
        case.fail(f"a repr that begins with {kind.__qualname__}(", shown[:60])
    lacking = [part.name for part in fields(case.stage) if part.repr and f"{part.name}=" not in shown]
    if lacking:
        case.fail("all parameters in its repr", f"none of the name {lacking[0]} in {shown[:200]}")
    if ADDRESS.search(shown):
        case.fail("a repr that is the same in every process", f"an address in memory: {shown[:200]}")
    for same, when in case.equal_stages():
        if repr(same) != shown:
            case.fail(f"the same repr {when}", f"{shown[:200]} and {repr(same)[:200]}")


def _fingerprint(case: _Case) -> None:
    """Equal parameters have equal fingerprints, another value of any field that compares has another one."""
    try:
        name = case.stage.fingerprint()
    except Exception as error:  # noqa: BLE001 -- whatever it is, it is told
        case.fail("a fingerprint", error)
    if not isinstance(name, str) or not HEX.fullmatch(name):
        case.fail("a fingerprint of 16 or more hex digits", repr(name))
    for same, when in case.equal_stages():
        if same.fingerprint() != name:
            case.fail(f"the same fingerprint {when}", "another one")
    for part, changed in _others(case.stage, case.changes):
        if changed.fingerprint() == name:
            both = f"the same for {getattr(case.stage, part)!r} and {getattr(changed, part)!r}"
            case.fail(f"another fingerprint with another {part}", both)


def _others(value: Any, changes: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    """A dataclass with another value of each field that compares; without those whose values cannot be guessed."""
    for part in fields(value):
        before = getattr(value, part.name)
        for other in [changes[part.name]] if part.name in changes else _other_values(before):
            try:
                changed = replace(value, **{part.name: other})
                getattr(changed, "fingerprint", str)()
            except Exception:  # a value may be refused in any way
                if part.name in changes:
                    raise
                continue
            if part.compare:
                yield part.name, changed
            break


def _other_values(value: Any) -> Iterator[Any]:
    """Values of the same kind that differ from this one."""
    if value is None:
        yield from FOR_NOTHING
    elif isinstance(value, bool):
        yield not value
    elif isinstance(value, (int, float)):
        yield from (other for other in (value + 1, value / 2, value - 1) if other != value)
    elif isinstance(value, str):
        yield f"{value}x"
    elif isinstance(value, Mapping):
        yield from ({**value, key: other} for key, part in value.items() for other in _other_values(part))
    elif isinstance(value, (tuple, list)):
        yield type(value)((*value, "other"))
        yield from (type(value)((other, *value[1:])) for part in value[:1] for other in _other_values(part))
    elif is_dataclass(value):
        yield from (changed for _, changed in _others(value, {}))


def _repetition(case: _Case) -> None:
    """The same run twice gives the same scores, to the bit."""
    first = case.result(case.run, "the run given")
    case.check_same(case.result(case.run, "the same run again"), first, "when the stage runs again", 0)


def _empty(case: _Case) -> None:
    """No query, no document and no text are no reason to fail, and every query stays in the run."""
    nothing = case.result(Run.of_queries(Queries(), case.run.documents), "a run without queries")
    if len(nothing):
        case.fail("no document for a run without queries", f"{len(nothing)} documents")
    case.result(_part(case.run, case.run.qids, documents=False), "queries without documents")
    case.result(_with_odd_queries(case.run), "queries without text or results")


def _batch(case: _Case) -> None:
    """A query's ranking does not depend on the other queries, nor on their order."""
    run = _with_odd_queries(case.run)
    together = case.result(run, "all queries")
    backwards = case.result(_part(run, run.qids[::-1]), "the queries in reverse order")
    case.check_same(backwards, together, "when the queries come in reverse order", case.tolerance)
    for qid in dict.fromkeys((*run.qids[:MOST_ALONE], *run.qids[-3:])):
        alone = case.result(_part(run, [qid]), f"query {qid!r} alone")
        case.check_same(alone, together, "when it is ranked alone", case.tolerance)


def _travelling(case: _Case) -> None:
    """The queries and documents of the run travel along."""
    run, result = case.run, case.result(case.run, "the run given")
    for query in (run.queries or {}).values():
        if result.queries is None or result.queries.get(query.id) != query:
            case.fail("the queries to travel with the run", f"no text, or another one, of query {query.id!r}")
    known = {} if run.documents is None else run.documents
    for docno in result.docnos.tolist():
        if docno in known and (result.documents is None or docno not in result.documents):
            case.fail("the documents to travel with the run", f"no text of document {docno!r}")


def _below(case: _Case) -> None:
    """A re-ranker keeps all documents; those below its depth stay below, in their old order."""
    stage, depth, deepest = case.stage, case.reranks, int(np.diff(case.run.offsets).max(initial=0))
    if depth is None and isinstance(stage, Reranker):
        depth = min(stage.k, max(1, deepest // 2))
        stage = stage.changed(k=depth)
    elif depth is None:
        return
    elif deepest <= depth:
        case.fail(f"a run with more than {depth} documents for some query, to check it with", f"at most {deepest}")
    result = case.result(case.run, "the run given", stage)
    for qid, ranking in case.run.rankings():
        before, now = ranking.docnos.tolist(), result[qid].docnos.tolist()
        odd = sorted({*before} ^ {*now})
        if odd:
            case.fail(f"the documents that query {qid!r} had before", f"{_few(odd)} in one run only")
        if now[depth:] != before[depth:]:
            expected = f"the documents of query {qid!r} below rank {depth} in their old order ({_few(before[depth:])})"
            case.fail(expected, _few(now[depth:]))


def _pickling(case: _Case) -> None:
    """A copy of the stage in another process has the same fingerprint and gives the same."""
    try:
        copy = pickle.loads(pickle.dumps(case.stage))  # noqa: S301 -- our own bytes, made a moment ago
    except Exception as error:  # noqa: BLE001 -- whatever it is, it is told
        case.fail("a stage that can be pickled, so that it can be sent to a worker", error)
    if copy.fingerprint() != case.stage.fingerprint():
        case.fail("the same fingerprint after pickling", "another one")
    first = case.result(case.run, "the run given")
    case.check_same(case.result(case.run, "the run given", copy), first, "after pickling", 0)


def _steps(case: _Case) -> None:
    """`check` accepts the stage, `explain` has a line for each step, and `>>` runs one stage after the other."""
    stage = case.stage
    stage.check()
    lines = "\n".join(f"{number}. {step!r}" for number, step in enumerate(stage.stages, 1))
    if stage.explain() != lines:
        case.fail("a line for each step from explain()", stage.explain()[:200])
    cut = stage.top(1)
    if cut.stages != (*stage.stages, Top(1)):
        case.fail("a pipeline of its own steps and Top(1) from top(1)", repr(cut)[:200])
    both = case.result(case.run, "the run given, then Top(1)", cut)
    case.check_same(both, case.result(case.run, "the run given").top(1), "from top(1)", 0)


PROMISES: Mapping[str, Callable[[_Case], None]] = {
    promise.__name__[1:]: promise
    for promise in (_configuration, _fingerprint, _repetition, _empty, _batch, _travelling, _below, _pickling, _steps)
}
"""What every stage promises, by name."""


def _part(run: Run, qids: Sequence[str], *, documents: bool = True) -> Run:
    """A run of these queries alone, in this order, with columns of its own."""
    scores = {qid: dict(run[qid]) if documents else {} for qid in qids}
    queries = None if run.queries is None else Queries(run.queries[qid] for qid in qids if qid in run.queries)
    return Run.from_dict(scores, tag=run.tag, queries=queries, documents=run.documents)


def _with_odd_queries(run: Run) -> Run:
    """The run and three more queries: the first one without text, without results, and without both."""
    if run.queries is None or not run.qids:
        return run
    texts, results = run.queries[run.qids[0]].texts, dict(run[run.qids[0]])
    blank = dict.fromkeys(texts, "")
    odd = {"without text": blank, "without results": texts, "without both": blank}
    queries = Queries([*run.queries.values(), *(Query(qid, given) for qid, given in odd.items())])
    scores = {**run.to_dict(), **{qid: results if qid == "without text" else {} for qid in odd}}
    return Run.from_dict(scores, tag=run.tag, queries=queries, documents=run.documents)


def _check_ranker(name: str, tolerance: float) -> None:
    """As a stage; and where each document is scored for itself, alone as among others."""
    stage = families.reranker(name).changed(cache=False, quiet=True)
    run = example_run()
    queries = Queries([*(run.queries or {}).values(), Query("long", {"query": LONG})])
    scores = {**run.to_dict(), "long": {"d1": 1.0, "d3": 0.5}}
    run = Run.from_dict(scores, queries=queries, documents=run.documents)
    check_stage(stage, run, tolerance=tolerance)
    if isinstance(stage, CrossEncoder):
        case = _Case(stage, run, tolerance)
        together = case.result(run, "all documents")
        first = case.result(run.top(1), "one document of each query")
        kept = {qid: {docno: together.to_dict()[qid][docno] for docno, _ in of} for qid, of in first.rankings()}
        case.check_same(first, Run.from_dict(kept), "when it is scored alone", tolerance)


def _check_encoder(name: str, tolerance: float) -> None:
    encoder, texts = load_text_encoder(name), ["fever and cough", "", " ", "Größe ☃ 漢字", LONG]
    vectors, again, queries = encoder.encode(texts), encoder.encode(texts), encoder.encode_queries(texts)
    alone = np.concatenate([encoder.encode([]), *(encoder.encode([text]) for text in texts)])
    widths = {some.shape for some in (vectors, again, queries, alone)}
    lengths = np.linalg.norm(vectors, axis=1)
    far = float(np.abs(alone - vectors).max()) if len(widths) == 1 else np.inf
    shapes = {(len(texts), encoder.dimensions)}
    for broken, expected, found in (
        (widths != shapes, f"vectors of {encoder.dimensions} numbers", f"arrays of {widths}"),
        (not np.isfinite([vectors, queries]).all(), "finite numbers in every vector", "others"),
        (encoder.normalise and np.abs(lengths - 1).max() > TOLERANCE, "vectors of length 1", f"lengths {lengths}"),
        (not np.array_equal(vectors, again), "the same vectors a second time", "others"),
        (far > tolerance, "the same vector for a text alone as among others", f"a difference of {far}"),
    ):
        if broken:
            raise AssertionError(f"{name}: expected {expected}, found {found}")


def _few(names: Sequence[str]) -> str:
    return (", ".join(map(str, names[:5])) or "none") + (", ..." if len(names) > 5 else "")  # noqa: PLR2004 -- enough to see
