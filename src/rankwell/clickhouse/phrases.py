"""Phrases: documents in which terms stand at given distances, found where the postings are."""

from __future__ import annotations

from collections.abc import Sequence

from rankwell.clickhouse.literals import Sql, listed, sql
from rankwell.clickhouse.tables import Tables


def phrase_condition(occurrences: Sequence[tuple[str, int]], spaces: Sequence[int], tables: Tables) -> Sql:
    """The condition on a document's number to hold these terms as far apart as they are here, within one field.

    Every occurrence of a term says where a phrase would begin; it is there where all of its terms say the same.
    """
    shifts: dict[str, list[int]] = {}
    for term, place in occurrences:
        shifts.setdefault(term, []).append(place)
    return sql(
        "document IN (SELECT document FROM {postings} ARRAY JOIN {begins} AS begin WHERE field IN {spaces} "
        "AND term IN {terms} GROUP BY document, field, begin HAVING count() = {count})",
        postings=tables.own("postings"),
        begins=_begins(shifts),
        spaces=tuple(spaces),
        terms=tuple(shifts),
        count=len(occurrences),
    )


def _begins(shifts: dict[str, list[int]]) -> Sql:
    """For a posting the places at which the phrase would begin."""
    parts = []
    for term, places in shifts.items():
        each = [sql("arrayMap(at -> toInt64(at) - {place}, positions)", place=place) for place in places]
        parts.append((term, each[0] if len(each) == 1 else sql("arrayConcat({each})", each=listed(each))))
    if len(parts) == 1:
        return parts[0][1]
    pairs = [sql("term = {term}, {begins}", term=term, begins=begins) for term, begins in parts[:-1]]
    return sql("multiIf({pairs}, {last})", pairs=listed(pairs), last=parts[-1][1])
