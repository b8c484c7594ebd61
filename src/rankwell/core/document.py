"""Documents: an id, named texts and metadata; and templates for the text that a model reads."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from types import MappingProxyType
from typing import Any, NamedTuple

from rankwell.core.errors import ParameterError

NOTHING: Mapping[str, Any] = MappingProxyType({})
LONGEST_ID = 512  # bytes of UTF-8
CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f]")


def check_id(docno: Any) -> str:
    """The id, unless it cannot be one: any text of 1 to 512 bytes without control characters can."""
    expected = f"a text of 1 to {LONGEST_ID} bytes without control characters"
    try:
        good = isinstance(docno, str) and 0 < len(docno.encode()) <= LONGEST_ID
    except UnicodeEncodeError:  # half of a character
        good = False
    if not good or CONTROL.search(docno):
        raise ParameterError("document id", expected=expected, found=docno)
    return str(docno)


class Document(NamedTuple):
    """One document of a collection.

    `fields` has the texts by name, in reading order (title, abstract, ...). Missing fields are left out:
    an empty text and a missing one are the same. A named tuple rather than
    a dataclass because collections have millions of them and it is created twice as fast.
    """

    id: str
    fields: Mapping[str, str]
    metadata: Mapping[str, Any] = NOTHING

    def __reduce__(self) -> tuple[Any, ...]:
        """For pickling: read-only mappings cannot be pickled, plain ones can."""
        return Document, (self.id, dict(self.fields), dict(self.metadata))

    def text(self, *fields: str) -> str:
        """The texts of the named fields (default: all), joined by a space; missing ones are left out."""
        return " ".join(self.fields[name] for name in fields or self.fields if name in self.fields)


FIELD = re.compile(r"\{([^{}]+)\}")


@dataclass(frozen=True)
class Template:
    """`{title} {abstract}`: text with the names of fields in braces. A field that a document lacks is left out."""

    text: str

    def __post_init__(self) -> None:
        if not self.fields or set(FIELD.sub("", self.text)) & set("{}"):
            expected = "text with the names of fields in braces, such as '{title} {abstract}'"
            raise ParameterError("document", expected=expected, found=self.text)

    @cached_property
    def fields(self) -> tuple[str, ...]:
        """The field names in the template."""
        return tuple(dict.fromkeys(FIELD.findall(self.text)))

    def fill(self, document: Document, without: Collection[str] = ()) -> str:
        """The text for a document; the fields `without` are left out."""
        texts = {name: text for name, text in document.fields.items() if name not in without}
        return FIELD.sub(lambda found: texts.get(found[1], ""), self.text).strip()

    def check(self, known: Iterable[str]) -> None:
        """Refuse names of unknown fields."""
        found = dict.fromkeys(known)
        for name in self.fields:
            if name not in found:
                expected = f"fields of the documents ({', '.join(found) or 'none'})"
                raise ParameterError("document", expected=expected, found=f"{{{name}}}")
