"""Groups of queries by length, answer type, number of relevant documents, or a file, for results by group.

The answer type of a question is one of the six coarse classes of Li and Roth, "Learning question classifiers" (COLING
2002), or none, as for a yes or no. Three tables decide: `RULES` looks at the wording, and the first rule that fits
counts; `NOUNS` knows what "what ..." and "which ..." ask for by their noun; `KEYWORDS` reads queries that are no
questions.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from enum import StrEnum
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

from rankwell.core import FormatError, Judgments, ParameterError, RankwellError


class AnswerType(StrEnum):
    """Li and Roth's six coarse classes."""

    ABBR = "ABBR"
    """an abbreviation, or what one stands for"""
    ENTY = "ENTY"
    """a thing: an animal, a food, a work, a product, a language, a disease, ..."""
    DESC = "DESC"
    """a description: a definition, a manner, a reason"""
    HUM = "HUM"
    """a person or a group"""
    LOC = "LOC"
    """a place"""
    NUM = "NUM"
    """a number: a count, a date, a price, a length of time, ..."""


ABBR, ENTY, DESC, HUM, LOC, NUM = AnswerType


class Rule(NamedTuple):
    """A pattern, its class, and an example question."""

    type: AnswerType | None
    pattern: re.Pattern[str]
    example: str


def _rule(answer_type: AnswerType | None, pattern: str, example: str) -> Rule:
    return Rule(answer_type, re.compile(pattern), example)


ASK = r"(?:\b(?:what|which)|^(?:name|list)(?= (?:an?|the|some|one|two|three|all)\b))"
BE = r"(?:is|are|was|were)"

RULES = (
    _rule(ABBR, r"\bst(?:and|ands|ood) for\b|\bshort for\b", "what does NASA stand for"),
    _rule(ABBR, r"\b(?:abbreviations?|acronyms?|initialism|full form|abbreviated)\b", "abbreviation for kilometre"),
    _rule(
        NUM, r"^(?:since |until )?when\b|\bwhen (?:is|was|were|did|does|do|will)\b", "when was the telescope invented"
    ),
    _rule(LOC, r"^(?:from )?where\b|\bwhere (?:is|are|was|were|do|does|did|can)\b", "where do penguins live"),
    _rule(HUM, r"^(?:by |to |for |with )?(?:who|whom|whose)\b", "who painted the ceiling"),
    _rule(HUM, r"^name .*\b(?:who|whose)\b", "name a player who won twice"),
    _rule(DESC, r"\bhow come\b|\bwhy\b", "why is the sky blue"),
    _rule(
        NUM,
        r"\bhow (?:much|many|long|far|old|tall|big|often|fast|deep|hot|cold|large|high|heavy|wide|late|early|small|soon"
        r"|thick|strong|loud|close|rich|frequently|quickly)\b",
        "how long does it take to boil an egg",
    ),
    _rule(DESC, r"\bhow\b", "how to boil an egg"),
    _rule(DESC, r"\b(?:difference|differences|relationship) between\b", "difference between frogs and toads"),
    _rule(DESC, r"\b(?:definitions?|defined?|meaning|means?$)", "photon definition physics"),
    _rule(DESC, rf"{ASK} (?:do|does|did|can|will) .*(?:\bmean\b|\b(?:do|happen|like)$)", "what does a liver do"),
    _rule(DESC, rf"{ASK} (?:causes?|caused|happens?|happened|makes?|made|would|if)\b", "what causes hail"),
    _rule(ENTY, rf"{ASK} .*\bcalled$|\b(?:an)?other (?:name|word|term)s? for\b", "what is a group of crows called"),
    _rule(DESC, rf"{ASK} {BE} .*\b(?:used|for|famous|known|made|like|vs|mean|do|about)$", "what is a sieve used for"),
    _rule(DESC, rf"{ASK} {BE} (?:an?|it|this|that)\b", "what is a glacier"),
    _rule(HUM, rf"{ASK} {BE} the names? of the .*\bwho\b", "what is the name of the man who discovered radium"),
)

