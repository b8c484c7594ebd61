"""A process that pushes documents with workers and can be killed: `python filling.py ADDRESS COUNT LOAD`."""

from __future__ import annotations

import random
import sys
from collections.abc import Mapping

from rankwell.clickhouse import push_documents
from rankwell.core import Document, Progress

WORDS = ("fever", "cough", "mice", "cell", "drug", "trial", "heart", "blood", "virus", "gene")
SETTINGS: Mapping[str, object] = {"metadata": ["source", "year"], "positions": True, "workers": 1}


def documents(count: int, seed: int = 1) -> list[Document]:
    """Some have no title, some one of stop words alone; `source` is a number here and a text there."""
    chosen = random.Random(seed)  # noqa: S311 -- documents, not secrets
    made = []
    for number in range(count):
        fields = {"text": " ".join(chosen.choices(WORDS, k=chosen.randint(1, 6)))}
        if number % 3:
            fields["title"] = "the of" if number % 7 == 0 else " ".join(chosen.choices(WORDS, k=2))
        metadata: dict[str, object] = {"source": 7 if number % 5 else "A"}
        if number % 4:
            metadata["year"] = 2000 + number % 9
        made.append(Document(f"d{number}", fields, metadata))
    return made


class Told(Progress):
    """Says on standard output how far it is."""

    def advance(self, items: int = 1) -> None:
        super().advance(items)
        sys.stdout.write(f"{self.count}\n")
        sys.stdout.flush()


if __name__ == "__main__":  # workers read this file too
    address, count, load = sys.argv[1:]
    settings = {**SETTINGS, "workers": 2, "stale": 0, "progress": Told("", quiet=True)}
    push_documents(documents(int(count)), address, load=int(load), **settings)
