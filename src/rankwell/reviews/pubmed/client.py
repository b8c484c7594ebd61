"""A client for NCBI's E-utilities: search PubMed, fetch articles, cache all answers; PubMed as a baseline ranker."""

from __future__ import annotations

import contextlib
import logging
import re
from collections.abc import Mapping, Sequence
from concurrent.futures import FIRST_EXCEPTION, ThreadPoolExecutor, wait
from dataclasses import dataclass, field
from pathlib import Path
from typing import Self, TypeAlias

from rankwell.core import Document, Judgments, ParameterError, RankwellError, Run, Stage, fingerprint, home
from rankwell.core.parameters import like
from rankwell.evaluation.run_analysis import Confusion
from rankwell.retrieve import BM25
from rankwell.retrieve.baselines import falling
from rankwell.reviews.pubmed import transport as sending
from rankwell.reviews.pubmed.answers import AnswerCache, Received
from rankwell.reviews.pubmed.transport import Account, SearchResult, Throttle, Transport, search_result

NCBI = "https://eutils.ncbi.nlm.nih.gov/entrez/eutils/"
MOST_FOUND = 10_000  # most ids of a search that PubMed returns
ARTICLES_AT_ONCE = 200
SEARCHES_AT_ONCE = 3  # an answer takes longer than the pause between two requests
PMID = re.compile(r"[1-9][0-9]{0,8}")
DATE = re.compile(r"\d{4}(-\d\d(-\d\d)?)?")
SEARCH, FETCH = "esearch.fcgi", "efetch.fcgi"

Answered: TypeAlias = tuple[Mapping[str, str], bytes]
"""A request, and what answers it."""


class EUtilities:
    """PubMed at NCBI's allowed rate, with retries, and with a cache of all answers.

    With `offline` only the cache is used, so that a recorded cache reproduces a run anywhere.
    """

    def __init__(
        self,
        cache: AnswerCache,
        transport: Transport | None = None,
        account: Account | None = None,
        *,
        offline: bool = False,
    ) -> None:
        self.cache, self.offline = cache, offline
        self.account = account or Account.from_environment()
        self.transport = transport or Transport(NCBI, Throttle(self.account.rate))
        self.requests = 0
        """How many requests were sent, attempts not counted."""
        for received in cache.received():  # left by a process that was killed
            with contextlib.suppress(RankwellError):
                self._sort(received)

    @classmethod
    def open(cls, cache: Path | str | None = None, *, base_url: str = NCBI, offline: bool = False) -> Self:
        """A client with a cache in this folder (default: under RANKWELL_HOME) and the account of the environment."""
        account = Account.from_environment()
        base = base_url if base_url.endswith("/") else f"{base_url}/"
        transport = Transport(base, Throttle(account.rate))
        return cls(AnswerCache(cache or home() / "pubmed"), transport, account, offline=offline)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.cache.close()

    def __repr__(self) -> str:
        return f"EUtilities({self.transport.base_url!r}{', offline' if self.offline else ''})"

    def fingerprint(self) -> str:
        """Fingerprint of the service: results do not depend on the account."""
        return fingerprint(["E-utilities", self.transport.base_url])

    def search(
        self, term: str, most: int = 20, *, since: str = "", until: str = "", sort: str = "relevance"
    ) -> SearchResult:
        """The first ids for a term (in PubMed's syntax), of articles published between two dates if they are given."""
        if not 1 <= most <= MOST_FOUND:
            raise ParameterError("most", expected=f"a number from 1 to {MOST_FOUND:,}", found=most)
        if not term.strip():
            return SearchResult((), 0)
        request = {"page": SEARCH, "db": "pubmed", "term": term, "retmax": str(most), "sort": sort}
        if since or until:
            request |= _between(since, until)
        answer = self.cache.get(request)
        if answer is None:
            answer = self._ask(request, f"the search {term!r}")[0][1]
        return search_result(answer)

    def search_all(self, terms: Sequence[str], most: int = 20) -> list[SearchResult]:
        """Several searches in parallel, at NCBI's allowed rate; the first failure ends them all."""
        self.transport.stopped.clear()
        pool = ThreadPoolExecutor(SEARCHES_AT_ONCE)
        try:
            searches = [pool.submit(self.search, term, most) for term in terms]
            for search in wait(searches, return_when=FIRST_EXCEPTION).done:
                search.result()  # raises its error, also where an earlier search still waits
            return [search.result() for search in searches]
        except BaseException:
            self.transport.stopped.set()
            raise
        finally:
            pool.shutdown(wait=False, cancel_futures=True)

    def fetch(self, ids: Sequence[str]) -> dict[str, Document]:
        """Articles by PMID, in this order; those that PubMed does not have (any more) are left out."""
        for pmid in ids:
            if not PMID.fullmatch(pmid):
                raise ParameterError("PMID", expected="a number of up to nine digits", found=pmid)
        wanted = list(dict.fromkeys(ids))
        kept = {pmid: self.cache.get(_article(pmid)) for pmid in wanted}
        missing = [pmid for pmid in wanted if kept[pmid] is None]
        for start in range(0, len(missing), ARTICLES_AT_ONCE):
            some = missing[start : start + ARTICLES_AT_ONCE]
            answered = self._ask(_article(",".join(some)), f"{len(some)} articles, the first {some[0]}")
            kept |= {article["id"]: answer for article, answer in answered}  # empty where PubMed has none
        documents = ((pmid, sending.article_document(article)) for pmid in wanted if (article := kept[pmid]))
        return {pmid: document for pmid, document in documents if document is not None}

    def _ask(self, request: Mapping[str, str], what: str) -> list[Answered]:
        """Send a request and cache the answer. It is on the disk before it is parsed, and not requested again."""
        if self.offline:
            raise RankwellError(f"{self.cache.path}: offline, and the recorded answers have none for {what}")
        self.requests += 1
        sent = {name: value for name, value in request.items() if name != "page"}
        form = sent | {"retmode": "xml"} | self.account.parameters()
        return self.transport.ask(request["page"], form, lambda came: self._sort(self.cache.receive(request, came)))

    def _sort(self, received: Received) -> list[Answered]:
        """Cache the answers of a raw answer; a broken one or an error is dropped, so that it can be requested again."""
        try:
            answers = _told(received.request, received.answer)
        except RankwellError:
            self.cache.sort(received)
            raise
        self.cache.sort(received, answers)
        return answers


