"""A pipeline as a file: the options of its stages in TOML, the same for commands and Python.

    k1 = 0.9
    b = 0.4
    rerank = "ms-marco-minilm-l12"
    depth = 50

The names are those of the options (`RankerOptions`, `RerankOptions`). A file has no index: one pipeline serves many.
"""

from __future__ import annotations

import difflib
import json
import math
import re
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import fields, replace
from itertools import zip_longest
from pathlib import Path
from typing import Any

from rankwell.core import FormatError, ParameterError, Phrase, Pipeline, RankwellError, Stage, Top, atomic_write
from rankwell.core.parameters import Weights, chosen, parameters
from rankwell.index import SearchIndex, as_index
from rankwell.models.explanation import Interpolate
from rankwell.models.reranking.passages import Passages
from rankwell.models.reranking.reranker import Reranker
from rankwell.pipelines.options import RankerOptions, RerankOptions, pipeline_of
from rankwell.retrieve import BM25, RM3, Dense, Hybrid
from rankwell.retrieve.fusion import ReciprocalRank, WeightedSum

OPTIONS = {**parameters(RankerOptions), **parameters(RerankOptions)}
HEAD = "# A pipeline of Rankwell, for --pipeline and for Pipeline.load.\n"
BOTH = 2  # rankers of a hybrid


def read_options(path: Path | str) -> dict[str, Any]:
    """Read the options of a pipeline file; an error has the line of the mistake."""
    try:
        text = Path(path).read_bytes().decode()
        values = tomllib.loads(text)
    except OSError as error:
        raise RankwellError(f"{path}: expected a pipeline file, found none ({error.strerror})") from error
    except UnicodeDecodeError as error:
        raise FormatError(path, None, expected="a pipeline file in UTF-8", found=Phrase("other bytes")) from error
    except tomllib.TOMLDecodeError as error:
        raise FormatError(path, _line_in(error), expected="TOML", found=Phrase(str(error))) from error
    options: dict[str, Any] = {}
    for written, value in values.items():
        name = written.replace("-", "_")
        if name not in OPTIONS:
            near = difflib.get_close_matches(name, OPTIONS, n=1)
            expected = f"an option ({near[0]}?)" if near else f"an option ({', '.join(OPTIONS)})"
            raise FormatError(path, _line_of(written, text), expected=expected, found=written)
        try:
            options[name] = OPTIONS[name].read(value)
        except ParameterError as error:
            place = f"{path}:{_line_of(written, text)}"
            raise RankwellError(f"{place}: {error}") from error
    return options


def _line_in(error: tomllib.TOMLDecodeError) -> int | None:
    match = re.search(r"at line (\d+)", str(error))
    return int(match[1]) if match else None


def _line_of(name: str, text: str) -> int:
    """The line on which an option stands, from 1."""
    own = re.compile(rf"\s*\[?[\"']?{re.escape(name)}[\"']?\s*[=.\]]")
    return next((number for number, line in enumerate(text.splitlines(), 1) if own.match(line)), 1)


def write_options(path: Path | str, first: RankerOptions, second: RerankOptions | None = None) -> None:
    """Write the options of a pipeline, with the defaults that matter to it."""
    values = chosen(first, RankerOptions)
    for name, needed in (("rm3_settings", "rm3"), ("vectors", "vectors"), ("variants", "variants")):
        values = {other: value for other, value in values.items() if other != name or values[needed]}
    if first.dense:
        values = {name: value for name, value in values.items() if name not in ("k1", "b", "idf", "weights")}
    if second is not None and second.rerank is not None:
        values |= chosen(second, RerankOptions)
    lines = [
        f"{name} = {_written(value)}\n" for name, value in values.items() if value is not None and value is not False
    ]
    with atomic_write(Path(path)) as file:
        file.write("".join([HEAD, *lines]).encode())


def _written(value: Any) -> str:
    if isinstance(value, bool):
        return "true"
    if isinstance(value, str):
        return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
    if isinstance(value, int | float):
        return repr(value)
    raise RankwellError(f"a pipeline file: expected text and numbers, found {type(value).__name__}")


def options_from(values: Mapping[str, Any]) -> tuple[RankerOptions, RerankOptions]:
    """The options of both stages by their names."""
    first, second = (
        owner(**{name: values[name] for name in parameters(owner) if name in values})
        for owner in (RankerOptions, RerankOptions)
    )
    return first, second  # type: ignore[return-value]  # in their order


def load(path: Path | str, index: SearchIndex | Path | str) -> Pipeline:
    """The pipeline of a file, over an index."""
    first, second = options_from(read_options(path))
    if first.variants:
        found = f"variants = {first.variants}, which are made from the queries: use `rankwell rank --pipeline`"
        raise FormatError(path, None, expected="options without variants", found=Phrase(found))
    opened = as_index(str(index) if isinstance(index, Path) else index)
    return Pipeline(pipeline_of(opened, first, second).stages)