# Words between "what is" and the noun, and words that end the noun phrase.
OPENING = re.compile(
    rf"{ASK}(?P<be>\s+{BE}\b)?(?P<the>\s+(?:the|some|his|her|its|their|your|my|an?|one|two|three|all)\b)?\s+(?P<rest>.+)"
)
KIND = re.compile(r"^(?:\w+ )?(?:type|kind|sort|name|example|list|form)s? of (?:(?:the|a|an|some) )?")
SUPERLATIVE = re.compile(
    r"\b(?:most|least|best|worst|first|last|(?:bigg|larg|small|high|low|tall|long|short|old|fast|rich)est)\b"
)
NOUN_ENDS = re.compile(
    r"\s(?=(?:of|in|on|at|for|from|to|with|by|about|is|are|was|were|be|do|does|did|can|could|will|would|should|has|have"
    r"|had|that|which|who|when|where|and|or|as|between|per|during|along|within|into|over|near|under|after|before|used"
    r"|called|located|you|i|it|he|she|they|we)\b)"
)

_NOUNS: Mapping[AnswerType, str] = {
    HUM: """person man woman people president king queen author writer actor actress singer artist painter inventor
        founder leader player scientist husband wife father mother son daughter brother sister ceo owner director
        profession occupation job designer citizen governor mayor senator minister explorer character god goddess
        band team company organization organisation agency group university nationality tribe family manufacturer
        maker publisher party""",
    LOC: """place city town village country county state province region continent capital river lake ocean sea
        mountain island location address street planet nation birthplace hometown border website airport
        district hemisphere desert peninsula headquarters park""",
    NUM: """number amount age cost price salary wage pay income population temperature distance length height weight
        width depth size speed date year month day time century decade season percentage percent rate ratio average
        code zip score area altitude elevation duration dosage dose fee tax budget worth value lifespan life-span
        expectancy frequency quantity total limit volume density capacity mileage fare maximum minimum odds
        probability birthday hours phone wavelength radius diameter voltage calories circumference""",
    ENTY: """animal bird fish dog breed plant flower tree food drink dish fruit vegetable color colour language book
        novel movie film song album play poem newspaper magazine religion sport game disease drug medicine vitamin
        symptom treatment instrument product substance chemical element mineral metal gas currency event war battle
        holiday award prize letter word term symbol vehicle car ship software program brand organ muscle bone gland
        hormone enzyme body weapon technique nickname title name ingredient material flag gemstone crop""",
    DESC: """reason purpose function cause effect meaning definition difference origin history role process benefit
        advantage disadvantage importance significance way""",
}
NOUNS = {noun: answer_type for answer_type, nouns in _NOUNS.items() for noun in nouns.split()}

KEYWORDS = (
    _rule(None, r"^(?:is|are|was|were|do|does|did|can|could|will|would|should|has|have|had|may)\b", "do cats swim"),
    _rule(
        NUM,
        r"\b(?:costs?|prices?|average|salary|population|net worth|temperature|(?:phone|number|zip|area|routing|postal) "
        r"?(?:numbers?|code)|distance (?:from|between|to)|number of|customer service|hours|calories|dosage|age of)\b",
        "cost of a new roof",
    ),
    _rule(ENTY, r"\b(?:types?|kinds?|examples?|symptoms|signs|ingredients|list) (?:of|in|for)\b", "types of clouds"),
    _rule(
        DESC,
        r"\b(?:causes?|benefits|side effects|effects?|purpose|reasons?|explain|describe|description|vs|versus|history"
        r"|symptoms|function of|uses of|role of|importance of)\b",
        "causes of earthquakes",
    ),
    _rule(LOC, r"\b(?:location|address|directions to|capital of|county)\b", "location of the great barrier reef"),
    _rule(HUM, r"\b(?:author|inventor|founder|cast|president|actor|singer|ceo) of\b", "author of the iliad"),
)


def answer_type(question: str) -> AnswerType | None:
    """The class of the answer that a question asks for, None where no rule fits."""
    text = _plain(question)
    for rule in RULES:
        if rule.pattern.search(text):
            return rule.type
    asked = _asked_noun(text)
    if asked is not None:
        return asked
    return next((rule.type for rule in KEYWORDS if rule.pattern.search(text)), None)


