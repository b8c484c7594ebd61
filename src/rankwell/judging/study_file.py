"""STUDY.toml: the queries, passages and rules of an assessment study.

    title = "Is BERT better?"
    queries = "queries.tsv"          # any format, or a collection
    collection = "corpus.jsonl"      # where the texts are: any format, a collection, or an index
    runs = ["bm25.trec", "bert.trec"]
    depth = 20                       # the union of their top 20 is judged
    qrels = "qrels.txt"              # the judgments there are: original labels, known relevant passages
    only_unjudged = true             # of the pool, only what these do not hold

Paths are relative to the folder of STUDY.toml.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any

from rankwell.core import ParameterError, RankwellError
from rankwell.judging.study import SCALES, Scale, ScalePoint, Study

KINDS: dict[type, str] = {
    str: "a text in quotes",
    int: "a whole number",
    float: "a number",
    bool: "true or false",
    list: "a list of texts",
    dict: "a table",
}
TEXT_FILES = {"guidelines_file": "guidelines", "consent_file": "consent"}
SETTINGS = {setting.name: type(setting.default) for setting in fields(Study) if setting.name not in ("title", "scale")}
SOURCES: dict[str, type] = {
    "title": str,
    "queries": str,
    "query_field": str,
    "collection": str,
    "fields": list,
    "qrels": str,
    "runs": list,
    "depth": int,
    "only_unjudged": bool,
    "add_known": bool,
    "pool": dict,
    "sample": dict,
    **dict.fromkeys(TEXT_FILES, str),
}


@dataclass(frozen=True)
class StudyFile:
    """The content of a study's file; the files that it names are not read yet."""

    path: Path
    study: Study
    queries: str | None = None
    query_field: str | None = None
    collection: str | None = None
    fields: Sequence[str] = ()
    qrels: str | None = None
    runs: Sequence[str] = ()
    depth: int = 20
    only_unjudged: bool = False
    add_known: bool = False
    pool: Mapping[str, Sequence[str]] = field(default_factory=dict)
    sample: Mapping[str, int] = field(default_factory=dict)

    def place(self, source: str) -> str:
        """The path of a file that the study names, relative to its folder; a collection's name (irds:ID) as it is."""
        prefix, colon, _ = source.partition(":")
        return source if colon and prefix in ("irds", "rankwell") else str(self.path.parent / source)


def read_study_file(path: Path | str) -> StudyFile:
    """Read STUDY.toml; errors name the wrong key."""
    path = Path(path)
    try:
        with path.open("rb") as file:
            found = tomllib.load(file)
    except OSError as error:
        raise RankwellError(f"{path}: cannot be read: {error.strerror}") from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise RankwellError(f"{path}: expected a TOML file, found: {error}") from error
    known = (*SOURCES, *SETTINGS, "scale")
    for name, value in found.items():
        if name not in known:
            raise ParameterError(f"{path}: {name}", expected=f"one of {', '.join(sorted(known))}", found="another name")
        if name != "scale":
            _check(f"{path}: {name}", value, (SOURCES | SETTINGS)[name])
    try:
        study = _study(path, found)
    except ParameterError as error:
        raise RankwellError(f"{path}: {error}") from error
    sources: dict[str, Any] = {name: found[name] for name in SOURCES if name in found}
    for name in ("title", *TEXT_FILES):
        sources.pop(name, None)
    _check_pool(path, found.get("pool", {}))
    _check_sample(path, found)
    return StudyFile(path, study, **sources)


def _study(path: Path, found: Mapping[str, Any]) -> Study:
    settings = {name: found[name] for name in SETTINGS if name in found}
    for name, setting in TEXT_FILES.items():
        if name in found:
            if setting in found:
                raise RankwellError(f"{path}: expected {setting} or {name}, found both")
            settings[setting] = _text(path.parent / found[name])
    if "scale" in found:
        settings["scale"] = _scale(found["scale"])
    return Study(found.get("title", path.stem), **settings)


def _scale(value: Any) -> Scale:
    """The scale from a number of points or from a table per grade."""
    if isinstance(value, int) and value in SCALES:
        return SCALES[value]
    if not isinstance(value, list):
        counts = ", ".join(map(str, SCALES))
        expected = f"a number of points ({counts}), or a table [[scale]] with grade, name and description for each"
        raise ParameterError("scale", expected=expected, found=value)
    points = []
    for entry in value:
        if not isinstance(entry, dict) or not {"grade", "name"} <= set(entry) <= {"grade", "name", "description"}:
            raise ParameterError("scale", expected="grade, name and description for every grade", found=entry)
        _check("scale: grade", entry["grade"], int)
        _check("scale: name", entry["name"], str)
        _check("scale: description", entry.get("description", ""), str)
        points.append(ScalePoint(entry["grade"], entry["name"], entry.get("description", "")))
    return tuple(points)


def _check(name: str, value: Any, kind: type) -> None:
    allowed = (int, float) if kind is float else kind
    right = isinstance(value, allowed) and (kind is bool or not isinstance(value, bool))
    if not right or (kind is list and not all(isinstance(entry, str) for entry in value)):
        raise ParameterError(name, expected=KINDS[kind], found=value)


def _check_pool(path: Path, pool: Mapping[str, Any]) -> None:
    for qid, docnos in pool.items():
        _check(f"{path}: pool: {qid}", docnos, list)


def _check_sample(path: Path, found: Mapping[str, Any]) -> None:
    for name, value in found.get("sample", {}).items():
        _check(f"{path}: sample: {name}", value, int)
    if found.get("sample") and not (found.get("runs") and found.get("qrels")):
        raise RankwellError(f"{path}: sample: expected runs and qrels to draw it by, found {', '.join(found)}")


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except OSError as error:
        raise RankwellError(f"{path}: cannot be read: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise RankwellError(f"{path}: expected text in UTF-8, found: {error.reason}") from error
