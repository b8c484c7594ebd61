"""Words of HTML: what people read stays, tags and scripts go, and no input takes long."""

from __future__ import annotations

import html
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rankwell.collections import html_text
from rankwell.collections.html_text import html_to_text, parse_html

WORDS = st.lists(st.sampled_from(["fever", "<b>", "</p>", "<td", "&amp;", "&#", "-->", "<!--", '"', ">", "é"]))


@pytest.mark.parametrize(
    ("source", "text"),
    [
        ("<p>Caf&eacute; <b>cr</b>&egrave;me</p><p>au lait</p>", "Café crème\nau lait"),
        ("one<br>two<br/>three", "one\ntwo\nthree"),
        ("<td>a</td><td>b</td>", "a b"),
        ('<a href="/x?a=1&b=2" title="1 > 0">link</a>', "link"),
        ("3 < 5 and 5 > 3", "3 < 5 and 5 > 3"),
        ("a&nbsp;b &lt;i&gt;", "a b <i>"),
        ("<script>if (a<b) {}</script><style>p {}</style>seen<!-- not -->", "seen"),
        ("<nav><nav>home</nav> more</nav>seen", "seen"),
        ("<nav>never closed, seen", "never closed, seen"),
        ("x<![CDATA[a<b]]>y", "xa<by"),
        ("plain", "plain"),
        ("cut <a hre", "cut <a hre"),
        ("&#99999999999999999999;x", "x"),
    ],
)
def test_what_people_read_stays_and_the_rest_goes(source: str, text: str) -> None:
    assert html_to_text(source) == text


def test_a_page_has_a_title_and_sections() -> None:
    page = parse_html("<title>Fever &amp; cough</title><p>Before.</p><h1>One <i>a</i></h1>First.<h2>Two</h2>Second.")
    assert page.title == "Fever & cough"
    assert [(section.heading, section.text) for section in page.sections] == [
        ("", "Before."),
        ("One a", "First."),
        ("Two", "Second."),
    ]
    assert parse_html("<h1>Only a heading</h1>").title == "Only a heading"


@given(WORDS)
def test_any_text_is_read_and_plain_words_survive(parts: list[str]) -> None:
    html_to_text("".join(parts))
    words = " ".join(part for part in parts if part.isalpha())
    assert html_to_text(f"<p>{html.escape(words)}</p>") == words


@pytest.mark.parametrize(
    "piece", ["<a ", '<a "', "<a '\"", "<nav>", "<!--", "<script>", "<div>", "<![CDATA[", "<h1>", '<a b="x" ', "<svg/>"]
)
def test_work_grows_with_the_length_of_hostile_input(piece: str, monkeypatch: pytest.MonkeyPatch) -> None:
    searched = 0

    class Counted(html_text._Scanner):
        def _tag_end(self, start: int) -> int:
            nonlocal searched
            end = super()._tag_end(start)
            searched += (end if end >= 0 else len(self.source)) - start if self.strict else 0
            return end

    monkeypatch.setattr(html_text, "_Scanner", Counted)
    source = piece * 20_000
    html_to_text(source)
    assert searched <= 2 * len(source)
    assert not re.search(r"[^+]\*[^+)]", html_text.REST.pattern), "a quantifier that gives back is tried again"
