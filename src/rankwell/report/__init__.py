"""Tables, self-contained HTML pages, and the statistics of a collection."""

from __future__ import annotations

from rankwell.report.html import Heading, Note, Page, Part, PicturePart, TablePart, Text
from rankwell.report.statistics import CollectionStatistics, collection_statistics
from rankwell.report.table import Column, Table

__all__ = [
    "CollectionStatistics",
    "Column",
    "Heading",
    "Note",
    "Page",
    "Part",
    "PicturePart",
    "Table",
    "TablePart",
    "Text",
    "collection_statistics",
]
