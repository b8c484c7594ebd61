"""Data frames in and out, with all usual column names; pandas is imported only here."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from rankwell.core.errors import MissingExtraError, RankwellError

if TYPE_CHECKING:
    import pandas as pd


# Our name first, then those of PyTerrier, ir_datasets and BEIR for the same column.
SPELLINGS = {
    "qid": ("qid", "query_id", "query-id"),
    "docno": ("docno", "doc_id", "docid", "corpus-id", "corpus_id"),
    "score": ("score",),
    "grade": ("grade", "relevance", "label", "rel", "score"),
}


def frame(columns: Mapping[str, Any]) -> pd.DataFrame:
    """A data frame with these columns."""
    try:
        import pandas as pd
    except ImportError as error:
        raise MissingExtraError("a data frame", extra="frames") from error
    return pd.DataFrame(dict(columns))


def column(table: pd.DataFrame, name: str) -> pd.Series[Any]:
    """The column of that meaning, under any of its usual names."""
    for spelling in SPELLINGS[name]:
        if spelling in table.columns:
            return table[spelling]
    expected = " or ".join(SPELLINGS[name])
    raise RankwellError(f"data frame: expected a column {expected}, found {', '.join(map(str, table.columns))}")
