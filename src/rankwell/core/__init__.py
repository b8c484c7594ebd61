"""The small types that every other package speaks of."""

from __future__ import annotations

from rankwell.core.document import Document
from rankwell.core.errors import FormatError, MissingExtraError, ParameterError, RankwellError

__all__ = ["Document", "FormatError", "MissingExtraError", "ParameterError", "RankwellError"]
