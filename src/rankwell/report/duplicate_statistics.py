"""Documents that say the same: found by a hash of their text, so that millions fit into memory."""

from __future__ import annotations

from array import array
from collections.abc import Iterable
from dataclasses import dataclass
from hashlib import blake2b

import numpy as np

SHOWN_GROUPS = 5
SHOWN_IDS = 3


@dataclass(frozen=True)
class DuplicateStatistics:
    """`copies` documents repeat the text of an earlier one; they and those make up `groups` of equal documents."""

    copies: int
    groups: int
    examples: tuple[tuple[str, ...], ...]


class DuplicateTally:
    """A 64-bit hash and the id of each document, 16 bytes and the id's letters for each.

    Among a million different texts the chance that any two share a hash is one in 37 million.
    """

    def __init__(self) -> None:
        self._hashes = array("Q")
        self._ids = bytearray()
        self._ends = array("Q")

    def add(self, docno: str, words: Iterable[str]) -> None:
        """One document, as its lower-cased words: how they were spaced makes no difference."""
        digest = blake2b(" ".join(words).encode("utf-8", "surrogatepass"), digest_size=8).digest()
        self._hashes.append(int.from_bytes(digest, "little"))
        self._ids += docno.encode("utf-8", "surrogatepass")
        self._ends.append(len(self._ids))

    def finished(self) -> DuplicateStatistics:
        """The figures, and the first few groups in the order of the collection."""
        hashes = np.array(self._hashes, dtype=np.uint64)
        distinct, first, sizes = np.unique(hashes, return_index=True, return_counts=True)
        repeated = np.flatnonzero(sizes > 1)
        earliest = repeated[np.argsort(first[repeated])][:SHOWN_GROUPS]
        places = [np.flatnonzero(hashes == distinct[group])[:SHOWN_IDS] for group in earliest]
        return DuplicateStatistics(
            copies=len(hashes) - len(distinct),
            groups=len(repeated),
            examples=tuple(tuple(self._id(int(place)) for place in group) for group in places),
        )

    def _id(self, place: int) -> str:
        start = self._ends[place - 1] if place else 0
        return self._ids[start : self._ends[place]].decode("utf-8", "surrogatepass")
