"""Send requests to NCBI: with an e-mail address, at the allowed rate, with retries."""

from __future__ import annotations

import http.client
import os
import threading
import time
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from email.utils import parsedate_to_datetime
from typing import TypeVar
from xml.etree.ElementTree import Element, tostring

from rankwell import __version__
from rankwell.collections.formats.pubmed import ARTICLES, pubmed_document
from rankwell.collections.safe_xml import elements, text_of
from rankwell.core import Document, FormatError, ParameterError, RankwellError

SEARCH_ANSWER = "PubMed's answer to a search"
FETCH_ANSWER = "PubMed's answer to a request for articles"
# Errors of a wrong request: a retry would give the same answer.
FINAL = ("empty term", "invalid uid", "id list is empty", "api key", "invalid db", "cannot be parsed")


class ServiceError(RankwellError):
    """A temporary error of the service; a retry may help."""


@dataclass(frozen=True)
class SearchResult:
    """The ids in the service's order, the total number of matches, and warnings (ignored words)."""

    ids: tuple[str, ...]
    count: int
    remarks: tuple[str, ...] = ()


def search_result(answer: bytes) -> SearchResult:
    """Parse an answer of esearch; raises ServiceError where it is broken or a temporary error."""
    try:
        _, element = next(iter(elements([answer], ("eSearchResult", "ERROR"), SEARCH_ANSWER)), (0, None))
    except FormatError as error:
        raise ServiceError(str(error)) from error
    if element is None:
        raise ServiceError(f"{SEARCH_ANSWER}: expected <eSearchResult>, found {answer[:80]!r}")
    _refuse_errors(element)
    count = text_of(element.find("Count"))
    if not count.isdecimal():
        raise ServiceError(f"{SEARCH_ANSWER}: expected a count, found none")
    remarks = [
        f"{part.tag}: {text_of(part)}" for name in ("ErrorList", "WarningList") for part in element.findall(f"{name}/*")
    ]
    ids = dict.fromkeys(filter(None, (text_of(part) for part in element.findall("IdList/Id"))))
    return SearchResult(tuple(ids), int(count), tuple(remarks))


def articles(answer: bytes) -> dict[str, bytes]:
    """The articles of an answer of efetch by PMID, each as separate XML; raises ServiceError where it is broken."""
    by_pmid: dict[str, bytes] = {}
    root = False
    try:
        for _, element in elements([answer], (*ARTICLES, "eFetchResult", "ERROR"), FETCH_ANSWER):
            _refuse_errors(element)
            document = pubmed_document(element) if element.tag in ARTICLES else None
            if document is not None:
                by_pmid[document.id] = tostring(element, encoding="utf-8")
            root = True
    except FormatError as error:
        raise ServiceError(str(error)) from error
    if not root and b"ArticleSet" not in answer:
        raise ServiceError(f"{FETCH_ANSWER}: expected a set of articles, found {answer[:80]!r}")
    return by_pmid


def article_document(article: bytes) -> Document | None:
    """Convert one of those articles into a document."""
    _, element = next(iter(elements([article], ARTICLES, FETCH_ANSWER)))
    return pubmed_document(element)


def _refuse_errors(element: Element) -> None:
    """Raise for an `<ERROR>`: temporary, unless it names a mistake in the request."""
    error = element if element.tag == "ERROR" else element.find("ERROR")
    if error is not None:
        said = text_of(error)
        kind = RankwellError if any(words in said.lower() for words in FINAL) else ServiceError
        raise kind(f"PubMed says: {said or 'an error without a word'}")


PASSING = (408, 425, 429, 500, 502, 503, 504)  # statuses after which a retry may help
LONGEST_PAUSE = 120.0
LARGEST_ANSWER = 500_000_000
SAID = 200  # characters of an error's text that are shown

T = TypeVar("T")


class Throttle:
    """Limits the requests per second of all threads."""

    def __init__(
        self, rate: float, clock: Callable[[], float] = time.monotonic, sleep: Callable[[float], None] = time.sleep
    ) -> None:
        self._pause, self._clock, self._sleep = 1 / rate, clock, sleep
        self._next, self._lock = 0.0, threading.Lock()

    def wait(self) -> None:
        """Return when the next request may be sent."""
        with self._lock:
            now = self._clock()
            turn = max(now, self._next)
            self._next = turn + self._pause
        if turn > now:
            self._sleep(turn - now)


@dataclass(frozen=True)
class Transport:
    """Posts forms to a base URL. They are posted so that neither logs nor errors show a URL with the key."""

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
        """Send a form and return `read` of the answer's bytes.

        Busy servers, lost connections, time-outs, cut or broken answers are retried after a pause that doubles
        every time, or as long as the server wants (Retry-After). After the last retry the error is raised.
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
    """Seconds of a Retry-After header, which has seconds or a date."""
    if header is None:
        return None
    if header.strip().isdecimal():
        return float(header)
    try:
        return max(0.0, parsedate_to_datetime(header).timestamp() - time.time())
    except ValueError:
        return None


TOOL = "rankwell"
WITHOUT_KEY, WITH_KEY = 3.0, 10.0  # requests a second that NCBI allows


@dataclass(frozen=True)
class Account:
    """The e-mail address and the API key. Neither is printed, logged, cached or part of a fingerprint."""

    email: str = field(default="", repr=False)
    api_key: str = field(default="", repr=False)

    @classmethod
    def from_environment(cls) -> Account:
        """Read the account from RANKWELL_NCBI_EMAIL and RANKWELL_NCBI_API_KEY."""
        return cls(os.environ.get("RANKWELL_NCBI_EMAIL", ""), os.environ.get("RANKWELL_NCBI_API_KEY", ""))

    @property
    def rate(self) -> float:
        """Allowed requests per second."""
        return WITH_KEY if self.api_key else WITHOUT_KEY

    def parameters(self) -> dict[str, str]:
        """The parameters of every request."""
        named = {"tool": TOOL, "email": self.email, "api_key": self.api_key}
        return {name: value for name, value in named.items() if value}
