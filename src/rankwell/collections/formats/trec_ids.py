"""Ids with blanks in TREC's runs and judgments, whose columns are separated by blanks.

Where an id of a file has a blank (or a query's id would make a comment of its line), the blank is written as `%20`, and
so that this can be undone, a `%` before two hexadecimal digits as `%25`. Each line with such an id is marked with a `%`
at the end of its second column, which nobody uses: `Q0%` in a run, `0%` in judgments. Other lines, and files whose ids
have no blanks, are written as they are, `%20` included (as in URLs), and a line without the mark is read as it is. So
the files of others never change their meaning, and lines can be sorted, cut out and joined.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from urllib.parse import unquote_to_bytes

from rankwell.core import RankwellError

MARK = "%"
ESCAPED = re.compile(r" |%(?=[0-9A-Fa-f]{2})")
COMMENTS = ("#", "\ufeff")  # a line that starts with one is a comment, or loses it


class IdColumns:
    """Writes the first three columns of a file's lines: the query's id, the second column, the document's id.

    `blanks`: whether the id of a document has one.
    """

    def __init__(self, second: str, path: object, qids: Iterable[str], *, blanks: bool) -> None:
        self._second, self._path = second, path
        checked = [check_name(qid, path) for qid in qids]
        self.plain = not blanks and not any(" " in qid or qid.startswith(COMMENTS) for qid in checked)

    def line(self, qid: str, docno: str) -> str:
        """The three columns."""
        check_name(docno, self._path)
        if self.plain:
            return f"{qid} {self._second} {docno}"
        first = "".join(f"%{byte:02X}" for byte in qid[0].encode()) if qid.startswith(COMMENTS) else ""
        names = first + _escaped(qid[1:] if first else qid), _escaped(docno)
        mark = MARK if names != (qid, docno) else ""
        return f"{names[0]} {self._second}{mark} {names[1]}"


def check_name(name: str, path: object) -> str:
    """The id; raise for one that no TREC file can have: an empty one, and one with control characters."""
    if not name or min(name) < " ":
        raise RankwellError(f"{path}: expected ids without control characters, found {name!r}")
    return name


def restored(name: bytes) -> bytes:
    """The id that a marked line stands for."""
    return unquote_to_bytes(name)


def _escaped(name: str) -> str:
    return ESCAPED.sub(lambda found: "%20" if found[0] == " " else "%25", name)
