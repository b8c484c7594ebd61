"""BERT's tokenizer in Python gives the token ids of the library `tokenizers`."""

from __future__ import annotations

import json
import sys
import unicodedata
from pathlib import Path

import pytest
import tokenizers
from hypothesis import given
from hypothesis import strategies as st
from tokenizers import normalizers, pre_tokenizers

from rankwell.core import MissingExtraError, RankwellError
from rankwell.models.base.tokens import LibraryTokenizer, Tokenizer, load_tokenizer
from rankwell.models.base.wordpiece import Characters, WordPiece
from tiny_models import write_tokenizer

WORDS = [
    "[PAD]",
    "[UNK]",
    "[CLS]",
    "[SEP]",
    "[MASK]",
    "do",
    "mask",
    "##s",
    "stop",
    "the",
    "ete",
    "東",
    "!",
    "-",
    "'",
    "2",
]
LETTERS = [*"abcdefghijklmnopqrstuvwxyz", *(f"##{letter}" for letter in "abcdefghijklmnopqrtuvwxyz")]
SEPARATE_DECOMPOSITION = 0x11938  # Unicode 13 splits it into two, `tokenizers` does not yet
texts = st.lists(
    st.one_of(
        st.text(max_size=8),
        st.text(st.characters(max_codepoint=0x24F), max_size=8),
        st.sampled_from(
            ["Masks", "[SEP]", "[MASK", "Été", "İ", "ΑΣ", "ǅ", "東京", "\x00", "\u200b", "don't", "x" * 101]
        ),
    ),
    max_size=8,
).map(" ".join)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("bert")
    write_tokenizer(made, [*WORDS, *LETTERS])
    told = json.loads((made / "tokenizer.json").read_text(encoding="utf-8"))
    flags = dict.fromkeys(("single_word", "lstrip", "rstrip", "normalized"), False)
    told["added_tokens"] = [{"id": at, "content": WORDS[at], "special": True, **flags} for at in range(5)]
    (made / "tokenizer.json").write_text(json.dumps(told), encoding="utf-8")
    return made


@pytest.fixture(scope="module")
def ours(folder: Path) -> WordPiece:
    found = load_tokenizer(folder / "tokenizer.json")
    assert isinstance(found, WordPiece)
    return found


@pytest.fixture(scope="module")
def theirs(folder: Path) -> LibraryTokenizer:
    return LibraryTokenizer(folder / "tokenizer.json")


@given(texts)
def test_a_text_has_the_ids_of_the_library(ours: WordPiece, theirs: LibraryTokenizer, text: str) -> None:
    if any(unicodedata.category(char) in {"Cn", "Cs"} or ord(char) == SEPARATE_DECOMPOSITION for char in text):
        return  # newer than this Python's tables, or half a character
    assert ours.ids([text]) == theirs.ids([text])


def test_the_special_tokens_around_texts_are_those_of_the_library(ours: WordPiece, theirs: LibraryTokenizer) -> None:
    assert (ours.single, ours.pair, ours.vocabulary) == (theirs.single, theirs.pair, theirs.vocabulary)


@pytest.mark.parametrize("lowercase", [True, False])
@pytest.mark.parametrize("strip_accents", [True, False])
def test_every_character_becomes_what_the_library_makes_of_it(*, lowercase: bool, strip_accents: bool) -> None:
    characters = Characters(lowercase=lowercase, strip_accents=strip_accents, chinese=True)
    normalizer = normalizers.BertNormalizer(lowercase=lowercase, strip_accents=strip_accents)
    splitter = pre_tokenizers.BertPreTokenizer()
    kinds = {code: unicodedata.category(chr(code)) for code in range(0x30000)}
    letters = [code for code, kind in kinds.items() if kind == "Lo"][::16]  # most of them Chinese and Korean
    codes = [*letters, *(code for code, kind in kinds.items() if kind not in {"Cn", "Co", "Cs", "Lo"})]
    for start in range(0, len(codes), 500):  # many in a call, because a call for each takes a minute
        text = " ".join(f"a{chr(code)}b" for code in codes[start : start + 500] if code != SEPARATE_DECOMPOSITION)
        words = [word for word, _ in splitter.pre_tokenize_str(normalizer.normalize_str(text))]
        assert text.translate(characters).split() == words


def test_a_tokenizer_of_bert_needs_no_library(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "tokenizers", None)
    assert Tokenizer(folder / "tokenizer.json").heads(["do masks stop"], 9) == [([5, 6, 7, 8], 0)]


def test_another_tokenizer_names_the_extra(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "tokenizer.json"
    tokenizers.Tokenizer(tokenizers.models.BPE({"a": 0}, [])).save(str(file))
    monkeypatch.setitem(sys.modules, "tokenizers", None)
    with pytest.raises(MissingExtraError, match=r"tokenizer\.json.*rankwell\[hub\]"):
        load_tokenizer(file)


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("model", {"type": "WordPiece", "vocab": ["a"], "unk_token": "[UNK]"}),
        ("model", {"type": "WordPiece", "vocab": {"[UNK]": "0"}, "unk_token": "[UNK]"}),
        ("post_processor", {"type": "TemplateProcessing", "single": 7}),
        ("added_tokens", 7),
    ],
)
def test_a_damaged_file_is_told_by_the_library(folder: Path, tmp_path: Path, key: str, value: object) -> None:
    told = json.loads((folder / "tokenizer.json").read_text(encoding="utf-8"))
    (tmp_path / "tokenizer.json").write_text(json.dumps(told | {key: value}))
    with pytest.raises(RankwellError, match=r"tokenizer\.json: expected a tokenizer, found"):
        load_tokenizer(tmp_path / "tokenizer.json")
