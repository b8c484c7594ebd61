from __future__ import annotations

import io
import os
import pty
import subprocess
import sys
import threading

import pytest

from rankwell.core import Progress
from rankwell.core import progress as module


class Clock:
    """A clock that goes on by a step at every look."""

    def __init__(self, step: float) -> None:
        self.now, self.step, self.looks = 0.0, step, 0

    def __call__(self) -> float:
        self.looks += 1
        self.now += self.step
        return self.now


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    made = Clock(1.0)
    monkeypatch.setattr(module.time, "monotonic", made)
    return made


@pytest.mark.usefixtures("clock")
def test_elsewhere_than_on_a_terminal_there_is_a_plain_line_now_and_then() -> None:
    stream = io.StringIO()
    with Progress("reading", unit="documents", total=40, stream=stream) as progress:
        assert list(progress.track(range(40))) == list(range(40))
    lines = stream.getvalue().splitlines()
    assert 2 <= len(lines) < 20
    assert lines[0].startswith("reading: ")
    assert lines[-1].startswith("reading: 100%, 40 documents, ")
    assert "\x1b" not in stream.getvalue()


def test_short_work_says_nothing() -> None:
    stream = io.StringIO()
    with Progress("reading", stream=stream) as progress:
        list(progress.track(range(1000)))
    assert stream.getvalue() == ""
    assert progress.count == 1000


@pytest.mark.usefixtures("clock")
def test_nothing_is_said_when_quiet() -> None:
    stream = io.StringIO()
    with Progress("reading", stream=stream, quiet=True) as progress:
        list(progress.track(range(1000)))
        progress.advance(5)
    assert stream.getvalue() == ""
    assert progress.count == 1005


def test_the_clock_is_looked_at_after_every_slow_item_but_rarely_for_quick_ones(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    looks = {}
    for step in (1.0, 1e-6):
        clock = Clock(step)
        monkeypatch.setattr(module.time, "monotonic", clock)
        list(Progress("x", stream=io.StringIO()).track(range(10_000)))
        looks[step] = clock.looks
    assert looks[1.0] >= 10_000
    assert looks[1e-6] < 200


def test_the_share_comes_from_the_total_or_from_the_files_being_read() -> None:
    progress = Progress("x", total=200, stream=io.StringIO())
    progress.advance(50)
    assert progress.share() == 0.25
    progress = Progress("x", stream=io.StringIO())
    assert progress.share() is None
    progress.watch(lambda: 30, 100)
    progress.watch(lambda: 0, 20)
    assert progress.share() == 0.25


def test_a_quiet_display_does_not_hold_on_to_the_files_it_is_told_of() -> None:
    module.SILENT.watch(lambda: 0, 100)
    assert module.SILENT.share() is None


def test_a_process_without_standard_error_can_use_rankwell() -> None:
    script = "import sys; sys.stderr = None; from rankwell.core import Progress\nwith Progress('x') as p: p.advance()"
    subprocess.run([sys.executable, "-c", script], check=True)


def test_on_a_terminal_there_is_a_bar_that_disappears_at_the_end() -> None:
    ours, theirs = pty.openpty()
    shown: list[bytes] = []

    def listen() -> None:
        try:
            while data := os.read(ours, 4096):
                shown.append(data)
        except OSError:  # the other end is closed
            return

    listener = threading.Thread(target=listen)
    listener.start()
    with (
        os.fdopen(theirs, "w") as stream,
        Progress("reading", unit="documents", total=600, stream=stream) as progress,
    ):
        list(progress.track(range(600)))
    listener.join(timeout=10)
    os.close(ours)
    text = b"".join(shown).decode()
    assert "reading" in text
    assert "600 documents" in text
    assert "\x1b[2K" in text  # the line of the bar is cleared
