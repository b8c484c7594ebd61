"""Markdown with front matter: its title and facts, and a section for each heading."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator
from typing import Any

from rankwell.collections.contents import Content, Part
from rankwell.collections.html_text import has_markup, html_to_text

LONGEST_FRONT = 100_000  # characters
FRONT = re.compile(r"\A(---|\+\+\+)[ \t]*\r?\n(.*?)^(?:\1|\.\.\.)[ \t]*\r?$\n?", re.DOTALL | re.MULTILINE)
ENTRY = re.compile(r"([A-Za-z_][\w .-]*?)\s*:(?:\s+(.*))?$")
HEADING = re.compile(r"(#{1,6})[ \t]+(.*?)[ \t#]*$")
UNDERLINE = re.compile(r"(?:={3,}|-{3,})\s*")
FENCE = re.compile(r"[ \t]{0,3}(`{3,}|~{3,})")
LINK = re.compile(r"!?\[([^\[\]]*)\]\((?:[^()\s]|\([^()\s]*\))*(?:\s+[\"'(][^)]*)?\)")
REFERENCE = re.compile(r"!?\[([^\[\]]+)\]\[[^\[\]]*\]")
DEFINITION = re.compile(r"^[ \t]{0,3}\[[^\]]+\]:[ \t]+\S+.*$")
STRESS = re.compile(r"(\*{1,3}|_{1,3}|~~)(?=\S)([^*_~]+?)(?<=\S)\1")
ITEMS = re.compile(r"""\s*("[^"]*"|'[^']*'|[^,]+?)\s*(?:,|$)""")


def read_markdown(text: str) -> Content:
    """A Markdown file: its title is that of the front matter, else its first heading."""
    facts, body = front_matter(text)
    sections = list(_sections(body))
    first = next((section.heading for section in sections if section.heading), "")
    title = str(facts.pop("title", "") or first)
    return Content(title, iter(sections), "section", facts)


def front_matter(text: str) -> tuple[dict[str, Any], str]:
    """The facts between `---` (YAML, as far as front matter goes) or `+++` (TOML) at the start, and the rest.

    Of YAML, lines `name: value` and lists are read; aliases, tags and deeper nesting are not.
    """
    match = FRONT.match(text[:LONGEST_FRONT])
    if match is None:
        return {}, text
    if match[1] == "---":
        facts = _yaml(match[2].splitlines())
        return (facts, text[match.end() :]) if facts else ({}, text)
    try:
        facts = {name: _told(value) for name, value in tomllib.loads(match[2].replace("\r", "")).items()}
    except (ValueError, RecursionError):
        return {}, text
    return {name: value for name, value in facts.items() if value not in (None, "")}, text[match.end() :]


def _told(value: Any) -> Any:
    if isinstance(value, (str, int, float)):
        return value
    if isinstance(value, list):
        return "; ".join(str(part) for part in value if isinstance(part, (str, int, float)))
    return None if isinstance(value, dict) else str(value)


def _yaml(lines: list[str]) -> dict[str, Any]:
    facts, items, name, block = dict[str, Any](), list[str](), "", False
    for line in [*lines, "end:"]:
        entry = ENTRY.match(line)
        if entry:
            if name and items:
                facts[name] = (" " if block else "; ").join(items)
            name, value, items = entry[1].strip(), (entry[2] or "").strip(), []
            block = value in ("|", ">", "|-", ">-")
            if value and not block:
                facts[name] = _value(value)
        elif block and line.strip():
            items.append(line.strip())
        elif name and line.strip().startswith("- "):
            items.append(str(_value(line.strip()[2:])))
    return {key: value for key, value in facts.items() if value not in (None, "")}


def _value(text: str) -> Any:
    text = re.sub(r"\s+#.*$", "", text.strip())
    if text[:1] == "[" and text[-1:] == "]":
        return "; ".join(str(_value(part)) for part in ITEMS.findall(text[1:-1]))
    if len(text) > 1 and text[0] in "\"'" and text[-1] == text[0]:
        return text[1:-1]
    return int(text) if re.fullmatch(r"-?\d{1,15}", text) else text


def _sections(text: str) -> Iterator[Part]:
    """A part for each heading; signs that are only markup are left out, code is not."""
    heading, lines, fence = "", list[str](), ""
    for line in text.splitlines():
        mark = FENCE.match(line)
        if mark and (not fence or mark[1].startswith(fence)):
            fence = "" if fence else mark[1]
            continue
        start = None if fence else HEADING.match(line)
        underlined = not fence and UNDERLINE.fullmatch(line) and lines and lines[-1].strip()
        if start or (underlined and "|" not in lines[-1] and (len(lines) == 1 or not lines[-2].strip())):
            above = plain(start[2]) if start else lines.pop()
            if heading or any(map(str.strip, lines)):
                yield Part("\n".join(lines).strip(), heading)
            heading, lines = above, []
        else:
            lines.append(line if fence else plain(line))
    if heading or any(map(str.strip, lines)):
        yield Part("\n".join(lines).strip(), heading)


def plain(line: str) -> str:
    """A line without the signs of links, stress and HTML."""
    if "[" in line:
        line = "" if DEFINITION.match(line) else REFERENCE.sub(r"\1", LINK.sub(r"\1", line))
    if "*" in line or "_" in line or "~" in line:
        line = STRESS.sub(r"\2", line)
    return html_to_text(line) if has_markup(line) else line
