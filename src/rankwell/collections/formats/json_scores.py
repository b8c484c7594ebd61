"""Runs and judgments as one JSON object, `{qid: {docno: value}}`, as pytrec_eval, BEIR and ranx write them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import orjson

from rankwell.collections.format import QrelsFormat, RunFormat
from rankwell.collections.reading import Reading, output, whole_text
from rankwell.core import FormatError, Judgment, Phrase, Run

# The start of such a file: an object whose first value is an object of numbers (or empty).
START = re.compile(r'\s*\{\s*(?:\}\s*$|"(?:[^"\\]|\\.)*"\s*:\s*\{\s*(?:\}|"(?:[^"\\]|\\.)*"\s*:\s*-?\d))')
EXPECTED = 'an object {"query": {"document": number}}'


def _is_scores(_: Path, start: str) -> bool:
    return START.match(start) is not None


def _objects(path: Path, reading: Reading) -> Iterator[tuple[str, dict[str, Any]]]:
    """The object of each query; anything else is a problem of its query."""
    try:
        content = orjson.loads(whole_text(path, reading))
    except orjson.JSONDecodeError as error:
        raise FormatError(path, error.lineno, expected=EXPECTED, found=Phrase(error.msg)) from error
    if not isinstance(content, dict):
        raise FormatError(path, None, expected=EXPECTED, found=Phrase(type(content).__name__))
    for qid, values in content.items():
        if isinstance(values, dict):
            yield qid, values
        else:
            reading.report(path, None, f"an object with the documents of query {qid!r}", values)


def _read_run(path: Path, reading: Reading) -> Run:
    scores: dict[str, dict[str, float]] = {}
    for qid, values in _objects(path, reading):
        scores[qid] = {}
        for docno, score in values.items():
            if isinstance(score, bool) or not isinstance(score, int | float):
                reading.report(path, None, f"a number as the score of document {docno!r} of query {qid!r}", score)
            else:
                scores[qid][docno] = score
    return Run.from_dict(scores, tag=path.name.removesuffix(".gz").removesuffix(".json"))


def _read_qrels(path: Path, reading: Reading) -> Iterator[Judgment]:
    for qid, values in _objects(path, reading):
        for docno, grade in values.items():
            if isinstance(grade, bool) or not isinstance(grade, int | float) or grade != int(grade):
                expected = f"a whole number as the grade of document {docno!r} of query {qid!r}"
                reading.report(path, None, expected, grade)
            else:
                yield Judgment(qid, docno, int(grade))


def _write(path: Path, values: dict[str, dict[str, Any]]) -> None:
    with output(path) as file:
        file.write(orjson.dumps(values, option=orjson.OPT_INDENT_2) + b"\n")


RUN = RunFormat("json", _is_scores, _read_run, lambda path, run, _: _write(path, run.to_dict()), (".json",))
QRELS = QrelsFormat(
    "json", _is_scores, _read_qrels, lambda path, judgments: _write(path, judgments.to_dict()), (".json",)
)
