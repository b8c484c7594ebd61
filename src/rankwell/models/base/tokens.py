"""Texts as token ids, with the model's special tokens and truncation; token counts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import astuple, dataclass
from pathlib import Path
from typing import NamedTuple, TypeAlias

import numpy as np
import orjson

from rankwell.core import Integers, MissingExtraError, ParameterError, RankwellError
from rankwell.models.base.sources import fetched_models, find_model, known_models
from rankwell.models.base.wordpiece import Frame, WordPiece

QUERY_TOKENS = 62  # COVID-19 study: 512 = 62 for the query + 447 for the document + 3 special ones
FEWEST = 8  # least number of tokens of a pair
LONG = 16  # characters a token at most, usually: the rest of a text is tokenized only if needed
REMEMBERED = 4096  # queries whose tokens are cached: a query has many documents

Texts: TypeAlias = str | tuple[str, ...]
"""What a model reads of a document: one text, or several (passages, two documents, title and abstract)."""
Pair: TypeAlias = tuple[str, Texts]  # a query, and a document's text or texts


def as_text(texts: Texts) -> str:
    """Several texts joined with blanks."""
    return texts if isinstance(texts, str) else " ".join(texts)


class Tokens(NamedTuple):
    """A model's input for one text or pair, or for several padded rows that belong together."""

    ids: Integers
    types: Integers  # 0 for the first text, 1 for the second
    mask: Integers | None = None  # of several rows: 0 where one is padded


@dataclass
class Truncation:
    """Counts of truncated texts and tokens; for very long texts the number of tokens is estimated."""

    texts: int = 0
    queries_cut: int = 0
    documents_cut: int = 0
    tokens_dropped: int = 0

    def count(self, query: int, *documents: int) -> None:
        """Count one text: the numbers of tokens that its query and its documents lost."""
        self.texts += 1
        self.queries_cut += query > 0
        self.documents_cut += sum(lost > 0 for lost in documents)
        self.tokens_dropped += query + sum(documents)

    def __add__(self, other: Truncation) -> Truncation:
        return Truncation(*(one + more for one, more in zip(astuple(self), astuple(other), strict=True)))

    def __sub__(self, other: Truncation) -> Truncation:
        return Truncation(*(one - less for one, less in zip(astuple(self), astuple(other), strict=True)))

    def __str__(self) -> str:
        return (
            f"{self.documents_cut:,} documents and {self.queries_cut:,} queries of {self.texts:,} texts were cut, "
            f"{self.tokens_dropped:,} tokens dropped"
        )


class Tokenizer:
    """A model's `tokenizer.json`, without its own padding and truncation."""

    def __init__(self, file: Path) -> None:
        self.file = file
        self._tokenizer = load_tokenizer(file)
        self.vocabulary = self._tokenizer.vocabulary
        self.single, self.pair = self._tokenizer.single, self._tokenizer.pair

    def heads(self, texts: Sequence[str], budget: int) -> list[tuple[list[int], int]]:
        """The first `budget` tokens of each text, and how many more there were."""
        ids = self._tokenizer.ids([_head(text, budget) for text in texts])
        return [self._head_of(text, of_head, budget) for text, of_head in zip(texts, ids, strict=True)]

    def _head_of(self, text: str, ids: list[int], budget: int) -> tuple[list[int], int]:
        looked_at = len(_head(text, budget))
        if looked_at < len(text):
            if len(ids) <= budget:  # few tokens in much text (long words, runs of blanks): tokenize all of it
                (ids,) = self._tokenizer.ids([text])
                return ids[:budget], max(len(ids) - budget, 0)
            return ids[:budget], round(len(ids) * len(text) / looked_at) - budget
        return ids[:budget], max(len(ids) - budget, 0)


def _head(text: str, budget: int) -> str:
    """The start of a text that holds its first `budget` tokens, up to a blank so that no word is cut."""
    enough = (budget + 1) * LONG
    if len(text) <= enough:
        return text
    blank = max(text.rfind(" ", 0, enough), text.rfind("\n", 0, enough))
    return text[:blank] if blank > 0 else text


class LibraryTokenizer:
    """A `tokenizer.json` of any kind, read by the library `tokenizers`."""

    def __init__(self, file: Path) -> None:
        try:
            from tokenizers import Tokenizer as Rust
        except ImportError as error:
            raise MissingExtraError(f"{file}, which is not BERT's own kind,", extra="hub") from error
        try:
            self._tokenizer = Rust.from_file(str(file))
        except Exception as error:  # the library raises plain Exception for whatever is wrong with the file
            raise RankwellError(f"{file}: expected a tokenizer, found {str(error).splitlines()[0]}") from error
        self._tokenizer.no_truncation()
        self._tokenizer.no_padding()
        self.vocabulary = max(self._tokenizer.get_vocab(with_added_tokens=True).values(), default=-1) + 1
        self.single, self.pair = self._learn_frames(file)

    def ids(self, texts: Sequence[str]) -> list[list[int]]:
        """The token ids of each text, without special tokens around it."""
        return [encoding.ids for encoding in self._tokenizer.encode_batch_fast(list(texts), add_special_tokens=False)]

    def _learn_frames(self, file: Path) -> tuple[Frame, Frame]:
        """The special tokens around one text, and around two."""
        part = self._tokenizer.encode("a", add_special_tokens=False).ids
        alone = self._tokenizer.encode("a").ids
        start = _find(alone, part, 0, file)
        single = Frame(alone[:start], [], alone[start + len(part) :], 0, [])
        both = self._tokenizer.encode("a", "a")
        first = _find(both.ids, part, 0, file)
        second = _find(both.ids, part, first + len(part), file)
        middle, after = slice(first + len(part), second), both.ids[second + len(part) :]
        pair = Frame(both.ids[:first], both.ids[middle], after, both.type_ids[second], both.type_ids[middle])
        return single, pair


