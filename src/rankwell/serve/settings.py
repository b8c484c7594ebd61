"""What an operator decides: which index, which models, where to listen, and how much anyone may ask for."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from rankwell.clickhouse import is_address, parse_address
from rankwell.core import ParameterError

MEGABYTE = 1 << 20
A_DAY = 24 * 3600


@dataclass(frozen=True)
class ServeSettings:
    """The settings of one server. Limits are for every request; `timeout` is in seconds.

    `rerank` is the cross-encoder that searches use unless they say otherwise, `models` are others that a request may
    ask for: a request names one of them (`rerankers`), never a folder or a hub id of its own.
    """

    index: Path | str  # a folder, or an address in ClickHouse, which is only read
    rerank: str | None = None
    models: tuple[str, ...] = ()
    host: str = "127.0.0.1"
    port: int = 8080
    base_url: str | None = None  # the address people use, where a proxy stands before us
    max_k: int = 1000  # the last rank that can be asked for
    max_depth: int = 200  # documents that a model reads for a request
    max_query: int = 2000  # characters of a query, a filter, an expression
    max_body: int = 16 * MEGABYTE
    max_batch: int = 1000  # documents of one request
    timeout: float = 10.0
    threads: int = 0  # searches that run side by side; 0: as many as there are cores, two at least
    waiting: int = 64  # searches that may wait for one of them
    patience: float = 2.0  # seconds that a search may wait before it is turned away
    keys: Path | None = None  # who may write (`rankwell serve keys`); nobody without one
    private: bool = False  # reading needs a key too
    judgments: Path | None = None  # where thumbs go; there are none without it
    quiet: bool = False

    def __post_init__(self) -> None:
        for name in ("max_k", "max_depth", "max_query", "max_body", "max_batch"):
            if getattr(self, name) < 1:
                raise ParameterError(_option(name), expected="a number, at least 1", found=getattr(self, name))
        for name in ("threads", "waiting"):
            if getattr(self, name) < 0:
                raise ParameterError(_option(name), expected="a number from 0", found=getattr(self, name))
        for name in ("timeout", "patience"):
            if not 0 < getattr(self, name) < A_DAY:
                raise ParameterError(_option(name), expected="seconds, more than 0", found=getattr(self, name))
        if self.private and self.keys is None:
            raise ParameterError("--private", expected="a file of keys beside it (--keys)", found="none")
        _ = self.rerankers  # two models of one name are refused here

    @property
    def index_name(self) -> str:
        """What everybody may call the index: no path of this machine, no address."""
        if isinstance(self.index, str) and is_address(self.index):
            return parse_address(self.index).name
        return Path(self.index).resolve().name

    @cached_property
    def rerankers(self) -> Mapping[str, str]:
        """The cross-encoders that requests may ask for: the name they use, and what the operator wrote."""
        found: dict[str, str] = {}
        for model in dict.fromkeys((*((self.rerank,) if self.rerank else ()), *self.models)):
            name = public_name(model)
            if name in found:
                expected = f"models of different names ({found[name]} is called {name} already)"
                raise ParameterError("--models", expected=expected, found=model)
            found[name] = model
        return found

    @property
    def default_reranker(self) -> str | None:
        """The name of the model that re-ranks where a request does not say."""
        return None if self.rerank is None else public_name(self.rerank)

    @property
    def search_threads(self) -> int:
        """How many searches run side by side."""
        return self.threads or max(2, os.cpu_count() or 1)


def public_name(model: str) -> str:
    """What requests call a model: a folder by its last part, so that no path of this machine is told."""
    path = Path(model).expanduser()
    return path.resolve().name if path.is_dir() or path.is_absolute() else model


def _option(name: str) -> str:
    return "--" + name.replace("_", "-")
