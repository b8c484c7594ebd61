"""Stages: anything that takes a run (or queries) and gives a run, and their composition."""

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, fields
from functools import partial
from importlib import import_module
from operator import attrgetter
from pathlib import Path
from types import CodeType
from typing import TYPE_CHECKING, Any, ClassVar

from rankwell.core.errors import ParameterError, Phrase, RankwellError
from rankwell.core.fingerprint import fingerprint
from rankwell.core.plugins import Plugins
from rankwell.core.records import Document, Judgments, Queries, Query, has_column, is_frame
from rankwell.core.run import Run

# How pipelines are written and read; the package above, which knows their options, does it.
FILES = Plugins("rankwell.files", {"save": "rankwell.pipelines.file:save", "load": "rankwell.pipelines.file:load"})

if TYPE_CHECKING:
    import pandas as pd

    Given = Run | Queries | Query | str | Iterable[str] | Iterable[Query] | Mapping[str, str] | pd.DataFrame
else:
    Given = Any


class Stage(ABC):
    """One step of a pipeline: a frozen dataclass whose parameters are its whole configuration.

    The constructor stores and checks parameters (and opens an index that is given by its folder), so that `repr` shows
    the whole configuration and `fingerprint` can name caches. A subclass implements `apply`; it may refuse early in
    `check`, before anything runs.

    >>> isinstance(BM25(index) >> RM3(BM25(index)), Stage)
    True
    """

    version: ClassVar[int] = 1
    """Raised when the same parameters begin to give another result, so that old caches are not met again."""

    def __call__(self, given: Given) -> Run:
        """Run the stage on a run, on queries, or on plain query text."""
        self.check()
        return self.apply(as_run(given))

    @abstractmethod
    def apply(self, run: Run) -> Run:
        """Compute the stage's run from a run."""

    def check(self) -> None:  # noqa: B027 -- most stages have nothing to check
        """Raise a RankwellError where the stage cannot work (a missing field, an unknown model)."""

    def then(self, following: Stage | Callable[[Run], Any]) -> Pipeline:
        """This stage followed by another, or by a function of a run (see `stage`); `>>` does the same."""
        return Pipeline((*self.stages, *as_stage(following).stages))

    __rshift__ = then

    def top(self, k: int) -> Pipeline:
        """This stage, cut to the k best documents of each query."""
        return self.then(Top(k))

    @property
    def stages(self) -> tuple[Stage, ...]:
        """The single steps: the stage itself, or those of a pipeline."""
        return (self,)

    def save(self, path: Path | str) -> None:
        """Write the stage or pipeline to a file, for `Pipeline.load` and for `--pipeline` of commands.

            (BM25(index, k1=0.9) >> CrossEncoder("ms-marco-minilm-l12")).save("best.toml")

        The file has the options of commands, and no index. A stage that they cannot make is refused.
        """
        FILES["save"](self, path)

    def explain(self) -> str:
        """The steps as text, one line each."""
        return "\n".join(f"{number}. {stage!r}" for number, stage in enumerate(self.stages, 1))

    def parameters(self) -> dict[str, Any]:
        """The configuration by name."""
        return {field.name: getattr(self, field.name) for field in fields(self)}  # type: ignore[arg-type]  # subclasses are dataclasses

    def fingerprint(self) -> str:
        """An id of this configuration, different from all others."""
        return fingerprint([type(self).__qualname__, self.version, self.parameters()])


@dataclass(frozen=True)
class Pipeline(Stage):
    """Several stages, one after the other.

    >>> pipeline = BM25(index) >> RM3(BM25(index))
    >>> print(pipeline.top(10).explain())
    """

    steps: tuple[Stage, ...]

    @classmethod
    def load(cls, path: Path | str, index: Any) -> Pipeline:
        """Read a pipeline from a file that `save` or `rankwell tune --save` wrote, over an index or its address.

        Pipeline.load("best.toml", "papers")("fever in children")
        """
        pipeline: Pipeline = FILES["load"](path, index)
        return pipeline

    def apply(self, run: Run) -> Run:
        """Run each stage on the result of the one before."""
        for step in self.steps:
            run = step.apply(run)
        return run

    def check(self) -> None:
        """Check every stage before the first one runs."""
        for step in self.steps:
            step.check()

    @property
    def stages(self) -> tuple[Stage, ...]:
        """The single steps of all stages."""
        return self.steps


@dataclass(frozen=True)
class Top(Stage):
    """Keep the k best documents of every query."""

    k: int

    def __post_init__(self) -> None:
        if self.k < 1:
            raise ParameterError("k", expected="a number of documents, at least 1", found=self.k)

    def apply(self, run: Run) -> Run:
        """Cut the run at k."""
        return run.top(self.k)


