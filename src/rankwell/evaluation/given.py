"""What people give as judgments and runs: ours, dicts or data frames; a swapped argument gets a line that says so."""

from __future__ import annotations

import os
from collections.abc import Mapping
from numbers import Real
from typing import Any, overload

from rankwell.core import Judgments, ParameterError, Phrase, Queries, Run
from rankwell.core.records import has_column, is_frame, whole_grade


def as_judgments(given: Any) -> Judgments:
    """Judgments unchanged; a dict `{qid: {docno: grade}}` or a data frame as judgments.

    as_judgments({"q1": {"d1": 2, "d2": 0}})
    """
    if isinstance(given, Judgments):
        return given
    if is_frame(given):
        return Judgments.from_frame(given)
    if isinstance(given, Mapping) and not isinstance(given, Queries) and all(map(_is_scored, given.values())):
        rows = ((qid, docno, grade) for qid, of_query in given.items() for docno, grade in of_query.items())
        return Judgments((str(qid), str(docno), whole_grade(grade)) for qid, docno, grade in rows)
    raise ParameterError("judgments", expected="judgments first, then runs", found=Phrase(_wrong(given, "read_qrels")))


@overload
def as_runs(given: Run) -> Run: ...
@overload
def as_runs(given: Mapping[str, Run]) -> dict[str, Run]: ...
def as_runs(given: Any) -> Run | dict[str, Run]:
    """A run, or runs by name; each may be a data frame or a dict `{qid: {docno: score}}`, too."""
    if isinstance(given, Mapping) and not isinstance(given, Judgments | Queries):
        values = list(given.values())
        if values and all(map(_is_scored, values)) and not any(map(_is_run, values)):
            return Run.from_dict(given)
        return {str(name): _run(run) for name, run in given.items()}
    if isinstance(given, list | tuple):
        found = Phrase(f"{type(given).__name__}: name them, {{'BM25': run, 'BERT': other}}")
        raise ParameterError("runs", expected="runs by name", found=found)
    return _run(given)


def _run(given: Any) -> Run:
    if isinstance(given, Run):
        return given
    if is_frame(given):
        return Run.from_frame(given)
    if (
        isinstance(given, Mapping)
        and not isinstance(given, Judgments | Queries)
        and all(map(_is_scored, given.values()))
    ):
        return Run.from_dict(given)
    raise ParameterError("runs", expected="judgments first, then runs", found=Phrase(_wrong(given, "read_run")))


def _is_scored(value: Any) -> bool:
    """Whether a value is the `{docno: score}` of a query."""
    return isinstance(value, Mapping) and all(isinstance(score, Real) for score in value.values())


def _is_run(value: Any) -> bool:
    return isinstance(value, Run) or (is_frame(value) and has_column(value, "docno"))


def _wrong(given: Any, reader: str) -> str:
    """What was given, and the way out."""
    if isinstance(given, str | os.PathLike):
        return f"a path: read it first, {reader}({os.fspath(given)!r})"
    if isinstance(given, Run):
        return "a run: swap the two, (judgments, runs)"
    if isinstance(given, Judgments):
        return "judgments: swap the two, (judgments, runs)"
    if isinstance(given, Mapping) and any(isinstance(value, Run) for value in given.values()):
        return "runs: swap the two, (judgments, runs)"
    if isinstance(given, Queries):
        return "queries: judgments say which documents are relevant to them, read_qrels(file)"
    return type(given).__name__
