"""The actions of an assessor: get queries, view passages, grade, undo and take notes."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from functools import cached_property
from random import Random, SystemRandom
from typing import NamedTuple

from sqlalchemy import Select, func, insert, select, update
from sqlalchemy.orm import Session

from rankwell.core import ParameterError
from rankwell.judging import schema
from rankwell.judging.assignment import assign, order_passages
from rankwell.judging.people import acting_assessor
from rankwell.judging.schema import DONE, OPEN, RELEASED, AssessorRow, AssignmentRow, GradeRow, PresentationRow
from rankwell.judging.study import NotThereError, Study
from rankwell.judging.training import NotTrainedError, has_passed
from rankwell.store import Database, moment, storable

LONGEST_NOTE = 10_000  # characters
STILL_SHOWN = timedelta(seconds=5)  # a page reloaded within this time does not restart the clock
ACTIVE_FOR = timedelta(minutes=1)  # precision of the last activity
LONGEST_LOOK = timedelta(days=1)


class Answer(NamedTuple):
    """A grade, or None for "I can't tell"."""

    grade: int | None


class PassageState(NamedTuple):
    """A passage of an assignment: when it was last shown, and the note on it."""

    position: int
    passage_id: int
    shown_at: datetime | None
    note: str | None


@dataclass(frozen=True)
class QueryWork:
    """An assessor's query, and their progress on it."""

    assignment: int
    qid: str
    text: str
    round: int
    state: str
    answered: int
    passages: int


@dataclass(frozen=True)
class Task:
    """One passage to be graded for one query, or to be viewed again.

    `position` counts from 1 in the random order of this assessor; `answers` has the answer at each place of the query
    (None where there is none yet), so that a page can show progress and lead to any of them.
    """

    assignment: int
    position: int
    qid: str
    query: str
    docno: str
    passage: Mapping[str, str]
    note: str
    answers: tuple[Answer | None, ...]
    query_number: int
    queries: int

    @property
    def answer(self) -> Answer | None:
        """The answer given to this passage, if any."""
        return self.answers[self.position - 1]

    @property
    def answered(self) -> int:
        """Number of answered passages of this query."""
        return sum(answer is not None for answer in self.answers)


class Given(NamedTuple):
    """What an answer led to: whether its query is done, and the next task if it was asked for."""

    done: bool
    following: Task | None


@dataclass(frozen=True)
class _Work:
    """An assignment with its places, from 1, and its valid answers by place, read once."""

    given: AssignmentRow
    places: dict[int, PassageState]
    answers: dict[int, Answer]

    @classmethod
    def read(cls, session: Session, given: AssignmentRow) -> _Work:
        # Plain columns, because every grade reads them.
        columns = (getattr(PresentationRow, name) for name in PassageState._fields)
        rows = session.execute(select(*columns).where(PresentationRow.assignment_id == given.id))
        return cls(given, {row.position: PassageState(*row) for row in rows}, _answers(session, given.id))

    @property
    def next_place(self) -> int:
        """The first place without an answer, or the last one."""
        return next((number for number in sorted(self.places) if number not in self.answers), max(self.places))

    def set_state(self, now: datetime) -> None:
        """Mark the query as done or open, if that changed."""
        done = len(self.answers) == len(self.places)
        if done != (self.given.state == DONE):
            self.given.state, self.given.finished_at = (DONE, now) if done else (OPEN, None)

    def take_down(self, session: Session, position: int, note: str | None) -> None:
        """Store a note if it changed."""
        if note is None:
            return
        if len(note) > LONGEST_NOTE:
            expected = f"at most {LONGEST_NOTE:,} characters"
            raise ParameterError("note", expected=expected, found=f"{len(note):,} of them")
        checked = storable(note).strip() or None
        if checked != self.places[position].note:
            _change(session, self.given.id, position, note=checked)
            self.places[position] = self.places[position]._replace(note=checked)


