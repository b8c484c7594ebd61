"""Addresses: what they say, and that a password is never told."""

from __future__ import annotations

import pytest

from rankwell.clickhouse import parse_address
from rankwell.core import ParameterError
from rankwell.index import scheme_of


def test_an_address_has_hosts_a_database_and_settings() -> None:
    found = parse_address(
        "clickhouse://me:p%40ss@one:9000,two,[::1]:1/papers?cluster=big&timeout=5&retries=0&partial=1"
    )
    assert found.hosts == (("one", 9000), ("two", 8123), ("::1", 1))
    assert (found.user, found.password, found.database) == ("me", "p@ss", "papers")
    assert (found.cluster, found.timeout, found.retries, found.partial) == ("big", 5.0, 0, True)


def test_what_is_left_out_is_usual() -> None:
    found = parse_address("clickhouses://one")
    assert (found.user, found.password, found.database, found.hosts) == ("default", "", "rankwell", (("one", 8443),))
    assert parse_address("chdb:///data/ch").folder == "/data/ch"
    assert parse_address("chdb:///data/ch?database=x").database == "x"


def test_a_password_is_never_told() -> None:
    found = parse_address("clickhouse://me:secret@one/papers")
    assert "secret" not in f"{found} {found!r}"
    for wrong in ("clickhouse://me:secret@/x", "clickhouse://me:secret@one:x/y", "clickhouse://me:secret@one/x?a=b"):
        with pytest.raises(ParameterError) as told:
            parse_address(wrong)
        assert "secret" not in str(told.value)


def test_a_password_may_stand_in_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RANKWELL_CLICKHOUSE_PASSWORD", "hidden")
    addresses = map(parse_address, ("clickhouse://me@one/papers", "clickhouse://me:other@one/papers"))
    assert [found.password for found in addresses] == ["hidden", "other"]


@pytest.mark.parametrize(
    ("address", "message"),
    [
        ("chdb://", "expected a folder"),
        ("clickhouse://one/x?timeout=0", "seconds above 0"),
        ("clickhouse://one/x?retries=-1", "a whole number from 0"),
        ("clickhouse://one/x?partial=yes", "0 or 1"),
        ("clickhouse://one/x?speed=9", "options among cluster"),
        ("chdb:///x?cluster=a", "options among database"),
    ],
)
def test_an_error_says_what_was_expected(address: str, message: str) -> None:
    with pytest.raises(ParameterError, match=message):
        parse_address(address)


def test_a_folder_is_no_address() -> None:
    assert scheme_of("index/papers") is None
    assert scheme_of("chdb") is None
    assert scheme_of("chdb:///x") == "chdb"
