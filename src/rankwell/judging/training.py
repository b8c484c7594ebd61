"""The training round: questions with known grades, feedback after each answer, and a pass mark.

Where a study has training questions, nobody is given queries before they have passed.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any, NamedTuple

import sqlalchemy as sa
from sqlalchemy.orm import Session

from rankwell.collections.formats.delimited import header, table_rows
from rankwell.collections.formats.trec import is_whole
from rankwell.collections.reading import Reading, head
from rankwell.core import FormatError, ParameterError, Phrase, RankwellError
from rankwell.judging.people import acting_assessor
from rankwell.judging.quality import GoldScore, is_right
from rankwell.judging.schema import AssessorRow, TrainingAnswerRow, TrainingRow
from rankwell.judging.study import AssessError, NotThereError, Study
from rankwell.store import Database, moment

COLUMNS = ("query", "grade", "why")


class TrainingQuestion(NamedTuple):
    """A passage with its right grade, and why it is right."""

    number: int
    query: str
    passage: Mapping[str, str]
    grade: int
    why: str = ""


@dataclass(frozen=True)
class TrainingState:
    """How far an assessor is with the training.

    `attempt` counts from 1; `following` is the next question of it, None where it is complete.
    """

    attempt: int
    score: GoldScore
    total: int
    following: TrainingQuestion | None
    passed: bool
    more_tries: bool

    @property
    def complete(self) -> bool:
        """Whether every question of the attempt is answered."""
        return self.following is None


class Feedback(NamedTuple):
    """A question, the answer to it, and whether that is right."""

    question: TrainingQuestion
    grade: int | None
    right: bool


@dataclass(frozen=True)
class Training:
    """The training round of a study; assessors are named by their random ids."""

    database: Database
    study: Study
    clock: Callable[[], datetime] = moment

    def questions(self) -> list[TrainingQuestion]:
        """All questions, in their order."""
        with self.database.read() as session:
            return _questions(session)

    def set_questions(self, questions: Sequence[TrainingQuestion]) -> int:
        """Make these the training questions; returns their number. An error once somebody has been trained."""
        for question in questions:
            _check_grade(self.study, question.grade)
        with self.database.write() as session:
            if session.scalars(sa.select(TrainingAnswerRow.id).limit(1)).first() is not None:
                raise RankwellError(
                    f"{self.database.name}: expected a study in which nobody has been trained yet, found answers: "
                    "the questions stay as they are"
                )
            session.execute(sa.delete(TrainingRow))
            for number, one in enumerate(questions, 1):
                session.add(
                    TrainingRow(id=number, query=one.query, fields=dict(one.passage), grade=one.grade, why=one.why)
                )
        return len(questions)

    def state(self, name: str, *, again: bool = False) -> TrainingState:
        """How far the assessor is; with `again` in a new attempt, if the last one failed and there is another."""
        with self.database.read() as session:
            return _state(session, self.study, acting_assessor(session, name), again=again)

    def answer(self, name: str, attempt: int, number: int, grade: int | None) -> Feedback:
        """Save the answer to a question of an attempt. The first answer counts; each is answered with feedback."""
        if grade is not None:
            _check_grade(self.study, grade)
        with self.database.write() as session:
            row = acting_assessor(session, name, lock=True)
            state = _state(session, self.study, row)
            expected = {state.attempt, state.attempt + 1} if state.complete and state.more_tries else {state.attempt}
            question = next((one for one in _questions(session) if one.number == number), None)
            if question is None or attempt not in expected:
                raise NotThereError("question: expected one of the training, found another")
            there = _answers(session, row).get(attempt, {})
            if number not in there:
                same = {"assessor_id": row.id, "training_id": number, "attempt": attempt}
                session.add(TrainingAnswerRow(**same, grade=grade, given_at=self.clock()))
            given = there.get(number, grade)
        return Feedback(question, given, is_right(given, question.grade, self.study.grades))

    def feedback(self, name: str, attempt: int, number: int) -> Feedback:
        """The feedback to an answer that was given before."""
        with self.database.read() as session:
            given = _answers(session, acting_assessor(session, name)).get(attempt, {})
            question = next((one for one in _questions(session) if one.number == number), None)
            if question is None or number not in given:
                raise NotThereError("question: expected one that you have answered, found another")
            return Feedback(question, given[number], is_right(given[number], question.grade, self.study.grades))

    def scores(self) -> dict[str, TrainingState]:
        """The state of everybody who has begun the training."""
        with self.database.read() as session:
            begun = sa.select(AssessorRow).where(
                AssessorRow.id.in_(sa.select(TrainingAnswerRow.assessor_id)), AssessorRow.deleted_at.is_(None)
            )
            return {row.name: _state(session, self.study, row) for row in session.scalars(begun)}


def has_passed(session: Session, study: Study, assessor: AssessorRow) -> bool:
    """Whether an assessor may be given queries: they passed, or there is no training."""
    if session.scalars(sa.select(TrainingRow.id).limit(1)).first() is None:
        return True
    return _state(session, study, assessor).passed


def _questions(session: Session) -> list[TrainingQuestion]:
    rows = session.scalars(sa.select(TrainingRow).order_by(TrainingRow.id))
    return [TrainingQuestion(row.id, row.query, dict(row.fields), row.grade, row.why) for row in rows]


def _answers(session: Session, assessor: AssessorRow) -> dict[int, dict[int, int | None]]:
    """An assessor's answers by attempt and question."""
    row = TrainingAnswerRow
    rows = sa.select(row.attempt, row.training_id, row.grade).where(row.assessor_id == assessor.id)
    answers: dict[int, dict[int, int | None]] = {}
    for attempt, number, grade in session.execute(rows):
        answers.setdefault(attempt, {})[number] = grade
    return answers


