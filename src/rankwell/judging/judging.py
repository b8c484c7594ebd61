"""The actions of an assessor: get queries, view passages, grade, undo and take notes."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from functools import cached_property
from random import Random, SystemRandom

from sqlalchemy import insert, select, update
from sqlalchemy.orm import Session

from rankwell.core import ParameterError
from rankwell.judging.answers import (
    Answer,
    PassageState,
    answers_of,
    newest_answer,
    passages_in_pool,
    places_of,
    storable,
)
from rankwell.judging.assignment import assign, order_passages
from rankwell.judging.database import Database
from rankwell.judging.people import acting_assessor, moment
from rankwell.judging.schema import (
    DONE,
    OPEN,
    RELEASED,
    AssessorRow,
    AssignmentRow,
    GradeRow,
    PassageRow,
    PresentationRow,
    QueryRow,
)
from rankwell.judging.study import NotThereError, Study

LONGEST_NOTE = 10_000  # characters
STILL_SHOWN = timedelta(seconds=5)  # a page reloaded within this time does not restart the clock
ACTIVE_FOR = timedelta(minutes=1)  # precision of the last activity
LONGEST_LOOK = timedelta(days=1)


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


@dataclass(frozen=True)
class _Work:
    """An assignment with its places and answers, read once."""

    given: AssignmentRow
    places: dict[int, PassageState]
    answers: dict[int, Answer]

    def take_down(self, session: Session, position: int, note: str | None) -> None:
        """Store a note if it changed."""
        checked = None if note is None else _checked_note(note)
        if note is not None and checked != self.places[position].note:
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
            now = row.active_at = self.clock()
            session.flush()
            return assign(session, self.study, row, self._queries, now=now, random=self.random)

    def queries(self, assessor: str) -> list[QueryWork]:
        """The assessor's queries in their order, without released ones."""
        with self.database.read() as session:
            row = acting_assessor(session, assessor)
            found = session.execute(
                select(AssignmentRow, QueryRow, passages_in_pool())
                .join(QueryRow, AssignmentRow.query_id == QueryRow.id)
                .where(AssignmentRow.assessor_id == row.id, AssignmentRow.state != RELEASED)
                .order_by(AssignmentRow.position)
            )
            return [
                QueryWork(
                    given.id,
                    query.qid,
                    query.text,
                    given.round,
                    given.state,
                    len(answers_of(session, given.id)),
                    passages,
                )
                for given, query, passages in found
            ]

    def task(self, assessor: str, assignment: int | None = None, position: int | None = None) -> Task | None:
        """The next passage to grade, or the one at a position; None where no work is open (`begin` gives more)."""
        with self.database.read() as session:
            row = acting_assessor(session, assessor)
            given = _first_open(session, row) if assignment is None else _assignment(session, row, assignment)
            if given is None:
                return None
            number, places = given.id, places_of(session, given.id)
            task = self._task(session, given, position) if places else None
            shown_at = places[task.position].shown_at if task else None
        if task is None:
            return self._first_look(assessor, number, position)
        now = self.clock()
        if task.answer is None and (shown_at is None or now - shown_at > STILL_SHOWN):
            with self.database.write(durable=False) as session:
                _show(session, task.assignment, task.position, now)
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
    ) -> bool:
        """Save an answer (a grade, or None for "I can't tell"); it is on disk on return. True if the query is done.

        The same answer again changes nothing, so that a request may be repeated. `milliseconds` is how long the page
        was looked at, as the browser counted; without it the time since the passage was shown is taken.
        """
        with self.database.write() as session:
            row = acting_assessor(session, assessor)
            work = self._give(session, row, (assignment, position), Answer(grade), milliseconds)
            work.take_down(session, position, note)
            return work.given.state == DONE

    def give_and_go_on(
        self,
        assessor: str,
        assignment: int,
        position: int,
        grade: int | None,
        *,
        milliseconds: int | None = None,
        note: str | None = None,
    ) -> Task | None:
        """`give`, then `task`, in one transaction, for the judging page."""
        with self.database.write() as session:
            row = acting_assessor(session, assessor)
            work = self._give(session, row, (assignment, position), Answer(grade), milliseconds)
            work.take_down(session, position, note)
            if work.given.state == OPEN:
                return self._task(session, work.given, None, work)
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
            newest = newest_answer(session, row.id)
            if newest is None:
                return None
            given = _assignment(session, row, newest.assignment_id, lock=True)
            now = self.clock()
            newest.undone_at = now
            session.flush()
            answers = answers_of(session, given.id)
            _set_state(given, now, done=len(answers) == len(places_of(session, given.id)))
            _show(session, given.id, newest.position, now)
            return self._task(session, given, newest.position)

    def can_undo(self, assessor: str) -> bool:
        """Whether there is an answer to undo."""
        with self.database.read() as session:
            return newest_answer(session, acting_assessor(session, assessor).id) is not None

    @cached_property
    def _queries(self) -> tuple[int, ...]:
        """The ids of all queries, which do not change while a study runs."""
        with self.database.read() as session:
            return tuple(session.scalars(select(QueryRow.id).order_by(QueryRow.id)))

    def _first_look(self, assessor: str, assignment: int, position: int | None) -> Task:
        with self.database.write() as session:
            given = _assignment(session, acting_assessor(session, assessor), assignment, lock=True)
            return self._look(session, given, position)

    def _look(self, session: Session, given: AssignmentRow, position: int | None) -> Task:
        """The task, whose passage counts as shown from now on. Draws the order of passages where there is none yet."""
        if not places_of(session, given.id):
            order_passages(session, given, self.random)
        task = self._task(session, given, position)
        if task.answer is None:
            _show(session, task.assignment, task.position, self.clock())
        return task

    def _give(
        self, session: Session, row: AssessorRow, where: tuple[int, int], answer: Answer, took: int | None
    ) -> _Work:
        if answer.grade is not None and answer.grade not in self.study.grades:
            expected = f"one of {', '.join(map(str, self.study.grades))}"
            raise ParameterError("grade", expected=expected, found=answer.grade)
        work = self._working_on(session, row, *where)
        now, position = self.clock(), where[1]
        if work.answers.get(position) != answer:
            values = {"assignment_id": work.given.id, "position": position, "grade": answer.grade, "given_at": now}
            looked = _milliseconds(work.places[position].shown_at, now, took)
            session.execute(insert(GradeRow), {**values, "milliseconds": looked})
            work.answers[position] = answer
        _set_state(work.given, now, done=len(work.answers) == len(work.places))
        following = _next_place(work.places, work.answers)
        if following not in work.answers:
            _show(session, work.given.id, following, now)
        return work

    def _working_on(self, session: Session, row: AssessorRow, assignment: int, position: int) -> _Work:
        """The assignment, locked until the end of the transaction, with the place in it."""
        now = self.clock()
        if now - row.active_at > ACTIVE_FOR:
            row.active_at = now
            session.flush()  # assessors are locked before assignments everywhere, to avoid deadlocks
        given = _assignment(session, row, assignment, lock=True)
        places = places_of(session, given.id)
        if position not in places:
            raise NotThereError(f"position: expected a place in this query, found {position}")
        return _Work(given, places, answers_of(session, given.id))

    def _task(self, session: Session, given: AssignmentRow, position: int | None, work: _Work | None = None) -> Task:
        """The task at a position of the query, or at the next one without an answer."""
        work = work or _Work(given, places_of(session, given.id), answers_of(session, given.id))
        places, answers = work.places, work.answers
        here = position or _next_place(places, answers)
        if here not in places:
            raise NotThereError(f"position: expected 1 to {len(places)}, found {here}")
        query = session.get_one(QueryRow, given.query_id)
        passage = session.get_one(PassageRow, places[here].passage_id)
        same_round = (AssignmentRow.assessor_id == given.assessor_id, AssignmentRow.round == given.round)
        numbers = session.scalars(
            select(AssignmentRow.position)
            .where(*same_round, AssignmentRow.state != RELEASED)
            .order_by(AssignmentRow.position)
        ).all()
        return Task(
            given.id,
            here,
            query.qid,
            query.text,
            passage.docno,
            dict(passage.fields),
            places[here].note or "",
            tuple(answers.get(number) for number in sorted(places)),
            numbers.index(given.position) + 1,
            len(numbers),
        )


