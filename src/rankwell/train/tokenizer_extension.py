"""A tokenizer with more words: real entries of its WordPiece vocabulary, not "added tokens".

Added tokens are cut out of a text before it is split into words. They would break longer words that begin with one
(`covids` must become `covid ##s`), are looked for in every text by a second automaton, and each loader treats them in
its own way. Entries of the vocabulary are found by WordPiece's own longest match, cost nothing, and every reader of
`tokenizer.json` or `vocab.txt` knows them.
"""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import orjson

from rankwell.core import RankwellError, atomic_write

WORDPIECE = "WordPiece"
COPIED = ("tokenizer_config.json", "special_tokens_map.json")


@dataclass(frozen=True)
class ExtendedTokenizer:
    """A tokenizer's description with new words, and which pieces each of them had before."""

    description: dict[str, Any]
    ids: dict[str, int]
    pieces: dict[str, list[int]]

    @property
    def size(self) -> int:
        """How many embeddings a model needs."""
        added = (int(token["id"]) for token in self.description["added_tokens"])
        return 1 + int(max(*self.description["model"]["vocab"].values(), *added))

    def tokenizer(self) -> Any:
        """Ready to be used; nothing is cut or padded."""
        return _opened(self.description)

    def write(self, source: Path, out: Path) -> None:
        """Write `tokenizer.json`, `vocab.txt` and the small files that belong to them."""
        for name in COPIED:
            if (source / name).is_file():
                shutil.copyfile(source / name, out / name)
        with atomic_write(out / "tokenizer.json") as file:
            file.write(orjson.dumps(self.description, option=orjson.OPT_INDENT_2))
        by_id = sorted(self.description["model"]["vocab"].items(), key=lambda entry: entry[1])
        if [number for _, number in by_id] == list(range(len(by_id))):  # which is all that a plain list can say
            with atomic_write(out / "vocab.txt") as file:
                file.write("".join(f"{word}\n" for word, _ in by_id).encode())


def extend_tokenizer(folder: Path, words: Sequence[str]) -> ExtendedTokenizer:
    """The tokenizer of a model's folder with these words at the end of its vocabulary."""
    description = wordpiece_description(folder)
    vocabulary = description["model"]["vocab"]
    new = [word for word in dict.fromkeys(words) if word not in vocabulary]
    old = _opened(description)
    encoded = old.encode_batch([[word] for word in new], is_pretokenized=True, add_special_tokens=False)
    first = old.get_vocab_size(with_added_tokens=True)
    ids = {word: first + number for number, word in enumerate(new)}
    extended = {**description, "model": {**description["model"], "vocab": {**vocabulary, **ids}}}
    return ExtendedTokenizer(extended, ids, {word: found.ids for word, found in zip(new, encoded, strict=True)})


def wordpiece_description(folder: Path) -> dict[str, Any]:
    """What `tokenizer.json` says, where it is one of WordPiece."""
    file = folder / "tokenizer.json"
    if not file.is_file():
        raise RankwellError(f"{folder}: expected a file tokenizer.json in the model's folder, found none")
    try:
        description = orjson.loads(file.read_bytes())
        kind = description["model"].get("type", "a model without a type")
    except (orjson.JSONDecodeError, KeyError, TypeError, AttributeError) as error:
        raise RankwellError(f"{file}: expected a tokenizer, found something else") from error
    if kind != WORDPIECE:
        raise RankwellError(f"{file}: expected a WordPiece tokenizer, whose vocabulary can take words, found {kind}")
    return dict(description)


def plain_tokenizer(folder: Path) -> Any:
    """The tokenizer of a model's folder, without cutting and padding."""
    return _opened(wordpiece_description(folder))


def _opened(description: dict[str, Any]) -> Any:
    from tokenizers import Tokenizer

    tokenizer = Tokenizer.from_str(orjson.dumps(description).decode())
    tokenizer.no_truncation()
    tokenizer.no_padding()
    return tokenizer
