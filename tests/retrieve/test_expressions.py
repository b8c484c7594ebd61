"""Boolean expressions: what is read, how it reads back, and what an error says."""

from __future__ import annotations

import contextlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rankwell.core import ParameterError, RankwellError
from rankwell.retrieve import And, Field, Node, Not, Or, Phrase, Term, parse_expression
from rankwell.retrieve.boolean import fields_of, wanted_text

A, B, C = Term("a"), Term("b"), Term("c")


@pytest.mark.parametrize(
    ("text", "meaning"),
    [
        ("England AND football", And((Term("England"), Term("football")))),
        ("football OR soccer", Or((Term("football"), Term("soccer")))),
        ("a OR b AND c", Or((A, And((B, C))))),
        ("(a OR b) AND c", And((Or((A, B)), C))),
        ("NOT a AND b", And((Not(A), B))),
        ("NOT (a OR b)", Not(Or((A, B)))),
        ("NOT NOT a", Not(Not(A))),
        ("a b c", And((A, B, C))),
        ("a b OR c", Or((And((A, B)), C))),
        ("a NOT b", And((A, Not(B)))),
        ("title:a b", And((Field("title", A), B))),
        ("title:(a OR b)", Field("title", Or((A, B)))),
        ('title:"a b"', Field("title", Phrase("a b"))),
        ('"World Cup" "say \\"hi\\""', And((Phrase("World Cup"), Phrase('say "hi"')))),
        ("“heart failure”", Phrase("heart failure")),
        ("a and b or not", And((A, Term("and"), B, Term("or"), Term("not")))),
        ("ANDROID ORB NOTE", And((Term("ANDROID"), Term("ORB"), Term("NOTE")))),
        ("((((a))))", A),
        ("covid-19", Term("covid-19")),
        ("a(b)c", And((A, B, C))),
    ],
)
def test_an_expression_means(text: str, meaning: Node) -> None:
    assert parse_expression(text) == meaning


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", 'column 1: expected a word, a "phrase", field:word, "(" or NOT, found the end'),
        ("a AND", 'column 6: expected a word, a "phrase", field:word, "(" or NOT, found the end'),
        ("a AND OR b", 'column 7: expected a word, a "phrase", field:word, "(" or NOT, found "OR"'),
        ("(a OR b", 'column 8: expected ")" for the "(" of column 1, found the end'),
        ("()", 'column 2: expected a word, a "phrase", field:word, "(" or NOT, found ")"'),
        ("a) b", 'column 2: expected no ")" without its "(", found ")"'),
        ('a "b c', "column 3: expected a closing quote for this one"),
        ('a ""', "column 3: expected words between the quotes"),
        ("title:", 'column 7: expected a word, a "phrase"'),
        ("title:text:a", 'column 7: expected a word, a "phrase" or "(" after title:, found "text"'),
        (" :a", "column 2: expected the name of a field before the colon"),
        ("behav*", "column 6: expected whole words"),
        ("cancer[tiab]", "column 7: expected fields as in title:word"),
    ],
)
def test_an_error_names_the_column_and_what_was_expected(text: str, message: str) -> None:
    with pytest.raises(ParameterError) as caught:
        parse_expression(text)
    assert str(caught.value).startswith(f"expression, {message}")


@pytest.mark.parametrize("text", ["(" * 100_000, "(" * 100_000 + "a" + ")" * 100_000, "NOT " * 100_000 + "a"])
def test_a_hundred_thousand_parentheses_are_refused_without_a_crash(text: str) -> None:
    with pytest.raises(ParameterError, match="at most 50 parentheses and NOTs"):
        parse_expression(text)


def test_a_hundred_thousand_words_are_no_deeper_than_two() -> None:
    found = parse_expression(" OR ".join(["word"] * 100_000))
    assert isinstance(found, Or)
    assert len(found.parts) == 100_000


def test_fifty_levels_are_read_and_written() -> None:
    text = "(" * 49 + "NOT a" + ")" * 49
    assert parse_expression(text) == Not(A)
    deep: Node = A
    for _ in range(50):
        deep = And((B, deep))
    assert parse_expression(str(deep)) == deep


def _is_term(word: str) -> bool:
    try:
        Term(word)
    except RankwellError:
        return False
    return True


WORDS = st.text(st.characters(exclude_categories=["Cs"]), min_size=1).filter(_is_term)
PHRASES = st.text(st.characters(exclude_categories=["Cs"]), min_size=1).filter(str.strip)
LEAVES = st.builds(Term, WORDS) | st.builds(Phrase, PHRASES)
NODES = st.recursive(
    LEAVES,
    lambda inside: (
        st.lists(inside, min_size=2, max_size=4).map(lambda parts: And(tuple(parts)))
        | st.lists(inside, min_size=2, max_size=4).map(lambda parts: Or(tuple(parts)))
        | inside.map(Not)
        | st.builds(Field, WORDS, inside)
    ),
    max_leaves=12,
)


@given(NODES)
def test_what_is_written_reads_back(expression: Node) -> None:
    assert parse_expression(str(expression)) == expression


@given(st.text())
def test_any_text_is_read_or_refused_with_a_clear_error(text: str) -> None:
    with contextlib.suppress(ParameterError):
        found = parse_expression(text)
        assert parse_expression(str(found)) == found


def test_the_repr_is_the_code_that_makes_the_expression() -> None:
    found = parse_expression('title:(a OR "b c") NOT d')
    assert eval(repr(found)) == found  # noqa: S307 -- our own text


def test_the_fields_that_an_expression_names() -> None:
    assert fields_of(parse_expression("title:(a OR text:b) NOT year:c AND title:d")) == ("title", "text", "year")


def test_the_wanted_words_leave_out_what_is_excluded() -> None:
    assert wanted_text(parse_expression('title:a AND "b c" NOT (d OR NOT e)')) == "a b c e"
