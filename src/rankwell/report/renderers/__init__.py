"""The ways to write a table, by the name that `--output` takes."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING

from rankwell.report.renderers.csv_text import csv_text
from rankwell.report.renderers.json_text import json_text
from rankwell.report.renderers.latex import latex
from rankwell.report.renderers.markdown import markdown
from rankwell.report.renderers.terminal import terminal

if TYPE_CHECKING:
    from rankwell.report.table import Table

RENDERERS: Mapping[str, Callable[[Table], str]] = MappingProxyType(
    {"table": terminal, "md": markdown, "latex": latex, "csv": csv_text, "json": json_text}
)

__all__ = ["RENDERERS"]
