"""What `--relevant` may say: judgments, or the text of an abstract that is known to be relevant."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from rankwell.core import ParameterError
from rankwell.core.errors import Phrase

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


def example_text(told: str | None) -> str | None:
    """The text itself, for words that no judgments are about."""
    found = known_relevant(told)
    if found is not None and not isinstance(found, str):
        raise ParameterError(
            "--relevant", expected="the text of a relevant abstract", found=Phrase(f"judgments in {told}")
        )
    return found
