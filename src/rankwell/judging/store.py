"""An open study: all operations of the application, the commands and the library on its database; and a new study.

    store = open_store("study.db")                     # a file, or postgresql://USER@HOST/NAME
    code = store.invitations.invite(places=20)         # shown once
    name = store.invitations.redeem(code, ip).account.name  # or by mail: store.sign_in
    store.people.consent(name)
    store.judging.begin(name)                          # gives them queries
    task = store.judging.task(name)
    store.judging.give(name, task.assignment, task.position, grade)
    store.progress(), store.grades(), store.answers()  # what came of it

Assessors have random names. Methods raise `AssessError`s (`NotThereError`, `PausedError`,
`NoConsentError`, `TooManyAttemptsError`) and `ParameterError`s; all may be called from many threads at once.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from pathlib import Path
from random import Random, SystemRandom
from typing import TYPE_CHECKING, Any, Self

from sqlalchemy import insert, select, tuple_, update
from sqlalchemy.orm import InstrumentedAttribute

from rankwell.core import Judgments, ParameterError, RankwellError
from rankwell.judging import schema
from rankwell.judging.adjudication import Adjudication
from rankwell.judging.export import Adjudicated, Answered, Noted
from rankwell.judging.grades import GivenGrade, Grades
from rankwell.judging.judging import Judging
from rankwell.judging.labels import thresholds_of
from rankwell.judging.people import People, note_event
from rankwell.judging.progress import StudyProgress, progress_of
from rankwell.judging.quality import FEWEST_GOLD, LEAST_RIGHT, Remark, Watch, watch
from rankwell.judging.rejudging import Rejudging
from rankwell.judging.schema import AssessorRow, AssignmentRow, GradeRow, PassageRow, PoolRow, PresentationRow, QueryRow
from rankwell.judging.sign_in import Invitations, SignIn
from rankwell.judging.study import Study
from rankwell.judging.training import Training
from rankwell.store import Database, moment, open_database, storable

if TYPE_CHECKING:
    from rankwell.judging.opening import Material


class Store:
    """A study with its database; `clock` and `random` are for tests."""

    def __init__(
        self, database: Database, *, clock: Callable[[], datetime] = moment, random: Random | None = None
    ) -> None:
        self.database = database
        with database.read() as session:
            row = session.get(schema.StudyRow, 1)
            if row is None:
                raise RankwellError(f"{database.name}: expected a study, found none{schema.STUDY.way_out}")
            self.study = Study.from_json(row.settings)
            self.created_at = row.created_at
        self.invitations = Invitations(database, clock)
        self.sign_in = SignIn(database, self.study, clock)
        self.people = People(database, self.study, clock)
        self.adjudication = Adjudication(database, self.study, clock)
        self.training = Training(database, self.study, clock)
        self.rejudging = Rejudging(database, self.study, clock)
        self.judging = Judging(database, self.study, clock, random or SystemRandom())

    def progress(self) -> StudyProgress:
        """Progress in total, by query and by assessor."""
        with self.database.read() as session:
            return progress_of(session, self.study)

    def answers(self) -> list[Answered]:
        """All valid answers with their publishable properties, ordered by query, assessor and presentation."""
        columns = (
            *(QueryRow.qid, PassageRow.docno, AssessorRow.name, GradeRow.grade, GradeRow.milliseconds),
            *(AssessorRow.english, GradeRow.given_at, AssignmentRow.position, GradeRow.position, AssignmentRow.state),
        )
        place = (GradeRow.assignment_id, GradeRow.position)
        shown = tuple_(PresentationRow.assignment_id, PresentationRow.position) == tuple_(*place)
        wanted = _with_names(select(*columns).select_from(PresentationRow).join(GradeRow, shown))
        with self.database.read() as session:
            rows = session.execute(wanted.where(GradeRow.id.in_(schema.in_force())))
            decided = {(one.qid, one.docno): one.grade for one in self.adjudication.decided(session)}
            return [
                Answered._make(
                    (
                        *(*row[:4], None if row[4] is None else row[4] / 1000, *row[5:9], row[9] == schema.DONE),
                        decided.get((row[0], row[1])),
                    )
                )
                for row in rows
            ]

    def notes(self) -> list[Noted]:
        """The assessors' notes, also on passages without an answer: free text, not to be published unread."""
        columns = (QueryRow.qid, PassageRow.docno, AssessorRow.name, PresentationRow.note)
        wanted = _with_names(select(*columns).select_from(PresentationRow))
        with self.database.read() as session:
            return [Noted(*row) for row in session.execute(wanted.where(PresentationRow.note.is_not(None)))]

    def query_texts(self) -> dict[str, str]:
        """The text of each query by its id."""
        with self.database.read() as session:
            return dict(session.execute(select(QueryRow.qid, QueryRow.text).order_by(QueryRow.id)).all())

    def grades(self, *, finished: bool = False) -> Grades:
        """The valid answers as `Grades`; with `finished` only of queries that their assessor finished."""
        rows = (row for row in self.answers() if row.finished or not finished)
        return Grades.of(GivenGrade(*(getattr(row, name) for name in GivenGrade._fields)) for row in rows)

    def adjudications(self) -> list[Adjudicated]:
        """The grades that adjudicators decided on, ordered by query and passage."""
        with self.database.read() as session:
            return self.adjudication.decided(session)

    def originals(self) -> Judgments:
        """The grades that passages of the pool had before the study."""
        return self._pool_grades(PoolRow.original)

    def _pool_grades(self, column: InstrumentedAttribute[int | None]) -> Judgments:
        wanted = (
            select(QueryRow.qid, PassageRow.docno, column)
            .join(QueryRow, PoolRow.query_id == QueryRow.id)
            .join(PassageRow, PoolRow.passage_id == PassageRow.id)
            .where(column.is_not(None))
            .order_by(QueryRow.id, PassageRow.id)
        )
        with self.database.read() as session:
            return Judgments((qid, docno, grade or 0) for qid, docno, grade in session.execute(wanted))

    def gold(self) -> Judgments:
        """The right grades of the gold questions."""
        return self._pool_grades(PoolRow.gold)

    def set_gold(self, gold: Judgments) -> int:
        """Make these passages of the pool the gold questions, in place of earlier ones; returns their number.

        Passages that are not in the pool are left out; none at all is an error.
        """
        wrong = next((grade for _, _, grade in gold.rows() if grade not in self.study.grades), None)
        if wrong is not None:
            raise ParameterError("gold", expected=f"grades among {', '.join(map(str, self.study.grades))}", found=wrong)
        with self.database.write() as session:
            queries = dict(session.execute(select(QueryRow.qid, QueryRow.id)).all())
            passages = dict(session.execute(select(PassageRow.docno, PassageRow.id)).all())
            session.execute(update(PoolRow).values(gold=None))
            marked = 0
            for qid, docno, grade in gold.rows():
                here = (PoolRow.query_id == queries.get(qid), PoolRow.passage_id == passages.get(docno))
                marked += len(
                    session.scalars(update(PoolRow).where(*here).values(gold=grade).returning(PoolRow.rank)).all()
                )
            if len(gold) and not marked:
                raise RankwellError(
                    f"{self.database.name}: expected gold questions of the pool, found none of them there"
                )
            note_event(session, moment(), "gold questions", None, count=marked)
        return marked

    def watch(self) -> Watch:
        """How assessors do on gold questions, and who stands out in time and agreement."""
        scale = self.study.grades
        seen = watch(self.grades(), self.gold(), scale, thresholds_of(scale[0], scale[-1]))
        failed = [
            Remark(name, f"did not pass the training: {state.score.right} of {state.total} right")
            for name, state in self.training.scores().items()
            if state.complete and not state.passed and not state.more_tries
        ]
        again = self.rejudging.scores()
        unsteady = [
            Remark(name, f"gave {score.right} of {score.answered} passages the same grade again")
            for name, score in again.items()
            if score.answered >= FEWEST_GOLD and score.right < LEAST_RIGHT * score.answered
        ]
        return Watch(seen.gold, (*failed, *seen.remarks, *unsteady), again)

    def close(self) -> None:
        """Close the database."""
        self.database.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def _with_names(wanted: Any) -> Any:
    """Join presentations with their queries, passages and assessors; ordered by query, assessor and presentation."""
    return (
        wanted.join(AssignmentRow, PresentationRow.assignment_id == AssignmentRow.id)
        .join(AssessorRow, AssignmentRow.assessor_id == AssessorRow.id)
        .join(QueryRow, AssignmentRow.query_id == QueryRow.id)
        .join(PassageRow, PresentationRow.passage_id == PassageRow.id)
        .order_by(QueryRow.id, AssessorRow.name, PresentationRow.position)
    )


