"""How fast text becomes terms on one core: Rankwell beside tantivy, on the same text with the same stop words.

    python benchmarks/analysis.py [--source corpus.jsonl | folder] [--megabytes 30] [--repeats 5]

Without a source the text is the Python library's own source files. Every repeat runs each candidate once, in turn, and
the median CPU time counts. "cold" is a new analyzer that has seen no word yet; "warm" has seen this very text.
"""

from __future__ import annotations

import argparse
import json
import statistics
import sysconfig
import time
from collections.abc import Callable, Iterator, Sized
from pathlib import Path

import tantivy

from rankwell.analysis import STOPWORDS, Analyzer

LATIN = "abcdefghijklmnopqrstuvwxyz"
CYRILLIC = "абцдефгхийклмнопярстувжшыз"


def documents(source: Path) -> Iterator[str]:
    """The texts of a JSON-lines file (title and text), or of the .py, .txt and .md files in a folder."""
    if source.is_file():
        with source.open(encoding="utf-8") as lines:
            for line in lines:
                record = json.loads(line)
                yield f"{record.get('title', '')} {record['text']}"
        return
    for path in sorted(source.rglob("*")):
        if path.suffix in {".py", ".txt", ".md"} and "site-packages" not in path.parts:
            yield path.read_text(encoding="utf-8", errors="replace")


def megabytes(texts: list[str]) -> float:
    """The size in UTF-8."""
    return sum(len(text.encode("utf-8", "replace")) for text in texts) / 1e6


def sized(texts: list[str], wanted: float) -> list[str]:
    """About the wanted megabytes of text: cut, or repeated (and then it says so)."""
    kept: list[str] = []
    size = 0.0
    for text in texts:
        if size >= wanted:
            return kept
        kept.append(text)
        size += megabytes([text])
    times = max(1, round(wanted / size))
    if times > 1:
        print(f"The source has {size:.1f} MB: repeated {times} times, so that its words come back more than usual.")
    return kept * times


def in_cyrillic(text: str) -> str:
    """The same text in other letters: a text beyond ASCII whose words are as long and as frequent as before."""
    return text.translate(str.maketrans(LATIN + LATIN.upper(), CYRILLIC + CYRILLIC.upper()))


def typeset(text: str) -> str:
    """The same text as a printer would set it, with a few characters beyond ASCII in every document."""
    return text.replace("'", "\u2019").replace(" - ", " \u2013 ") + " naïve café \u201cÅngström\u201d"


def peer(language: str, stopwords: list[str]) -> Callable[[str], list[str]]:
    """Tantivy's analyzer with the same steps."""
    builder = tantivy.TextAnalyzerBuilder(tantivy.Tokenizer.simple()).filter(tantivy.Filter.lowercase())
    if stopwords:
        builder = builder.filter(tantivy.Filter.custom_stopword(stopwords))
    return builder.filter(tantivy.Filter.stemmer(language)).build().analyze


def seconds(analyze: Callable[[str], object], texts: list[str]) -> float:
    """CPU time for all texts; each result is dropped at once, as an index would."""
    start = time.process_time()
    for text in texts:
        analyze(text)
    return time.process_time() - start


def count(analyze: Callable[[str], Sized], texts: list[str]) -> int:
    """How many terms a candidate gives: they differ a little, since only Rankwell keeps "don't" together."""
    return sum(len(analyze(text)) for text in texts)


def measure(name: str, texts: list[str], language: str, repeats: int) -> None:
    """One block of the output: every candidate on one text."""
    warm = Analyzer(language)
    stopwords = sorted(STOPWORDS[str(warm.stopwords)])
    candidates: dict[str, Callable[[], Callable[[str], Sized]]] = {
        "tantivy": lambda: peer(language, stopwords),
        "rankwell, cold": lambda: Analyzer(language),
        "rankwell, warm": lambda: warm,
        "rankwell, positions": lambda: warm.positions,
    }
    seconds(warm, texts)
    times: dict[str, list[float]] = {candidate: [] for candidate in candidates}
    for _ in range(repeats):
        for candidate, make in candidates.items():
            times[candidate].append(seconds(make(), texts))
    size = megabytes(texts)
    terms = {candidate: count(make(), texts) for candidate, make in candidates.items()}
    theirs = statistics.median(times["tantivy"])
    print(f"\n{name}: {len(texts):,} documents, {size:.1f} MB, {language}")
    for candidate, all_times in times.items():
        taken = statistics.median(all_times)
        speed = f"{size / taken:7.1f} MB/s {terms[candidate] / taken / 1e6:6.2f}M terms/s"
        print(f"  {candidate:<20} {speed}  {theirs / taken:5.2f} x tantivy")


def main() -> None:
    """Read the text, then measure it as it is, typeset, and in other letters."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument(
        "--source", type=Path, default=Path(sysconfig.get_path("stdlib")), help="JSON lines or a folder"
    )
    parser.add_argument("--megabytes", type=float, default=30, help="how much text (default 30)")
    parser.add_argument("--repeats", type=int, default=5, help="rounds, of which the median counts (default 5)")
    arguments = parser.parse_args()
    texts = sized(list(documents(arguments.source)), arguments.megabytes)
    measure("As it is", texts, "english", arguments.repeats)
    measure("Typeset", [typeset(text) for text in texts], "english", arguments.repeats)
    measure("In Cyrillic letters", [in_cyrillic(text) for text in texts], "russian", arguments.repeats)


if __name__ == "__main__":
    main()
