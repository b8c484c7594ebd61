"""A few pairs to look at: nobody should train on what nobody has read."""

from __future__ import annotations

import random
import textwrap

from rankwell.train.pairs import Pair

EACH = 10  # positive and as many negative pairs
LONGEST = 400  # characters of a text


class Sample:
    """Some positive and some negative pairs, each with the same chance to be among them."""

    def __init__(self, chooser: random.Random) -> None:
        self._chooser = chooser
        self._kept: dict[bool, list[Pair]] = {True: [], False: []}
        self._seen = {True: 0, False: 0}

    def look_at(self, pair: Pair) -> None:
        """Keep the pair, perhaps, in place of another (Vitter's reservoir, 1985)."""
        positive = pair.label > 0
        kept = self._kept[positive]
        self._seen[positive] += 1
        if len(kept) < EACH:
            kept.append(pair)
            return
        place = self._chooser.randrange(self._seen[positive])
        if place < EACH:
            kept[place] = pair

    def text(self, count: int) -> str:
        """The sample for people."""
        shown = [pair for positive in (True, False) for pair in self._kept[positive]]
        head = f"{len(shown)} of {count:,} pairs, drawn at random.\n"
        return "\n".join([head, *map(_paragraph, shown)])


def _paragraph(pair: Pair) -> str:
    return (
        f"label {pair.label:g}   query {pair.query_id}   document {pair.document_id}\n"
        f"{_wrapped('query:    ', pair.query)}\n{_wrapped('document: ', pair.document)}\n"
    )


def _wrapped(name: str, text: str) -> str:
    cut = text if len(text) <= LONGEST else text[:LONGEST] + " ..."
    return textwrap.fill(" ".join(cut.split()), 110, initial_indent="  " + name, subsequent_indent=" " * 12)
