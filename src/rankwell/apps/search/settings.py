"""The operator's settings: index, models, address, and limits of requests."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from rankwell.core import ParameterError
from rankwell.index import scheme_of

MEGABYTE = 1 << 20
A_DAY = 24 * 3600


@dataclass(frozen=True)
class ServeSettings:
    """The settings of one server. Limits are for every request; `timeout` is in seconds.

    `rerank` is the default cross-encoder, `models` are others that a request may
    ask for: a request names one of them (`rerankers`), never a folder or a hub id of its own.
    """

    index: Path | str  # a folder, or an address with a scheme, which is read-only
    rerank: str | None = None
    models: tuple[str, ...] = ()
    host: str = "127.0.0.1"
    port: int = 8080
    base_url: str | None = None  # the public address, where a proxy stands before the server
    max_k: int = 1000  # the last rank that a request may ask for
    max_depth: int = 200  # most documents re-ranked for a request
    max_query: int = 2000  # most characters of a query, a filter, an expression
    max_body: int = 16 * MEGABYTE
    max_batch: int = 1000  # most documents of one request
    timeout: float = 10.0
    threads: int = 0  # searches that run in parallel; 0: the number of cores, at least two
    waiting: int = 64  # searches that may wait
    patience: float = 2.0  # seconds that a search may wait before it is refused
    keys: Path | None = None  # file of keys for writing (`rankwell serve keys`); without one nobody may write
    private: bool = False  # reading needs a key too
    judgments: Path | None = None  # file of the thumbs; none without it
    synonyms: Path | None = None  # file of synonyms
    pins: Path | None = None  # file of results that are pinned or hidden for a query
    anonymous_thumbs: int = 0  # thumbs per minute and address of visitors without a key; 0: they give none
    quiet: bool = False
    defaults: Mapping[str, Any] = field(
        default_factory=dict
    )  # of options that a request leaves out (a pipeline's file)

    def __post_init__(self) -> None:
        for name in ("max_k", "max_depth", "max_query", "max_body", "max_batch"):
            if getattr(self, name) < 1:
                raise ParameterError(_option(name), expected="a number, at least 1", found=getattr(self, name))
        for name in ("threads", "waiting", "anonymous_thumbs"):
            if getattr(self, name) < 0:
                raise ParameterError(_option(name), expected="a number from 0", found=getattr(self, name))
        for name in ("timeout", "patience"):
            if not 0 < getattr(self, name) < A_DAY:
                raise ParameterError(_option(name), expected="seconds, more than 0", found=getattr(self, name))
        if self.private and self.keys is None:
            raise ParameterError("--private", expected="a file of keys beside it (--keys)", found="none")
        _ = self.rerankers  # refuses two models of one name

    @property
    def index_name(self) -> str:
        """The public name of the index, without path or address."""
        scheme = scheme_of(self.index)
        if scheme is None:
            return Path(self.index).resolve().name
        return urlsplit(str(self.index)).path.rstrip("/").rpartition("/")[2] or scheme

    @cached_property
    def rerankers(self) -> Mapping[str, str]:
        """The cross-encoders that requests may name: public name -> model as the operator wrote it."""
        models: dict[str, str] = {}
        for model in dict.fromkeys((*((self.rerank,) if self.rerank else ()), *self.models)):
            name = public_name(model)
            if name in models:
                expected = f"models of different names ({models[name]} is called {name} already)"
                raise ParameterError("--models", expected=expected, found=model)
            models[name] = model
        return models

    @property
    def default_reranker(self) -> str | None:
        """The name of the default re-ranker."""
        return None if self.rerank is None else public_name(self.rerank)

    @property
    def search_threads(self) -> int:
        """Number of searches that run in parallel."""
        return self.threads or max(2, os.cpu_count() or 1)


def public_name(model: str) -> str:
    """A model's public name: the last part of a folder, so that no path of this machine is revealed."""
    path = Path(model).expanduser()
    return path.resolve().name if path.is_dir() or path.is_absolute() else model


def _option(name: str) -> str:
    return "--" + name.replace("_", "-")
