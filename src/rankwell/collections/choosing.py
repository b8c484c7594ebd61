"""Choose the columns that make documents: those that the user named or an index keeps, the rest by their roles."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import PurePath
from typing import Any

from rankwell.collections.column_names import (
    ALWAYS_IDS,
    HEADING,
    IDS,
    LABEL,
    NO_NAME,
    TEXTS,
    THING,
    hints_attribute,
    hints_code,
    hints_description,
    hints_id,
    hints_person,
    hints_row_number,
    hints_text,
    is_about,
    is_question,
    things_of,
    title_rank,
    words_of,
)
from rankwell.collections.columns import (
    CONTENT,
    ROW,
    ColumnChoice,
    Columns,
    ReadValues,
    is_template,
    listed,
    template_names,
    unfolded,
)
from rankwell.collections.dates import ORDERS
from rankwell.collections.roles import CATEGORY, CODE, NUMBER, TEXT, WORDS_OF_A_TEXT, Role, roles_of
from rankwell.collections.table_reading import ColumnReading, TableReading
from rankwell.core import NOTHING, RankwellError, shown

MOST_REPEATED = 0.9  # of the values differ at least in a column that is named as ids are
# What speaks for a title, in points.
WORDS_OF_A_TITLE, LONGEST_TITLE = 12.0, 30.0
SHORT_TEXT = 10.0  # words; where no text is longer, the longest may be the title
NAMED = {HEADING: 6.0, LABEL: 5.0, THING: 3.0, NO_NAME: 0.0}
EXACT, ABOUT = 0.5, 2.0  # the name is nothing but such a word; it has the word of the id or of the file
PERSON = 2.0  # a part of a person's name
QUALIFIED, AGAINST = 0.5, -4.0  # a name such as `publisher name`; one such as `publisher`
BEFORE_ALL, BEFORE_WORDS = 2.0, 1.0  # its values differ, and it is the first column, or the first with words
AFTER_BODY, INSIDE = 3.0, 2.0  # it comes after the text; it is inside of another object, as `author.name` is
DIFFER = ((0.9, 2.0), (0.6, 1.0), (0.3, 0.0), (0.0, -3.0))  # by the share of values that differ
SHORTER = 1.6  # times the words of a title are in the longest text
MOSTLY_FILLED, HALF, TWO_WORDS = 0.9, 0.5, 1.5
SOME_TITLES = 10  # that show whether they repeat
ENOUGH = 1.0
BODIES = frozenset(("abstract", "body", "text", "contents", "content", "answer", "docstring"))  # fields of these names
WORDS_OF_AN_ID = 5.0  # at most, with a digit in each, where the column is named so: E 101 Bü 1
SOME_ROWS = 5  # that show a pattern
PHONE = frozenset("0123456789+-()/. ")


@dataclass(frozen=True)
class TableSample:
    """The first rows of a table, and what is known of it."""

    where: str
    rows: Sequence[Mapping[str, Any]]
    choice: ColumnChoice
    about: Mapping[str, str] = field(default_factory=lambda: NOTHING)
    typed: bool = False
    details: Sequence[str] = ()
    doubts: Sequence[str] = ()


def choose_columns(sample: TableSample, kept: TableReading | None = None) -> tuple[Columns, TableReading]:
    """The columns of a table, and how it is read."""
    choice = sample.choice
    roles = roles_of(sample.rows, typed=sample.typed, order=ORDERS.get(choice.dates or "", _kept_order(kept)))
    names = list(roles)
    _check_named(sample, list(dict.fromkeys(name for row in sample.rows for name in unfolded(row))))
    chosen = _alike(sample, roles, kept) if kept and choice == ColumnChoice(dates=choice.dates) else None
    if chosen is None:
        id_column = None if choice.id == CONTENT else choice.id or _id_column(sample.rows, roles)
        fields = dict(choice.fields) if choice.fields else _fields(sample, roles, id_column)
        both = _both(roles, id_column, fields) if choice.fields is None else frozenset[str]()
        chosen = id_column, fields, choice.metadata, both
    id_column, fields, metadata, both = chosen
    readers = {name: ReadValues(form.read) for name, role in roles.items() if (form := role.number or role.date)}
    html = frozenset(name for name, column in fields.items() if column in roles and roles[column].html)
    columns = Columns(id_column, fields, metadata, both, readers, html, sample.about)
    return columns, _reading(sample, columns, [roles[name] for name in names])


def _id_column(rows: Sequence[Mapping[str, Any]], roles: Mapping[str, Role]) -> str | None:
    """The column with the id: by a usual name, else one whose values all differ and look like codes."""
    by_lower = {name.lower(): name for name in reversed(list(roles))}
    for known in IDS:
        if (name := by_lower.get(known)) is not None:
            role = roles[name]
            if known in ALWAYS_IDS or role.distinct >= MOST_REPEATED * len(rows):
                return name
    named = [name for name, role in roles.items() if _may_be_id(role) and hints_id(name)]
    first = next(iter(roles), None)
    coded = [name for name, role in roles.items() if _is_coded(role, first=name == first)]
    return next(iter([*(name for name in named if name == first), *named, *coded]), None)


def _may_be_id(role: Role) -> bool:
    """Whether every row has another value, none of them prose, and they do not merely count the rows."""
    named = hints_id(role.name) and role.digits == role.filled == 1 and role.words <= WORDS_OF_AN_ID
    return (
        (role.unique or (named and role.distinct == role.count))
        and (role.kind in (CODE, TEXT, CATEGORY) or role.whole)
        and not (role.rows and hints_row_number(role.name))
    )


def _is_coded(role: Role, *, first: bool) -> bool:
    """Whether its values are ids by themselves, such as T1 or AB-12; telephone numbers and versions are not."""
    if not _may_be_id(role) or role.count <= 1 or hints_code(role.name):
        return False
    if set(role.example) <= PHONE:
        return first and role.whole and role.alike and role.count >= SOME_ROWS
    return role.kind == CODE or role.coded if first else role.alike and role.count >= SOME_ROWS


def _fields(sample: TableSample, roles: Mapping[str, Role], id_column: str | None) -> dict[str, str]:
    """The searchable columns by the names of their fields: the title first, then usual names in reading order."""
    choice, where = sample.choice, sample.where
    taken = {*(choice.metadata or ()), *([id_column] if id_column and not _is_searched_id(roles, id_column) else ())}
    texts = [role for name, role in roles.items() if role.searchable and name not in taken]
    if not any(role.count or role.name.lower() in TEXTS for role in texts if role.name != id_column):
        raise RankwellError(f"{where}: expected a column with text, found {listed(list(roles))}: name it with --fields")
    title = _title(sample, roles, texts, id_column)
    names: dict[str, str] = {}
    for role in texts:
        name = "title" if role.name == title else role.name.lower()
        while name in names or (name == "title" and role.name != title):
            name += "_"
        names[name] = role.name
    return _in_order(names)


def _in_order(fields: Mapping[str, str]) -> dict[str, str]:
    """Fields in reading order: the title, usual names of texts, then the others."""
    order = ["title", *TEXTS]
    return dict(sorted(fields.items(), key=lambda pair: order.index(pair[0]) if pair[0] in order else len(order)))


def _is_searched_id(roles: Mapping[str, Role], id_column: str) -> bool:
    """Whether people search for this id: a code with letters, such as a product's, under a name of its own."""
    role = roles.get(id_column)
    return role is not None and role.searchable and id_column.lower() not in IDS


