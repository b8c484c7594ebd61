from __future__ import annotations

from html.parser import HTMLParser

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rankwell.apps.web import markdown

HARMLESS = {
    *(
        "p",
        "h2",
        "h3",
        "h4",
        "h5",
        "h6",
        "ul",
        "ol",
        "li",
        "em",
        "strong",
        "code",
        "pre",
        "blockquote",
        "a",
        "br",
        "hr",
    ),
    *("table", "thead", "tbody", "tr", "th", "td"),
}
ATTRIBUTES = {"href", "rel", "title", "start", "class"}


class Tags(HTMLParser):
    def __init__(self, html: str) -> None:
        super().__init__()
        self.found: list[tuple[str, dict[str, str | None]]] = []
        self.feed(html)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found.append((tag, dict(attrs)))


def test_guidelines_are_formatted() -> None:
    html = markdown("# Grades\n\nRead *all* of it.\n\n- 1: **no**\n- 2: yes\n\n| a | b |\n|---|--:|\n| 1 | 2 |\n")
    assert "<h2>Grades</h2>" in html
    assert "<em>all</em>" in html
    assert "<li>1: <strong>no</strong></li>" in html
    assert "<td>1</td>" in html


@pytest.mark.parametrize(
    "hostile",
    [
        "<script>alert(1)</script>",
        "a <img src=x onerror=alert(1)> b",
        "[x](javascript:alert(1))",
        "[x](data:text/html;base64,PHNjcmlwdD4=)",
        "![x](https://elsewhere.example/pixel.png)",
        "[x]: vbscript:x\n\n[x]",
        "<a href='javascript:alert(1)'>x</a>",
        '[x](https://example.org "a\\" onmouseover=\\"alert(1)")',
    ],
)
def test_hostile_markdown_does_nothing(hostile: str) -> None:
    check_harmless(markdown(hostile))


@given(st.text(alphabet=st.sampled_from("<>[]()!`*_#\"'&;:=\n aonjsript/-|\x00\u202e"), max_size=60))
def test_any_text_becomes_harmless_tags(text: str) -> None:
    check_harmless(markdown(text))


def check_harmless(html: str) -> None:
    for tag, attributes in Tags(html).found:
        assert tag in HARMLESS
        assert set(attributes) <= ATTRIBUTES
        href = (attributes.get("href") or "").strip().lower()
        assert not href.startswith(("javascript:", "data:", "vbscript:", "file:"))


def test_links_tell_the_other_side_nothing() -> None:
    assert 'rel="noopener noreferrer nofollow"' in markdown("[x](https://example.org)")
