"""Write a new study into a database."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from sqlalchemy import insert
from sqlalchemy.orm import Session

from rankwell.core import RankwellError
from rankwell.judging.answers import storable
from rankwell.judging.database import Database, open_database
from rankwell.judging.opening import Material
from rankwell.judging.people import moment
from rankwell.judging.schema import PassageRow, PoolRow, QueryRow, StudyRow, Table
from rankwell.judging.study import Study


def write_study_database(study: Study, material: Material, where: Path | str) -> Database:
    """Write a new study into an empty database in one transaction."""
    _check_ids(material)
    database = open_database(where, create=True)
    try:
        with database.write() as session:
            _check_empty(session, database)
            session.add(StudyRow(id=1, settings=_storable(study.to_json()), created_at=moment()))
            _write(session, material)
    except BaseException:
        database.close()
        raise
    return database


def _write(session: Session, material: Material) -> None:
    queries = {qid: number for number, qid in enumerate(material.queries, 1)}
    passages = {docno: number for number, docno in enumerate(material.passages, 1)}
    _insert(
        session,
        QueryRow,
        (
            {"id": queries[qid], "qid": qid, "text": storable(text), "stratum": material.strata.get(qid)}
            for qid, text in material.queries.items()
        ),
    )
    _insert(
        session,
        PassageRow,
        (
            {"id": passages[docno], "docno": docno, "fields": _storable(fields)}
            for docno, fields in material.passages.items()
        ),
    )
    _insert(
        session,
        PoolRow,
        (
            {
                "query_id": queries[qid],
                "passage_id": passages[docno],
                "rank": rank,
                "original": material.originals.get(qid, {}).get(docno),
            }
            for qid, ranks in material.pool.items()
            for docno, rank in ranks.items()
        ),
    )


def _insert(session: Session, table: type[Table], rows: Iterator[dict[str, Any]]) -> None:
    session.execute(insert(table), list(rows))


def _check_empty(session: Session, database: Database) -> None:
    row = session.get(StudyRow, 1)
    if row is not None:
        raise RankwellError(f"{database.name}: expected a database without a study, found one: {row.settings['title']}")


def _storable(value: Any) -> Any:
    """The value with all its texts made storable."""
    if isinstance(value, str):
        return storable(value)
    if isinstance(value, Mapping):
        return {_storable(key): _storable(entry) for key, entry in value.items()}
    return [_storable(entry) for entry in value] if isinstance(value, (list, tuple)) else value


def _check_ids(material: Material) -> None:
    for name in (*material.queries, *material.passages):
        if storable(name) != name:
            raise RankwellError(f"study: expected ids of whole characters, found {name!r}")
