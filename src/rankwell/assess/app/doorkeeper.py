"""Who may come in, as a study's database has it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from rankwell.assess.accounts import Account
from rankwell.assess.errors import NotThereError, TooManyAttemptsError
from rankwell.assess.store import Store
from rankwell.core import ParameterError
from rankwell.web.visitors import Entry, NotValidError, TooManyTriesError


@dataclass(frozen=True)
class StudyDoorkeeper:
    """Links and codes of one study."""

    store: Store

    def token(self, address: str, place: str, code: str | None) -> str | None:
        """What to mail to an address."""
        with _as_the_web_says():
            return self.store.sign_in.request_link(address, place, code)

    def by_link(self, token: str, place: str) -> Entry:
        """Who has a mailed token."""
        with _as_the_web_says():
            return _entry(self.store.sign_in.sign_in(token, place))

    def by_code(self, code: str, place: str) -> Entry:
        """Who has a code."""
        with _as_the_web_says():
            welcome = self.store.invitations.redeem(code, place)
            return _entry(welcome.account, welcome.return_code)


def _entry(account: Account, return_code: str | None = None) -> Entry:
    return Entry(account.name, account.session, return_code)


@contextmanager
def _as_the_web_says() -> Iterator[None]:
    try:
        yield
    except TooManyAttemptsError as error:
        raise TooManyTriesError from error
    except (NotThereError, ParameterError) as error:
        raise NotValidError from error
