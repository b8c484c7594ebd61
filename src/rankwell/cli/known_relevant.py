"""What `--relevant` may say: judgments, or the text of an abstract that is known to be relevant."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from rankwell.core import ParameterError

if TYPE_CHECKING:
    from rankwell.core import Judgments

LONGEST = 250  # characters of a file's name
FEWEST = 3  # words of a text: less is the name of a file that is not there


def known_relevant(told: str | None) -> Judgments | str | None:
    """The judgments of a file, or the text itself."""
    from rankwell.collections import read_any_qrels

    if told is None:
        return None
    if len(told) <= LONGEST and Path(told).exists():
        return read_any_qrels(told)
    if len(told.split()) < FEWEST:
        raise ParameterError("--relevant", expected="a file of judgments, or the text of an abstract", found=told)
    return told


def known_ids(relevant: Judgments | str | None) -> set[str]:
    """The documents that judgments call relevant."""
    if relevant is None or isinstance(relevant, str):
        return set()
    return {docno for qid in relevant for docno in relevant.relevant(qid)}
