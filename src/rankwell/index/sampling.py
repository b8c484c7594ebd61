"""Which metadata is worth a column: told by the first documents."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import chain, islice

from rankwell.core import Document

SAMPLE = 1000
LONGEST_VALUE = 200  # a longer value is a text, which nobody filters by


def with_metadata_names(documents: Iterable[Document]) -> tuple[list[str], Iterator[Document]]:
    """The names of the plain values (numbers, short texts) that the first documents have, and all the documents."""
    following = iter(documents)
    first = list(islice(following, SAMPLE))
    values = [(name, value) for document in first for name, value in document.metadata.items()]
    names = dict.fromkeys(name for name, value in values if isinstance(value, (int, float, str)))
    long = {name for name, value in values if isinstance(value, str) and len(value) > LONGEST_VALUE}
    return [name for name in names if name not in long], chain(first, following)
