"""The text of a document that a model reads: fields put into a template."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable
from dataclasses import dataclass
from functools import cached_property

from rankwell.core.document import Document
from rankwell.core.errors import ParameterError

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
        """The names in it."""
        return tuple(dict.fromkeys(FIELD.findall(self.text)))

    def fill(self, document: Document, without: Collection[str] = ()) -> str:
        """The text for a document; `without` names fields that are left out of it."""
        texts = {name: text for name, text in document.fields.items() if name not in without}
        return FIELD.sub(lambda found: texts.get(found[1], ""), self.text).strip()

    def check(self, known: Iterable[str]) -> None:
        """Refuse names that no document has."""
        found = dict.fromkeys(known)
        for name in self.fields:
            if name not in found:
                expected = f"fields of the documents ({', '.join(found) or 'none'})"
                raise ParameterError("document", expected=expected, found=f"{{{name}}}")
