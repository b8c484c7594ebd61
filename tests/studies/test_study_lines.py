from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rankwell.core import RankwellError
from rankwell.studies.file.errors import LineError
from rankwell.studies.file.pipeline_line import Argument, Call, PipelineLine, parse_line
from rankwell.studies.steps import STEPS, chain_of

WORDS = st.text("abcdefxyz-_./0123456789", min_size=1, max_size=8).filter(lambda w: w not in ("top", "true", "false"))
NAMES = WORDS.filter(lambda word: not word[0].isdigit() and word[0] not in "-.")
VALUES = st.one_of(
    st.integers(-(10**9), 10**9),
    st.floats(0.001, 1000, allow_nan=False).map(lambda number: round(number, 3)),
    st.booleans(),
    NAMES,
    st.text("abc {}|(),=$#é", min_size=1, max_size=12),
)


@st.composite
def lines(draw: st.DrawFn, depth: int = 2) -> PipelineLine:
    inner = st.one_of(VALUES, lines(depth - 1).filter(_has_brackets)) if depth else VALUES
    arguments = st.builds(Argument, st.none() | NAMES, inner)
    calls = st.builds(Call, NAMES, st.lists(arguments, max_size=3).map(tuple))
    return PipelineLine(tuple(draw(st.lists(calls, min_size=1, max_size=3))))


def _has_brackets(line: PipelineLine) -> bool:
    """A name alone in brackets is a value; only with brackets or `|` behind it, it is a line."""
    return len(line.calls) > 1 or bool(line.calls[0].arguments)


@given(lines())
def test_a_line_written_and_read_again_is_the_same(line: PipelineLine) -> None:
    assert parse_line(str(line)) == line


@given(st.text(max_size=60) | st.text("bm25dense|(),=\"' top0.$", max_size=60))
def test_any_text_is_a_line_or_a_mistake_with_its_place(text: str) -> None:
    try:
        chain_of(text)
    except LineError as error:
        assert 0 <= error.place <= len(text)  # noqa: PT017 -- any text may be one or the other
    else:
        assert parse_line(str(parse_line(text))) == parse_line(text)


@pytest.mark.parametrize(
    ("line", "place", "says"),
    [
        ("bm52", 0, "did you mean bm25?"),
        ("bm25 | topp(3)", 7, "did you mean top?"),
        ("dense(minilm-l6, poling=max)", 17, "did you mean pooling?"),
        ("dense(minilm-l6, pooling=maxx)", 17, "did you mean max?"),
        ("bm25(k1=high)", 5, "k1: expected a number"),
        ("bm25 | top", 7, "expected k (number of documents"),
        ("bm25 | top 0", 11, "a whole number from 1"),
        ("rm3", 0, "expected a step that can begin"),
        ("bm25 | bm25", 7, "expected bm25 at the beginning"),
        ("bm25(k1=1, k1=2)", 11, "found it twice"),
        ("bm25 |", 6, "found the end of the line"),
        ("bm25(title=0.2", 14, "found the end of the line"),
        ("dense('a)", 6, "ends with the quote"),
        ("bm25; rm3", 4, "expected a name, a value or one of"),
        ("fuse(bm25)", 0, "two lines or more"),
        ("bm25(k1=-1)", 5, "k1: expected a number from 0"),
        ("bm25 | rm3(weight=2)", 11, "original_query_weight: expected a number from 0 to 1"),
        ("bm25 | interpolate(0.5)", 7, "expected one cross-encoder"),
        ("bm25 | cross-encoder(x, document=title)", 7, "names of fields in braces"),
        ("bm25 | cross-encoder(x, passages=many)", 7, "passages"),
        ("dense(x, layer=0)", 0, "a number from 1"),
    ],
)
def test_a_mistake_is_told_with_its_place_and_a_suggestion(line: str, place: int, says: str) -> None:
    with pytest.raises(LineError) as raised:
        chain_of(line)
    assert says in raised.value.message
    assert raised.value.place == place


