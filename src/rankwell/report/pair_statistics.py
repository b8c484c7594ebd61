"""How many tokens a cross-encoder would read: query and document together, with the marks between them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from rankwell.report.field_statistics import TITLE, FieldTally
from rankwell.report.lengths import Lengths, crossed

# [CLS] query [SEP] document [SEP]
SPECIAL_TOKENS = 3


@dataclass(frozen=True)
class PairStatistics:
    """Tokens of pairs of a query and the named fields of a document.

    With judgments (`judged`) these are the judged pairs, each once; without any, every query is paired with every
    document. Documents that have none of the fields are left out.
    """

    fields: tuple[str, ...]
    tokens: Lengths
    judged: bool

    @property
    def name(self) -> str:
        """As in "query + title + abstract"."""
        return " + ".join(("query", *self.fields))


def field_groups(titled: bool, main: str | None) -> list[tuple[str, ...]]:
    """Which fields are paired with the query: the main one, and the title before it; or the title for want of more."""
    if main is None:
        return [(TITLE,)] if titled else []
    return [(main,), (TITLE, main)] if titled else [(main,)]


def judged_pairs(
    groups: Sequence[tuple[str, ...]],
    query_tokens: Mapping[str, int],
    judgments: Mapping[str, Mapping[str, int]],
    fields: Mapping[str, FieldTally],
) -> list[PairStatistics]:
    """Tokens of the judged pairs whose query and document are both there, given the tokens of each query."""
    found = []
    for group in groups:
        tallies = [fields[name].judged for name in group]
        occurrences: Counter[int] = Counter()
        for qid in judgments.keys() & query_tokens.keys():
            for docno in judgments[qid]:
                parts = [tally[docno] for tally in tallies if docno in tally]
                if parts:
                    occurrences[query_tokens[qid] + sum(parts) + SPECIAL_TOKENS] += 1
        found.append(PairStatistics(group, Lengths.of(occurrences), judged=True))
    return found


def all_pairs(
    groups: Sequence[tuple[str, ...]], query_tokens: Mapping[str, int], fields: Mapping[str, FieldTally]
) -> list[PairStatistics]:
    """Tokens of every query with every document; only the distinct lengths are crossed, so this is quick."""
    asked = Lengths.of(Counter(query_tokens.values()))
    found = []
    for group in groups:
        last = fields[group[-1]]
        # A document without the last field is still read by its title, where that belongs to the group.
        documents = last.tokens if len(group) == 1 else last.with_title + (fields[TITLE].tokens - last.titles_beside)
        found.append(PairStatistics(group, crossed(asked, Lengths.of(documents), SPECIAL_TOKENS), judged=False))
    return found