def _plain(question: str) -> str:
    """Lower case, without punctuation, single spaces, "what is" for "what's" and "whats"."""
    text = re.sub(r"[^\w\s'-]|_", " ", question.lower().replace("\u2019", "'"))
    text = re.sub(r"\b(what|which|who|where|when|how|why)(?: ?'s|s)\b", r"\1 is", text)
    return " ".join(text.replace(" 's", "'s").split())


def _asked_noun(text: str) -> AnswerType | None:
    """The class by the noun after "what" or "which": "what is the tallest tree in ..." asks for a tree.

    An unknown noun asks for a thing after "what" or a superlative, and for a definition after "what is"; so does a
    known one that stands alone ("what is money").
    """
    opening = OPENING.search(text)
    if opening is None:
        return None
    phrase, *after = NOUN_ENDS.split(KIND.sub("", opening["rest"]), maxsplit=1)
    known = _class_of(phrase.split()[-1])
    if not opening["be"] or SUPERLATIVE.search(phrase):
        # A verb may have closed the phrase: "which company makes ...".
        return known or next(filter(None, map(_class_of, phrase.split())), ENTY)
    of_something = after or opening["the"] or "'s " in phrase or (known is NUM and " " in phrase)
    return known if known and of_something else DESC


def _class_of(noun: str) -> AnswerType | None:
    return NOUNS.get(noun) or NOUNS.get(noun.removesuffix("s")) or NOUNS.get(re.sub("ies$", "y", noun))


def answer_types(
    texts: Mapping[str, str], overrides: Mapping[str, AnswerType | None] | None = None
) -> dict[str, AnswerType | None]:
    """The class of each query by its id: the given one where there is one, else by the rules."""
    given = overrides or {}
    return {qid: given[qid] if qid in given else answer_type(text) for qid, text in texts.items()}


def read_answer_types(path: Path | str) -> dict[str, AnswerType | None]:
    """Classes by query id from a file: an id and a class a line, "-" for none; empty lines and # are skipped."""
    types: dict[str, AnswerType | None] = {}
    for number, line in _lines(path, "answer types"):
        columns = line.replace(",", " ").split()
        name = columns[-1].upper()
        if len(columns) != 2 or (name != "-" and name not in AnswerType.__members__):  # noqa: PLR2004 -- two columns
            known = ", ".join(AnswerType)
            raise FormatError(path, number, expected=f"a query id and one of {known} or -", found=line)
        if columns[0] in types:
            raise FormatError(path, number, expected="each query once", found=columns[0])
        types[columns[0]] = None if name == "-" else AnswerType[name]
    return types


