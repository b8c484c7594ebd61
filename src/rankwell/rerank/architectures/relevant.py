"""An abstract that is known to be relevant to a query, for each of its documents: never the document itself."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from hashlib import blake2b

EXAMPLE = ""  # the id of a text that a user gave; no document has it
FEWEST = 2  # with one alone, the document that it is would have none, and be told by that


@dataclass(frozen=True)
class RelevantAbstracts:
    """Known relevant abstracts: by query, then by document.

    Which one a document is given is drawn by a hash of the seed, the query and the document: it depends on nothing
    else, and is the same on every machine. With `one` it is drawn by seed and query, so that all documents of a query
    are compared with the same abstract, but for the one that it is. S3 drew over its whole set, where a document may
    get itself.
    """

    known: Mapping[str, Mapping[str, str]] = field(repr=False)
    seed: int = 0
    one: bool = False

    def choose(self, query_id: str, document_id: str, text: str = "") -> str | None:
        """A relevant abstract of the query that is neither the document nor a copy of its text; None without any."""
        of_query = self.known.get(query_id, {})
        others = [name for name, found in of_query.items() if name != document_id and found != text]
        who = "" if self.one else document_id
        return of_query[min(others, key=lambda name: self._lot(query_id, who, name))] if others else None

    def enough(self, query_id: str) -> bool:
        """Whether every document of the query can be given another."""
        return len(set(self.known.get(query_id, {}).values())) >= FEWEST

    def _lot(self, *names: str) -> bytes:
        text = "\0".join(("relevant", str(self.seed), *names)).encode("utf-8", "surrogatepass")
        return blake2b(text, digest_size=8).digest()
