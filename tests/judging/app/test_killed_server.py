"""A grade that the server has acknowledged is there after a kill -9."""

from __future__ import annotations

import re
from concurrent.futures import ThreadPoolExecutor
from http.client import HTTPConnection, HTTPException
from pathlib import Path
from threading import Event
from urllib.parse import urlencode

import pytest
from serving import start_server
from starlette.responses import Response

from inbox import free_port
from rankwell.apps.assess.application import cookie_name
from rankwell.apps.web import Session, Sessions
from rankwell.judging.store import Store, open_store
from studies import make_study

pytestmark = pytest.mark.slow

CLIENTS, GRADES, KEY = 20, 1000, "k" * 40
FORM = re.compile(r'class="answer" method="post" action="/judge/(\d+)/(\d+)"')
Grade = tuple[int, int, int]  # assignment, position, grade


def people(store: Store) -> list[str]:
    """Assessors who can begin at once."""
    names = []
    for number in range(CLIENTS):
        name = store.invitations.redeem(store.invitations.invite(), str(number)).account.name
        store.people.consent(name)
        store.judging.begin(name)
        names.append(name)
    return names


def work(name: str, cookie: str, port: int, enough: Event, count: list[int]) -> tuple[list[Grade], Grade | None]:
    """Grade until the server is gone: what was acknowledged, and what was on its way."""
    sessions, session = Sessions(KEY.encode(), name=cookie, secure=False), Session.begin(name)
    response = Response()
    sessions.write(response, session)
    headers = {
        "Cookie": response.headers["set-cookie"].partition(";")[0],
        "X-Rankwell-Fragment": "1",
        "Content-Type": "application/x-www-form-urlencoded",
    }
    acknowledged: list[Grade] = []
    asked: Grade | None = None
    connection = HTTPConnection("127.0.0.1", port, timeout=30)
    try:
        connection.request("GET", "/judge", headers=headers)
        page = connection.getresponse().read().decode()
        while (found := FORM.search(page)) and not enough.is_set():
            assignment, position = map(int, found.groups())
            asked = (assignment, position, 1 + (assignment + position) % 5)
            body = urlencode({"csrf": sessions.token(session), "answer": asked[2], "note": ""})
            connection.request("POST", found[0].partition('action="')[2][:-1], body, headers)
            answer = connection.getresponse()
            page = answer.read().decode()
            assert answer.status == 200
            acknowledged.append(asked)
            count.append(1)
            asked = None
    except (OSError, HTTPException):
        pass  # the server is gone
    finally:
        connection.close()
    return acknowledged, asked


def test_no_acknowledged_grade_is_lost_when_the_server_is_killed(tmp_path: Path) -> None:
    database, port = tmp_path / "study.db", free_port()
    with make_study(database, queries=120, passages=20, assessors_per_query=1) as store:
        names, cookie = people(store), cookie_name(store)
    server = start_server(database, tmp_path / "log", "--quiet", port=port, RANKWELL_SECRET_KEY=KEY)
    count: list[int] = []
    enough = Event()
    with ThreadPoolExecutor(CLIENTS) as clients:
        jobs = [clients.submit(work, name, cookie, port, enough, count) for name in names]
        while len(count) < GRADES // 2 and not all(job.done() for job in jobs):
            enough.wait(0.005)
        server.process.kill()
        server.process.wait()
        results = [job.result() for job in jobs]
    acknowledged = {grade for grades, _ in results for grade in grades}
    on_their_way = {asked for _, asked in results if asked}
    assert GRADES // 2 <= len(acknowledged) < GRADES
    assert on_their_way, "it was killed while nobody was waiting for an answer"
    assert stored(database) >= acknowledged
    assert stored(database) <= acknowledged | on_their_way

    again = start_server(database, tmp_path / "log", "--quiet", port=port, RANKWELL_SECRET_KEY=KEY)
    try:
        with ThreadPoolExecutor(CLIENTS) as clients:
            jobs = [clients.submit(work, name, cookie, port, enough, count) for name in names]
            while len(count) < GRADES and not all(job.done() for job in jobs):
                enough.wait(0.005)
            enough.set()
            acknowledged |= {grade for job in jobs for grade in job.result()[0]}
    finally:
        again.process.kill()
        again.process.wait()
    assert len(acknowledged) >= GRADES
    assert stored(database) >= acknowledged


def stored(database: Path) -> set[Grade]:
    """The grades in the database, each once."""
    from sqlalchemy import select

    from rankwell.judging.schema import GradeRow

    with open_store(database) as store, store.database.read() as session:
        rows = session.execute(select(GradeRow.assignment_id, GradeRow.position, GradeRow.grade)).all()
    found = [(assignment, position, grade or 0) for assignment, position, grade in rows]
    assert len(found) == len(set(found))
    return set(found)