def _lines(path: Path | str, what: str) -> Iterator[tuple[int, str]]:
    """The numbered lines of a text file of query ids; empty lines and those that begin with # are skipped."""
    try:
        lines = Path(path).read_text(encoding="utf-8-sig").splitlines()
    except OSError as error:
        raise RankwellError(f"{path}: cannot be read: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise RankwellError(f"{path}: expected a text file of query ids and {what}, found {error}") from error
    return (
        (number, line) for number, line in enumerate(lines, 1) if line.strip() and not line.lstrip().startswith("#")
    )


Groups = dict[str, tuple[str, ...]]

LENGTHS = (1, 3, 5, 8)
"""The shortest query of each bin: 1-2, 3-4, 5-7, 8+ words. Keywords, short phrases, sentences, long ones."""

RELEVANT = (1, 2, 5, 10, 50)
"""The least number of relevant documents of each bin: 1, 2-4, 5-9, 10-49, 50+."""

NO_WORDS = "no words"
NONE_RELEVANT = "none relevant"
UNCLASSIFIED = "unclassified"


def words(text: str) -> int:
    """Number of words without punctuation; stop words and repeated words count, as in the re-assessment study."""
    return len(re.sub(r"[^\w\s]|_", "", text).split())


def by_length(texts: Mapping[str, str], *, starts: Sequence[int] = LENGTHS, quantiles: int | None = None) -> Groups:
    """Query ids by the number of words, shortest first, under names such as "3-4 words".

    `starts` are the least numbers of words of the bins. With `quantiles` the bins are chosen to hold about as many
    queries each; there may be fewer than asked for, since queries of one length stay together. Bins without a query
    are left out; queries without a word form their own group.
    """
    lengths = {qid: words(text) for qid, text in texts.items()}
    if quantiles is not None:
        starts = _quantile_starts([length for length in lengths.values() if length], quantiles)
    elif not starts or any(first >= second for first, second in pairwise([0, *starts])):
        raise ParameterError("starts", expected="numbers of words, rising, from 1", found=tuple(starts))
    return _binned(lengths, starts, NO_WORDS, ("word", "words"))


def by_relevant(judgments: Judgments, qids: Iterable[str], rel: int = 1) -> Groups:
    """Query ids by the number of relevant documents in the judgments, under names such as "2-4 relevant"."""
    known = {qid: len(judgments.relevant(qid, rel)) for qid in qids}
    return _binned(known, RELEVANT, NONE_RELEVANT, ("relevant", "relevant"))


def read_groups(path: Path | str) -> Groups:
    """Query ids by group from a file, in its order: an id and a group a line; empty lines and # are skipped."""
    groups: dict[str, list[str]] = {}
    seen: set[str] = set()
    for number, line in _lines(path, "groups"):
        columns = [column.strip() for column in re.split(r"[\t,]|\s+", line.strip(), maxsplit=1)]
        if len(columns) != 2 or not all(columns):  # noqa: PLR2004 -- two columns
            raise FormatError(path, number, expected="a query id and the name of its group", found=line)
        if columns[0] in seen:
            raise FormatError(path, number, expected="each query once", found=columns[0])
        seen.add(columns[0])
        groups.setdefault(columns[1], []).append(columns[0])
    if not groups:
        raise RankwellError(f"{path}: expected lines of a query id and the name of its group, found none")
    return {name: tuple(qids) for name, qids in groups.items()}


def by_answer_type(texts: Mapping[str, str], overrides: Mapping[str, AnswerType | None] | None = None) -> Groups:
    """Query ids by answer type, in the order of `AnswerType`; those without a type come last."""
    types = answer_types(texts, overrides)
    groups = {kind.value: tuple(qid for qid, known in types.items() if known is kind) for kind in AnswerType}
    groups[UNCLASSIFIED] = tuple(qid for qid, known in types.items() if known is None)
    return _without_empty(groups)


def _quantile_starts(lengths: Sequence[int], quantiles: int) -> list[int]:
    """Starts of bins that hold about the same number of queries each."""
    if quantiles < 1:
        raise ParameterError("quantiles", expected="a number of groups, at least 1", found=quantiles)
    ordered = sorted(lengths)
    places = (round(part * len(ordered) / quantiles) for part in range(quantiles))
    return sorted({ordered[place] for place in places if place < len(ordered)})


def _binned(counts: Mapping[str, int], starts: Sequence[int], none: str, noun: tuple[str, str]) -> Groups:
    """Query ids by their counts in bins, those of 0 first; bins without a query are left out."""
    groups = {none: tuple(qid for qid, count in counts.items() if count == 0)}
    for first, after in pairwise([1, *starts[1:], math.inf]):  # from 1, so that no query is lost
        groups[_name(first, after, noun)] = tuple(qid for qid, count in counts.items() if first <= count < after)
    return _without_empty(groups)


def _name(first: float, after: float, noun: tuple[str, str]) -> str:
    """The name of a bin: "1-2 words", "1 word", "8+ words"."""
    if math.isinf(after):
        return f"{first}+ {noun[1]}"
    last = int(after) - 1
    return f"{first}-{last} {noun[1]}" if last > first else f"{first} {noun[first > 1]}"


def _without_empty(groups: Groups) -> Groups:
    return {name: qids for name, qids in groups.items() if qids}