def open_store(where: Path | str) -> Store:
    """Open a study: its database's file, or its `postgresql://` address."""
    database = open_database(where, schema.STUDY)
    with database.closed_on_error():
        return Store(database)


def write_study_database(study: Study, material: Material, where: Path | str) -> Database:
    """Write a new study into an empty database in one transaction."""
    for name in (*material.queries, *material.passages):
        if storable(name) != name:
            raise RankwellError(f"study: expected ids of whole characters, found {name!r}")
    database = open_database(where, schema.STUDY, create=True)
    with database.closed_on_error(), database.write() as session:
        row = session.get(schema.StudyRow, 1)
        if row is not None:
            there = row.settings["title"]
            raise RankwellError(f"{database.name}: expected a database without a study, found one: {there}")
        session.add(schema.StudyRow(id=1, settings=study.to_json(), created_at=moment()))
        for table, rows in _rows(material).items():
            session.execute(insert(table), rows)
    return database


def _rows(material: Material) -> dict[type[schema.Table], list[dict[str, Any]]]:
    queries = {qid: number for number, qid in enumerate(material.queries, 1)}
    passages = {docno: number for number, docno in enumerate(material.passages, 1)}
    return {
        QueryRow: [
            {"id": queries[qid], "qid": qid, "text": text, "stratum": material.strata.get(qid)}
            for qid, text in material.queries.items()
        ],
        PassageRow: [
            {"id": passages[docno], "docno": docno, "fields": dict(fields)}
            for docno, fields in material.passages.items()
        ],
        PoolRow: [
            {"query_id": queries[qid], "passage_id": passages[docno], "rank": rank, "original": known.get(docno)}
            for qid, ranks in material.pool.items()
            for known in [material.originals.get(qid, {})]
            for docno, rank in ranks.items()
        ],
    }
