"""How long BERT's tokenizer takes, ours and the library's, on the bundled collection.

    python benchmarks/tokens.py

Each has a warm-up, and then the median of five. The library uses all cores, so CPU time is what compares.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable

from rankwell import open_collection
from rankwell.models.base.sources import find_model
from rankwell.models.base.tokens import LibraryTokenizer, load_tokenizer

MODEL = "minilm-l6"


def seconds(work: Callable[[], object]) -> tuple[float, float]:
    """CPU and wall time, the median of five."""
    work()
    taken = []
    for _ in range(5):
        cpu, wall = time.process_time(), time.perf_counter()
        work()
        taken.append((time.process_time() - cpu, time.perf_counter() - wall))
    return statistics.median(cpu for cpu, _ in taken), statistics.median(wall for _, wall in taken)


def main() -> None:
    """Print a line for each."""
    texts = [" ".join(document.fields.values()) for document in open_collection("rankwell:python").documents()]
    file = find_model(MODEL) / "tokenizer.json"
    ours, library = load_tokenizer(file), LibraryTokenizer(file)
    expected = library.ids(texts)
    assert ours.ids(texts) == expected  # noqa: S101 -- otherwise there is nothing to compare
    print(f"{len(texts):,} texts, {sum(map(len, expected)):,} tokens")
    for name, tokenizer in (("rankwell", ours), ("tokenizers", library)):
        cpu, wall = seconds(lambda tokenizer=tokenizer: tokenizer.ids(texts))  # type: ignore[misc]
        print(f"{name:<12}{cpu:.3f} s CPU{wall:>8.3f} s")


if __name__ == "__main__":
    main()