def _state(session: Session, study: Study, assessor: AssessorRow, *, again: bool = False) -> TrainingState:
    questions, answers = _questions(session), _answers(session, assessor)
    attempt = max(answers, default=1)
    passed = not questions
    for given in answers.values():
        score = _score(questions, given, study)
        passed = passed or (score.answered == len(questions) and score.right >= study.pass_mark * len(questions))
    complete = len(answers.get(attempt, {})) == len(questions)
    more = not passed and attempt < study.training_tries
    if again and complete and more:
        attempt += 1
    given = answers.get(attempt, {})
    following = next((one for one in questions if one.number not in given), None)
    more = not passed and attempt < study.training_tries
    return TrainingState(attempt, _score(questions, given, study), len(questions), following, passed, more)


def _score(questions: Sequence[TrainingQuestion], given: Mapping[int, int | None], study: Study) -> GoldScore:
    right = sum(one.number in given and is_right(given[one.number], one.grade, study.grades) for one in questions)
    return GoldScore(len(given), right)


def _check_grade(study: Study, grade: int) -> None:
    if grade not in study.grades:
        raise ParameterError("grade", expected=f"one of {', '.join(map(str, study.grades))}", found=grade)


class NotTrainedError(AssessError):
    """The assessor has not passed the training round yet."""


def read_training(path: Path | str, reading: Reading | None = None) -> list[TrainingQuestion]:
    """Questions of a TSV or CSV table, or of JSON lines: query, grade, perhaps why; other columns are texts."""
    path, reading = Path(path), reading or Reading()
    start = head(path)
    rows = _json_rows(path) if start.lstrip().startswith("{") else _table_rows(path, start, reading)
    questions: list[TrainingQuestion] = []
    for number, row in rows:
        texts = {name: text for name, text in row.items() if name not in COLUMNS and text.strip()}
        grade = row.get("grade", "").strip()
        if not row.get("query", "").strip() or not is_whole(grade) or not texts:
            found = Phrase(", ".join(f"{name}={value!r}" for name, value in row.items())[:120] or "nothing")
            raise FormatError(
                path, number, expected="query, grade (a whole number) and a text of the passage", found=found
            )
        questions.append(
            TrainingQuestion(len(questions) + 1, row["query"].strip(), texts, int(grade), row.get("why", "").strip())
        )
    if not questions:
        raise RankwellError(f"{path}: expected training questions, found none")
    return questions


def _table_rows(path: Path, start: str, reading: Reading) -> Iterator[tuple[int, dict[str, str]]]:
    delimiter = max("\t,;", key=lambda mark: len(header(start, mark)))
    for number, cells in table_rows(path, reading, delimiter):
        yield number, dict(cells)


def _json_rows(path: Path) -> Iterator[tuple[int, dict[str, str]]]:
    for number, line in enumerate(path.read_text(encoding="utf-8-sig").splitlines(), 1):
        if line.strip():
            try:
                row: Any = json.loads(line)
            except ValueError as error:
                raise FormatError(path, number, expected="a JSON object", found=line) from error
            if not isinstance(row, dict):
                raise FormatError(path, number, expected="a JSON object", found=line)
            yield number, {str(name): "" if value is None else str(value) for name, value in row.items()}
