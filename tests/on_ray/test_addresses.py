"""What `--on` may say, and where workers then live."""

from __future__ import annotations

import os
import socket
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from inbox import free_port
from needs import require
from rankwell.core import MissingExtraError, ParameterError, RankwellError
from rankwell.ray import connected
from rankwell.ray.cluster import MOST_THREADS, Address, cluster_is_here, places
from rankwell.ray.worker import Machine


@pytest.mark.parametrize(
    ("text", "meant"),
    [
        ("ray", Address()),
        ("ray:workers=3", Address(workers=3)),
        ("ray:address=127.0.0.1:6379", Address("127.0.0.1", 6379)),
        ("ray:address=head:6379,workers=3,threads=2", Address("head", 6379, workers=3, threads=2)),
        ("ray://head:10001", Address("head", 10001, client=True)),
        ("ray://head:10001?workers=3", Address("head", 10001, client=True, workers=3)),
    ],
)
def test_an_address_says_where_and_how_much(text: str, meant: Address) -> None:
    assert Address.parse(text) == meant


@pytest.mark.parametrize(
    "text",
    [
        *("", "dask", "rays", "ray:", "ray:address=", "ray:address=head", "ray:address=head:x", "ray://", "ray://head"),
        *("ray://head:0", "ray://head:99999", "ray://me:secret@head:1", "ray://head:1/path", "ray:workers=x"),
        *("ray:workers=-1", "ray:cores=3", "ray://head:1?cores=3", "ray:address=head:1,"),
    ],
)
def test_any_other_address_is_refused_with_what_was_expected(text: str) -> None:
    with pytest.raises(ParameterError, match="expected ray, ray:address=HOST:PORT"):
        Address.parse(text)


def test_no_workers_and_no_threads_are_refused() -> None:
    with pytest.raises(ParameterError, match="workers: expected a number from 1, found 0"):
        Address.parse("ray:workers=0")
    with pytest.raises(ParameterError, match="threads: expected a number from 1, found 0"):
        Address.parse("ray", threads=0)


def test_threads_of_the_address_come_before_those_of_the_command() -> None:
    assert Address.parse("ray:threads=2", threads=4).threads == 2
    assert Address.parse("ray", threads=4).threads == 4


@pytest.mark.parametrize("scheme", ["ray:address=", "ray://"])
def test_a_cluster_that_does_not_answer_is_told_before_ray_tries_for_minutes(scheme: str) -> None:
    require("ray", there=find_spec("ray") is not None, how="pip install 'rankwell[ray]'")
    address = f"{scheme}127.0.0.1:{free_port()}"
    with pytest.raises(RankwellError, match=r"nobody answers there .*refused"), connected(address):
        pass


def test_a_cluster_of_this_machine_is_joined_only_where_it_answers(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("RAY_TMPDIR", str(tmp_path))
    monkeypatch.delenv("RAY_ADDRESS", raising=False)
    assert not cluster_is_here()
    (tmp_path / "ray").mkdir()
    note = tmp_path / "ray" / "ray_current_cluster"
    for stale in ("", "nonsense", f"127.0.0.1:{free_port()}"):
        note.write_text(stale)
        assert not cluster_is_here()
    with socket.create_server(("127.0.0.1", 0)) as listening:
        note.write_text(f"127.0.0.1:{listening.getsockname()[1]}")
        assert cluster_is_here()
        if os.getuid() == 0:  # nobody else can give files away
            os.chown(note, 65534, 65534)
            assert not cluster_is_here()
    monkeypatch.setenv("RAY_ADDRESS", "head:6379")
    assert cluster_is_here()


def test_without_ray_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "ray", None)
    with pytest.raises(MissingExtraError, match=r"pip install 'rankwell\[ray\]'"), connected("ray"):
        pass


def test_every_machine_has_a_worker_for_eight_cores() -> None:
    small, large, none = Machine("a", "10.0.0.1", 2), Machine("b", "10.0.0.2", 20), Machine("c", "10.0.0.3", 0)
    found = places([small, large, none])
    assert [(place.machine.id, place.threads) for place in found] == [("a", 2), ("b", 6), ("b", 6), ("b", 6)]


def test_so_many_workers_share_the_cores_of_their_machines() -> None:
    machines = [Machine("a", "10.0.0.1", 4), Machine("b", "10.0.0.2", 8)]
    found = places(machines, workers=3)
    assert [(place.machine.id, place.threads) for place in found] == [("a", 4), ("b", 4), ("b", 4)]
    assert [place.threads for place in places(machines, workers=3, threads=1)] == [1, 1, 1]
    assert [place.machine.id for place in places(machines, threads=4)] == ["a", "b", "b"]
    with pytest.raises(ParameterError, match="workers: expected a number up to 12"):
        places(machines, workers=13)
    with pytest.raises(RankwellError, match="expected a cluster with processors"):
        places([Machine("a", "10.0.0.1", 0)])


@given(
    st.lists(st.integers(1, 100), min_size=1, max_size=8),
    st.none() | st.integers(1, 40),
    st.none() | st.integers(1, 128),
)
def test_no_machine_is_given_more_threads_than_it_has_cores(
    cores: list[int], workers: int | None, threads: int | None
) -> None:
    machines = [Machine(str(number), "host", count) for number, count in enumerate(cores)]
    if workers is not None and workers > sum(cores):
        return
    found = places(machines, workers, threads)
    assert len(found) == workers if workers else len(found) >= len(machines)
    for machine in machines:
        own = [place.threads for place in found if place.machine is machine]
        assert sum(own) <= machine.cores
        assert all(1 <= one <= (threads or 100) for one in own)
        assert workers or threads or max(own) <= MOST_THREADS