def _find(ids: list[int], part: list[int], start: int, file: Path) -> int:
    for place in range(start, len(ids) - len(part) + 1):
        if ids[place : place + len(part)] == part:
            return place
    raise RankwellError(f"{file}: expected a tokenizer that takes a pair of texts, found one that loses the second")


def load_tokenizer(file: Path) -> WordPiece | LibraryTokenizer:
    """The tokenizer of a `tokenizer.json`, without truncation: BERT's own without any library."""
    if not file.is_file():
        raise RankwellError(f"{file.parent}: expected a file tokenizer.json in the model's folder, found none")
    try:
        bert = WordPiece.parse(orjson.loads(file.read_bytes()))
    except (orjson.JSONDecodeError, AttributeError, KeyError, TypeError, ValueError):  # the library says what is wrong
        bert = None
    return bert or LibraryTokenizer(file)


class PairTokens:
    """Makes `[CLS] query [SEP] document [SEP]` of pairs.

    A query keeps its first `query_tokens` tokens; the document gets what is left of `max_tokens`.
    """

    def __init__(self, tokenizer: Tokenizer, max_tokens: int, query_tokens: int | None) -> None:
        room = max_tokens - len(tokenizer.pair)
        if room < FEWEST:
            raise ParameterError("max_tokens", expected=f"at least {FEWEST + len(tokenizer.pair)}", found=max_tokens)
        self.query_tokens = min(QUERY_TOKENS, room // 2) if query_tokens is None else query_tokens
        if not 1 <= self.query_tokens < room:
            raise ParameterError("query_tokens", expected=f"a number from 1 to {room - 1}", found=query_tokens)
        self.room, self.max_tokens = room, max_tokens
        self.truncated = Truncation()
        self._tokenizer = tokenizer
        self._queries: dict[str, tuple[list[int], int]] = {}

    def __call__(self, pairs: Sequence[tuple[str, str]]) -> list[Tokens]:
        """The token ids of each pair."""
        queries = self._heads_of_queries([query for query, _ in pairs])
        documents = self._tokenizer.heads([document for _, document in pairs], self.room - 1)
        return [self._join(*parts) for parts in zip(queries, documents, strict=True)]

    def _heads_of_queries(self, queries: list[str]) -> list[tuple[list[int], int]]:
        if len(self._queries) > REMEMBERED:
            self._queries.clear()
        new = [query for query in dict.fromkeys(queries) if query not in self._queries]
        self._queries.update(zip(new, self._tokenizer.heads(new, self.query_tokens), strict=True))
        return [self._queries[query] for query in queries]

    def _join(self, query: tuple[list[int], int], document: tuple[list[int], int]) -> Tokens:
        frame = self._tokenizer.pair
        first, more_query = query
        second, more = document
        fits = second[: self.room - len(first)]
        self.truncated.count(more_query, more + len(second) - len(fits))
        ids = [*frame.before, *first, *frame.between, *fits, *frame.after]
        types = [0] * (len(frame.before) + len(first)) + frame.between_types
        types += [frame.second] * (len(ids) - len(types))
        return Tokens(np.array(ids, dtype=np.int64), np.array(types, dtype=np.int64))


class TextTokens:
    """Makes `[CLS] text [SEP]` of texts; long texts keep their head."""

    def __init__(self, tokenizer: Tokenizer, max_tokens: int) -> None:
        self.room, self.max_tokens = max_tokens - len(tokenizer.single), max_tokens
        if self.room < 1:
            raise ParameterError("max_tokens", expected=f"at least {1 + len(tokenizer.single)}", found=max_tokens)
        self.truncated = Truncation()
        self._tokenizer = tokenizer

    def __call__(self, texts: Sequence[str]) -> list[Tokens]:
        """The token ids of each text."""
        frame, made = self._tokenizer.single, []
        for ids, more in self._tokenizer.heads(texts, self.room):
            self.truncated.count(0, more)
            array = np.array([*frame.before, *ids, *frame.after], dtype=np.int64)
            made.append(Tokens(array, np.zeros_like(array)))
        return made


def padded(rows: Sequence[Tokens], padding: int) -> Tokens:
    """Rows padded to the longest, as one array each."""
    longest = max(len(row.ids) for row in rows)
    ids = np.full((len(rows), longest), padding, dtype=np.int64)
    types, mask = np.zeros_like(ids), np.zeros_like(ids)
    for place, row in enumerate(rows):
        length = len(row.ids)
        ids[place, :length], types[place, :length], mask[place, :length] = row.ids, row.types, 1
    return Tokens(ids, types, mask)


class TokenCounter:
    """Counts a text's tokens without the special ones ([CLS], [SEP]); nothing is cut."""

    def __init__(self, model: str) -> None:
        self.model = model
        path = Path(model).expanduser()
        self._tokenizer = load_tokenizer(path if path.is_file() else find_model(model) / "tokenizer.json")

    def __call__(self, texts: Sequence[str]) -> list[int]:
        """The number of tokens of each text."""
        return [len(ids) for ids in self._tokenizer.ids(texts)]


def default_tokenizer() -> str | None:
    """The default model for counting tokens: a fetched one, or None."""
    return next((name for name in known_models() if name in fetched_models()), None)
