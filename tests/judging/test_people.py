from __future__ import annotations

import pytest
from small_studies import Clock, grade_all, join, make_study
from sqlalchemy import select

from rankwell.core import ParameterError
from rankwell.judging.schema import AssessorRow, InvitationRow, PersonRow, PresentationRow, SignInLinkRow, Table
from rankwell.judging.study import AssessError, NotThereError, TooManyAttemptsError

HERE = "10.0.0.1"


def everything(store) -> str:
    """All that the database holds, as one text."""
    with store.database.read() as session:
        return "\n".join(
            str(row) for table in Table.metadata.sorted_tables for row in session.execute(select(table)).all()
        )


def test_a_code_lets_as_many_in_as_it_has_places(address: str, closing) -> None:
    store = closing(make_study(address))
    code = store.invitations.invite(places=2)
    names = {store.invitations.redeem(code, HERE).account.name for _ in range(2)}
    assert len(names) == 2
    with pytest.raises(NotThereError):
        store.invitations.redeem(code, HERE)
    (invitation,) = store.invitations.all()
    assert (invitation.places, invitation.taken) == (2, 2)


def test_a_code_may_be_typed_carelessly(sqlite_address: str, closing) -> None:
    store = closing(make_study(sqlite_address))
    code = store.invitations.invite()
    typed = f"  {code.lower().replace('-', ' ').replace('0', 'o').replace('1', 'l')} "
    assert store.invitations.redeem(typed, HERE).account.name


def test_the_return_code_leads_to_the_same_person(sqlite_address: str, closing) -> None:
    store = closing(make_study(sqlite_address))
    welcome = store.invitations.redeem(store.invitations.invite(places=5), HERE)
    for _ in range(2):
        back = store.invitations.redeem(welcome.return_code, HERE)
        assert (back.account.name, back.return_code) == (welcome.account.name, None)


def test_codes_expire_and_can_be_withdrawn(sqlite_address: str, closing, clock: Clock) -> None:
    store = closing(make_study(sqlite_address, clock=clock))
    old, withdrawn = store.invitations.invite(days=3), store.invitations.invite(days=None)
    store.invitations.withdraw(store.invitations.all()[0].id)
    clock.forward(days=3)
    for code in (old, withdrawn, "", "nonsense"):
        with pytest.raises(NotThereError):
            store.invitations.redeem(code, HERE)


def test_wrong_codes_are_counted_by_place(address: str, closing, clock: Clock) -> None:
    store = closing(make_study(address, clock=clock))
    code = store.invitations.invite(places=2)
    for _ in range(30):
        with pytest.raises(NotThereError):
            store.invitations.redeem("wrong", HERE)
    with pytest.raises(TooManyAttemptsError):
        store.invitations.redeem(code, HERE)
    assert store.invitations.redeem(code, "10.0.0.2")
    clock.forward(minutes=61)
    assert store.invitations.redeem(code, HERE)


def test_a_mailed_link_is_good_once(address: str, closing) -> None:
    store = closing(make_study(address, open_to_all=True))
    token = store.sign_in.request_link("Ada@Example.org ", HERE)
    account = store.sign_in.sign_in(token, HERE)
    with pytest.raises(NotThereError):
        store.sign_in.sign_in(token, HERE)
    again = store.sign_in.sign_in(store.sign_in.request_link("ada@example.org", HERE), HERE)
    assert again.name == account.name
    assert store.people.address(account.name) == "ada@example.org"


def test_a_mailed_link_expires(sqlite_address: str, closing, clock: Clock) -> None:
    store = closing(make_study(sqlite_address, clock=clock, open_to_all=True))
    token = store.sign_in.request_link("ada@example.org", HERE)
    clock.forward(minutes=31)
    with pytest.raises(NotThereError):
        store.sign_in.sign_in(token, HERE)


def test_strangers_get_no_link_and_no_hint(sqlite_address: str, closing) -> None:
    store = closing(make_study(sqlite_address))
    assert store.sign_in.request_link("ada@example.org", HERE) is None
    assert store.sign_in.request_link("ada@example.org", HERE, "wrong code") is None


def test_an_invited_stranger_signs_up_by_mail(sqlite_address: str, closing) -> None:
    store = closing(make_study(sqlite_address))
    code = store.invitations.invite(administrator=True)
    token, spare = (store.sign_in.request_link(f"{name}@example.org", HERE, code) for name in ("ada", "bob"))
    account = store.sign_in.sign_in(token, HERE)
    assert account.administrator
    with pytest.raises(NotThereError):
        store.sign_in.sign_in(spare, HERE)  # there was one place
    assert store.sign_in.request_link("ada@example.org", HERE), "who is known needs no code"
    assert store.sign_in.request_link("bob@example.org", HERE, code) is None


