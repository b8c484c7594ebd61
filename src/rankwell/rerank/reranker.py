"""What all re-rankers have in common, and what a command may ask of one."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import ClassVar

from rankwell.core import Judgments, ParameterError, Run, Stage
from rankwell.index import Index
from rankwell.rerank.passages import Passages
from rankwell.rerank.tally import Tally


class Reranker(Stage):
    """A stage that scores the k best documents of each query anew, and counts what it does."""

    keeps_scores: ClassVar[bool] = True  # so that a run that was broken off goes on from there

    k: int
    tally: Tally

    @abstractmethod
    def apply(self, run: Run) -> Run:
        """Re-rank the top."""


@dataclass(frozen=True)
class RerankWishes:
    """Everything that may be asked of a re-ranker; see `CrossEncoder`. None leaves a thing to the model.

    A kind of model takes what it can use, and calls `refuse` with the names of what it cannot.
    """

    k: int = 100
    document: str | None = None
    query_field: str | None = None
    passages: Passages | None = None
    aggregate: str | None = None
    aggregate_as: str | None = None
    scores: str | None = None
    max_tokens: int | None = None
    query_tokens: int | None = None
    precision: str | None = None
    relevant: Judgments | str | None = field(default=None, repr=False)
    missing: str = "error"
    index: Index | None = field(default=None, repr=False)
    cache: bool | Path | str = True
    threads: int | None = None
    quiet: bool = False

    def refuse(self, *names: str, because: str) -> None:
        """Raise where one of these was asked for."""
        usual = {part.name: part.default for part in fields(self)}
        for name in names:
            found = getattr(self, name)
            if found != usual[name]:
                raise ParameterError(name, expected=f"nothing, because {because}", found=found)
