"""Short documents and queries out of the text that a machine has: sources, documentation, manual pages.

A document is a stretch of 20 to 60 words of a file. Headings and the first lines of docstrings are left out of the
documents: they are the queries. Which files there are differs from machine to machine, so what was made is described
(`describe`) and named by a hash.
"""

from __future__ import annotations

import gzip
import hashlib
import json
import random
import re
import sys
import sysconfig
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

PLACES = ("/usr/share/doc", "/usr/share/man", "/usr/share/perl", "/usr/include", "/usr/lib/python3")
ENDINGS = {".py", ".pyi", ".rst", ".md", ".txt", ".h", ".hpp", ".html", ".pm", ".pod", ".gz", ""}
LARGEST_FILE = 1_000_000
FEWEST, MOST = 20, 60  # words of a document
WORD = re.compile(r"[^\W_]{2,}")
HEADING = re.compile(r'^(?:#+ +|\.S[HS] +"?|=head\d +|[ru]?"""|<h\d>)(?P<text>[^"<>{}=\\]{8,80})')
RULE = re.compile(r"^([=\-~^\"'*])\1{3,}\s*$")
ROFF_COMMENT = ('.\\"', "'\\\"", ".ds", ".de", ".if", ".ie", ".el")
TURNS = 20
SHORTEST_QUERY, LONGEST_QUERY = 2, 7  # words


class Corpus(NamedTuple):
    """A file of documents (JSON lines), the queries, and what is to be said about them."""

    path: Path
    queries: list[str]
    facts: dict[str, object]


def make(folder: Path, size: int, queries: int, places: Iterable[Path] = ()) -> Corpus:
    """A corpus of so many documents; the one that was made before is taken if it is there."""
    path, described = folder / f"corpus-{size}.jsonl", folder / f"corpus-{size}.facts.json"
    if not described.exists():
        folder.mkdir(parents=True, exist_ok=True)
        made = _write(path, size, queries, list(places) or default_places())
        described.write_text(json.dumps(made))
    made = json.loads(described.read_text())
    return Corpus(path, made.pop("queries"), made)


def default_places() -> list[Path]:
    """Where text may be: the Python in use, its siblings and packages, and the usual folders."""
    own = [Path(sysconfig.get_paths()[name]) for name in ("stdlib", "purelib")]
    siblings = sorted(Path(sys.base_prefix).parent.glob("*/lib/python*"))
    return [place for place in dict.fromkeys([*map(Path, PLACES), *own, *siblings]) if place.is_dir()]


def texts(corpus: Corpus) -> Iterator[tuple[str, str]]:
    """Id and text of every document."""
    with corpus.path.open(encoding="utf-8") as lines:
        for line in lines:
            record = json.loads(line)
            yield record["id"], record["text"]


def _write(path: Path, size: int, queries: int, places: list[Path]) -> dict[str, object]:
    headings: set[str] = set()
    digest, distinct, terms = hashlib.sha256(), set(), Counter()
    written = words = 0
    with path.open("w", encoding="utf-8") as file:
        for passage in _passages(places, headings):
            record = json.dumps({"id": f"d{written:07d}", "text": passage})
            file.write(record + "\n")
            digest.update(record.encode())
            distinct.add(hash(passage))
            found = WORD.findall(passage.lower())
            terms.update(set(found))
            words += len(found)
            written += 1
            if written == size:
                break
    chosen = sorted(headings)
    random.Random(0).shuffle(chosen)  # noqa: S311 -- the same queries every time
    histogram = Counter(len(str(count)) for count in terms.values())
    return {
        "queries": chosen[:queries],
        "documents": written,
        "distinct": round(len(distinct) / max(written, 1), 4),
        "words": words,
        "terms": len(terms),
        "terms by digits of their document count": dict(sorted(histogram.items())),
        "sha256": digest.hexdigest(),
    }


def _passages(places: list[Path], headings: set[str]) -> Iterator[str]:
    """Stretches of text; where the files do not give enough, they are read again with other borders."""
    for turn in range(TURNS):
        generator = random.Random(turn)  # noqa: S311 -- the same documents every time
        for file in _files(places):
            words = " ".join(_lines(file, headings)).split()
            at = generator.randrange(MOST) if turn else 0
            while at + FEWEST <= len(words):
                size = generator.randint(FEWEST, MOST)
                yield " ".join(words[at : at + size])
                at += size


def _files(places: list[Path]) -> Iterator[Path]:
    """The files below these folders in an order that mixes them: neighbours in the index come from anywhere."""
    found = [
        file
        for place in places
        for file in place.rglob("*")
        if file.suffix in ENDINGS and not file.is_symlink() and file.is_file() and file.stat().st_size < LARGEST_FILE
    ]
    found.sort(key=lambda file: hashlib.md5(str(file).encode(), usedforsecurity=False).digest())
    return iter(found)


def _lines(file: Path, headings: set[str]) -> list[str]:
    """The lines of a file that are no headings; those go to the queries."""
    try:
        data = gzip.decompress(file.read_bytes()) if file.suffix == ".gz" else file.read_bytes()
    except (OSError, EOFError, gzip.BadGzipFile):
        return []
    if b"\0" in data[:2000]:
        return []
    lines = data.decode("utf-8", "replace").splitlines()
    kept = []
    for place, line in enumerate(lines):
        match = HEADING.match(line.strip())
        underlined = place + 1 < len(lines) and RULE.match(lines[place + 1]) is not None
        if match or (underlined and line.strip()):
            heading = match["text"] if match else line.strip()
            if SHORTEST_QUERY <= len(WORD.findall(heading)) <= LONGEST_QUERY and heading.isascii():
                headings.add(" ".join(WORD.findall(heading)).lower())
        elif not RULE.match(line) and not line.startswith(ROFF_COMMENT):
            kept.append(line)
    return kept
