"""Add words to a tokenizer's WordPiece vocabulary, and embeddings for them to its model."""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import orjson

from rankwell.core import MissingExtraError, RankwellError, atomic_write
from rankwell.models.base.folder import ModelFolder
from rankwell.models.learning.starting_model import load_model

WORDPIECE = "WordPiece"
COPIED = ("tokenizer_config.json", "special_tokens_map.json")


@dataclass(frozen=True)
class ExtendedTokenizer:
    """A tokenizer's description with new words, and the former pieces of each."""

    description: dict[str, Any]
    ids: dict[str, int]
    pieces: dict[str, list[int]]

    @property
    def size(self) -> int:
        """Number of embeddings that a model needs."""
        added = (int(token["id"]) for token in self.description["added_tokens"])
        return 1 + int(max(*self.description["model"]["vocab"].values(), *added))

    def tokenizer(self) -> Any:
        """The tokenizer, without truncation and padding."""
        return _opened(self.description)

    def write(self, source: Path, out: Path) -> None:
        """Write `tokenizer.json`, `vocab.txt` and the small files that belong to them."""
        for name in COPIED:
            if (source / name).is_file():
                shutil.copyfile(source / name, out / name)
        with atomic_write(out / "tokenizer.json") as file:
            file.write(orjson.dumps(self.description, option=orjson.OPT_INDENT_2))
        by_id = sorted(self.description["model"]["vocab"].items(), key=lambda entry: entry[1])
        if [number for _, number in by_id] == list(range(len(by_id))):  # a plain list can say no more
            with atomic_write(out / "vocab.txt") as file:
                file.write("".join(f"{word}\n" for word, _ in by_id).encode())


def extend_tokenizer(folder: Path, words: Sequence[str]) -> ExtendedTokenizer:
    """The tokenizer of a model's folder with these words added at the end of its vocabulary."""
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
    """The content of `tokenizer.json`; refused where it is not WordPiece."""
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
    """The tokenizer of a model's folder, without truncation and padding."""
    return _opened(wordpiece_description(folder))


def _opened(description: dict[str, Any]) -> Any:
    from tokenizers import Tokenizer

    tokenizer = Tokenizer.from_str(orjson.dumps(description).decode())
    tokenizer.no_truncation()
    tokenizer.no_padding()
    return tokenizer


# Files of a folder that mark it as an encoder: an extended one stays an encoder.
SENTENCE_FILES = ("modules.json", "config_sentence_transformers.json", "sentence_bert_config.json")
SENTENCE_FOLDERS = ("1_Pooling",)


def extend_model(folder: ModelFolder, words: ExtendedTokenizer, out: Path) -> None:
    """Write a folder with the model, its tokenizer and the new words; its head, if any, stays."""
    try:
        import transformers
    except ImportError as error:
        raise MissingExtraError(f"{folder.name}: new embeddings", extra="train") from error
    known = folder.architecture if hasattr(transformers, folder.architecture) else "AutoModel"
    model, _ = load_model(folder, getattr(transformers, known))
    extend_embeddings(model, words)
    out.mkdir(parents=True, exist_ok=True)
    model.save_pretrained(out)
    words.write(folder.path, out)
    for name in SENTENCE_FILES:
        if (folder.path / name).is_file():
            shutil.copyfile(folder.path / name, out / name)
    for name in SENTENCE_FOLDERS:
        if (folder.path / name).is_dir():
            shutil.copytree(folder.path / name, out / name, dirs_exist_ok=True)


def extend_embeddings(model: Any, words: ExtendedTokenizer) -> None:
    """Grow the embeddings (and the output bias of a masked-language-model head), and fill the new rows.

    A new word starts as the mean of its pieces, so that the model's output changes little; a word
    without pieces ([UNK]) starts as the embedding of [UNK].
    """
    import torch

    if words.size > model.get_input_embeddings().num_embeddings:  # some models have spare rows
        model.resize_token_embeddings(words.size, mean_resizing=False)
    head = model.get_output_embeddings()
    bias = getattr(head, "bias", None)
    with torch.no_grad():
        for table in _tables(model, head):
            for word, number in words.ids.items():
                table[number] = table[words.pieces[word]].mean(dim=0)
        if bias is not None:
            for word, number in words.ids.items():
                bias[number] = bias[words.pieces[word]].mean()


def _tables(model: Any, head: Any) -> list[Any]:
    """The input embeddings, and the output's where they are separate tensors."""
    table = model.get_input_embeddings().weight
    return [table] if head is None or head.weight is table else [table, head.weight]