@dataclass(frozen=True)
class Judging:
    """The actions of a study's assessors, who are named by their random ids."""

    database: Database
    study: Study
    clock: Callable[[], datetime] = moment
    random: Random = field(default_factory=SystemRandom)

    def begin(self, assessor: str) -> bool:
        """Give the assessor work where none is open. True if there is any."""
        with self.database.write(durable=False) as session:
            row = acting_assessor(session, assessor, lock=True)
            if not has_passed(session, self.study, row):
                raise NotTrainedError("pass the training round first")
            now = row.active_at = self.clock()
            session.flush()
            return assign(session, self.study, row, self._queries, now=now, random=self.random)

    def queries(self, assessor: str) -> list[QueryWork]:
        """The assessor's queries in their order, without released ones."""
        passages = select(func.count()).where(schema.PoolRow.query_id == AssignmentRow.query_id).scalar_subquery()
        with self.database.read() as session:
            mine = _mine(acting_assessor(session, assessor)).join(
                schema.QueryRow, AssignmentRow.query_id == schema.QueryRow.id
            )
            rows = session.execute(mine.add_columns(schema.QueryRow.qid, schema.QueryRow.text, passages))
            return [
                QueryWork(given.id, qid, text, given.round, given.state, len(_answers(session, given.id)), count)
                for given, qid, text, count in rows
            ]

    def task(self, assessor: str, assignment: int | None = None, position: int | None = None) -> Task | None:
        """The next passage to grade, or the one at a position; None where no work is open (`begin` gives more)."""
        with self.database.read() as session:
            row = acting_assessor(session, assessor)
            given = _first_open(session, row) if assignment is None else _assignment(session, row, assignment)
            if given is None:
                return None
            work = _Work.read(session, given)
            task = self._task(session, work, position) if work.places else None
        now = self.clock()
        if task is None:
            with self.database.write() as session:
                given = _assignment(session, acting_assessor(session, assessor), given.id, lock=True)
                return self._look(session, given, position)
        shown_at = work.places[task.position].shown_at
        if task.answer is None and (shown_at is None or now - shown_at > STILL_SHOWN):
            with self.database.write(durable=False) as session:
                _change(session, task.assignment, task.position, shown_at=now)
        return task

    def give(
        self,
        assessor: str,
        assignment: int,
        position: int,
        grade: int | None,
        *,
        milliseconds: int | None = None,
        note: str | None = None,
        go_on: bool = False,
    ) -> Given:
        """Save an answer (a grade, or None for "I can't tell"); it is on disk on return.

        The same answer again changes nothing, so that a request may be repeated. `milliseconds` is how long the page
        was looked at, as the browser counted; without it the time since the passage was shown is taken. With `go_on`
        the next task is read in the same transaction.
        """
        with self.database.write() as session:
            row = acting_assessor(session, assessor)
            if grade is not None and grade not in self.study.grades:
                expected = f"one of {', '.join(map(str, self.study.grades))}"
                raise ParameterError("grade", expected=expected, found=grade)
            work = self._working_on(session, row, assignment, position)
            now = self.clock()
            if work.answers.get(position) != Answer(grade):
                values = {"assignment_id": assignment, "position": position, "grade": grade, "given_at": now}
                looked = _milliseconds(work.places[position].shown_at, now, milliseconds)
                session.execute(insert(GradeRow), {**values, "milliseconds": looked})
                work.answers[position] = Answer(grade)
            work.set_state(now)
            if work.next_place not in work.answers:
                _change(session, assignment, work.next_place, shown_at=now)
            work.take_down(session, position, note)
            return Given(work.given.state == DONE, self._following(session, row, work) if go_on else None)

    def _following(self, session: Session, row: AssessorRow, work: _Work) -> Task | None:
        """The task after an answer: of the same query, or of the next one."""
        if work.given.state == OPEN:
            return self._task(session, work, None)
        session.flush()
        following = _first_open(session, row)
        return None if following is None else self._look(session, following, None)

    def note(self, assessor: str, assignment: int, position: int, note: str) -> None:
        """Store the assessor's note on a passage; an empty note removes it."""
        with self.database.write() as session:
            work = self._working_on(session, acting_assessor(session, assessor), assignment, position)
            work.take_down(session, position, note)

    def undo(self, assessor: str) -> Task | None:
        """Undo the newest answer of the latest round: the one before it counts again, or none.

        Returns the task of that passage; None where there is nothing to undo.
        """
        with self.database.write() as session:
            row = acting_assessor(session, assessor)
            newest = _newest_answer(session, row)
            if newest is None:
                return None
            given = _assignment(session, row, newest.assignment_id, lock=True)
            now = self.clock()
            newest.undone_at = now
            session.flush()
            work = _Work.read(session, given)
            work.set_state(now)
            _change(session, given.id, newest.position, shown_at=now)
            return self._task(session, work, newest.position)

    @cached_property
    def _queries(self) -> tuple[int, ...]:
        """The ids of all queries, which do not change while a study runs."""
        with self.database.read() as session:
            return tuple(session.scalars(select(schema.QueryRow.id).order_by(schema.QueryRow.id)))

    def _look(self, session: Session, given: AssignmentRow, position: int | None) -> Task:
        """The task, whose passage counts as shown from now on. Draws the order of passages where there is none yet."""
        work = _Work.read(session, given)
        if not work.places:
            order_passages(session, given, self.random)
            work = _Work.read(session, given)
        task = self._task(session, work, position)
        if task.answer is None:
            _change(session, task.assignment, task.position, shown_at=self.clock())
        return task

    def _working_on(self, session: Session, row: AssessorRow, assignment: int, position: int) -> _Work:
        """The assignment, locked until the end of the transaction, with the place in it."""
        now = self.clock()
        if now - row.active_at > ACTIVE_FOR:
            row.active_at = now
            session.flush()  # assessors are locked before assignments everywhere, to avoid deadlocks
        work = _Work.read(session, _assignment(session, row, assignment, lock=True))
        if position not in work.places:
            raise NotThereError(f"position: expected a place in this query, found {position}")
        return work

    def _task(self, session: Session, work: _Work, position: int | None) -> Task:
        """The task at a position of the query, or at the next one without an answer."""
        given, places = work.given, work.places
        here = position or work.next_place
        if here not in places:
            raise NotThereError(f"position: expected 1 to {len(places)}, found {here}")
        query = session.get_one(schema.QueryRow, given.query_id)
        passage = session.get_one(schema.PassageRow, places[here].passage_id)
        same_round = select(AssignmentRow.position).where(
            *(AssignmentRow.assessor_id == given.assessor_id, AssignmentRow.round == given.round),
            AssignmentRow.state != RELEASED,
        )
        numbers = session.scalars(same_round.order_by(AssignmentRow.position)).all()
        return Task(
            *(given.id, here, query.qid, query.text, passage.docno, dict(passage.fields), places[here].note or ""),
            answers=tuple(work.answers.get(number) for number in sorted(places)),
            query_number=numbers.index(given.position) + 1,
            queries=len(numbers),
        )


