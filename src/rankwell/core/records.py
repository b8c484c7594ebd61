"""Documents, queries and judgments; templates for the text that a model reads; data frames with all usual columns."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

from rankwell.core.errors import MissingExtraError, ParameterError, RankwellError
from rankwell.core.showing import Shown

if TYPE_CHECKING:
    import pandas as pd

T = TypeVar("T")

NOTHING: Mapping[str, Any] = MappingProxyType({})
LONGEST_ID = 512  # bytes of UTF-8
LOOKED_AT = 100  # rows that tell what a column of a data frame has
CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f]")


AN_ID = f"a text of 1 to {LONGEST_ID} bytes without control characters"


def is_id(text: Any) -> bool:
    """Whether this can be an id of a document or a query: a text of 1 to 512 bytes without control characters can."""
    try:
        return isinstance(text, str) and 0 < len(text.encode()) <= LONGEST_ID and not CONTROL.search(text)
    except UnicodeEncodeError:  # half of a character
        return False


def check_id(docno: Any) -> str:
    """The id, unless it cannot be one."""
    if not is_id(docno):
        raise ParameterError("document id", expected=AN_ID, found=docno)
    return str(docno)


class Document(NamedTuple):
    """One document of a collection.

    `fields` has the texts by name, in reading order (title, abstract, ...). Missing fields are left out:
    an empty text and a missing one are the same. A named tuple rather than
    a dataclass because collections have millions of them and it is created twice as fast.

    >>> Document("d1", {"title": "Masks", "body": "Masks stop droplets."}, {"year": 2020}).text("title")
    'Masks'
    """

    id: str
    fields: Mapping[str, str]
    metadata: Mapping[str, Any] = NOTHING

    def __reduce__(self) -> tuple[Any, ...]:
        """For pickling: read-only mappings cannot be pickled, plain ones can."""
        return Document, (self.id, dict(self.fields), dict(self.metadata))

    def text(self, *fields: str) -> str:
        """The texts of the named fields (default: all), joined by a space; missing ones are left out."""
        return " ".join(self.fields[name] for name in fields or self.fields if name in self.fields)


FIELD = re.compile(r"\{([^{}]+)\}")


@dataclass(frozen=True)
class Template:
    """`{title} {abstract}`: text with the names of fields in braces. A field that a document lacks is left out."""

    text: str

    def __post_init__(self) -> None:
        if not self.fields or set(FIELD.sub("", self.text)) & set("{}"):
            expected = "text with the names of fields in braces, such as '{title} {abstract}'"
            raise ParameterError("document", expected=expected, found=self.text)

    @cached_property
    def fields(self) -> tuple[str, ...]:
        """The field names in the template."""
        return tuple(dict.fromkeys(FIELD.findall(self.text)))

    def fill(self, document: Document, without: Collection[str] = ()) -> str:
        """The text for a document; the fields `without` are left out."""
        texts = {name: text for name, text in document.fields.items() if name not in without}
        return FIELD.sub(lambda match: texts.get(match[1], ""), self.text).strip()

    def check(self, known: Iterable[str]) -> None:
        """Refuse names of unknown fields."""
        names = dict.fromkeys(known)
        for name in self.fields:
            if name not in names:
                expected = f"fields of the documents ({', '.join(names) or 'none'})"
                raise ParameterError("document", expected=expected, found=f"{{{name}}}")


class Query(NamedTuple):
    """One topic. `texts` has its wordings by name (`query`, `question`, `narrative`); the first is the default.

    >>> Query("q1", {"query": "masks", "question": "Do masks help?"}).text("question")
    'Do masks help?'
    """

    id: str
    texts: Mapping[str, str]

    def text(self, field: str | None = None) -> str:
        """The wording of that name, or the default one."""
        if field is None:
            return next(iter(self.texts.values()), "")
        if field not in self.texts:
            known = ", ".join(self.texts) or "none"
            raise RankwellError(f"query {self.id}: expected a text named {field!r}, found {known}")
        return self.texts[field]


class _ByQuery(Shown, Mapping[str, T]):
    __slots__ = ("_by_id",)
    _by_id: dict[str, T]

    def __getitem__(self, qid: str) -> T:
        return self._by_id[qid]

    def __iter__(self) -> Iterator[str]:
        return iter(self._by_id)

    def __len__(self) -> int:
        return len(self._by_id)


class Queries(_ByQuery[Query]):
    """The queries of a collection by id, in the order of reading.

    >>> Queries.of({"q1": "masks", "q2": "soap"}).texts()
    {'q1': 'masks', 'q2': 'soap'}
    """

    __slots__ = ()

    def __init__(self, queries: Iterable[Query] = ()) -> None:
        self._by_id = {}
        for query in queries:
            if query.id in self._by_id:
                raise RankwellError(f"queries: expected each id once, found {query.id!r} twice")
            self._by_id[query.id] = query

    @classmethod
    def of(cls, texts: str | Iterable[str] | Mapping[str, str]) -> Queries:
        """Create from plain text: one string, several (numbered from 1), or texts by id.

        Queries.of({"q1": "fever", "q2": "cough"})
        """
        if isinstance(texts, str):
            texts = [texts]
        if not isinstance(texts, Mapping):
            texts = {str(number): text for number, text in enumerate(texts, 1)}
        for qid, text in texts.items():
            if not isinstance(qid, str) or not isinstance(text, str):
                expected = "texts, or texts by id such as {'q1': 'fever'}"
                raise ParameterError("queries", expected=expected, found={qid: text})
        return cls(Query(qid, {"query": text}) for qid, text in texts.items())

    @classmethod
    def from_frame(cls, table: pd.DataFrame) -> Queries:
        """Create from a data frame with the columns qid and query (or query_id and text, and other wordings).

        Queries.from_frame(pd.DataFrame({"qid": ["q1"], "query": ["fever"]}))
        """
        qids = column(table, "qid").astype(str).tolist()
        rows: dict[str, dict[str, str]] = {}
        names = [str(name) for name in table.columns if _is_words(table[name]) and name not in SPELLINGS["qid"]]
        usual = [name for name in SPELLINGS["query"] if name in names]
        if not names:
            column(table, "query")  # says what is missing
        for name in dict.fromkeys([*usual, *names]):
            for qid, text in zip(qids, table[name].tolist(), strict=True):
                if isinstance(text, str):
                    rows.setdefault(qid, {}).setdefault("query" if name in usual[:1] else name, text)
        return cls(Query(qid, rows.get(qid, {})) for qid in dict.fromkeys(qids))

    def to_frame(self) -> pd.DataFrame:
        """A data frame with the columns qid and query, and one for each further wording."""
        names = {name: "query" if place == 0 else name for place, name in enumerate(self.fields)}
        texts = {shown: [query.texts.get(name) for query in self.values()] for name, shown in names.items()}
        return frame({"qid": list(self), **(texts or {"query": [None] * len(self)})})

    def __repr__(self) -> str:
        return f"Queries({len(self)} queries, texts: {', '.join(self.fields) or 'none'})"

    @property
    def fields(self) -> tuple[str, ...]:
        """The names of all wordings, in order of first appearance."""
        return tuple(dict.fromkeys(name for query in self._by_id.values() for name in query.texts))

    def texts(self, field: str | None = None) -> dict[str, str]:
        """Query id -> text of that name (or the default one)."""
        return {qid: query.text(field) for qid, query in self._by_id.items()}

    def only(self, qids: Iterable[str]) -> Queries:
        """The queries with these ids, in the order of this collection; unknown ids are ignored."""
        wanted = set(qids)
        return Queries(query for qid, query in self._by_id.items() if qid in wanted)


class Judgment(NamedTuple):
    """One judgment: grades from 1 are relevant, others are not; an unjudged document is a third case."""

    qid: str
    docno: str
    grade: int


class Judgments(_ByQuery[Mapping[str, int]]):
    """Grades by query id and document id (the field's "qrels"). Immutable.

    >>> Judgments.from_dict({"q1": {"d1": 2, "d2": 0}}).relevant("q1")
    ('d1',)
    """

    __slots__ = ()

    def __init__(self, judgments: Iterable[tuple[str, str, int]] = ()) -> None:
        grades: dict[str, dict[str, int]] = {}
        for qid, docno, grade in judgments:
            of_query = grades.setdefault(qid, {})
            if of_query.setdefault(docno, grade) != grade:
                raise RankwellError(
                    f"judgments: expected one grade for document {docno!r} and query {qid!r}, "
                    f"found {of_query[docno]} and {grade}"
                )
        self._by_id = {qid: MappingProxyType(of_query) for qid, of_query in grades.items()}

    @classmethod
    def from_dict(cls, grades: Mapping[str, Mapping[str, int]]) -> Judgments:
        """Create from `{qid: {docno: grade}}`, as in pytrec_eval, BEIR and ranx."""
        return cls((qid, docno, grade) for qid, of_query in grades.items() for docno, grade in of_query.items())

    @classmethod
    def from_frame(cls, table: pd.DataFrame) -> Judgments:
        """Create from a data frame with the columns qid, docno, grade (or query_id, doc_id, relevance / label)."""
        qids, docnos, grades = (column(table, name) for name in ("qid", "docno", "grade"))
        whole = [whole_grade(grade) for grade in grades.tolist()]
        return cls(zip(qids.astype(str), docnos.astype(str), whole, strict=True))

    def __reduce__(self) -> tuple[Any, ...]:
        """For pickling: as a plain dictionary."""
        return Judgments.from_dict, (self.to_dict(),)

    def __repr__(self) -> str:
        return f"Judgments({self.count} judgments of {len(self)} queries)"

    @property
    def count(self) -> int:
        """Number of judgments over all queries."""
        return sum(len(of_query) for of_query in self._by_id.values())

    def rows(self) -> Iterator[Judgment]:
        """All judgments, query by query, in the order of reading."""
        for qid, of_query in self._by_id.items():
            for docno, grade in of_query.items():
                yield Judgment(qid, docno, grade)

    def relevant(self, qid: str, rel: int = 1) -> tuple[str, ...]:
        """The documents with at least this grade for the query (none for a query without judgments)."""
        return tuple(docno for docno, grade in self._by_id.get(qid, {}).items() if grade >= rel)

    def only(self, qids: Iterable[str]) -> Judgments:
        """The judgments of these queries."""
        wanted = set(qids)
        return Judgments(row for row in self.rows() if row.qid in wanted)

    def to_dict(self) -> dict[str, dict[str, int]]:
        """The judgments as `{qid: {docno: grade}}`."""
        return {qid: dict(of_query) for qid, of_query in self._by_id.items()}

    def to_frame(self) -> pd.DataFrame:
        """A data frame with the columns qid, docno, grade."""
        rows = list(self.rows())
        return frame({name: [getattr(row, name) for row in rows] for name in Judgment._fields})


def whole_grade(grade: Any) -> int:
    """A grade of others as an integer: pandas makes it a float where a column has gaps."""
    try:
        if int(grade) == float(grade):
            return int(grade)
    except (OverflowError, TypeError, ValueError):
        pass
    raise RankwellError(f"judgments: expected whole numbers as grades, found {grade!r}")


# Our name first, then those of PyTerrier, ir_datasets and BEIR for the same column.
SPELLINGS = {
    "qid": ("qid", "query_id", "query-id"),
    "docno": ("docno", "doc_id", "docid", "corpus-id", "corpus_id"),
    "score": ("score",),
    "query": ("query", "text", "title", "question"),
    "grade": ("grade", "relevance", "label", "rel", "score"),
}


def frame(columns: Mapping[str, Any]) -> pd.DataFrame:
    """A data frame with these columns."""
    try:
        import pandas as pd
    except ImportError as error:
        raise MissingExtraError("a data frame", extra="frames") from error
    return pd.DataFrame(dict(columns))


def is_frame(given: object) -> bool:
    """Whether something is a data frame of pandas, without loading pandas."""
    return hasattr(given, "columns") and hasattr(given, "iloc") and hasattr(given, "itertuples")


def has_column(table: pd.DataFrame, name: str) -> bool:
    """Whether a data frame has a column of that meaning."""
    return any(spelling in table.columns for spelling in SPELLINGS[name])


def _is_words(values: pd.Series[Any]) -> bool:
    """Whether a column has text."""
    return any(isinstance(value, str) for value in values.head(LOOKED_AT).tolist())


def column(table: pd.DataFrame, name: str) -> pd.Series[Any]:
    """The column of that meaning, under any of its usual names."""
    for spelling in SPELLINGS[name]:
        if spelling in table.columns:
            return table[spelling]
    expected = " or ".join(SPELLINGS[name])
    raise RankwellError(f"data frame: expected a column {expected}, found {', '.join(map(str, table.columns))}")