def _title(sample: TableSample, roles: Mapping[str, Role], texts: Sequence[Role], id_column: str | None) -> str | None:
    """The column that is most like a title, by its name, its values and its place; None where none is enough so."""
    things = things_of(id_column or "") | things_of(PurePath(sample.about.get("file", "")).stem)
    own = next((role for role in texts if role.name.lower() == "title"), None)
    texts = [role for role in texts if role.name != id_column and role.count]
    longest = max((role.words for role in texts), default=0.0)
    first, body = next((name for name in roles if name != id_column), None), False
    scores = {}
    for place, role in enumerate(texts):
        score = _name_score(role, things) + _value_score(role, longest) - body * AFTER_BODY
        score -= INSIDE * (sample.typed and "." in role.name and not _is_shared(role.name, roles))
        if role.distinct >= DIFFER[0][0] * role.count:
            score += BEFORE_ALL * (role.name == first) + BEFORE_WORDS * (place == 0)
        most = LONGEST_TITLE if title_rank(role.name) else WORDS_OF_A_TITLE
        if role.words <= most and role.name.lower() not in BODIES:
            scores[role.name] = score
        body = body or role.name.lower() in BODIES or role.words == longest > WORDS_OF_A_TEXT
    best = max(scores, key=lambda name: scores[name], default=None)
    if own is not None and (own.count < SOME_TITLES or own.distinct >= HALF * own.count):  # not Mr and Ms
        return own.name
    return best if best is not None and scores[best] >= ENOUGH else (own.name if own else None)


def _is_shared(name: str, roles: Iterable[str]) -> bool:
    """Whether the object that this column is inside of has most columns, so that it is the record itself."""
    names, parent = [*roles], name.rpartition(".")[0] + "."
    return 2 * sum(other.startswith(parent) for other in names) > len(names)


def _name_score(role: Role, things: Iterable[str]) -> float:
    """How much a column's name is like that of a title."""
    rank, about = title_rank(role.name), is_about(role.name, things)
    if hints_person(role.name):
        return PERSON
    if hints_attribute(role.name) and not about:
        return QUALIFIED if rank > THING else AGAINST
    described = hints_description(role.name) and role.words > SHORT_TEXT
    if rank == NO_NAME and (described or hints_text(role.name) or is_question(role.name)):
        return AGAINST
    exact = len(words_of(role.name)) == 1
    return NAMED[rank] + (EXACT if rank and exact else 0) + (ABOUT if about else 0)


