"""Sending a request: not too often, with patience, and again where the service was busy."""

from __future__ import annotations

import http.client
import threading
import time
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from email.utils import parsedate_to_datetime
from typing import TypeVar

from rankwell import __version__
from rankwell.core import ParameterError, RankwellError
from rankwell.reviews.pubmed.replies import ServiceError

PASSING = (408, 425, 429, 500, 502, 503, 504)  # statuses after which asking again may help
LONGEST_PAUSE = 120.0
LARGEST_ANSWER = 500_000_000
SAID = 200  # characters of an error's text that are shown

T = TypeVar("T")


class Throttle:
    """Lets through so many requests a second, whichever thread they come from."""

    def __init__(
        self, rate: float, clock: Callable[[], float] = time.monotonic, sleep: Callable[[float], None] = time.sleep
    ) -> None:
        self._pause, self._clock, self._sleep = 1 / rate, clock, sleep
        self._next, self._lock = 0.0, threading.Lock()

    def wait(self) -> None:
        """Come back when the next request may be sent."""
        with self._lock:
            now = self._clock()
            turn = max(now, self._next)
            self._next = turn + self._pause
        if turn > now:
            self._sleep(turn - now)


@dataclass(frozen=True)
class Transport:
    """Posts forms to a base address. Posted, so that neither a log nor an error ever shows an address with the key."""

    base_url: str
    throttle: Throttle
    timeout: float = 30.0
    attempts: int = 6
    first_pause: float = 1.0
    sleep: Callable[[float], object] | None = field(default=None, repr=False)
    stopped: threading.Event = field(default_factory=threading.Event, repr=False)
    """Set by someone who gives up: threads that wait for another attempt then end at once."""

    def __post_init__(self) -> None:
        if urllib.parse.urlsplit(self.base_url).scheme not in ("http", "https"):
            raise ParameterError("base_url", expected="an address that starts with https://", found=self.base_url)
        if self.attempts < 1:
            raise ParameterError("attempts", expected="a number from 1", found=self.attempts)

    def ask(self, page: str, form: Mapping[str, str], read: Callable[[bytes], T]) -> T:
        """What `read` makes of the answer; it is called with the bytes as soon as all of them are there.

        Busy servers, lost connections, time-outs, cut or broken answers: each is asked again after a pause that doubles
        every time, or as long as the server wants (Retry-After). The last trouble is raised when patience ends.
        """
        for attempt in range(1, self.attempts + 1):
            wanted: float | None = None
            try:
                return read(self._post(page, form))
            except _Busy as busy:
                trouble, wanted = str(busy), busy.pause
            except ServiceError as error:
                trouble = str(error)
            if attempt < self.attempts and not self.stopped.is_set():
                pause = self.first_pause * 2 ** (attempt - 1) if wanted is None else wanted
                (self.sleep or self.stopped.wait)(min(pause, LONGEST_PAUSE))
            if self.stopped.is_set():
                break
        raise RankwellError(f"{self.base_url}{page}: no answer after {self.attempts} attempts: {trouble}")

    def _post(self, page: str, form: Mapping[str, str]) -> bytes:
        self.throttle.wait()
        request = urllib.request.Request(  # noqa: S310 -- the address is checked when the transport is made
            self.base_url + page,
            data=urllib.parse.urlencode(form).encode(),
            headers={"User-Agent": f"rankwell/{__version__}", "Accept-Encoding": "identity"},
        )
        try:
            with urllib.request.urlopen(request, timeout=self.timeout) as answer:  # noqa: S310 -- likewise
                content: bytes = answer.read(LARGEST_ANSWER + 1)
        except urllib.error.HTTPError as error:
            with error:
                said = error.read(SAID).decode("utf-8", errors="replace").strip()
            if error.code in PASSING:
                raise _Busy(f"status {error.code} {error.reason}", _pause(error.headers.get("Retry-After"))) from None
            raise RankwellError(f"{self.base_url}{page}: status {error.code} {error.reason}: {said}") from None
        except TimeoutError:
            raise _Busy(f"nothing within {self.timeout:g} seconds") from None
        except (urllib.error.URLError, http.client.HTTPException, OSError) as error:
            reason = getattr(error, "reason", None) or error
            raise _Busy(f"{type(error).__name__}: {reason}") from None
        if len(content) > LARGEST_ANSWER:
            raise RankwellError(f"{self.base_url}{page}: an answer of more than {LARGEST_ANSWER:,} bytes")
        return content


class _Busy(Exception):  # noqa: N818 -- no error yet: it is asked again
    def __init__(self, what: str, pause: float | None = None) -> None:
        super().__init__(what)
        self.pause = pause


def _pause(header: str | None) -> float | None:
    """Retry-After: seconds, or a date."""
    if header is None:
        return None
    if header.strip().isdecimal():
        return float(header)
    try:
        return max(0.0, parsedate_to_datetime(header).timestamp() - time.time())
    except ValueError:
        return None
