"""The title and the abstract of a document, by whatever name its collection has for them."""

from __future__ import annotations

from dataclasses import dataclass

from rankwell.core import Document, Template

TITLE = "title"
ABSTRACTS = ("abstract", "text", "body")  # where an abstract may be, in the order in which they are looked for


@dataclass(frozen=True)
class DocumentParts:
    """Takes a document apart. A template says what its abstract is, where it is no field of a usual name."""

    template: Template | None = None

    def title(self, document: Document) -> str:
        """The title; empty where there is none."""
        return document.fields.get(TITLE, "").strip()

    def abstract(self, document: Document) -> str:
        """The abstract: by the template, or the field abstract, text or body; else all fields but the title."""
        if self.template is not None:
            return self.template.fill(document).strip()
        found = next((document.fields[name] for name in ABSTRACTS if name in document.fields), None)
        if found is None:
            found = " ".join(text for name, text in document.fields.items() if name != TITLE)
        return found.strip()

    def body(self, document: Document) -> str:
        """The abstract; the title of a document that has none."""
        return self.abstract(document) or self.title(document)
