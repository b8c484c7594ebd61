"""Match functions over a toy segment: what is matched, and how functions are asked for by name."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rankwell.analysis import Analyzer
from rankwell.core import ParameterError
from rankwell.retrieve import (
    AllTerms,
    And,
    AnyTerm,
    Asked,
    Boolean,
    Field,
    Intersection,
    Match,
    Node,
    Not,
    Or,
    Phrase,
    Term,
    Union,
    parse_match,
)
from rankwell.retrieve import matched as matched_documents
from rankwell.retrieve.syntax import Mask

ANALYZER = Analyzer()
DOCUMENTS = (
    {"title": "football in England", "text": "the world cup"},
    {"title": "England", "text": "a cup for the world of football"},
    {"title": "soccer", "text": "covid-19 stopped the games"},
    {"text": "19 games"},
)


class Toy:
    """An index that looks at every document anew."""

    analyzer = ANALYZER
    fields = ("title", "text")

    def __init__(self, documents: Sequence[dict[str, str]] = DOCUMENTS) -> None:
        self.texts = [{**document, "": " . ".join(document.values())} for document in documents]
        self.size = len(documents)
        self.live = np.ones(self.size, dtype=bool)

    def holding(self, term: str, field: str) -> Mask:
        return np.array([term in ANALYZER(document.get(field, "")) for document in self.texts])

    def holding_phrase(self, text: str, field: str) -> Mask:
        return np.array([self._has(text, document.get(field, "")) for document in self.texts])

    @staticmethod
    def _has(phrase: str, text: str) -> bool:
        wanted = [(term, place) for term, place, _, _ in ANALYZER.positions(phrase)]
        places = {(term, place) for term, place, _, _ in ANALYZER.positions(text)}
        (first, start) = wanted[0]
        return any(
            all((term, place + position - start) in places for term, position in wanted)
            for found, place in places
            if found == first
        )


def matched(match: str | Match, text: str = "", fields: tuple[str, ...] = ("",)) -> list[int]:
    return np.flatnonzero(matched_documents(match, Asked(text, fields), Toy())).tolist()


@pytest.mark.parametrize(
    ("match", "text", "documents"),
    [
        ("or", "football soccer", [0, 1, 2]),
        ("and", "football world", [0, 1]),
        ("and", "England football nothing", []),
        ("or", "", []),
        ("and", "", []),
        ("or", "the of", []),
        ("and", "the of", []),
        ("and", "the world", [0, 1]),
        ("or", 'soccer AND "England"', [0, 1, 2]),
    ],
)
def test_plain_queries_match_by_their_terms(match: str, text: str, documents: list[int]) -> None:
    assert matched(match, text) == documents


def test_every_term_may_stand_in_any_searched_field() -> None:
    assert matched("and", "England football", ("title", "text")) == [0, 1]
    assert matched("and", "England football", ("title",)) == [0]


@pytest.mark.parametrize(
    ("expression", "documents"),
    [
        ("England AND football", [0, 1]),
        ("football OR soccer", [0, 1, 2]),
        ("football NOT title:football", [1]),
        ("title:(England football)", [0]),
        ("title:(soccer OR text:football)", [1, 2]),
        ("NOT football", [2, 3]),
        ("NOT (football OR soccer)", [3]),
        ('"world cup"', [0]),
        ('text:"cup for the world"', [1]),
        ('"cup world"', []),
        ('"world"', [0, 1]),
        ("covid-19", [2]),
        ("19 NOT covid-19", [3]),
        ("the AND soccer", [2]),
        ("soccer NOT the", [2]),
        ("the OR of", []),
        ("NOT the", []),
        ('"the"', []),
        ("infectious", []),
    ],
)
def test_an_expression_matches(expression: str, documents: list[int]) -> None:
    assert matched(f"expr:{expression}", "whatever") == documents


def test_a_query_can_be_the_expression() -> None:
    assert matched("expr", "football NOT title:football") == [1]
    assert matched("expr", " ") == []


def test_functions_are_joined() -> None:
    assert matched("and + expr:title:soccer", "England football") == [0, 1, 2]
    assert matched("or & expr:NOT title:football", "England football") == [1]
    assert matched("and & or + expr:title:soccer", "England") == [0, 1, 2]


@pytest.mark.parametrize(
    ("text", "function"),
    [
        ("or", AnyTerm()),
        (" and ", AllTerms()),
        ("expr", Boolean()),
        ("expr:a + b & c", Boolean("a + b & c")),
        ("and+expr:a", Union((AllTerms(), Boolean("a")))),
        ("or & and", Intersection((AnyTerm(), AllTerms()))),
        ("or + and & expr:a", Union((AnyTerm(), Intersection((AllTerms(), Boolean("a")))))),
    ],
)
def test_functions_are_known_by_name(text: str, function: Match) -> None:
    assert parse_match(text) == function
    assert parse_match(function) is function


@pytest.mark.parametrize("text", ["", "xor", "or +", "& and", "or and", "OR", "myexpr:a"])
def test_an_unknown_function_is_refused_with_the_known_ones(text: str) -> None:
    with pytest.raises(ParameterError) as caught:
        parse_match(text)
    assert str(caught.value) == (
        "match: expected or, and, ann:100, expr:... or several with + (union) or & (intersection) between them, "
        f'found "{text}"'
    )


def test_an_argument_that_is_not_wanted_is_refused() -> None:
    with pytest.raises(ParameterError, match='match: expected no argument here, found "3"'):
        parse_match("and:3")


def test_a_wrong_expression_is_refused_before_anything_is_searched() -> None:
    with pytest.raises(ParameterError, match="expression, column 6"):
        parse_match("expr:a AND")


@pytest.mark.parametrize("match", ["expr:year:2020", "or & expr:year:2020"])
def test_an_unknown_field_is_refused_with_the_known_ones(match: str) -> None:
    with pytest.raises(ParameterError, match='expression: expected one of the fields title, text, found "year"'):
        parse_match(match).check(("title", "text"))


def test_an_unknown_field_in_a_query_is_refused_too() -> None:
    with pytest.raises(ParameterError, match='expected one of the fields title, text, found "year"'):
        matched("expr", "year:2020")


LETTERS = st.sampled_from("bcd")
LEAVES = st.builds(Term, LETTERS) | st.builds(Field, st.sampled_from(["title", "text"]), st.builds(Term, LETTERS))
NODES = st.recursive(
    LEAVES | st.builds(Phrase, st.tuples(LETTERS, LETTERS).map(" ".join)),
    lambda inside: (
        st.lists(inside, min_size=2, max_size=3).map(lambda parts: And(tuple(parts)))
        | st.lists(inside, min_size=2, max_size=3).map(lambda parts: Or(tuple(parts)))
        | inside.map(Not)
        | st.builds(Field, st.sampled_from(["title", "text"]), inside)
    ),
    max_leaves=6,
)
TEXTS = st.lists(LETTERS, max_size=4).map(" ".join)
CORPORA = st.lists(st.fixed_dictionaries({"title": TEXTS, "text": TEXTS}), min_size=1, max_size=6)


def holds(node: Node, document: dict[str, str], field: str) -> bool:
    """The same question, asked of one document."""
    words = document[field].split()
    if isinstance(node, And):
        return all(holds(part, document, field) for part in node.parts)
    if isinstance(node, Or):
        return any(holds(part, document, field) for part in node.parts)
    if isinstance(node, Not):
        return not holds(node.part, document, field)
    if isinstance(node, Field):
        return holds(node.inside, document, node.name)
    if isinstance(node, Phrase):
        return tuple(node.words.split()) in set(pairwise(words))
    return str(node) in words


@given(NODES, CORPORA)
def test_masks_equal_the_answer_document_by_document(node: Node, corpus: list[dict[str, str]]) -> None:
    found = Boolean(str(node)).mask(Asked(""), Toy(corpus))
    whole = [{**document, "": " . ".join(document.values())} for document in corpus]
    bare = [{field: text.replace(".", " ") for field, text in document.items()} for document in whole]
    assert found.tolist() == [holds(node, document, "") for document in bare]
