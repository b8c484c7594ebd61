"""What people do in a browser: come in by invitation, and grade by key."""

from __future__ import annotations

from typing import Any

from rankwell.judging.store import Store
from servers import Server


def come_in(page: Any, server: Server, store: Store, *, administrator: bool = False) -> None:
    page.goto(f"{server.url}/join?code={store.invitations.invite(administrator=administrator)}")
    page.click("text=Join")
    page.goto(f"{server.url}/welcome")
    page.check("input[name=english][value='8']")
    page.check("input[name=agreed]")
    page.click("main button")
    page.wait_for_selector("text=Get my first queries")


def press(page: Any, key: str) -> None:
    page.wait_for_timeout(200)  # a key within 150 ms belongs to the passage before
    with page.expect_response(lambda response: response.request.method == "POST"):
        page.keyboard.press(key)
    page.wait_for_load_state()
