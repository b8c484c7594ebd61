"""What the round trips of every format are made of; each test narrows it to what its format can hold."""

from __future__ import annotations

import string
from collections.abc import Sequence

import numpy as np
from hypothesis import strategies as st

from rankwell.core import Document, Judgments, Queries, Query, Run

# Everything that UTF-8 can hold, control characters, line breaks and NUL included.
ANY_TEXT = st.text(st.characters(codec="utf-8"), min_size=1, max_size=40)
# One line: no line breaks and no tabs, and no white space at its ends.
LINE_BREAKS = "\t\n\r\v\f\x1c\x1d\x1e\x85\u2028\u2029"
ONE_LINE = st.text(st.characters(codec="utf-8", exclude_characters=LINE_BREAKS), min_size=1, max_size=40)
# Words with single spaces between them, as formats have them that break lines wherever they like.
WORDS = st.lists(st.text(string.ascii_letters + "äß漢<&>\"',;", min_size=1, max_size=8), min_size=1, max_size=8).map(
    " ".join
)
# Ids that can stand in a column: no ASCII white space or control characters, no comment.
COLUMN_IDS = st.text(
    st.characters(codec="utf-8", min_codepoint=33, exclude_characters="\ufeff", exclude_categories=["Cc"]),
    min_size=1,
    max_size=20,
).filter(lambda text: not text.startswith("#") and not text.isspace())
# All ids: any text without control characters.
ANY_IDS = st.text(st.characters(codec="utf-8", exclude_categories=["Cc"]), min_size=1, max_size=40).filter(
    lambda text: not text.isspace()
)
LONG_IDS = st.text("abcdefgh-é", min_size=60, max_size=200)
NUMBER_IDS = st.integers(0, 10**6).map(str)
GRADES = st.integers(-2, 4)
NO_METADATA: st.SearchStrategy[dict[str, object]] = st.just({})
SCORES = st.floats(width=32, allow_nan=False, allow_infinity=False)


def documents(
    texts: st.SearchStrategy[str],
    names: Sequence[str] = ("title", "abstract", "text"),
    *,
    ids: st.SearchStrategy[str] = COLUMN_IDS,
    metadata: st.SearchStrategy[dict[str, object]] = NO_METADATA,
    at_least: int = 0,
) -> st.SearchStrategy[list[Document]]:
    """Documents with different ids, each with some of the fields, in the order of the names."""
    fields = st.fixed_dictionaries({}, optional=dict.fromkeys(names, texts))
    in_order = fields.map(lambda found: {name: found[name] for name in names if name in found})
    one = st.builds(Document, ids, in_order, metadata)
    return st.lists(one, unique_by=lambda document: document.id, min_size=at_least, max_size=6)


def queries(
    texts: st.SearchStrategy[str], names: Sequence[str] = ("text",), *, ids: st.SearchStrategy[str] = COLUMN_IDS
) -> st.SearchStrategy[Queries]:
    """Queries of which each has the first wording, and some of the others."""
    wordings = st.fixed_dictionaries({names[0]: texts}, optional=dict.fromkeys(names[1:], texts))
    return st.dictionaries(ids, wordings, max_size=5).map(
        lambda found: Queries(
            Query(qid, {name: texts[name] for name in names if name in texts}) for qid, texts in found.items()
        )
    )


def judgments(
    ids: st.SearchStrategy[str] = COLUMN_IDS, grades: st.SearchStrategy[int] = GRADES
) -> st.SearchStrategy[Judgments]:
    """Grades of some documents for some queries."""
    return st.dictionaries(ids, st.dictionaries(ids, grades, min_size=1, max_size=5), max_size=4).map(
        Judgments.from_dict
    )


def runs(
    ids: st.SearchStrategy[str] = COLUMN_IDS, docnos: st.SearchStrategy[str] = COLUMN_IDS
) -> st.SearchStrategy[Run]:
    """Runs in which every query has a result, since no format of runs holds those without."""
    return st.dictionaries(ids, st.dictionaries(docnos, SCORES, min_size=1, max_size=8), max_size=4).map(Run.from_dict)


def plain(found: Sequence[Document]) -> list[tuple[str, dict[str, str], dict[str, object]]]:
    """Documents as values that compare by content."""
    return [(document.id, dict(document.fields), dict(document.metadata)) for document in found]


def same_bits(one: Run, other: Run) -> bool:
    """Whether two runs agree to the last bit of every score."""
    return one == other and np.array_equal(one.scores.view(np.int32), other.scores.view(np.int32))
