"""Plugins: objects that packages, ours and others', register under an entry-point group."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cached_property
from importlib import import_module
from operator import attrgetter
from types import MappingProxyType
from typing import Any

from rankwell.core.errors import RankwellError

NONE: Mapping[str, str] = MappingProxyType({})


class Plugins(Mapping[str, Any]):
    """The objects of an entry-point group by name. An object is imported on first use.

        INDEXES = Plugins("rankwell.indexes", {"clickhouse": "rankwell.clickhouse:ClickHouseIndex.open"})
        INDEXES["clickhouse"](address)

    `own` lists our own entries in the format of entry points (`module:object`), and they come first: a checkout that
    runs from its source folder has no installed metadata, and reading that of all installed packages takes time.
    """

    def __init__(self, group: str, own: Mapping[str, str] = NONE) -> None:
        self.group, self._own = group, own

    def __getitem__(self, name: str) -> Any:
        value = self._own[name] if name in self._own else self._installed[name]
        module, _, attributes = value.partition(":")
        try:
            imported = import_module(module)
            return attrgetter(attributes)(imported) if attributes else imported
        except (ImportError, AttributeError) as error:
            raise RankwellError(f"{self.group}: {name} cannot be loaded from {value}: {error}") from error

    def __contains__(self, name: object) -> bool:
        return name in self._own or name in self._installed

    def __iter__(self) -> Iterator[str]:
        return iter(sorted({*self._own, *self._installed}))

    def __len__(self) -> int:
        return len(list(iter(self)))

    @cached_property
    def _installed(self) -> Mapping[str, str]:
        from importlib.metadata import entry_points

        return {point.name: point.value.partition("[")[0].strip() for point in entry_points(group=self.group)}
