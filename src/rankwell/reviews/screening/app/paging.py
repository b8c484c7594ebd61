"""Long lists in pages."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, TypeVar

T = TypeVar("T")


class Part(NamedTuple):
    """Which part of a list is shown; numbers count from 1."""

    page: int
    pages: int
    first: int
    last: int
    total: int


def part_of(items: Sequence[T], page: int, size: int) -> tuple[Sequence[T], Part]:
    """The items of a page (the last one, where there are not so many), and where that is."""
    pages = max(1, -(-len(items) // size))
    page = min(max(1, page), pages)
    shown = items[(page - 1) * size : page * size]
    first = (page - 1) * size
    return shown, Part(page, pages, first + 1 if shown else 0, first + len(shown), len(items))
