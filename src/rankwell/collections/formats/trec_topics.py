"""TREC topics in SGML, with tags that are never closed."""

from __future__ import annotations

import html
import re
from collections.abc import Iterable, Iterator
from itertools import pairwise
from pathlib import Path

from rankwell.collections.formats.sgml import sgml_records
from rankwell.collections.output import output
from rankwell.collections.reading import Reading
from rankwell.core.errors import FormatError, RankwellError
from rankwell.core.query import Query

TAG = re.compile(r"<(/?)([A-Za-z][A-Za-z0-9_-]*)\s*>")
NAME = re.compile(r"[A-Za-z][A-Za-z0-9_-]*")
# The words that TREC prints after its tags are labels, not text.
LABELS = {"num": "Number:", "title": "Topic:", "desc": "Description:", "narr": "Narrative:"}
FULL_NAMES = {"desc": "description", "narr": "narrative"}
SHORT_NAMES = {full: short for short, full in FULL_NAMES.items()}


class TrecTopics:
    """`<top> <num> Number: 301 <title> ... <desc> Description: ... <narr> Narrative: ... </top>`."""

    name = "trec"
    suffixes = (".topics", ".sgml")

    def recognises(self, path: Path, start: str) -> bool:
        """Whether the file starts with markup and a `<top>` stands near the start."""
        return path.is_file() and start.lstrip().startswith("<") and "<top>" in start[:4096].lower()

    def read(self, path: Path, reading: Reading) -> Iterator[Query]:
        """The topics; `desc` and `narr` are given their full names."""
        for number, body in sgml_records(path, "top", reading):
            texts = _parts(body)
            qid = texts.pop("num", "")
            if not qid or len(qid.split()) > 1:
                reading.problems.add(
                    FormatError(path, number, expected="a <num> with the topic's id", found=body.strip()[:100])
                )
                continue
            reading.place.line = number
            yield Query(qid, {FULL_NAMES.get(name, name): text for name, text in texts.items() if text})

    def write(self, path: Path, queries: Iterable[Query]) -> None:
        """TREC's own look, with its labels."""
        with output(path) as file:
            for query in queries:
                if query.id.split() != [query.id]:
                    raise RankwellError(f"{path}: expected ids without white space, found {query.id!r}")
                lines = [f"<top>\n<num> Number: {html.escape(query.id, quote=False)}"]
                for name, text in query.texts.items():
                    short = element_name(SHORT_NAMES.get(name, name), query.id)
                    if name in FULL_NAMES or short != short.lower():
                        raise RankwellError(f"query {query.id!r}: a text named {name!r} is read back by another name")
                    lines.append(f"<{short}> {LABELS.get(short, '')}\n{html.escape(text, quote=False)}")
                file.write(("\n".join([*lines, "</top>"]) + "\n\n").encode())


def _parts(body: str) -> dict[str, str]:
    """The text after each opening tag, up to the next tag; labels are dropped."""
    texts: dict[str, str] = {}
    for mark, following in pairwise([*TAG.finditer(body), None]):
        if mark is None or mark[1]:
            continue
        name = mark[2].lower()
        text = body[mark.end() : following.start() if following else len(body)].strip()
        texts[name] = html.unescape(text.removeprefix(LABELS.get(name, "")).strip())
    return texts


def element_name(name: str, qid: str) -> str:
    """The name of a text as that of an element."""
    if not NAME.fullmatch(name) or name.lower() in ("top", "num"):
        raise RankwellError(f"query {qid!r}: a text named {name!r} cannot be written as a TREC topic")
    return name