def _told(request: Mapping[str, str], answer: bytes) -> list[Answered]:
    """The single requests of an answer with their answers: one for a search, one per article for a fetch."""
    if request["page"] == SEARCH:
        search_result(answer)
        return [(request, answer)]
    articles = sending.articles(answer)
    return [(_article(pmid), articles.get(pmid, b"")) for pmid in request["id"].split(",")]


def _article(pmid: str) -> dict[str, str]:
    return {"page": FETCH, "db": "pubmed", "id": pmid}


def _between(since: str, until: str) -> dict[str, str]:
    """The parameters for publication dates: both, with slashes."""
    for name, date in (("since", since), ("until", until)):
        if date and not DATE.fullmatch(date):
            raise ParameterError(name, expected="a date such as 2015, 2015-03 or 2015-03-12", found=date)
    dates = {"mindate": since or "1000", "maxdate": until or "3000"}
    return {"datetype": "pdat", **{name: date.replace("-", "/") for name, date in dates.items()}}


OPERATORS = re.compile(r"\b(AND|OR|NOT)\b")
# Field tags, phrases, truncation, groups, ranges and dates: all of PubMed's syntax that plain text can contain.
SYNTAX = re.compile(r"[\[\]\"“”(){}*:/\\&|#=<>+~^!?;,]+")


def title_term(text: str) -> str:
    """The words of a text, without PubMed's search syntax.

    PubMed searches for all of them in any field, with synonyms: a title finds its own article even
    where the two sources write it a little differently.
    """
    plain = (word.strip(".'`-_") for word in SYNTAX.sub(" ", text).split())
    return " ".join(OPERATORS.sub(lambda match: match[0].lower(), word) for word in plain if word)


logger = logging.getLogger(__name__)


@dataclass(frozen=True)
class PubMedRanker(Stage):
    """The first k results of PubMed for each query, in PubMed's order (systematic-review study, 4.2).

    `dates` are the reviews' publication dates: newer results were not there for their authors and are dropped
    (so that fewer than k remain). A date may be a year, a month or a day; results of the same period are kept.
    Document ids are PMIDs, and documents that nobody judged count as not relevant in every measure by default.
    """

    client: EUtilities
    dates: Mapping[str, str] = field(default_factory=dict)
    k: int = like(BM25, "k")
    query_field: str | None = like(BM25, "query_field")

    def __post_init__(self) -> None:
        if not 1 <= self.k <= MOST_FOUND:
            raise ParameterError("k", expected=f"a number of documents from 1 to {MOST_FOUND:,}", found=self.k)

    def apply(self, run: Run) -> Run:
        """Search for the run's queries; the run's documents are ignored."""
        if run.queries is None:
            raise RankwellError("PubMedRanker: expected a run with its queries, found one without their texts")
        undated = [qid for qid in run.qids if not self.dates.get(qid)]
        if undated:
            logger.warning("%d reviews have no date: none of PubMed's results is too new for them", len(undated))
        scores: dict[str, dict[str, float]] = {}
        documents: dict[str, Document] = {}
        for qid in run.qids:
            result = self.client.search(title_term(run.queries[qid].text(self.query_field)), self.k)
            articles = self.client.fetch(result.ids)
            dates = {pmid: str(article.metadata.get("date", "")) for pmid, article in articles.items()}
            old = [pmid for pmid in result.ids if not is_newer(dates.get(pmid, ""), self.dates.get(qid, ""))]
            scores[qid] = dict(zip(old, falling(len(old)).tolist(), strict=True))
            documents |= {pmid: articles[pmid] for pmid in old if pmid in articles}
        return Run.from_dict(scores, tag="PubMed", queries=run.queries, documents=documents)


def is_newer(published: str, than: str) -> bool:
    """Whether a date (2015, 2015-03 or 2015-03-12) is later than another, as far as both are known."""
    known = min(len(published), len(than))
    return published[:known] > than[:known]


def top_share(run: Run, judgments: Judgments, share: float | None = None) -> Confusion:
    """The confusion matrix when each query's top share is labelled relevant (systematic-review study, 4.2).

    The default share is that of the relevant among the judged documents. Only documents of the run count; a document
    that nobody judged is not relevant.
    """
    if share is None:
        grades = [grade for of_query in judgments.values() for grade in of_query.values()]
        share = sum(grade > 0 for grade in grades) / len(grades) if grades else 0.0
    if not 0 <= share <= 1:
        raise ParameterError("share", expected="a number from 0 to 1", found=share)
    counts = dict.fromkeys(((True, True), (True, False), (False, True), (False, False)), 0)
    for qid, ranking in run.rankings():
        labelled, known = round(share * len(ranking)), judgments.get(qid, {})
        for place, docno in enumerate(ranking.docnos.tolist()):
            counts[place < labelled, known.get(docno, 0) > 0] += 1
    return Confusion(counts[True, True], counts[True, False], counts[False, True], counts[False, False])
