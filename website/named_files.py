"""A block that names its file (```csv papers.csv) shows the name above it, as GitHub's readers see it in the source."""

from __future__ import annotations

import re
from typing import Any

from markdown import Markdown
from markdown.extensions import Extension
from markdown.preprocessors import Preprocessor

NAMED = re.compile(r"^(?P<fence>`{3,})(?P<kind>[\w-]+) (?P<name>[\w./-]+)$")
BEFORE_FENCES = 30  # superfences runs at 25


class NamedFiles(Preprocessor):
    """Writes the name as the title that highlighting understands."""

    def run(self, lines: list[str]) -> list[str]:
        """The lines, with the first of named blocks rewritten."""
        return [NAMED.sub(r'\g<fence>\g<kind> title="\g<name>"', line) for line in lines]


class NamedFilesExtension(Extension):
    """Registers the preprocessor."""

    def extendMarkdown(self, md: Markdown) -> None:  # noqa: N802 -- Markdown's name
        """Before the blocks are taken out of the text."""
        md.preprocessors.register(NamedFiles(md), "named_files", BEFORE_FENCES)


def makeExtension(**settings: Any) -> NamedFilesExtension:  # noqa: N802 -- Markdown's name
    """What Markdown calls."""
    return NamedFilesExtension(**settings)
