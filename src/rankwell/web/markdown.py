"""Markdown that anyone may have written, as HTML that does nothing."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

from rankwell.core import MissingExtraError

if TYPE_CHECKING:
    from markdown_it import MarkdownIt


def markdown(text: str) -> str:
    """The text as HTML: headings, lists, emphasis, tables, links. HTML in it is shown as text; pictures are left out.

    Headings begin at the second level, because the page around has the first.
    """
    parser = _parser()
    tokens = parser.parse(text)
    for token in tokens:
        if token.type in ("heading_open", "heading_close"):
            token.tag = f"h{min(int(token.tag[1]) + 1, 6)}"
        token.attrs.pop("style", None)  # a column's alignment; our pages allow no style in a tag
        for child in token.children or ():
            if child.type == "link_open":
                child.attrSet("rel", "noopener noreferrer nofollow")
    return str(parser.renderer.render(tokens, parser.options, {}))


@cache
def _parser() -> MarkdownIt:
    try:
        from markdown_it import MarkdownIt
    except ImportError as error:
        raise MissingExtraError("Markdown on web pages", extra="web") from error
    return MarkdownIt("commonmark", {"html": False}).enable("table").disable(["image", "html_block", "html_inline"])
