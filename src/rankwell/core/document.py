"""A document: an id, named texts, and metadata."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, NamedTuple

NOTHING: Mapping[str, Any] = MappingProxyType({})


class Document(NamedTuple):
    """One document of a collection.

    `fields` holds the texts by name, in the order in which they are read (title, abstract, ...). A field that a
    document does not have is not in it: an empty text and a missing one are the same thing. A named tuple rather than
    a dataclass because collections have millions of them and it is made twice as fast.
    """

    id: str
    fields: Mapping[str, str]
    metadata: Mapping[str, Any] = NOTHING

    def text(self, *fields: str) -> str:
        """The texts of the named fields (all of them without a name), joined by a space; missing ones are left out."""
        return " ".join(self.fields[name] for name in fields or self.fields if name in self.fields)
