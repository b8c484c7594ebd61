"""What each of the four review rankers reads: its texts, its tokens, and a relevant abstract that is not itself."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rankwell.core import Document, FormatError, ParameterError, Template
from rankwell.models.base.folder import RankerRecord
from rankwell.models.base.tokens import PairTokens, TextTokens, Tokenizer
from rankwell.models.review_rankers.architectures import (
    ARCHITECTURES,
    DocumentParts,
    Example,
    InputReading,
    RelevantAbstracts,
    architecture,
)
from rankwell.models.review_rankers.graph import ArchitectureRecord
from rankwell.models.review_rankers.ranking import ExampleTokens, taken_apart
from tiny_models import WORDS, write_tokenizer

EXAMPLE = Example("fever", "aspirin", "cough and cold", "honey for cough")
KNOWN = st.dictionaries(
    st.sampled_from(["q1", "q2", "q3"]),
    st.dictionaries(st.sampled_from([f"d{n}" for n in range(8)]), st.sampled_from("abcde"), max_size=6),
)


@pytest.fixture(scope="module")
def tokenizer(tmp_path_factory: pytest.TempPathFactory) -> Tokenizer:
    folder = tmp_path_factory.mktemp("tokenizer")
    write_tokenizer(folder, ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *WORDS])
    return Tokenizer(folder / "tokenizer.json")


@pytest.mark.parametrize(
    ("kind", "texts", "expected"),
    [
        ("interaction", "QA", (("fever", "cough and cold"),)),
        ("interaction", "QTA", (("fever", "aspirin cough and cold"),)),
        ("representation", None, ("fever", "aspirin", "cough and cold")),
        ("dual-interaction", "QA", (("fever", "cough and cold"), ("fever", "honey for cough"))),
        ("dual-interaction", "QTA", (("fever", "aspirin cough and cold"), ("fever", "honey for cough"))),
        ("triple-representation", None, ("fever", "cough and cold", "honey for cough")),
    ],
)
def test_each_architecture_reads_what_s3_says(kind: str, texts: str | None, expected: tuple[object, ...]) -> None:
    assert architecture(kind, texts).given(EXAMPLE) == expected


def test_a_document_without_an_abstract_is_read_by_its_title() -> None:
    assert architecture("interaction").given(Example("fever", "aspirin", " ")) == (("fever", "aspirin"),)
    assert architecture("interaction", "QTA").given(Example("fever", "aspirin", "")) == (("fever", "aspirin"),)


def test_wrong_words_are_refused_with_the_right_ones() -> None:
    with pytest.raises(ParameterError, match="expected interaction or representation or dual-interaction or triple"):
        architecture("trio")
    with pytest.raises(ParameterError, match=r'texts: expected QA .* or QTA .*, found "TA"'):
        architecture("interaction", "TA")
    with pytest.raises(ParameterError, match="nothing, because representation reads query, title, abstract each"):
        architecture("representation", "QTA")
    with pytest.raises(ParameterError, match="most_words: expected a number from 1, found 0"):
        InputReading(most_words=0)


def test_cleaning_and_shortening_come_before_texts_are_put_together() -> None:
    example = Example("The fevers", "A title", "One two three four five", "six seven eight nine")
    assert InputReading(most_words=3)(example) == Example("The fevers", "A title", "One two three", "six seven eight")
    read = InputReading(clean=True)(Example("The fevers", "A title", "The coughs were 5", "see www.example.org now"))
    assert read.query == "fever"
    assert read.title == "title"
    assert "the" not in read.abstract.split()
    assert "5" not in read.abstract
    assert "www" not in read.relevant


@pytest.mark.parametrize("kind", ARCHITECTURES)
def test_a_row_of_tokens_is_taken_apart_into_the_inputs_it_was_made_of(kind: str, tokenizer: Tokenizer) -> None:
    examples = [EXAMPLE, Example("honey bees", "moon", "a " * 40, ""), Example("", "", "", "")]
    made = ExampleTokens(architecture(kind), tokenizer, 24, None)(examples)
    pairs, texts = PairTokens(tokenizer, 24, None), TextTokens(tokenizer, 24)
    for example, row in zip(examples, made, strict=True):
        given = architecture(kind).given(example)
        apart = [texts([one])[0] if isinstance(one, str) else pairs([one])[0] for one in given]
        found = taken_apart(row.ids.astype(np.int32), row.types.astype(np.int8), len(given))
        for one, other in zip(apart, found, strict=True):
            assert one.ids.tolist() == other.ids.tolist()
            assert one.types.tolist() == other.types.tolist()


def test_what_is_cut_is_counted_over_all_inputs(tokenizer: Tokenizer) -> None:
    tokens = ExampleTokens(architecture("representation"), tokenizer, 16, None)
    tokens([Example("a " * 30, "moon", "of " * 20)])
    assert (tokens.truncated.texts, tokens.truncated.documents_cut, tokens.truncated.tokens_dropped) == (3, 2, 22)


@given(KNOWN, st.sampled_from(["q1", "q2", "q3"]), st.sampled_from([f"d{n}" for n in range(10)]), st.booleans())
def test_the_relevant_abstract_is_of_the_query_and_never_the_document_itself(
    known: dict[str, dict[str, str]], qid: str, docno: str, one: bool
) -> None:
    text = known.get(qid, {}).get(docno, "z")
    relevant = RelevantAbstracts(known, seed=3, one=one)
    found = relevant.choose(qid, docno, text)
    others = {other for name, other in known.get(qid, {}).items() if name != docno}
    assert found is None or (found in others and found != text)
    assert (found is None) == (not others - {text})
    assert relevant.enough(qid) <= (found is not None)
    # nothing else has a say: neither the order of what is known nor other queries
    again = RelevantAbstracts({qid: dict(reversed(known.get(qid, {}).items()))}, seed=3, one=one)
    assert again.choose(qid, docno, text) == found


def test_documents_are_given_different_abstracts_or_with_one_all_the_same() -> None:
    known = {"q": {f"r{n}": f"abstract {n}" for n in range(10)}}
    documents = [f"d{n}" for n in range(30)]
    drawn = {RelevantAbstracts(known).choose("q", docno) for docno in documents}
    assert len(drawn) > 5
    assert len({RelevantAbstracts(known, one=True).choose("q", docno) for docno in documents}) == 1
    assert {RelevantAbstracts(known, 1).choose("q", docno) for docno in documents[:3]} != {
        RelevantAbstracts(known, 2).choose("q", docno) for docno in documents[:3]
    }


def test_title_and_abstract_are_found_by_any_of_their_names() -> None:
    parts = DocumentParts()
    assert parts.abstract(Document("1", {"title": "t", "text": " a "})) == "a"
    assert parts.abstract(Document("1", {"body": "b", "abstract": "a"})) == "a"
    assert parts.abstract(Document("1", {"title": "t", "x": "one", "y": "two"})) == "one two"
    assert parts.title(Document("1", {"text": "a"})) == ""
    assert DocumentParts(Template("{x}!")).abstract(Document("1", {"text": "a", "x": "one"})) == "one!"


def test_the_record_of_a_folder_comes_back_as_it_was_written(tmp_path: Path) -> None:
    record = ArchitectureRecord("dual-interaction", "QTA", 128, 30, clean=True, most_words=200, shared=True, seed=7)
    record.write(tmp_path)
    assert ArchitectureRecord.read(tmp_path) == record
    RankerRecord("dual-interaction", {"max_tokens": 128, "texts": "QA", "depth": 3}).write(tmp_path)
    with pytest.raises(FormatError, match=r"expected the settings texts, .* of an architecture, found .*depth"):
        ArchitectureRecord.read(tmp_path)