def test_what_is_left_out_has_its_usual_value() -> None:
    (step,) = chain_of("bm25(title=0.25, abstract=0.6)")
    assert step.weights == {"title": 0.25, "abstract": 0.6}
    assert (step["k1"], step["b"], step["match"], step["k"]) == (1.2, 0.75, "or", 1000)


def test_a_name_stands_for_the_steps_that_it_was_given() -> None:
    named = {"BM25w": "bm25(title=0.3) | top 50", "both": "fuse(BM25w, bm25)"}
    assert chain_of("BM25w | rm3", named) == chain_of("bm25(title=0.3) | top 50 | rm3")
    assert chain_of("both", named) == chain_of("fuse(bm25(title=0.3) | top 50, bm25)")


def test_a_name_that_stands_for_itself_is_refused() -> None:
    with pytest.raises(LineError, match="found itself"):
        chain_of("a", {"a": "b | top 3", "b": "a"})


def test_lines_within_lines_without_end_are_refused_before_they_exhaust_the_machine() -> None:
    with pytest.raises(LineError, match="within one another"):
        parse_line("fuse(" * 1000)
    with pytest.raises(LineError, match="characters"):
        parse_line("a" * 100_000)


@pytest.mark.parametrize("name", STEPS)
def test_every_step_says_what_it_is_and_what_its_settings_are(name: str) -> None:
    kind = STEPS[name]
    assert kind.about
    assert kind.begins or kind.follows
    assert all(parameter.help for parameter in kind.parameters.values())
    assert set(kind.main) <= set(kind.parameters)


def test_no_setting_is_forgotten_in_the_configuration_of_a_step() -> None:
    (step,) = chain_of("fuse(bm25(title=1) | top 3, dense(m))")
    told = step.configuration()
    assert told["beside"][0][0]["weights"] == {"title": 1.0}
    assert told["beside"][1][0]["model"] == "m"
    assert issubclass(LineError, RankwellError)


def test_a_line_begins_with_a_pipeline_from_a_file(tmp_path: Path) -> None:
    file = tmp_path / "best.toml"
    for text, line in (
        ("k1 = 0.9\nk = 50\n", "bm25(k1=0.9, k=50)"),
        ("weights = {title = 0.25, abstract = 0.5}\nmatch = 'and'\n", "bm25(title=0.25, abstract=0.5, match=and)"),
        ("rm3 = true\nrm3_settings = '5,20,0.3'\n", "bm25 | rm3(fb_docs=5, fb_terms=20, original_query_weight=0.3)"),
        (
            "rerank = 'my model'\ndepth = 30\nk = 10\npassages = '150:50'\n",
            "bm25(k=30) | cross-encoder('my model', depth=30, passages=150:50) | top 10",
        ),
        (
            "rerank = 'mine'\ndepth = 5\nk = 20\ninterpolate = 0.3\n",
            "bm25(k=20) | interpolate(cross-encoder(mine, depth=5), 0.3) | top 20",
        ),
    ):
        file.write_text(text)
        assert chain_of(f'pipeline("{file}")') == chain_of(line)
    assert chain_of(f'pipeline("{file}") | top 3') == chain_of(f"{line} | top 3")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("k1 = 0.9\nb = 3\n", r"best.toml:2: b: expected a number from 0 to 1, found 3"),
        ("hybrid = true\n", r"expected a pipeline by words.*; found hybrid"),
    ],
)
def test_a_file_that_does_not_fit_into_a_line_is_told(tmp_path: Path, text: str, expected: str) -> None:
    (tmp_path / "best.toml").write_text(text)
    with pytest.raises(LineError, match=expected):
        chain_of(f'pipeline("{tmp_path / "best.toml"}")')
    with pytest.raises(LineError, match="with the name of a file"):
        chain_of("pipeline(3)")
