"""The two stages of a search, and the results that are made of what they find."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property

from rankwell.clickhouse import facet_of
from rankwell.core import ParameterError, Run
from rankwell.index import Index, RangeFacet, ValueFacet
from rankwell.match import Asked, filtered, matched, parse_match
from rankwell.match.logic import Mask
from rankwell.pipelines import QID, Explanation, RankerOptions, explained, first_runs, parse_weights
from rankwell.rerank import RerankExplanation
from rankwell.serve.requests import SearchRequest
from rankwell.serve.responses import Result
from rankwell.serve.snippets import snippets

logger = logging.getLogger(__name__)

MOST_SNIPPETS = 100  # results of a response that have one
MOST_TEXT = 8_000_000  # characters of stored fields in a response
MOST_VALUES = 50  # of a facet

Read = Callable[[str], RerankExplanation | None]


@dataclass(frozen=True, eq=False)
class Found:
    """What a search has found so far, on the version of the index that it began with.

    `runs` are the runs of each stage under its name; `read` tells what a model read of a document, once one has;
    `notes` are the warnings of the second stage.
    """

    index: Index
    request: SearchRequest
    options: RankerOptions
    runs: list[tuple[str, Run]]
    first: int  # how many of the runs belong to the first stage
    read: Read | None = None
    notes: list[str] = field(default_factory=list)

    @cached_property
    def asked(self) -> str:
        """The plain words that are ranked by."""
        return parse_match(self.request.match).words(self.request.q)

    @cached_property
    def first_ranks(self) -> Mapping[str, int]:
        """The rank of every document after the first stage."""
        docnos = self.runs[self.first - 1][1][QID].docnos.tolist()
        return {docno: rank for rank, docno in enumerate(docnos, 1)}

    @property
    def reranked(self) -> bool:
        """Whether a model has read the top."""
        return self.read is not None

    def why(self, docno: str) -> Explanation:
        """Why a document stands where it does."""
        read = None if self.read is None else self.read(docno)
        return explained(self.index, self.options, self.runs, docno, asked=self.asked, read=read)


def first_stage(index: Index, request: SearchRequest) -> Found:
    """Rank by words, by embeddings or by both."""
    options = request.first_options()
    runs = first_runs(index, options, request.q)
    return Found(index, request, options, runs, len(runs))


def second_stage(found: Found, name: str, run: Run, read: Read) -> Found:
    """What was found, with the run that a model of that name made of it."""
    return replace(found, runs=[*found.runs[: found.first], (name, run)], read=read)


def results(found: Found) -> Iterator[Result]:
    """The documents that the request wants to see, with their texts."""
    request, index = found.request, found.index
    terms = set(index.analyzer(found.asked)) if request.snippets else set()
    wanted = request.fields
    left = MOST_TEXT
    ranking = list(found.runs[-1][1][QID])[request.offset : request.last]
    bare = wanted == () and not request.snippets
    for place, (docno, score) in enumerate(ranking):
        rank = request.offset + place + 1
        first = found.first_ranks.get(docno) if found.reranked else rank
        moved = first - rank if found.reranked and first is not None else None
        why = found.why(docno) if request.explain else None
        if bare:
            yield Result(docno, rank, score, first, moved, explain=why)
            continue
        stored = index.documents[docno]
        texts = stored.fields if wanted is None else {n: stored.fields[n] for n in wanted if n in stored.fields}
        before, left = left, left - sum(map(len, texts.values()))
        if left < 0 <= before:
            logger.warning("texts are left out from rank %d on: all together they are too long for one answer", rank)
        passage = snippets(stored.fields, terms, index) if request.snippets and place < MOST_SNIPPETS else {}
        yield Result(docno, rank, score, first, moved, texts if left >= 0 else {}, stored.metadata, passage, why)


def matching(found: Found) -> Mask:
    """Which documents match what was asked for, filter included; by embeddings alone every one does."""
    request, index = found.request, found.index
    fields = tuple(parse_weights(request.weights) or ("",))
    everything = request.dense and request.match == "or"
    mask = index.live if everything else matched(request.match, Asked(request.q, fields), index)
    return mask if request.filter is None else mask & filtered(request.filter, index)


def facets(found: Found, mask: Mask) -> dict[str, ValueFacet | RangeFacet]:
    """How the matched documents spread over the columns that were asked for."""
    columns = found.index.columns
    for name in found.request.facets:
        if name not in columns:
            known = f"one of {', '.join(columns)}" if columns else "none: the index keeps no metadata"
            raise ParameterError("facets", expected=known, found=name)
    return {name: facet_of(columns[name], mask, MOST_VALUES) for name in found.request.facets}
