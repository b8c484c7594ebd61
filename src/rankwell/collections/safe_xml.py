"""Safe reading of XML from outside, one element at a time.

Entity declarations are refused, so that nothing is read from another file and no small file expands to gigabytes;
document type declarations without them (as in every reply of NCBI) are ignored and never fetched.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator
from pathlib import Path
from xml.etree.ElementTree import Element, TreeBuilder
from xml.parsers import expat

from rankwell.core import FormatError, Phrase

DEEPEST = 200  # elements within each other; PubMed has about a dozen, formulas in titles included
LARGEST = 50_000_000  # characters in one element that is handed out
NOT_IN_XML = re.compile("[^\t\n\r -\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def elements(
    chunks: Iterable[bytes], names: Collection[str], where: Path | str, what: str = "XML", encoding: str | None = None
) -> Iterator[tuple[int, Element]]:
    """The outermost elements of these names with the lines in which they start, in constant memory.

    Raises FormatError where the XML is not well-formed, ends too early, or declares entities. `what` names it in that
    error; an encoding is that of the chunks, whatever the XML declares.
    """
    collector = _Collector(frozenset(names), where, what, encoding)
    for chunk in chunks:
        collector.parse(chunk)
        yield from collector.finished()
    collector.parse(b"", last=True)
    yield from collector.finished()


def text_of(element: Element | None) -> str:
    """All text in an element, markup dropped, white space as single spaces."""
    return "" if element is None else " ".join("".join(element.itertext()).split())


class _Collector:
    """Builds the requested elements while expat parses the text."""

    def __init__(self, names: frozenset[str], where: Path | str, what: str, encoding: str | None) -> None:
        self._names, self._where, self._what = names, where, what
        self._depth, self._line, self._size = 0, 0, 0
        self._builder: TreeBuilder | None = None
        self._top = 0  # the depth of the element that is being built
        self._completed: list[tuple[int, Element]] = []
        self.parser = expat.ParserCreate(encoding)
        self.parser.buffer_text = True
        self.parser.StartElementHandler, self.parser.EndElementHandler = self._start, self._end
        self.parser.CharacterDataHandler, self.parser.EntityDeclHandler = self._text, self._refuse

    def parse(self, chunk: bytes, *, last: bool = False) -> None:
        """Parse a part of the file."""
        try:
            self.parser.Parse(chunk, last)
        except FormatError:
            raise
        except expat.ExpatError as error:
            expected = "well-formed XML"
            raise FormatError(self._where, error.lineno, expected=expected, found=Phrase(str(error))) from error
        except (LookupError, ValueError) as error:  # an encoding that Python or expat does not know
            expected = "XML in an encoding such as UTF-8"
            raise FormatError(self._where, 1, expected=expected, found=Phrase(str(error))) from error

    def finished(self) -> list[tuple[int, Element]]:
        """The elements that were completed since the last call."""
        completed, self._completed = self._completed, []
        return completed

    def _start(self, name: str, attributes: dict[str, str]) -> None:
        self._depth += 1
        if self._depth > DEEPEST:
            raise self._problem(f"at most {DEEPEST} elements within each other", "more")
        if self._builder is None and name in self._names:
            self._builder, self._top, self._size = TreeBuilder(), self._depth, 0
            self._line = self.parser.CurrentLineNumber
        if self._builder is not None:
            self._grow(len(name))
            self._builder.start(name, attributes)

    def _end(self, name: str) -> None:
        if self._builder is not None:
            self._builder.end(name)
            if self._depth == self._top:
                self._completed.append((self._line, self._builder.close()))
                self._builder = None
        self._depth -= 1

    def _text(self, text: str) -> None:
        if self._builder is not None:
            self._grow(len(text))
            self._builder.data(text)

    def _grow(self, characters: int) -> None:
        self._size += characters
        if self._size > LARGEST:
            raise self._problem(f"an element of at most {LARGEST:,} characters", "more")

    def _refuse(self, name: str, *_: object) -> None:
        raise self._problem(f"{self._what} without entity declarations", f"<!ENTITY {name}")

    def _problem(self, expected: str, found: str) -> FormatError:
        return FormatError(self._where, self.parser.CurrentLineNumber, expected=expected, found=found)