def _value_score(role: Role, longest: float) -> float:
    """How much a column's values are like titles: they differ, are there, are words, and shorter than the text."""
    differ = role.distinct / role.count
    score = next(score for least, score in DIFFER if differ >= least)
    score -= (role.filled < MOSTLY_FILLED) + 3 * (role.filled < HALF)
    score -= 2 * (role.digits > HALF and role.words < TWO_WORDS) + 4 * role.machine + 3 * role.coded
    shorter = longest <= SHORT_TEXT or SHORTER * role.words <= longest
    return score + (1 if shorter else -2) - (role.words > WORDS_OF_A_TITLE)


def _both(roles: Mapping[str, Role], id_column: str | None, fields: Mapping[str, str]) -> frozenset[str]:
    """The columns that are searchable and metadata as well: short values that people filter by."""
    return frozenset(
        column
        for name, column in fields.items()
        if name != "title" and column != id_column and column in roles and roles[column].filterable
    )


def _alike(
    sample: TableSample, roles: Mapping[str, Role], kept: TableReading
) -> tuple[str | None, dict[str, str], tuple[str, ...] | None, frozenset[str]]:
    """The columns as the index read them before; an error where this table lacks one that matters."""
    names = list(roles)
    needed = [c.name for c in kept.columns if (c.id or c.field) and c.kind != "empty"]
    missing = [name for name in needed if name not in roles]
    if missing:
        raise RankwellError(
            f"{sample.where}: expected the columns of {kept.where}, found no {listed(missing)} but {listed(names)}: "
            "name the columns with --id and --fields"
        )
    for column in kept.columns:
        role = roles.get(column.name)
        if role is not None and role.count and column.kind in (NUMBER, "date") and role.kind != column.kind:
            raise RankwellError(
                f"{sample.where}: expected a {column.kind} in {shown(column.name)} as in {kept.where}, "
                f"found {shown(role.example)}: correct it, or index this file by itself"
            )
    fields = {column.field: column.name for column in kept.columns if column.field and column.name in roles}
    known = {column.name for column in kept.columns}
    new = [role for name, role in roles.items() if name not in known and role.searchable]
    fields |= {role.name.lower(): role.name for role in new if role.name.lower() not in fields}
    dropped = any(not (c.id or c.field or c.metadata) for c in kept.columns)
    metadata = tuple(c.name for c in kept.columns if c.metadata) if dropped else None
    both = frozenset(c.name for c in kept.columns if c.metadata and c.field) | {
        role.name for role in new if role.filterable
    }
    return kept.id, _in_order(fields), metadata, both


def _kept_order(kept: TableReading | None) -> str | None:
    """The order of day and month that an index was made with."""
    return next((column.order for column in kept.columns if column.order), None) if kept else None


def _check_named(sample: TableSample, names: Sequence[str]) -> None:
    choice, known = sample.choice, [*names]
    wanted = [*(choice.fields or {}).values(), *(choice.metadata or ())]
    if choice.id == CONTENT:
        pass
    elif choice.id is not None and is_template(choice.id) and choice.id not in names:
        for name in template_names(choice.id):
            if name not in names and name != ROW and name not in sample.about:
                known = [*names, ROW, *sample.about]
                raise RankwellError(f"{sample.where}: expected a column {name!r} for the id, found {listed(known)}")
    elif choice.id is not None:
        wanted.insert(0, choice.id)
    for name in wanted:
        if name not in names:
            raise RankwellError(f"{sample.where}: expected a column {name!r}, found {listed(names)}")


def _reading(sample: TableSample, columns: Columns, roles: Sequence[Role]) -> TableReading:
    """What was chosen, for people and for the index."""
    fields = {column: name for name, column in reversed(list(columns.fields.items()))}
    listing, doubts, notes = [], list(sample.doubts), list[str]()
    for role in roles:
        name, form = role.name, role.number or role.date
        taken = name == columns.id or name in fields
        metadata = name in columns.both or not taken if columns.metadata is None else name in columns.metadata
        listing.append(
            ColumnReading(
                name,
                role.kind,
                id=name == columns.id,
                field=fields.get(name),
                metadata=metadata and role.kind != "empty",
                html=role.html and name in fields,
                decimal=role.number.decimal if role.number else "",
                unit=role.number.unit if role.number else "",
                order=role.date.order if role.date else "",
                example=role.example[:200],
            )
        )
        if form is not None and form.unsure and metadata:
            doubts.append(_doubt(role))
    if any(isinstance(row.get("metadata"), dict) for row in sample.rows):
        listing = [column for column in listing if column.name != "metadata"]
        known = {column.name for column in listing}
        inner = roles_of([of for row in sample.rows if isinstance(of := row.get("metadata"), dict)], typed=True)
        listing += [
            ColumnReading(role.name, role.kind, metadata=role.kind != "empty", example=role.example[:200])
            for role in inner.values()
            if role.name not in known and (columns.metadata is None or role.name in columns.metadata)
        ]
    return TableReading(sample.where, tuple(listing), columns.id, tuple(sample.details), tuple(doubts), tuple(notes))


def _doubt(role: Role) -> str:
    if role.date is not None:
        other = "dmy" if role.date.order == ORDERS["mdy"] else "mdy"
        return f"{role.name} could be {ORDERS[other]} as well: --dates {other}"
    return f"{role.name}: the comma in {role.example} is read as a thousands separator"