def test_links_are_limited_by_address_and_by_place(sqlite_address: str, closing, clock: Clock) -> None:
    store = closing(make_study(sqlite_address, clock=clock, open_to_all=True))
    tokens = [store.sign_in.request_link("ada@example.org", HERE) for _ in range(7)]
    assert [token is not None for token in tokens] == [True] * 5 + [False] * 2
    assert store.sign_in.request_link("bob@example.org", HERE)
    for number in range(92):
        store.sign_in.request_link(f"person{number}@example.org", HERE)
    with pytest.raises(TooManyAttemptsError):
        store.sign_in.request_link("carol@example.org", HERE)
    clock.forward(minutes=61)
    assert store.sign_in.request_link("ada@example.org", HERE)


@pytest.mark.parametrize(
    "wrong", ["", "ada", "@example.org", "ada@", "a@b@c", "ada@example.org\nBcc: x@y.z", "a b@c.d", "x" * 300 + "@a.b"]
)
def test_what_is_no_address_is_refused(sqlite_address: str, closing, wrong: str) -> None:
    store = closing(make_study(sqlite_address))
    with pytest.raises(ParameterError, match="e-mail: expected an address"):
        store.sign_in.request_link(wrong, HERE)


def test_no_secret_and_no_ip_address_stands_in_the_database(sqlite_address: str, closing) -> None:
    store = closing(make_study(sqlite_address, open_to_all=True))
    code = store.invitations.invite()
    token = store.sign_in.request_link("ada@example.org", HERE)
    welcome = store.invitations.redeem(code, HERE)
    held = everything(store)
    for secret in (code, code.replace("-", ""), token, welcome.return_code, HERE):
        assert secret not in held
    assert held.count("ada@example.org") == 1


def test_english_levels_are_one_to_nine(sqlite_address: str, closing) -> None:
    store = closing(make_study(sqlite_address))
    (name,) = join(store)
    store.people.set_english(name, 7)
    assert store.people.account(name).english == 7
    for wrong in (0, 10):
        with pytest.raises(ParameterError, match="English level: expected 1 to 9"):
            store.people.set_english(name, wrong)


def test_signing_out_everywhere_makes_old_sessions_worthless(sqlite_address: str, closing) -> None:
    store = closing(make_study(sqlite_address))
    (name,) = join(store)
    before = store.people.account(name).session
    store.people.sign_out_everywhere(name)
    assert store.people.account(name).session > before


@pytest.mark.parametrize("keep_grades", [True, False])
def test_a_deleted_person_leaves_no_trace_but_perhaps_the_grades(address: str, closing, keep_grades: bool) -> None:
    store = closing(make_study(address, keep_grades=keep_grades, open_to_all=True))
    name = store.sign_in.sign_in(store.sign_in.request_link("zoe@example.org", HERE), HERE).name
    (other,) = join(store)
    store.people.consent(name)
    for who in (name, other):
        store.judging.begin(who)
    task = store.judging.task(name)
    store.judging.give(name, task.assignment, 1, 5, note="I am Zoe")
    store.sign_in.request_link("zoe@example.org", HERE)
    store.people.delete(name, by=other)
    held = everything(store)
    assert "zoe" not in held.lower()
    assert name not in held
    assert store.people.account(name) is None
    assert list(store.grades().grades) == ([5] if keep_grades else [])
    with store.database.read() as session:
        for table in (PersonRow, SignInLinkRow):
            assert session.scalars(select(table)).all() == []
        left = session.scalars(select(InvitationRow).where(InvitationRow.assessor_id.is_not(None))).all()
        assert len(left) == 1, "the other's code to come back with"
        assert len(session.scalars(select(AssessorRow)).all()) == (2 if keep_grades else 1)
        assert all(row.note is None for row in session.scalars(select(PresentationRow)))
    assert {query.state for query in store.judging.queries(other)} == {"open"}


def test_open_work_of_a_deleted_person_goes_to_others(sqlite_address: str, closing) -> None:
    store = closing(make_study(sqlite_address, queries=6, assessors_per_query=1))
    gone, other = join(store, 2)
    store.judging.begin(gone)
    store.people.delete(gone)
    assert store.judging.begin(other)
    assert grade_all(store, other) == 18


def test_the_last_administrator_stays(sqlite_address: str, closing) -> None:
    store = closing(make_study(sqlite_address))
    first, second = join(store, 2)
    store.people.make_administrator(first)
    for attempt in (store.people.make_assessor, store.people.delete):
        with pytest.raises(AssessError, match="last administrator"):
            attempt(first)
    store.people.make_administrator(second, by=first)
    store.people.make_assessor(first, by=second)
    assert [account.administrator for account in store.people.accounts()] == [False, True]


def test_what_administrators_do_is_written_down(sqlite_address: str, closing) -> None:
    store = closing(make_study(sqlite_address))
    chief, name = join(store, 2)
    store.people.pause(name, by=chief)
    store.people.pause(name, by=chief)  # nothing new
    store.people.resume(name, by=chief)
    kinds = [(event.kind, event.assessor, event.details.get("who")) for event in store.people.events()]
    assert kinds[:2] == [("paused: no", chief, name), ("paused: yes", chief, name)]
    assert [kind for kind, *_ in kinds[2:]] == ["invited"]