@dataclass(frozen=True, repr=False)
class FunctionStage(Stage):
    """A stage made of a function; see `stage`."""

    function: Callable[[Run], Any]

    def __repr__(self) -> str:
        return f"FunctionStage(function={self._name})"

    @property
    def _name(self) -> str:
        return str(getattr(self.function, "__qualname__", None) or repr(self.function))

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle a function of a module by its name, under which the module may have the stage instead."""
        module, name = getattr(self.function, "__module__", None), self._name
        if isinstance(self.function, partial) or module is None or "<" in name:
            return FunctionStage, (self.function,)
        return _function_stage, (module, name)

    def apply(self, run: Run) -> Run:
        """Call the function; scores (one for each document) become a run."""
        result = self.function(run)
        if isinstance(result, Run):
            return result
        try:
            return run.with_scores(result)
        except (TypeError, ValueError, RankwellError) as error:
            expected = f"a run, or a score for each of the {len(run):,} documents"
            raise RankwellError(
                f"{self._name}: expected {expected}, found {type(result).__name__} (return run.with_scores(...))"
            ) from error

    def fingerprint(self) -> str:
        """A fingerprint of the function's code and of the values it uses; other functions count by their names."""
        return fingerprint([type(self).__qualname__, _code_of(self.function)])


def stage(function: Callable[[Run], Any]) -> FunctionStage:
    """Make a stage of a function that takes a run, and gives a run or a score for each document.

    `BM25(index) >> function` does the same without the decorator.

    >>> @stage
    ... def newest_first(run):
    ...     return [run.documents[docno].metadata["year"] for docno in run.docnos]
    >>> (BM25(index) >> newest_first)("droplets")
    """
    if not callable(function):
        raise ParameterError("stage", expected="a stage, or a function that takes a run", found=function)
    return FunctionStage(function)


def as_stage(given: Stage | Callable[[Run], Any]) -> Stage:
    """A stage unchanged; a function as a stage."""
    if isinstance(given, type):
        found = Phrase(f"the class {given.__name__}: make one, {given.__name__}(...)")
        raise ParameterError("stage", expected="a stage, or a function that takes a run", found=found)
    return given if isinstance(given, Stage) else stage(given)


def _function_stage(module: str, name: str) -> Stage:
    return as_stage(attrgetter(name)(import_module(module)))


def _code_of(function: Any) -> list[Any]:
    """What a function does, in plain values: its code, defaults and the values that it closes over."""
    if isinstance(function, partial):
        return [
            _code_of(function.func),
            *(_value(part) for part in (*function.args, sorted(function.keywords.items()))),
        ]
    code = getattr(function, "__code__", None)
    if code is None:
        return [getattr(function, "__module__", ""), getattr(function, "__qualname__", repr(function))]
    closed = [cell.cell_contents for cell in function.__closure__ or ()]
    return [_plain_code(code), *map(_value, [function.__defaults__, function.__kwdefaults__, *closed])]


def _plain_code(code: CodeType) -> list[Any]:
    constants = [_plain_code(part) if isinstance(part, CodeType) else repr(part) for part in code.co_consts]
    return [code.co_code.hex(), code.co_names, constants]


def _value(value: Any) -> Any:
    """A value in a fingerprint; a function by its code, anything else that is no plain value by its type."""
    try:
        return fingerprint(value)
    except TypeError:
        return _code_of(value) if callable(value) else type(value).__qualname__


def as_run(given: Any) -> Run:
    """A run unchanged; queries, plain text or a data frame as a run (without documents, where it has none)."""
    if isinstance(given, Run):
        return given
    if is_frame(given):
        return _run_of_frame(given)
    if isinstance(given, Query):
        given = Queries([given])
    if isinstance(given, list | tuple) and given and all(isinstance(one, Query) for one in given):
        given = Queries(given)
    wrong = _wrong_queries(given)
    if wrong:
        raise ParameterError("queries", expected="a query, queries by id, or a run", found=Phrase(wrong))
    return Run.of_queries(given if isinstance(given, Queries) else Queries.of(given))


def _run_of_frame(table: Any) -> Run:
    queries = Queries.from_frame(table) if has_column(table, "query") else None
    if has_column(table, "docno") and has_column(table, "score"):
        return Run.from_frame(table, queries=queries)
    return Run.of_queries(Queries.from_frame(table) if queries is None else queries)


def _wrong_queries(given: Any) -> str:
    """What was given in place of queries, with the way out; "" where nothing is known to be wrong."""
    if isinstance(given, os.PathLike):
        return f"a path: read it first, read_queries({str(given)!r})"
    if isinstance(given, Judgments):
        return "judgments: they say which documents are relevant, and have no query texts"
    if isinstance(given, Document):
        return "a document: index it with Index.build"
    if isinstance(given, Stage):
        return "a stage: join stages with >>"
    return "" if isinstance(given, str) or hasattr(given, "__iter__") else f"{type(given).__name__} {given!r}"
