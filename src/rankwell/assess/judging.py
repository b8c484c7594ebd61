"""What an assessor does: get queries, see one passage after the other, grade, change their mind, pause, come back."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from functools import cached_property
from random import Random, SystemRandom

from sqlalchemy import insert, select, update
from sqlalchemy.orm import Session

from rankwell.assess.accounts import acting_assessor, moment
from rankwell.assess.answers import Answer, Place, answers_of, newest_answer, passages_in_pool, places_of
from rankwell.assess.assignment import assign, order_passages
from rankwell.assess.database import Database
from rankwell.assess.errors import NotThereError
from rankwell.assess.schema import (
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
from rankwell.assess.study import Study
from rankwell.assess.texts import storable
from rankwell.core import ParameterError

LONGEST_NOTE = 10_000  # characters
STILL_SHOWN = timedelta(seconds=5)  # a page that comes so soon after the last one does not start the clock again
ACTIVE_FOR = timedelta(minutes=1)  # how exactly we remember when somebody was last here
LONGEST_LOOK = timedelta(days=1)


@dataclass(frozen=True)
class QueryWork:
    """One query that an assessor was given, and how far they are with it."""

    assignment: int
    qid: str
    text: str
    round: int
    state: str
    answered: int
    passages: int


@dataclass(frozen=True)
class Task:
    """One passage to be graded for one query, or to look at again.

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
        """What the assessor answered here before."""
        return self.answers[self.position - 1]

    @property
    def answered(self) -> int:
        """How many passages of this query have an answer."""
        return sum(answer is not None for answer in self.answers)


@dataclass(frozen=True)
class _Work:
    """An assignment with its places and answers, read once."""

    given: AssignmentRow
    places: dict[int, Place]
    answers: dict[int, Answer]

    def take_down(self, session: Session, position: int, note: str | None) -> None:
        """Keep a note, where there is one that is new."""
        checked = None if note is None else _checked_note(note)
        if note is not None and checked != self.places[position].note:
            _change(session, self.given.id, position, note=checked)
            self.places[position] = self.places[position]._replace(note=checked)


@dataclass(frozen=True)
class Judging:
    """The judging side of a study. Assessors are named by their random ids."""

    database: Database
    study: Study
    clock: Callable[[], datetime] = moment
    random: Random = field(default_factory=SystemRandom)

    def begin(self, assessor: str) -> bool:
        """Give the assessor work where none is open (also to go on after a round); whether there is any."""
        with self.database.write(durable=False) as session:
            row = acting_assessor(session, assessor, lock=True)
            now = row.active_at = self.clock()
            session.flush()
            return assign(session, self.study, row, self._queries, now=now, random=self.random)

    def queries(self, assessor: str) -> list[QueryWork]:
        """Everything the assessor was given, in their order, given-up queries left out."""
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
        """The passage to grade next, or the one at a place; None where no work is open (`begin` gives more)."""
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
        """Save an answer (a grade, or None for "I can't tell"); it is on disk on return. Whether the query is done.

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
        """`give`, then `task`, in one transaction: what the judging page does all the time."""
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
        """Keep what the assessor remarks on a passage; an empty note removes it."""
        with self.database.write() as session:
            work = self._working_on(session, acting_assessor(session, assessor), assignment, position)
            work.take_down(session, position, note)

    def undo(self, assessor: str) -> Task | None:
        """Take the newest answer of the latest round back: the one before it counts again, or none.

        The task is the place where it was; None where there is nothing to undo.
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
        """Whether there is an answer to take back."""
        with self.database.read() as session:
            return newest_answer(session, acting_assessor(session, assessor).id) is not None

    @cached_property
    def _queries(self) -> tuple[int, ...]:
        """The numbers of all queries, which do not change while a study runs."""
        with self.database.read() as session:
            return tuple(session.scalars(select(QueryRow.id).order_by(QueryRow.id)))

    def _first_look(self, assessor: str, assignment: int, position: int | None) -> Task:
        """The task of a query that is looked at for the first time."""
        with self.database.write() as session:
            given = _assignment(session, acting_assessor(session, assessor), assignment, lock=True)
            return self._look(session, given, position)

    def _look(self, session: Session, given: AssignmentRow, position: int | None) -> Task:
        """The task, its passage being shown from now on; the passages get their order where they have none yet."""
        if not places_of(session, given.id):
            order_passages(session, given, self.random)
        task = self._task(session, given, position)
        if task.answer is None:
            _show(session, task.assignment, task.position, self.clock())
        return task

    def _give(
        self, session: Session, row: AssessorRow, where: tuple[int, int], answer: Answer, took: int | None
    ) -> _Work:
        """Write an answer down."""
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
        """The assignment, held until the end of the transaction, with the place in it."""
        now = self.clock()
        if now - row.active_at > ACTIVE_FOR:
            row.active_at = now
            session.flush()  # people are held before their work, everywhere, lest two wait for each other
        given = _assignment(session, row, assignment, lock=True)
        places = places_of(session, given.id)
        if position not in places:
            raise NotThereError(f"position: expected a place in this query, found {position}")
        return _Work(given, places, answers_of(session, given.id))

    def _task(self, session: Session, given: AssignmentRow, position: int | None, work: _Work | None = None) -> Task:
        """What is to be seen at a place of the query, or at the next one without an answer."""
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
    """The assessor's own assignment of that number, which was not given to others meanwhile."""
    wanted = select(AssignmentRow).where(
        AssignmentRow.id == number, AssignmentRow.assessor_id == assessor.id, AssignmentRow.state != RELEASED
    )
    found = session.scalars(wanted.with_for_update() if lock else wanted).first()
    if found is None:
        raise NotThereError(f"assignment: expected one that you are working on, found {number}")
    return found


def _next_place(places: Mapping[int, Place], answers: Mapping[int, Answer]) -> int:
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
    """How long somebody looked: what the browser counted, but not more than there was time for."""
    there_was = None if shown_at is None else min(max(now - shown_at, timedelta()), LONGEST_LOOK)
    most = there_was // timedelta(milliseconds=1) if there_was is not None else None
    if counted is None or counted < 0:
        return most
    return min(counted, LONGEST_LOOK // timedelta(milliseconds=1) if most is None else most)


def _checked_note(note: str) -> str | None:
    if len(note) > LONGEST_NOTE:
        raise ParameterError("note", expected=f"at most {LONGEST_NOTE:,} characters", found=f"{len(note):,} of them")
    return storable(note).strip() or None
