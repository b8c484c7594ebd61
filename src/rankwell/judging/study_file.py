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
from dataclasses import fields
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ValidationError, create_model

from rankwell.core import ParameterError, RankwellError
from rankwell.judging.study import SCALES, Scale, ScalePoint, Study

KINDS = {  # by pydantic's names of errors
    "string_type": "a text in quotes",
    "int_type": "a whole number",
    "float_type": "a number",
    "bool_type": "true or false",
    "list_type": "a list of texts",
    "dict_type": "a table",
}
TEXT_FILES = {"guidelines_file": "guidelines", "consent_file": "consent"}
SETTINGS = {setting.name: type(setting.default) for setting in fields(Study) if setting.name not in ("title", "scale")}


class Sources(BaseModel, strict=True, extra="forbid"):
    """What is judged, and where it is."""

    queries: str | None = None
    query_field: str | None = None
    collection: str | None = None
    fields: list[str] = []
    qrels: str | None = None
    runs: list[str] = []
    depth: int = 20
    only_unjudged: bool = False
    add_known: bool = False
    pool: dict[str, list[str]] = {}
    sample: dict[str, int] = {}


OTHER = {"scale": Any, **dict.fromkeys(("title", *TEXT_FILES), str), **SETTINGS}
OPTIONAL: dict[str, Any] = {name: (kind, None) for name, kind in OTHER.items()}
Keys = create_model("Keys", __base__=Sources, **OPTIONAL)


class StudyFile(Sources):
    """The content of a study's file; the files that it names are not read yet."""

    path: Path
    study: Study

    def place(self, source: str) -> str:
        """The path of a file that the study names, relative to its folder; a collection's name (irds:ID) as it is."""
        prefix, colon, _ = source.partition(":")
        return source if colon and prefix in ("irds", "rankwell") else str(self.path.parent / source)


def read_study_file(path: Path | str) -> StudyFile:
    """Read STUDY.toml; errors name the wrong key."""
    path = Path(path)
    try:
        given = tomllib.loads(_text(path))
    except tomllib.TOMLDecodeError as error:
        raise RankwellError(f"{path}: expected a TOML file, found: {error}") from error
    _check(f"{path}: ", Keys, given)
    try:
        study = _study(path, given)
    except ParameterError as error:
        raise RankwellError(f"{path}: {error}") from error
    if given.get("sample") and not (given.get("runs") and given.get("qrels")):
        raise RankwellError(f"{path}: sample: expected runs and qrels to draw it by, found {', '.join(given)}")
    sources = {name: value for name, value in given.items() if name in Sources.model_fields}
    return StudyFile(path=path, study=study, **sources)


def _study(path: Path, given: dict[str, Any]) -> Study:
    settings = {name: given[name] for name in SETTINGS if name in given}
    for name, setting in TEXT_FILES.items():
        if name in given:
            if setting in given:
                raise RankwellError(f"{path}: expected {setting} or {name}, found both")
            settings[setting] = _text(path.parent / given[name])
    if "scale" in given:
        settings["scale"] = _scale(given["scale"])
    return Study(given.get("title", path.stem), **settings)


class _ScaleEntry(BaseModel, strict=True, extra="forbid"):
    grade: int
    name: str
    description: str = ""


def _scale(value: Any) -> Scale:
    """The scale from a number of points or from a table per grade."""
    if isinstance(value, int) and value in SCALES:
        return SCALES[value]
    if not isinstance(value, list):
        counts = ", ".join(map(str, SCALES))
        expected = f"a number of points ({counts}), or a table [[scale]] with grade, name and description for each"
        raise ParameterError("scale", expected=expected, found=value)
    for entry in value:
        if not isinstance(entry, dict) or not {"grade", "name"} <= set(entry) <= set(ScalePoint._fields):
            raise ParameterError("scale", expected="grade, name and description for every grade", found=entry)
        _check("scale: ", _ScaleEntry, entry)
    return tuple(ScalePoint(**entry) for entry in value)


def _check(where: str, model: type[BaseModel], given: dict[str, Any]) -> None:
    """Raise an error for the first key that is unknown or has a value of the wrong type."""
    try:
        model.model_validate(given)
    except ValidationError as error:
        first = error.errors()[0]
        place = [part for part in first["loc"] if isinstance(part, str)]
        if first["type"] == "extra_forbidden":
            expected, found = f"one of {', '.join(sorted(model.model_fields))}", "another name"
        elif len(place) < len(first["loc"]):  # an entry of a list
            expected, found = KINDS["list_type"], first["input"]
        else:
            expected, found = KINDS[first["type"]], first["input"]
        raise ParameterError(where + ": ".join(place), expected=expected, found=found) from None


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except OSError as error:
        raise RankwellError(f"{path}: cannot be read: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise RankwellError(f"{path}: expected text in UTF-8, found: {error.reason}") from error
