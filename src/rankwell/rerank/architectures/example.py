"""What a document ranker of S3 may read: four texts, of which each architecture takes its own."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple, Protocol

from rankwell.analysis import clean
from rankwell.core import ParameterError

QA, QTA = "QA", "QTA"

Input = str | tuple[str, str]  # one text, or two with a separator between them


class Example(NamedTuple):
    """A query and a document, and with them an abstract that is known to be relevant to the query."""

    query: str
    title: str = ""
    abstract: str = ""
    relevant: str = ""

    @property
    def body(self) -> str:
        """The abstract; the title of a document that has none."""
        return self.abstract if self.abstract.strip() else self.title

    @property
    def whole(self) -> str:
        """Title and abstract as one text."""
        return " ".join(part for part in (self.title, self.abstract) if part.strip())


class Architecture(Protocol):
    """Which inputs an architecture makes of an example, and in which order their vectors stand."""

    @property
    def kind(self) -> str:
        """Its name in commands and in `ranker.json`."""

    @property
    def inputs(self) -> tuple[str, ...]:
        """The names of its inputs: as many encoders, unless they share one."""

    @property
    def reads_title(self) -> bool:
        """Whether it cannot do without titles."""

    @property
    def reads_relevant(self) -> bool:
        """Whether it takes a relevant abstract."""

    def given(self, example: Example) -> tuple[Input, ...]:
        """The text or the two texts of each input."""


@dataclass(frozen=True)
class Reading:
    """What is done with texts before they are tokens.

    `clean`: each text cleaned as S3 did it, before two are put together. `most_words`: only so many words of an
    abstract, its first ones.
    """

    clean: bool = False
    most_words: int | None = None

    def __post_init__(self) -> None:
        if self.most_words is not None and self.most_words < 1:
            raise ParameterError("most_words", expected="a number from 1", found=self.most_words)

    def __call__(self, example: Example) -> Example:
        """The example as it is read."""
        query, title, abstract, relevant = example
        found = Example(query, title, self._shortened(abstract), self._shortened(relevant))
        return Example(*map(clean, found)) if self.clean else found

    def _shortened(self, text: str) -> str:
        if self.most_words is None:
            return text
        words = text.split()
        return text if len(words) <= self.most_words else " ".join(words[: self.most_words])


def check_texts(texts: str) -> None:
    """Refuse other combinations than S3's two."""
    if texts not in (QA, QTA):
        raise ParameterError("texts", expected=f"{QA} (query, abstract) or {QTA} (query, title, abstract)", found=texts)