def _mine(assessor: AssessorRow) -> Select[AssignmentRow]:
    """The assessor's assignments in their order, unless they were released."""
    mine = (AssignmentRow.assessor_id == assessor.id, AssignmentRow.state != RELEASED)
    return select(AssignmentRow).where(*mine).order_by(AssignmentRow.position)


def _first_open(session: Session, assessor: AssessorRow) -> AssignmentRow | None:
    return session.scalars(_mine(assessor).where(AssignmentRow.state == OPEN).limit(1)).first()


def _assignment(session: Session, assessor: AssessorRow, number: int, *, lock: bool = False) -> AssignmentRow:
    wanted = _mine(assessor).where(AssignmentRow.id == number)
    assignment = session.scalars(wanted.with_for_update() if lock else wanted).first()
    if assignment is None:
        raise NotThereError(f"assignment: expected one that you are working on, found {number}")
    return assignment


def _answers(session: Session, assignment: int) -> dict[int, Answer]:
    rows = select(GradeRow.position, GradeRow.grade).where(
        GradeRow.assignment_id == assignment, GradeRow.undone_at.is_(None)
    )
    return {place: Answer(grade) for place, grade in session.execute(rows.order_by(GradeRow.id))}


def _newest_answer(session: Session, assessor: AssessorRow) -> GradeRow | None:
    """The last answer of the assessor's latest round that was not undone."""
    mine = (AssignmentRow.assessor_id == assessor.id, AssignmentRow.state != RELEASED)
    latest = select(func.max(AssignmentRow.round)).where(*mine).scalar_subquery()
    given = select(GradeRow).join(AssignmentRow, GradeRow.assignment_id == AssignmentRow.id)
    valid = given.where(*mine, AssignmentRow.round == latest, GradeRow.undone_at.is_(None))
    return session.scalars(valid.order_by(GradeRow.id.desc()).limit(1)).first()


def _change(session: Session, assignment: int, position: int, **values: datetime | str | None) -> None:
    here = (PresentationRow.assignment_id == assignment, PresentationRow.position == position)
    session.execute(update(PresentationRow).where(*here).values(**values).execution_options(synchronize_session=False))


def _milliseconds(shown_at: datetime | None, now: datetime, counted: int | None) -> int | None:
    """Viewing time as counted by the browser, but not longer than since the passage was shown."""
    unit = timedelta(milliseconds=1)
    most = None if shown_at is None else min(max(now - shown_at, timedelta()), LONGEST_LOOK) // unit
    if counted is None or counted < 0:
        return most
    return min(counted, LONGEST_LOOK // unit if most is None else most)