def _first_open(session: Session, assessor: AssessorRow) -> AssignmentRow | None:
    mine = select(AssignmentRow).where(AssignmentRow.assessor_id == assessor.id, AssignmentRow.state == OPEN)
    return session.scalars(mine.order_by(AssignmentRow.position).limit(1)).first()


def _assignment(session: Session, assessor: AssessorRow, number: int, *, lock: bool = False) -> AssignmentRow:
    """The assessor's own assignment of that id, unless it was released."""
    wanted = select(AssignmentRow).where(
        AssignmentRow.id == number, AssignmentRow.assessor_id == assessor.id, AssignmentRow.state != RELEASED
    )
    found = session.scalars(wanted.with_for_update() if lock else wanted).first()
    if found is None:
        raise NotThereError(f"assignment: expected one that you are working on, found {number}")
    return found


def _next_place(places: Mapping[int, PassageState], answers: Mapping[int, Answer]) -> int:
    """The first place without an answer, or the last one."""
    return next((number for number in sorted(places) if number not in answers), max(places))


def _set_state(given: AssignmentRow, now: datetime, *, done: bool) -> None:
    if done != (given.state == DONE):
        given.state = DONE if done else OPEN
        given.finished_at = now if done else None


def _show(session: Session, assignment: int, position: int, now: datetime) -> None:
    _change(session, assignment, position, shown_at=now)


def _change(session: Session, assignment: int, position: int, **values: datetime | str | None) -> None:
    here = (PresentationRow.assignment_id == assignment, PresentationRow.position == position)
    session.execute(update(PresentationRow).where(*here).values(**values).execution_options(synchronize_session=False))


def _milliseconds(shown_at: datetime | None, now: datetime, counted: int | None) -> int | None:
    """Viewing time as counted by the browser, but not longer than since the passage was shown."""
    there_was = None if shown_at is None else min(max(now - shown_at, timedelta()), LONGEST_LOOK)
    most = there_was // timedelta(milliseconds=1) if there_was is not None else None
    if counted is None or counted < 0:
        return most
    return min(counted, LONGEST_LOOK // timedelta(milliseconds=1) if most is None else most)


def _checked_note(note: str) -> str | None:
    if len(note) > LONGEST_NOTE:
        raise ParameterError("note", expected=f"at most {LONGEST_NOTE:,} characters", found=f"{len(note):,} of them")
    return storable(note).strip() or None
