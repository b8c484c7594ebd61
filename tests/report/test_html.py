from __future__ import annotations

from html.parser import HTMLParser

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rankwell import __version__
from rankwell.core import ParameterError
from rankwell.report import Column, Heading, Note, Page, PicturePart, Table, TablePart, Text
from rankwell.report.pictures import bars

VOID = {"meta", "br", "link", "img"}


class Outline(HTMLParser):
    """The elements and words of a page; complains where tags do not close one another."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.words: list[str] = []
        self.feed(html)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.words.append(data)

    def tags(self) -> list[str]:
        return [tag for tag, _ in self.elements]


def all_parts(text: str) -> list[Heading | Text | Note | TablePart]:
    table = Table(text, [Column(f"a {text}", "left"), Column("b")], [[text, 1.5], [text, None]])
    return [Heading(text), Text(text), Heading(text, 3), Note(text), TablePart(table)]


@given(st.text(max_size=30))
def test_any_text_leaves_the_structure_of_the_page_alone(text: str) -> None:
    expected = Outline(Page("x", all_parts("x"), "x").html())
    found = Outline(Page(text, all_parts(f"x{text}"), f"x{text}").html())
    # Text between empty lines makes a paragraph of its own; everything else must be the same.
    assert [tag for tag in found.tags() if tag != "p"] == [tag for tag in expected.tags() if tag != "p"]


def test_hostile_text_is_shown_and_does_nothing() -> None:
    hostile = "<script>alert(1)</script>\"'&amp;\x1b"
    page = Outline(Page(hostile, all_parts(hostile), command=hostile).html())
    assert "script" not in page.tags()
    assert sum("<script>alert(1)</script>\"'&amp;\\x1b" in word for word in page.words) >= 9


def test_the_page_has_what_phones_and_screen_readers_need() -> None:
    page = Outline(Page("Report", all_parts("x")).html())
    assert ("html", {"lang": "en"}) in page.elements
    assert ("meta", {"name": "viewport", "content": "width=device-width, initial-scale=1"}) in page.elements
    scroll = {"class": "scroll", "role": "region", "aria-label": "x", "tabindex": "0"}
    assert ("div", scroll) in page.elements
    assert {"main", "footer", "caption"} <= set(page.tags())


def test_the_page_loads_nothing() -> None:
    picture = PicturePart(bars(["a"], {"n": [1]}, title="Bars", x="n"))
    page = Outline(Page("Report", [*all_parts("x"), picture]).html())
    assert not {"script", "link", "img", "iframe", "image"} & set(page.tags())
    assert all(
        not (value or "").startswith("http")
        for _, attributes in page.elements
        for name, value in attributes.items()
        if not name.startswith("xmlns")
    )


def test_pictures_are_inline_and_named() -> None:
    picture = bars(["title"], {"n": [1]}, title="Fields", x="documents")
    html = Page("Report", [PicturePart(picture, caption="As of today")]).html()
    page = Outline(html)
    svg = dict(page.elements)["svg"]
    assert svg["role"] == "img"
    assert "Fields: title 1." in page.words
    assert "<figcaption>As of today</figcaption>" in html


def test_pictures_in_a_row_share_a_grid() -> None:
    pictures = [PicturePart(bars(["a"], {"n": [n]}, title=f"Bars {n}", x="n")) for n in (1, 2, 3)]
    html = Page("Report", [*pictures[:2], Text("between"), pictures[2]]).html()
    assert html.count('<div class="pictures">') == 2


def test_no_name_stands_twice_on_a_page() -> None:
    pictures = [PicturePart(bars(["a"], {"n": [n]}, title="Bars", x="n")) for n in (1, 2)]
    names = [of["id"] for _, of in Outline(Page("Report", pictures).html()).elements if "id" in of]
    assert len(names) == len(set(names))


def test_the_footer_names_the_version_and_the_command() -> None:
    html = Page("Report", [], command="rankwell stats 'my data'").html()
    assert f"Made by Rankwell {__version__} with <code>rankwell stats &#x27;my data&#x27;</code>" in html
    assert "with <code>" not in Page("Report", []).html()


def test_empty_lines_part_paragraphs() -> None:
    assert Text("one\nstill one\n\ntwo").html() == "<p>one still one</p>\n<p>two</p>"


@pytest.mark.parametrize("levels", [[3], [2, 4], [1], [2, 3, 5]])
def test_headings_that_skip_a_level_are_refused(levels: list[int]) -> None:
    with pytest.raises(ParameterError, match="heading h: expected a level from 2"):
        Page("Report", [Heading("h", level) for level in levels])


def test_headings_may_step_up_again() -> None:
    page = Page("Report", [Heading("a"), Heading("b", 3), Heading("c", 4), Heading("d")])
    assert [tag for tag in Outline(page.html()).tags() if tag[0] == "h" and tag[1:].isdigit()] == [
        "h1",
        "h2",
        "h3",
        "h4",
        "h2",
    ]
