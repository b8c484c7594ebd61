"""An open study: all operations of the application, the commands and the library on its database.

    store = open_store("study.db")                    # a file, or postgresql://USER@HOST/NAME
    store.study                                       # Study: title, scale, guidelines (Markdown), consent, ...

    store.invitations.invite(places=20) -> code       # shown once; .all(), .withdraw(number, by)
    store.invitations.redeem(code, ip) -> Welcome(account, return_code)
    store.sign_in.request_link(email, ip, code=None) -> token to mail, or None (say the same to the user)
    store.sign_in.sign_in(token, ip) -> Account       # single use; behind a button, since mail programs open links

    store.people.account(name) -> Account | None      # every request: compare account.session with the cookie's
    store.people.consent(name), .set_english(name, level), .sign_out_everywhere(name), .delete(name, by)
    store.people.accounts(), .address(name), .pause(name, by), .resume(name, by), .make_administrator(name, by),
        .make_assessor(name, by), .events()

    store.judging.begin(name) -> bool                 # new sets where no work is open
    store.judging.task(name, assignment=None, position=None) -> Task | None
    store.judging.give(name, assignment, position, grade or None, milliseconds=, note=) -> whether the query is done
    store.judging.undo(name) -> Task | None; .can_undo(name), .note(name, assignment, position, text), .queries(name)

    store.progress() -> StudyProgress                 # totals, and a row for each query and assessor
    store.grades() -> Grades                          # the plain columns that labels and agreement take
    store.answers() -> list[Answered]                 # all publishable properties of each answer
    store.originals() -> Judgments                    # the earlier judgments of the pool

Assessors have random names. Methods raise `AssessError`s (`NotThereError`, `PausedError`,
`NoConsentError`, `TooManyAttemptsError`) and `ParameterError`s; all may be called from many threads at once.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from pathlib import Path
from random import Random, SystemRandom
from types import TracebackType
from typing import Self

from rankwell.core import Judgments, RankwellError
from rankwell.judging.database import Database, open_database
from rankwell.judging.export import Answered, Noted, answers, grades_table, notes, original_judgments, query_texts
from rankwell.judging.grades import Grades
from rankwell.judging.judging import Judging
from rankwell.judging.people import People, moment
from rankwell.judging.progress import StudyProgress, progress_of
from rankwell.judging.schema import StudyRow
from rankwell.judging.sign_in import Invitations, SignIn
from rankwell.judging.study import Study


class Store:
    """A study with its database; `clock` and `random` are for tests."""

    def __init__(
        self, database: Database, *, clock: Callable[[], datetime] = moment, random: Random | None = None
    ) -> None:
        self.database = database
        with database.read() as session:
            row = session.get(StudyRow, 1)
            if row is None:
                raise RankwellError(
                    f"{database.name}: expected a study, found none: make one with `rankwell assess create`"
                )
            self.study = Study.from_json(row.settings)
            self.created_at = row.created_at
        self.invitations = Invitations(database, clock)
        self.sign_in = SignIn(database, self.study, clock)
        self.people = People(database, self.study, clock)
        self.judging = Judging(database, self.study, clock, random or SystemRandom())

    def progress(self) -> StudyProgress:
        """Progress in total, by query and by assessor."""
        with self.database.read() as session:
            return progress_of(session, self.study)

    def answers(self) -> list[Answered]:
        """All valid answers with their publishable properties."""
        with self.database.read() as session:
            return list(answers(session))

    def notes(self) -> list[Noted]:
        """The assessors' notes: free text, not to be published unread."""
        with self.database.read() as session:
            return list(notes(session))

    def query_texts(self) -> dict[str, str]:
        """The text of each query by its id."""
        with self.database.read() as session:
            return query_texts(session)

    def grades(self, *, finished: bool = False) -> Grades:
        """The valid answers as `Grades`; with `finished` only of queries that their assessor finished."""
        with self.database.read() as session:
            return grades_table(session, finished=finished)

    def originals(self) -> Judgments:
        """The grades that passages of the pool had before the study."""
        with self.database.read() as session:
            return original_judgments(session)

    def close(self) -> None:
        """Close the database."""
        self.database.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def open_store(where: Path | str) -> Store:
    """Open a study: its database's file, or its `postgresql://` address."""
    database = open_database(where)
    try:
        return Store(database)
    except BaseException:
        database.close()
        raise
