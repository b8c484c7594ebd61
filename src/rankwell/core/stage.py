"""Stages: anything that takes a run (or queries) and gives a run, and their composition."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, fields
from typing import Any, ClassVar

from rankwell.core.errors import ParameterError
from rankwell.core.fingerprint import fingerprint
from rankwell.core.records import Queries
from rankwell.core.run import Run

Given = Run | Queries | str | Iterable[str] | Mapping[str, str]


class Stage(ABC):
    """One step of a pipeline: a frozen dataclass whose parameters are its whole configuration.

    The constructor only stores and checks parameters, so that `repr` shows the whole configuration and `fingerprint`
    can name caches. A subclass implements `apply`; it may refuse early in `check`, before anything runs.
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

    def then(self, following: Stage) -> Pipeline:
        """This stage followed by another; `>>` does the same."""
        return Pipeline((*self.stages, *following.stages))

    __rshift__ = then

    def top(self, k: int) -> Pipeline:
        """This stage, cut to the k best documents of each query."""
        return self.then(Top(k))

    @property
    def stages(self) -> tuple[Stage, ...]:
        """The single steps: the stage itself, or those of a pipeline."""
        return (self,)

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
    """Several stages, one after the other."""

    steps: tuple[Stage, ...]

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


def as_run(given: Given) -> Run:
    """A run unchanged; queries or plain text as a run without documents."""
    if isinstance(given, Run):
        return given
    return Run.of_queries(given if isinstance(given, Queries) else Queries.of(given))