def save(stage: Stage, path: Path | str) -> None:
    """Write a pipeline to a file; one that options cannot make is refused."""
    values, index = _options_of(stage)
    first, second = options_from(values)
    again = _normal(pipeline_of(index, first, second).stages)
    for ours, theirs in zip_longest(_normal(stage.stages), again):
        if repr(ours) != repr(theirs):
            raise _not_an_option(ours or theirs, _difference(ours, theirs))
    write_options(path, first, second)


def _difference(ours: Stage | None, theirs: Stage | None) -> str:
    """The parameters that got lost on the way."""
    if ours is None:
        return " missing"
    names = [part.name for part in fields(ours) if part.repr]  # type: ignore[arg-type]  # stages are dataclasses
    lost = [name for name in names if repr(getattr(ours, name)) != repr(getattr(theirs, name, None))]
    return f" with {', '.join(f'{name}={getattr(ours, name)!r}' for name in lost)}" if lost else ""


def _not_an_option(stage: Stage | None, why: str = "") -> RankwellError:
    expected = "BM25, RM3, Dense or Hybrid, then a re-ranker, with parameters that commands have as options"
    return RankwellError(f"a pipeline file: expected {expected}, found {type(stage).__name__}{why}")


def _options_of(stage: Stage) -> tuple[dict[str, Any], SearchIndex]:
    """The options that make a pipeline, and the index of its first stage."""
    first, *others = stage.stages
    values, index = _first_options(first)
    for step in others:
        if isinstance(step, Top):
            values["k"] = step.k
        else:
            values |= _second_options(step)
    return values, index


def _first_options(stage: Stage) -> tuple[dict[str, Any], SearchIndex]:
    if isinstance(stage, BM25):
        weights = None if stage.weights is None else Weights().read("weights", dict(stage.weights))
        return {**_same(stage, RankerOptions), "weights": weights}, stage.index
    if isinstance(stage, RM3) and isinstance(stage.ranker, BM25):
        inner, index = _first_options(stage.ranker)
        settings = f"{stage.fb_docs},{stage.fb_terms},{stage.original_query_weight!r}"
        return {**inner, "rm3": True, "rm3_settings": settings}, index
    if isinstance(stage, Dense):
        values = {**_same(stage, RankerOptions), "dense": True, "vectors": stage.name, "hnsw": stage.method == "hnsw"}
        return {**values, "match": "or" if stage.match is None else stage.match}, stage.index
    if isinstance(stage, Hybrid) and len(stage.rankers) == BOTH and isinstance(stage.rankers[1], Dense):
        (words, index), (vectors, _) = map(_first_options, stage.rankers)
        values = {**vectors, **words, "dense": False, "hybrid": True}
        if isinstance(stage.fusion, WeightedSum):
            return {**values, "vector_weight": (stage.fusion.weights or (0.5, 0.5))[1]}, index
        if isinstance(stage.fusion, ReciprocalRank):
            return values, index
    raise _not_an_option(stage)


def _second_options(stage: Stage) -> dict[str, Any]:
    if isinstance(stage, Interpolate):
        return {**_second_options(stage.reranker), "interpolate": stage.alpha}
    if isinstance(stage, Reranker) and isinstance(stage.model, str):
        passages = getattr(stage, "passages", None)
        values = {**_same(stage, RerankOptions), "rerank": stage.model, "depth": stage.k}
        return {**values, "passages": None if passages is None else _passages(passages)}
    raise _not_an_option(stage)


def _passages(passages: Passages) -> str:
    return "paragraphs" if passages.unit == "paragraphs" else f"{passages.words}:{passages.overlap}"


def _same(stage: Stage, owner: type[Any]) -> dict[str, Any]:
    """The values of the options that have a stage's own names."""
    return {name: getattr(stage, name) for name in parameters(owner) if name in parameters(type(stage))}


def _normal(stages: Sequence[Stage]) -> list[Stage]:
    """The stages without what changes no result: a first stage deeper than needed, a cut below its depth."""
    needed: float = math.inf
    for step in reversed(stages[1:]):
        needed = min(needed, step.k) if isinstance(step, Top) else max(needed, _depth(step))
    kept = [_at_most(stages[0], needed)]
    depth = _depth(kept[0])
    for step in stages[1:]:
        if not isinstance(step, Top):
            kept.append(step)
        elif step.k < depth:
            kept.append(step)
            depth = step.k
    return kept


def _depth(stage: Stage) -> float:
    """How many documents of a query a stage ranks; that of a hybrid is not known."""
    if isinstance(stage, Interpolate | RM3):
        stage = stage.reranker if isinstance(stage, Interpolate) else stage.ranker
    return float(getattr(stage, "k", math.inf))


def _at_most(stage: Any, k: float) -> Stage:
    """A first stage that ranks at most k documents."""
    if isinstance(stage, RM3):
        return replace(stage, ranker=_at_most(stage.ranker, k))
    if isinstance(stage, BM25 | Dense) and stage.k > k:
        return replace(stage, k=int(k))
    return stage  # type: ignore[no-any-return]
